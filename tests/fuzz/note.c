/* SPDX-License-Identifier: MIT */

/* The reader of a note's description. The first byte chooses the byte order. */
#include "note.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count);

static void
check_text (const char *text)
{
  if (text != NULL && !text_is_utf8 (text))
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count)
{
  struct note note = { .count = 0 };
  char shown[64];

  if (count == 0)
    return 0;
  note_read (&note, bytes + 1, count - 1, bytes[0] != 0);
  check_text (note.version);
  check_text (note.vendor);
  check_text (note.license);
  check_text (note.url);
  if (note.name[0] != '\0' && !name_is_valid (note.name))
    abort ();
  if (note.version != NULL && !text_is_utf8 (text_for_people (shown, sizeof shown, note.version)))
    abort ();
  note_clear (&note);
  return 0;
}
