/* SPDX-License-Identifier: MIT */
#ifndef CORE_HANDLE_H
#define CORE_HANDLE_H

#include <compute/compute.h>

/* Opens a state of its own on a checked table. name is copied, host must outlive the handle. Errors: those of the
 * provider's open. */
int handle_open (const struct compute_provider *provider, const char *name, const struct compute_host *host,
                 struct compute_handle **ret_handle, struct compute_error *err);

#endif
