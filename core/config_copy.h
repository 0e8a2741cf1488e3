/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_COPY_H
#define CORE_CONFIG_COPY_H

#include <compute/provider.h>

/* A copy of a whole config with all that it points to. Free with config_free, which accepts NULL. */
struct compute_config *config_copy (const struct compute_config *config);
void config_free (struct compute_config *config);

#endif
