/* SPDX-License-Identifier: MIT */
#include "json.h"

#include "output.h"
#include "words.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

cJSON *
json_text (const char *text)
{
  g_autofree char *valid = NULL;

  if (text == NULL || text[0] == '\0')
    return cJSON_CreateNull ();
  valid = g_utf8_make_valid (text, -1);
  return cJSON_CreateString (valid);
}

/* Adds UTF-8 without NUL to a JSON string. */
static void
append_escaped (GString *json, const char *text, const char *end)
{
  for (const char *p = text; p < end; p++)
    if (*p == '"' || *p == '\\')
      g_string_append_printf (json, "\\%c", *p);
    else if (*p == '\n')
      g_string_append (json, "\\n");
    else if ((unsigned char) *p < 0x20)
      g_string_append_printf (json, "\\u%04x", (unsigned) *p);
    else
      g_string_append_c (json, *p);
}

/* The bytes as a JSON string, quotes included. *ret_exact: nothing was replaced and no NUL is in it, which many readers
 * of JSON cannot hold. */
static char *
quote (const GByteArray *bytes, bool *ret_exact)
{
  GString *json = g_string_sized_new (bytes->len + 16);
  const char *p = (const char *) bytes->data;
  const char *end = p + bytes->len;

  *ret_exact = true;
  g_string_append_c (json, '"');
  while (p < end)
    {
      const char *valid_end;

      (void) g_utf8_validate_len (p, (gsize) (end - p), &valid_end);
      append_escaped (json, p, valid_end);
      p = valid_end;
      if (p == end)
        break;
      *ret_exact = false;
      g_string_append (json, *p == '\0' ? "\\u0000" : REPLACEMENT);
      p++;
    }
  g_string_append_c (json, '"');
  return g_string_free (json, FALSE);
}

void
json_add_bytes (cJSON *object, const char *name, const GByteArray *bytes)
{
  bool exact;
  g_autofree char *quoted = quote (bytes, &exact);

  cJSON_AddRawToObject (object, name, quoted);
  if (!exact)
    {
      g_autofree char *base64_name = g_strconcat (name, "Base64", NULL);
      g_autofree char *base64 = g_base64_encode (bytes->data, bytes->len);

      cJSON_AddStringToObject (object, base64_name, base64);
    }
}

cJSON *
json_error (const char *provider, const struct compute_error *err)
{
  cJSON *error = cJSON_CreateObject ();

  cJSON_AddStringToObject (error, "code", compute_error_token (err->code));
  cJSON_AddItemToObject (error, "message",
                         json_text (err->message[0] != '\0' ? err->message : compute_error_text (err->code)));
  cJSON_AddItemToObject (error, "provider", json_text (provider));
  return error;
}

cJSON *
json_failure (const char *provider, const struct compute_error *err)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddItemToObject (object, "error", json_error (provider, err));
  return object;
}

static cJSON *
number_or_null (int64_t number)
{
  return number != 0 ? cJSON_CreateNumber ((double) number) : cJSON_CreateNull ();
}

cJSON *
json_instance (const char *provider, const struct compute_instance *instance)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddItemToObject (object, "instance", json_text (instance->id));
  cJSON_AddItemToObject (object, "provider", json_text (provider));
  cJSON_AddStringToObject (object, "state", word_of_state (instance->state));
  cJSON_AddStringToObject (object, "owner", word_of_owner (instance->owner));
  cJSON_AddItemToObject (object, "ownerPid", number_or_null (instance->owner_pid));
  cJSON_AddBoolToObject (object, "detached", instance->flags & COMPUTE_CONFIG_DETACHED);
  cJSON_AddItemToObject (object, "createdMs", number_or_null (instance->created_ms));
  cJSON_AddItemToObject (object, "definition", json_text (instance->definition));
  cJSON_AddItemToObject (object, "host", json_text (instance->host));
  cJSON_AddItemToObject (object, "image", json_text (instance->image));
  cJSON_AddItemToObject (object, "workdir", json_text (instance->workdir));
  cJSON_AddItemToObject (object, "detail", json_text (instance->detail));
  return object;
}

int
json_print (cJSON *take_object, struct compute_error *err)
{
  char *text = cJSON_PrintUnformatted (take_object);
  int rc;

  cJSON_Delete (take_object);
  if (text == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, 0, "the result is too large for one JSON object");
  rc = output_write (1, text, strlen (text), err);
  if (rc == 0)
    rc = output_write (1, "\n", 1, err);
  cJSON_free (text);
  return rc;
}
