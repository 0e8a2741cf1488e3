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

static void
add_placeholder (void *user, const struct placeholder *placeholder)
{
  g_array_append_vals (user, placeholder, 1);
}

int
template_new (const char *script, struct template **ret_template, struct compute_error *err)
{
  struct template *template = g_new (struct template, 1);
  int result;

  template->script = g_strdup (script);
  template->placeholders = g_array_new (FALSE, FALSE, sizeof (struct placeholder));
  result = shell_check (template->script, add_placeholder, template->placeholders, err);
  if (result == 0)
    *ret_template = template;
  else
    template_free (template);
  return result;
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

static char *
dup_name (const struct placeholder *placeholder)
{
  return g_strndup (placeholder->name, placeholder->name_bytes);
}

char *
template_dup_argument (const struct template *template, size_t index)
{
  return index < template->placeholders->len
             ? dup_name (&g_array_index (template->placeholders, struct placeholder, index))
             : NULL;
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

/* Whole numbers above are not told apart from their neighbours. */
#define NUMBER_MAX 9007199254740992.0

static int
check_value (const struct placeholder *placeholder, const char *name, const cJSON *value, struct compute_error *err)
{
  char shown[40];

  text_for_people (shown, sizeof shown, name);
  if (cJSON_IsNumber (value) && !(value->valuedouble <= NUMBER_MAX && value->valuedouble >= -NUMBER_MAX))
    return compute_error_set (err, COMPUTE_E_INVALID, 0,
                              "the argument '%s' is a number too large to be exact; give it as a string", shown);
  if (placeholder->may_be_option && cJSON_IsString (value) && value->valuestring[0] == '-')
    return compute_error_set (
        err, COMPUTE_E_INVALID, 0,
        "the argument '%s' starts with '-', and the command would take it for an option; to allow "
        "such values, the tool's command has to say '-- {{%s}}'",
        shown, shown);
  return 0;
}

static int
add_json (GString *into, const char *name, const cJSON *value, struct compute_error *err)
{
  char *text = cJSON_PrintUnformatted (value);
  char shown[40];

  if (text == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the argument '%s'",
                              text_for_people (shown, sizeof shown, name));
  add_quoted (into, text);
  cJSON_free (text);
  return 0;
}

static int
add_argument (GString *into, const struct placeholder *placeholder, const cJSON *arguments, struct compute_error *err)
{
  g_autofree char *name = dup_name (placeholder);
  const cJSON *value = cJSON_GetObjectItemCaseSensitive (arguments, name);
  char shown[64];
  int result;

  if (value == NULL || cJSON_IsNull (value))
    return placeholder->is_optional ? 0
                                    : compute_error_set (err, COMPUTE_E_INVALID, 0, "the argument '%s' is missing",
                                                         text_for_people (shown, sizeof shown, name));
  result = check_value (placeholder, name, value, err);
  if (result != 0)
    return result;
  if (!cJSON_IsString (value))
    return add_json (into, name, value, err);
  add_quoted (into, value->valuestring);
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
