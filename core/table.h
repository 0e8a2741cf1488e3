/* SPDX-License-Identifier: MIT */
#ifndef CORE_TABLE_H
#define CORE_TABLE_H

#include <compute/provider.h>

/* Refuses a table of another ABI major or without one of the required slots. name is for the message. Errors: INVALID.
 */
int table_check (const struct compute_provider *provider, const char *name, struct compute_error *err);

#endif
