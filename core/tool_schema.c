/* SPDX-License-Identifier: MIT */
#include "tool_schema.h"

#include "text.h"

#include <math.h>
#include <string.h>

#define NAME_SHOWN 40 /* room for an argument's name in a message */
#define LIST_SHOWN 120

/* ---- Types ------------------------------------------------------------------------------------------------------- */

/* Every number of a double's that large is whole. */
#define WHOLE_FROM 9007199254740992.0

static cJSON_bool
is_integer (const cJSON *const value)
{
  double number = cJSON_IsNumber (value) ? value->valuedouble : 0.5;

  if (number >= WHOLE_FROM || number <= -WHOLE_FROM)
    return isfinite (number);
  return (double) (int64_t) number == number;
}

/* The first that fits a value is what a message calls it. */
static const struct
{
  const char *name;
  cJSON_bool (*is) (const cJSON *value);
} types[] = {
  { "string", cJSON_IsString }, { "integer", is_integer },    { "number", cJSON_IsNumber }, { "boolean", cJSON_IsBool },
  { "array", cJSON_IsArray },   { "object", cJSON_IsObject }, { "null", cJSON_IsNull },
};

static bool
is_type (const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS (types); i++)
    if (strcmp (name, types[i].name) == 0)
      return true;
  return false;
}

static const char *
type_of (const cJSON *value)
{
  for (size_t i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i].is (value))
      return types[i].name;
  return "unknown";
}

static bool
has_type (const cJSON *value, const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS (types); i++)
    if (strcmp (name, types[i].name) == 0)
      return types[i].is (value);
  return true;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static int
refuse_type (const struct document *document, const struct node *node, struct compute_error *err)
{
  char shown[NAME_SHOWN];

  if (node->kind != NODE_TEXT)
    return document_refuse (document, node, err, "type has to be a text or a list of them, and is %s",
                            node_kind_name (node));
  return document_refuse (document, node, err,
                          "there is no type '%s'; there are: string, integer, number, boolean, array, object, null",
                          text_for_people (shown, sizeof shown, node->text));
}

/* "string", or a list of those. */
static int
check_type (const struct document *document, const struct node *type, struct compute_error *err)
{
  if (type->kind != NODE_LIST && (type->kind != NODE_TEXT || !is_type (type->text)))
    return refuse_type (document, type, err);
  for (size_t i = 0; i < type->count; i++)
    if (type->members[i]->kind != NODE_TEXT || !is_type (type->members[i]->text))
      return refuse_type (document, type->members[i], err);
  return 0;
}

static int
check_property (const struct document *document, const struct node *property, struct compute_error *err)
{
  const struct node *type = node_member (property, "type"), *choices = node_member (property, "enum");
  char shown[NAME_SHOWN];

  if (property->kind != NODE_MAP)
    return document_refuse (document, property, err, "the parameter '%s' has to be a map, and is %s",
                            text_for_people (shown, sizeof shown, property->key), node_kind_name (property));
  if (choices != NULL && (choices->kind != NODE_LIST || choices->count == 0))
    return document_refuse (document, choices, err, "enum has to be a list of values");
  return type != NULL ? check_type (document, type, err) : 0;
}

static int
check_properties (const struct document *document, const struct node *properties, struct compute_error *err)
{
  int result = 0;

  if (properties->kind != NODE_MAP)
    return document_refuse (document, properties, err, "properties has to be a map, and is %s",
                            node_kind_name (properties));
  for (size_t i = 0; result == 0 && i < properties->count; i++)
    result = check_property (document, properties->members[i], err);
  return result;
}

static int
check_required (const struct document *document, const struct node *required, const struct node *properties,
                struct compute_error *err)
{
  char shown[NAME_SHOWN];

  if (required->kind != NODE_LIST)
    return document_refuse (document, required, err, "required has to be a list, and is %s", node_kind_name (required));
  for (size_t i = 0; i < required->count; i++)
    {
      const struct node *name = required->members[i];

      if (name->kind != NODE_TEXT)
        return document_refuse (document, name, err, "required has to list texts, and one is %s",
                                node_kind_name (name));
      if (properties == NULL || node_member (properties, name->text) == NULL)
        return document_refuse (document, name, err, "'%s' is required, and not among the properties",
                                text_for_people (shown, sizeof shown, name->text));
    }
  return 0;
}

int
tool_schema_read (const struct document *document, const struct node *parameters, cJSON **ret_schema,
                  struct compute_error *err)
{
  const struct node *type = node_member (parameters, "type"), *required = node_member (parameters, "required");
  const struct node *properties = node_member (parameters, "properties");
  int result = 0;

  if (parameters->kind != NODE_MAP)
    return document_refuse (document, parameters, err, "parameters has to be a map, and is %s",
                            node_kind_name (parameters));
  if (type != NULL && (type->kind != NODE_TEXT || strcmp (type->text, "object") != 0))
    return document_refuse (document, type, err, "the type of a tool's parameters has to be 'object'");
  if (properties != NULL)
    result = check_properties (document, properties, err);
  if (result == 0 && required != NULL)
    result = check_required (document, required, properties, err);
  if (result != 0)
    return result;
  *ret_schema = node_to_json (parameters);
  if (type == NULL)
    cJSON_AddStringToObject (*ret_schema, "type", "object");
  return 0;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static const cJSON *
member (const cJSON *object, const char *name)
{
  return cJSON_GetObjectItemCaseSensitive (object, name);
}

bool
tool_schema_takes (const cJSON *schema, const char *argument)
{
  const cJSON *properties = member (schema, "properties");

  return properties == NULL || member (properties, argument) != NULL;
}

char *
tool_schema_list (const cJSON *schema)
{
  GString *list = g_string_new (NULL);
  const cJSON *property;
  char shown[LIST_SHOWN];

  cJSON_ArrayForEach (property, member (schema, "properties"))
      g_string_append_printf (list, "%s%s", list->len > 0 ? ", " : "", property->string);
  text_for_people (shown, sizeof shown, list->len > 0 ? list->str : "none");
  g_string_free (list, TRUE);
  return g_strdup (shown);
}

static bool
allows_more (const cJSON *schema)
{
  const cJSON *more = member (schema, "additionalProperties");

  return cJSON_IsTrue (more) || cJSON_IsObject (more);
}

static int
check_argument_type (const cJSON *value, const cJSON *type, const char *shown, struct compute_error *err)
{
  g_autoptr (GString) list = g_string_new (NULL);
  const cJSON *one;

  if (cJSON_IsString (type))
    {
      if (has_type (value, type->valuestring))
        return 0;
      g_string_append (list, type->valuestring);
    }
  cJSON_ArrayForEach (one, type)
  {
    if (has_type (value, one->valuestring))
      return 0;
    g_string_append_printf (list, "%s%s", list->len > 0 ? " or " : "", one->valuestring);
  }
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "the argument '%s' has to be of type %s, and is of type %s",
                            shown, list->str, type_of (value));
}

static int
check_choice (const cJSON *value, const cJSON *choices, const char *shown, struct compute_error *err)
{
  char *text, list[LIST_SHOWN];
  const cJSON *choice;

  cJSON_ArrayForEach (choice, choices) if (cJSON_Compare (value, choice, 1)) return 0;
  text = cJSON_PrintUnformatted (choices);
  text_for_people (list, sizeof list, text != NULL ? text : "its enum");
  cJSON_free (text);
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "the argument '%s' has to be one of %s", shown, list);
}

/* A null of a type that knows none is no argument. */
static int
check_argument (const cJSON *schema, const cJSON *value, struct compute_error *err)
{
  const cJSON *property = member (member (schema, "properties"), value->string);
  const cJSON *type = member (property, "type"), *choices = member (property, "enum");
  char shown[NAME_SHOWN];
  int result = 0;

  text_for_people (shown, sizeof shown, value->string);
  if (property == NULL && !tool_schema_takes (schema, value->string) && !allows_more (schema))
    {
      g_autofree char *list = tool_schema_list (schema);

      return compute_error_set (err, COMPUTE_E_INVALID, 0, "there is no argument '%s'; there are: %s", shown, list);
    }
  if (cJSON_IsNull (value))
    return 0;
  if (type != NULL)
    result = check_argument_type (value, type, shown, err);
  return result == 0 && choices != NULL ? check_choice (value, choices, shown, err) : result;
}

int
tool_schema_check (const cJSON *schema, const cJSON *arguments, struct compute_error *err)
{
  const cJSON *name, *value;
  char shown[NAME_SHOWN];

  cJSON_ArrayForEach (name, member (schema, "required"))
  {
    value = member (arguments, name->valuestring);
    if (value == NULL || cJSON_IsNull (value))
      return compute_error_set (err, COMPUTE_E_INVALID, 0, "the argument '%s' is missing",
                                text_for_people (shown, sizeof shown, name->valuestring));
  }
  cJSON_ArrayForEach (value, arguments)
  {
    int result = check_argument (schema, value, err);

    if (result != 0)
      return result;
  }
  return 0;
}
