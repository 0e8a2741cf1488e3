/* SPDX-License-Identifier: MIT */
#include "template.h"

#include "shell.h"
#include "text.h"

#include <string.h>

struct template
{
  char *script;
  GArray *placeholders; /* in their order, inside of script */
};

int
template_new (const char *script, struct template **ret_template, struct compute_error *err)
{
  struct template *template;
  struct placeholder found;
  int result = shell_check (script, err);

  if (result != 0)
    return result;
  template = g_new (struct template, 1);
  template->script = g_strdup (script);
  template->placeholders = g_array_new (FALSE, FALSE, sizeof (struct placeholder));
  for (size_t at = 0; placeholder_next (template->script, at, &found); at = found.offset + found.bytes)
    g_array_append_val (template->placeholders, found);
  *ret_template = template;
  return 0;
}

void
template_free (struct template *template)
{
  if (template == NULL)
    return;
  g_array_unref (template->placeholders);
  g_free (template->script);
  g_free (template);
}

/* In single quotes all is itself but the quote. */
static void
add_quoted (GString *into, const char *value)
{
  g_string_append_c (into, '\'');
  for (size_t plain; value[plain = strcspn (value, "'")] != '\0'; value += plain + 1)
    {
      g_string_append_len (into, value, (gssize) plain);
      g_string_append (into, "'\\''");
    }
  g_string_append (into, value);
  g_string_append_c (into, '\'');
}

static int
add_argument (GString *into, const struct placeholder *placeholder, const cJSON *arguments, struct compute_error *err)
{
  g_autofree char *name = g_strndup (placeholder->name, placeholder->name_bytes);
  const cJSON *value = cJSON_GetObjectItemCaseSensitive (arguments, name);
  char shown[64];

  if (value == NULL || cJSON_IsNull (value))
    return placeholder->is_optional ? 0
                                    : compute_error_set (err, COMPUTE_E_INVALID, 0, "the argument '%s' is missing",
                                                         text_for_people (shown, sizeof shown, name));
  if (cJSON_IsString (value))
    add_quoted (into, value->valuestring);
  else
    {
      char *text = cJSON_PrintUnformatted (value);

      if (text == NULL)
        return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the argument '%s'",
                                  text_for_people (shown, sizeof shown, name));
      add_quoted (into, text);
      cJSON_free (text);
    }
  return 0;
}

int
template_fill (const struct template *template, const cJSON *arguments, GString *into, struct compute_error *err)
{
  gsize before = into->len;
  size_t at = 0;

  for (guint i = 0; i < template->placeholders->len; i++)
    {
      const struct placeholder *placeholder = &g_array_index (template->placeholders, struct placeholder, i);
      int result;

      g_string_append_len (into, template->script + at, (gssize) (placeholder->offset - at));
      result = add_argument (into, placeholder, arguments, err);
      if (result != 0)
        {
          g_string_truncate (into, before);
          return result;
        }
      at = placeholder->offset + placeholder->bytes;
    }
  g_string_append (into, template->script + at);
  return 0;
}
