/* SPDX-License-Identifier: MIT */
#include "note.h"
#include "bytes.h"
#include "text.h"

#include <compute/provider.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of details that a note may carry. */
#define DETAILS_MAX 65536

/* Reads the details in place: a JSON object whose values are strings. A decoded string is never longer than its source,
 * so each is written over itself. */
struct details
{
  char *at;
  bool failed;
};

static char
skip_blanks (struct details *details)
{
  details->at += strspn (details->at, " \t\r\n");
  return *details->at;
}

static bool
take_char (struct details *details, char c)
{
  if (skip_blanks (details) != c)
    {
      details->failed = true;
      return false;
    }
  details->at++;
  return true;
}

/* The four hexadecimal digits of \uXXXX, or -1. */
static int
take_hex (struct details *details)
{
  int value = 0;

  for (int i = 0; i < 4; i++, details->at++)
    {
      const char *digits = "0123456789abcdef", *digit;
      char c = *details->at;

      digit = c == '\0' ? NULL : strchr (digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
      if (digit == NULL)
        return -1;
      value = value << 4 | (int) (digit - digits);
    }
  return value;
}

/* A character given as \uXXXX, two of them for one beyond the first plane; -1: none that can stand in a C string. */
static long
take_unicode (struct details *details)
{
  long value = take_hex (details), low;

  if (value < 0xd800 || value > 0xdfff)
    return value == 0 ? -1 : value;
  if (value > 0xdbff || details->at[0] != '\\' || details->at[1] != 'u')
    return -1;
  details->at += 2;
  low = take_hex (details);
  return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
}

static char *
put_utf8 (char *to, long value)
{
  if (value < 0x80)
    *to++ = (char) value;
  else if (value < 0x800)
    *to++ = (char) (0xc0 | value >> 6);
  else if (value < 0x10000)
    *to++ = (char) (0xe0 | value >> 12);
  else
    *to++ = (char) (0xf0 | value >> 18);
  if (value >= 0x10000)
    *to++ = (char) (0x80 | (value >> 12 & 0x3f));
  if (value >= 0x800)
    *to++ = (char) (0x80 | (value >> 6 & 0x3f));
  if (value >= 0x80)
    *to++ = (char) (0x80 | (value & 0x3f));
  return to;
}

/* The character after a backslash; the end of the text written so far, or NULL. */
static char *
take_escape (struct details *details, char *to)
{
  static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  char c = *details->at;
  const char *known;
  long value;

  if (c == '\0')
    return NULL;
  details->at++;
  if (c == 'u')
    {
      value = take_unicode (details);
      return value < 0 ? NULL : put_utf8 (to, value);
    }
  known = strchr (from, c);
  if (known == NULL)
    return NULL;
  *to++ = meant[known - from];
  return to;
}

static char *
take_string (struct details *details)
{
  char *start, *to;

  if (!take_char (details, '"'))
    return NULL;
  start = to = details->at;
  while (to != NULL && *details->at != '"' && (unsigned char) *details->at >= 0x20)
    if (*details->at == '\\')
      {
        details->at++;
        to = take_escape (details, to);
      }
    else
      *to++ = *details->at++;
  if (to == NULL || *details->at != '"')
    {
      details->failed = true;
      return NULL;
    }
  details->at++;
  *to = '\0';
  return start;
}

static void
take_member (struct note *note, struct details *details)
{
  const char *key = take_string (details);
  const char *value = key != NULL && take_char (details, ':') ? take_string (details) : NULL;

  if (value == NULL)
    details->failed = true;
  else if (strcmp (key, "version") == 0)
    note->version = value;
  else if (strcmp (key, "vendor") == 0)
    note->vendor = value;
  else if (strcmp (key, "license") == 0)
    note->license = value;
  else if (strcmp (key, "url") == 0)
    note->url = value;
}

/* False when the text is no JSON object of strings. */
static bool
read_details (struct note *note)
{
  struct details details = { note->details, false };

  take_char (&details, '{');
  if (!details.failed && skip_blanks (&details) != '}')
    do
      take_member (note, &details);
    while (!details.failed && skip_blanks (&details) == ',' && take_char (&details, ','));
  return !details.failed && take_char (&details, '}') && skip_blanks (&details) == '\0';
}

static const char *
check_details (struct note *note, const unsigned char *bytes, size_t count)
{
  if (count == 0)
    return NULL;
  if (count > DETAILS_MAX)
    return "the details are too long";
  if (bytes[count - 1] != '\0' || memchr (bytes, '\0', count) != bytes + count - 1)
    return "the details do not end in one NUL";
  if (!text_is_utf8 ((const char *) bytes))
    return "the details are not UTF-8";
  note->details = strdup ((const char *) bytes);
  if (note->details == NULL)
    return "out of memory";
  if (read_details (note))
    return NULL;
  note->version = note->vendor = note->license = note->url = NULL;
  return "the details are no JSON object of strings";
}

static const char *
check_note (struct note *note, const unsigned char *bytes, size_t count, bool big_endian)
{
  const size_t fixed = sizeof (struct compute_note);
  uint64_t details_bytes;

#define FIELD(member)                                                                                                  \
  bytes_get (bytes + offsetof (struct compute_note, member), sizeof ((struct compute_note *) 0)->member, big_endian)
  if (count < fixed)
    return "it is cut off";
  if (memcmp (bytes, COMPUTE_NOTE_MAGIC, sizeof ((struct compute_note *) 0)->magic) != 0)
    return "its magic is not \"" COMPUTE_NOTE_MAGIC "\"";
  memcpy (note->name, bytes + offsetof (struct compute_note, name), sizeof note->name - 1);
  if (!name_is_valid (note->name))
    {
      note->name[0] = '\0';
      return "its name does not match [a-z0-9][a-z0-9._-]{0,63}";
    }
  note->abi_major = (uint16_t) FIELD (abi_major);
  note->abi_minor_built = (uint16_t) FIELD (abi_minor_built);
  note->abi_minor_required = (uint16_t) FIELD (abi_minor_required);
  note->capabilities = FIELD (capabilities_high) << 32 | FIELD (capabilities_low);
  details_bytes = FIELD (details_bytes);
  if (note->abi_major != COMPUTE_ABI_MAJOR)
    return NULL; /* what follows is that major's own affair */
  if (FIELD (flags) != 0)
    return "it has unknown flags";
  if (details_bytes > count - fixed)
    return "its details are cut off";
  return check_details (note, bytes + fixed, details_bytes);
#undef FIELD
}

void
note_read (struct note *note, const unsigned char *bytes, size_t count, bool big_endian)
{
  if (note->count++ == 0)
    note->fault = check_note (note, bytes, count, big_endian);
  else
    note->fault = "there is more than one";
}

void
note_clear (struct note *note)
{
  free (note->details);
  note->details = NULL;
}
