/* SPDX-License-Identifier: MIT */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdint.h>

/* The contract's words for its numbers; "unknown" for one of a newer provider. */
const char *word_of_outcome (uint32_t outcome);
const char *word_of_state (uint32_t state);
const char *word_of_owner (uint32_t owner);

/* A time as 2026-01-31T12:00:00Z, to be freed; NULL where it is 0, unknown. */
char *word_of_time (int64_t ms);

#endif
