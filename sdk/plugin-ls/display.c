/* SPDX-License-Identifier: MIT */
#include "display.h"

#include <glib.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Nearly every text is: thousands of them must not cost more than a look. */
static bool
is_printable_ascii (const char *bytes)
{
  while (*bytes >= ' ' && *bytes <= '~')
    bytes++;
  return *bytes == '\0';
}

static char *
escape (const char *bytes, bool printable_only)
{
  GString *text;

  if (is_printable_ascii (bytes))
    return g_strdup (bytes);
  text = g_string_new (NULL);
  while (*bytes != '\0')
    {
      gunichar c = g_utf8_get_char_validated (bytes, -1);
      bool valid = c != (gunichar) -1 && c != (gunichar) -2;
      const char *next = valid ? g_utf8_next_char (bytes) : bytes + 1;

      if (valid && (!printable_only || g_unichar_isprint (c)))
        g_string_append_len (text, bytes, next - bytes);
      else
        for (const char *p = bytes; p < next; p++)
          g_string_append_printf (text, "\\x%02x", (unsigned char) *p);
      bytes = next;
    }
  return g_string_free (text, FALSE);
}

char *
display_json (const char *bytes)
{
  return escape (bytes, false);
}

char *
display_text (const char *bytes)
{
  return escape (bytes, true);
}

int
display_width (const char *text)
{
  int width = 0;

  if (is_printable_ascii (text))
    return (int) strlen (text);
  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      gunichar c = g_utf8_get_char (text);

      width += g_unichar_iszerowidth (c) ? 0 : g_unichar_iswide (c) ? 2 : 1;
    }
  return width;
}

void
complain (const char *format, ...)
{
  va_list args;
  g_autofree char *line = NULL;
  g_autofree char *safe = NULL;

  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  safe = display_text (line);
  fprintf (stderr, "plugin-ls: %s\n", safe);
}
