/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <stdlib.h>

void
words_add (struct words *words, const char *word)
{
  if (words->count == WORDS_MAX || word == NULL)
    words->failed = 1;
  else
    words->items[words->count++] = word;
}

static void
add_owned (struct words *words, char *word)
{
  if (word == NULL || words->owned_count == WORDS_MAX)
    {
      words->failed = 1;
      free (word);
      return;
    }
  words->owned[words->owned_count++] = word;
  words_add (words, word);
}

void
words_format (struct words *words, const char *format, ...)
{
  char *word = NULL;
  va_list args;

  va_start (args, format);
  if (vasprintf (&word, format, args) < 0)
    word = NULL;
  va_end (args);
  add_owned (words, word);
}

void
text_blank (char *text, const char *word)
{
  size_t bytes = strlen (word);

  for (char *at; bytes > 0 && (at = strstr (text, word)) != NULL;)
    memset (at, '.', bytes);
}

int
words_check (const struct words *words, struct compute_error *err)
{
  if (!words->failed)
    return 0;
  return compute_error_set (err, COMPUTE_E_INVALID, 0,
                            "more than %u arguments for the docker program, or no memory for them", WORDS_MAX);
}

void
words_free (struct words *words)
{
  for (unsigned i = 0; i < words->owned_count; i++)
    free (words->owned[i]);
  *words = (struct words){ 0 };
}
