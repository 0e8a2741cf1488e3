/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_PROBING_H
#define PLUGIN_LS_PROBING_H

#include "listing.h"

/* Loads every row that is OK so far, each in a helper process of its own or as the cache remembers it, and corrects the
 * rows by what came of it. */
int probe_rows (struct listing *listing, const struct options *options, struct compute_error *err);

#endif
