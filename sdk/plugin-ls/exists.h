/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_EXISTS_H
#define PLUGIN_LS_EXISTS_H

#include "options.h"

#include <compute/compute.h>

/* --exists: *ret_exists is true when the provider that its name would load is OK and has what is asked of it. */
int exists (struct compute_registry *registry, const struct options *options, bool *ret_exists,
            struct compute_error *err);

#endif
