/* SPDX-License-Identifier: MIT */
/* A file of tools: a map from each one's name to what it is. */
#include "document.h"
#include "text.h"
#include "tool_place.h"
#include "tool_schema.h"

#include <string.h>

#define NAME_MAX_BYTES 64 /* what model APIs and MCP take */
#define NAME_SHOWN 80
#define TIMEOUT_MAX_MS 9e15 /* more than there is time */

static const char *const tool_keys[] = { "description", "parameters", "command", "timeout", NULL };

static bool
is_tool_name (const char *name)
{
  size_t bytes = strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

  return bytes > 0 && bytes <= NAME_MAX_BYTES && name[bytes] == '\0';
}

/* A key of a tool that has to be a text, or NULL where it is left out. */
static int
read_text (const struct document *document, const struct node *tool, const char *key, const char **ret_text,
           struct compute_error *err)
{
  const struct node *node = node_member (tool, key);

  if (node != NULL && node->kind != NODE_TEXT)
    return document_refuse (document, node, err, "%s has to be a text, and is %s", key, node_kind_name (node));
  *ret_text = node != NULL ? node->text : NULL;
  return 0;
}

/* Seconds, rounded up: 0 means no limit. */
static int
read_timeout (const struct document *document, const struct node *tool, int64_t *ret_ms, struct compute_error *err)
{
  const struct node *node = node_member (tool, "timeout");
  double ms;

  *ret_ms = COMPUTE_UNSET;
  if (node == NULL)
    return 0;
  if (node->kind != NODE_INTEGER && node->kind != NODE_FLOAT)
    return document_refuse (document, node, err, "timeout has to be a number of seconds, and is %s",
                            node_kind_name (node));
  ms = g_ascii_strtod (node->text, NULL) * 1000;
  if (ms < 0 || ms > TIMEOUT_MAX_MS)
    return document_refuse (document, node, err, "timeout has to be a number of seconds, from 0 (no limit)");
  *ret_ms = (int64_t) ms;
  *ret_ms += (double) *ret_ms < ms;
  return 0;
}

/* Each placeholder of the command is a parameter. */
static int
check_placeholders (const struct document *document, const struct node *command, const struct tool *tool,
                    struct compute_error *err)
{
  for (size_t i = 0;; i++)
    {
      g_autofree char *name = template_dup_argument (tool->template, i);
      g_autofree char *list = NULL;
      char shown[NAME_SHOWN];

      if (name == NULL)
        return 0;
      if (tool_schema_takes (tool->schema, name))
        continue;
      list = tool_schema_list (tool->schema);
      return document_refuse (document, command, err, "{{%s}} is not among the properties of parameters: %s",
                              text_for_people (shown, sizeof shown, name), list);
    }
}

static int
read_parameters (const struct document *document, const struct node *node, struct tool *tool, struct compute_error *err)
{
  const struct node *parameters = node_member (node, "parameters");
  int result;

  if (parameters == NULL)
    return 0;
  result = tool_schema_read (document, parameters, &tool->schema, err);
  if (result != 0)
    return result;
  tool->parameters = cJSON_PrintUnformatted (tool->schema);
  return check_placeholders (document, node_member (node, "command"), tool, err);
}

/* A tool of its command; an error of that has its line. */
static int
make_tool (const struct document *document, const struct node *node, struct tool **ret_tool, struct compute_error *err)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  const char *command = NULL;
  int64_t timeout_ms = COMPUTE_UNSET;
  int result = read_text (document, node, "command", &command, err);

  if (result == 0)
    result = read_timeout (document, node, &timeout_ms, err);
  if (result != 0)
    return result;
  if (command == NULL)
    return document_refuse (document, node, err, "the tool '%s' has no command", node->key);
  if (command[strspn (command, " \t\r\n")] == '\0')
    return document_refuse (document, node_member (node, "command"), err, "the command is empty");
  result = tool_new (command, timeout_ms, ret_tool, &why);
  if (result == COMPUTE_E_INVALID)
    return document_refuse (document, node_member (node, "command"), err, "%s", why.message);
  return result != 0 ? compute_error_set (err, result, why.sys_errno, "%s", why.message) : 0;
}

static int
read_tool (const struct document *document, const struct node *node, GHashTable *tools, struct compute_error *err)
{
  const char *description = NULL;
  struct tool *tool = NULL;
  char shown[NAME_SHOWN];
  int result;

  if (!is_tool_name (node->key))
    return document_refuse (document, node, err, "'%s' is no tool's name: 1 to %d of A-Z a-z 0-9 _ -",
                            text_for_people (shown, sizeof shown, node->key), NAME_MAX_BYTES);
  result = document_check_keys (document, node, node->key, tool_keys, err);
  if (result == 0)
    result = read_text (document, node, "description", &description, err);
  if (result == 0)
    result = make_tool (document, node, &tool, err);
  if (result != 0)
    return result;
  tool->description = g_strdup (description);
  g_hash_table_insert (tools, g_strdup (node->key), tool);
  return read_parameters (document, node, tool, err);
}

static int
read_tools (const struct document *document, GHashTable *tools, struct compute_error *err)
{
  const struct node *root = document_root (document);
  int result = 0;

  if (root->kind == NODE_NULL || (root->kind == NODE_MAP && root->count == 0))
    return document_refuse (document, root, err, "declares no tool");
  if (root->kind != NODE_MAP)
    return document_refuse (document, root, err, "has to be a map from each tool's name to what it is, and is %s",
                            node_kind_name (root));
  for (size_t i = 0; result == 0 && i < root->count; i++)
    result = read_tool (document, root->members[i], tools, err);
  return result;
}

int
compute_place_load_tools (struct compute_place *place, const char *path, struct compute_error *err)
{
  g_autoptr (GHashTable) tools = tools_new ();
  struct document *document = NULL;
  int result = place_check_commands (place, err);

  if (result == 0 && (path == NULL || path[0] == '\0'))
    result = compute_error_set (err, COMPUTE_E_INVALID, 0, "the file of tools has no path");
  if (result == 0)
    result = document_load (path, &document, err);
  if (result == 0)
    result = read_tools (document, tools, err);
  if (result == 0)
    place_declare (place, tools);
  document_free (document);
  return result;
}
