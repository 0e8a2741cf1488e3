/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_WORDS_H
#define PLUGIN_LS_WORDS_H

#include <stdint.h>

/* The stable words of compute.h's lists; "unknown" for a value of a newer library. */
const char *candidate_state_word (uint32_t state);
const char *folder_state_word (uint32_t state);
const char *source_word (uint32_t source);

/* The way out of a reason, "E_..."; NULL for one of a newer library. */
const char *reason_hint (const char *reason);

#endif
