/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <compute/compute.h>
#include <string.h>

#define WORD_OF(name, value, word)                                                                                     \
  case value:                                                                                                          \
    return word;

const char *
candidate_state_word (uint32_t state)
{
  switch (state)
    {
      COMPUTE_CANDIDATE_MAP (WORD_OF)
    default:
      return "unknown";
    }
}

const char *
folder_state_word (uint32_t state)
{
  switch (state)
    {
      COMPUTE_FOLDER_MAP (WORD_OF)
    default:
      return "unknown";
    }
}

const char *
source_word (uint32_t source)
{
  switch (source)
    {
      COMPUTE_SOURCE_MAP (WORD_OF)
    default:
      return "unknown";
    }
}

const char *
reason_hint (const char *reason)
{
#define HINT_OF(name, hint)                                                                                            \
  if (strcmp (reason, "E_" #name) == 0)                                                                                \
    return hint;
  COMPUTE_REASON_MAP (HINT_OF)
  return NULL;
}
