/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_PRINT_H
#define PLUGIN_LS_PRINT_H

#include "listing.h"

/* Each appends to a text that is written at once, when all is known. */
void text_print_listing (GString *out, const struct listing *listing, const struct options *options);
void text_print_folders (GString *out, const struct listing *listing);
void text_print_checks (GString *out, const struct listing *listing, const struct options *options);
void deps_print (GString *out, const struct compute_candidate *candidate);
void json_print (GString *out, const struct listing *listing, const struct options *options);

/* A line below a row: "           E_ABI_TOO_NEW: ...". Escapes what a terminal would act on. */
void print_note (GString *out, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

#endif
