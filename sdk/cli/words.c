/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <compute/provider.h>
#include <glib.h>

#define WORD(name, value, word)                                                                                        \
  case value:                                                                                                          \
    return word;

const char *
word_of_outcome (uint32_t outcome)
{
  switch (outcome)
    {
      COMPUTE_OUTCOME_MAP (WORD)
    default:
      return "unknown";
    }
}

const char *
word_of_state (uint32_t state)
{
  switch (state)
    {
      COMPUTE_STATE_MAP (WORD)
    default:
      return "unknown";
    }
}

const char *
word_of_owner (uint32_t owner)
{
  switch (owner)
    {
      COMPUTE_OWNER_MAP (WORD)
    default:
      return "unknown";
    }
}

char *
word_of_time (int64_t ms)
{
  g_autoptr (GDateTime) time = ms != 0 ? g_date_time_new_from_unix_utc (ms / 1000) : NULL;

  return time != NULL ? g_date_time_format (time, "%Y-%m-%dT%H:%M:%SZ") : NULL;
}
