/* SPDX-License-Identifier: MIT */
#ifndef CORE_MODULE_H
#define CORE_MODULE_H

#include <compute/provider.h>

/* Loads a file and runs its init. Errors: PLUGIN. */
int module_load (const char *path, const struct compute_host *host, const struct compute_provider **ret_provider,
                 struct compute_error *err);

#endif
