/* SPDX-License-Identifier: MIT */
#include "client.h"

/* Bytes of the UTF-8 character at text that a terminal may be shown, 0 when there is none. Control characters are none,
 * nor are the ones that would be two bytes in UTF-8 (U+0080 to U+009F). */
static size_t
character_bytes (const unsigned char *text, size_t count)
{
  size_t bytes = text[0] < 0x80 ? 1 : text[0] < 0xC2 ? 0 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : 4;

  if (bytes <= 1)
    return text[0] >= 0x20 && text[0] < 0x7F ? bytes : 0;
  if (text[0] > 0xF4 || bytes > count)
    return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((text[i] & 0xC0) != 0x80)
      return 0;
  if (text[0] == 0xC2 && text[1] < 0xA0)
    return 0;
  if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) /* overlong, surrogates */
      || (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
    return 0;
  return bytes;
}

void
copy_text (char *to, size_t room, const char *from, size_t count)
{
  const unsigned char *text = (const unsigned char *) from;
  size_t at = 0, used = 0;

  while (at < count)
    {
      size_t bytes = character_bytes (text + at, count - at);

      if (used + (bytes > 0 ? bytes : 1) >= room)
        break;
      if (bytes == 0)
        to[used++] = '?';
      else
        memcpy (to + used, text + at, bytes);
      used += bytes;
      at += bytes > 0 ? bytes : 1;
    }
  to[used] = '\0';
}
