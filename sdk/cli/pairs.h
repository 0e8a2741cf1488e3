/* SPDX-License-Identifier: MIT */
#ifndef CLI_PAIRS_H
#define CLI_PAIRS_H

#include "request.h"

void pairs_init (struct pairs *pairs);
void pairs_clear (struct pairs *pairs);

/* Copies both. */
void pairs_add (struct pairs *pairs, const char *name, const char *value);

/* The same, but a later value replaces an earlier one of the same name. */
void pairs_set (struct pairs *pairs, const char *name, const char *value);

/* Copies what pairs has no value for. */
void pairs_add_missing (struct pairs *pairs, const struct pairs *from);

#endif
