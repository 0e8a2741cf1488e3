/* SPDX-License-Identifier: MIT */

/* A tool's command: any bytes. In one that is taken, whatever stands for the placeholders before it, the next one is
 * where it was, and a value in its place is in quotes from its first byte to its last, by the scanner's own rules. */
#include "shell.h"
#include "template.h"

#include <stdlib.h>
#include <string.h>

#define SCRIPT_MAX 4096
#define PLACEHOLDERS_MAX 16

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count);

static const char *const hostile[] = {
  "", "x", "'", "';x '", "$(", "`", "\"", "\n", "\\", " # ", "<<E\nE\n", " -- ", "case x in", "[[", "${", "((", ")",
};

static void
collect (void *user, const struct placeholder *placeholder)
{
  g_array_append_vals (user, placeholder, 1);
}

/* The value as a template quotes it. */
static char *
quote (const char *value)
{
  struct template *template = NULL;
  cJSON *arguments = cJSON_CreateObject ();
  GString *quoted = g_string_new (NULL);

  cJSON_AddStringToObject (arguments, "v", value);
  if (template_new ("{{v}}", &template, NULL) != 0 || template_fill (template, arguments, quoted, NULL) != 0)
    abort ();
  template_free (template);
  cJSON_Delete (arguments);
  return g_string_free (quoted, FALSE);
}

/* The script so far, then a placeholder, is taken; one that no option could be cannot become one. */
static void
check_place (const GString *script, const struct placeholder *was)
{
  g_autofree char *whole = g_strconcat (script->str, "{{z}}", NULL);
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (struct placeholder));

  if (shell_check (whole, collect, found, NULL) != 0 || found->len != 1)
    abort ();
  if (g_array_index (found, struct placeholder, 0).may_be_option && !was->may_be_option)
    abort ();
}

/* The script so far, then a value with the look of a placeholder in it, is refused for that it stands in quotes. */
static void
check_value (const GString *script, const char *value)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *with = g_strconcat (value, "{{z}}", value, NULL), *quoted = quote (with);
  g_autofree char *whole = g_strconcat (script->str, quoted, NULL);
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (struct placeholder));

  if (shell_check (whole, collect, found, &err) != COMPUTE_E_INVALID || found->len != 0)
    abort ();
  if (strstr (err.message, "{{z}} is inside single quotes") == NULL)
    abort ();
}

static void
check_values (const char *script, const GArray *placeholders, const char *value)
{
  g_autofree char *quoted = quote (value);
  g_autoptr (GString) filled = g_string_new (NULL);
  size_t at = 0;

  for (guint i = 0; i < MIN (placeholders->len, PLACEHOLDERS_MAX); i++)
    {
      const struct placeholder *placeholder = &g_array_index (placeholders, struct placeholder, i);

      g_string_append_len (filled, script + at, (gssize) (placeholder->offset - at));
      check_place (filled, placeholder);
      check_value (filled, value);
      g_string_append (filled, quoted);
      at = placeholder->offset + placeholder->bytes;
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *script = g_strndup (count > 0 ? (const char *) bytes : "", count);
  g_autoptr (GArray) placeholders = g_array_new (FALSE, FALSE, sizeof (struct placeholder));

  if (shell_check (script, collect, placeholders, &err) != 0)
    {
      if (err.message[0] == '\0')
        abort ();
      return 0;
    }
  if (strlen (script) <= SCRIPT_MAX)
    for (size_t i = 0; i < G_N_ELEMENTS (hostile); i++)
      check_values (script, placeholders, hostile[i]);
  return 0;
}
