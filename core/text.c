/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdio.h>
#include <string.h>

static char
lower (char c)
{
  return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

static bool
is_alphanumeric (char c)
{
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool
name_is_valid (const char *name)
{
  size_t length = strnlen (name, NAME_BYTES);

  if (length == 0 || length == NAME_BYTES || !is_alphanumeric (name[0]))
    return false;
  for (size_t i = 1; i < length; i++)
    if (!is_alphanumeric (name[i]) && strchr ("._-", name[i]) == NULL)
      return false;
  return true;
}

bool
name_fold (char to[NAME_BYTES], const char *name)
{
  char folded[NAME_BYTES] = "";
  size_t length = strnlen (name, NAME_BYTES);

  if (length == NAME_BYTES)
    return false;
  for (size_t i = 0; i < length; i++)
    folded[i] = lower (name[i]);
  if (!name_is_valid (folded))
    return false;
  memcpy (to, folded, sizeof folded);
  return true;
}

/* Bytes of the UTF-8 character at s, which is not the end, or 0 when it is none. */
static size_t
utf8_bytes (const unsigned char *s)
{
  unsigned min, value;
  size_t count;

  if (s[0] < 0x80)
    return 1;
  if ((s[0] & 0xe0) == 0xc0)
    count = 2, min = 0x80, value = s[0] & 0x1f;
  else if ((s[0] & 0xf0) == 0xe0)
    count = 3, min = 0x800, value = s[0] & 0x0f;
  else if ((s[0] & 0xf8) == 0xf0)
    count = 4, min = 0x10000, value = s[0] & 0x07;
  else
    return 0;
  for (size_t i = 1; i < count; i++)
    {
      if ((s[i] & 0xc0) != 0x80)
        return 0;
      value = value << 6 | (s[i] & 0x3f);
    }
  return value >= min && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff) ? count : 0;
}

bool
text_is_utf8 (const char *text)
{
  const unsigned char *s = (const unsigned char *) text;

  while (*s != '\0')
    {
      size_t count = utf8_bytes (s);

      if (count == 0)
        return false;
      s += count;
    }
  return true;
}

/* Bytes of a character that can be shown as it is, or 0. U+0080 to U+009F are controls too. */
static size_t
readable_bytes (const unsigned char *s)
{
  if (s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0))
    return 0;
  return utf8_bytes (s);
}

char *
text_for_people (char *to, size_t room, const char *from)
{
  const unsigned char *s = (const unsigned char *) from;
  size_t used = 0, fits = 0; /* fits: as much of it as leaves room for "..." */

  while (*s != '\0')
    {
      char escaped[5];
      size_t count = readable_bytes (s);
      size_t bytes = count != 0 ? count : 4;

      snprintf (escaped, sizeof escaped, "\\x%02x", *s);
      if (used + bytes >= room)
        {
          memcpy (to + fits, "...", 4);
          return to;
        }
      memcpy (to + used, count != 0 ? (const char *) s : escaped, bytes);
      used += bytes;
      if (used + 4 <= room)
        fits = used;
      s += count != 0 ? count : 1;
    }
  to[used] = '\0';
  return to;
}

const char *
text_of_errno (int sys_errno)
{
#ifdef __GLIBC__
  const char *text = strerrordesc_np (sys_errno); /* strerror would be translated */
#else
  const char *text = strerror (sys_errno);
#endif

  return text != NULL ? text : "unknown error";
}
