/* SPDX-License-Identifier: MIT */

/* Strict documents: whatever the bytes are, a document is a tree within its limits that JSON can hold and that is the
 * same when that is read again, or an error that names the file and a line. */
#include "document.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count);

static void
check_node (const struct node *node, const struct node *parent)
{
  if (node->line < (parent != NULL ? parent->line : 1))
    abort ();
  if ((node->key != NULL) != (parent != NULL && parent->kind == NODE_MAP))
    abort ();
  if (node->kind < NODE_LIST && (node->text == NULL || node->count > 0 || !text_is_utf8 (node->text)))
    abort ();
  if (node->key != NULL && !text_is_utf8 (node->key))
    abort ();
}

static void
check_tree (const struct node *root)
{
  GPtrArray *open = g_ptr_array_new ();

  check_node (root, NULL);
  g_ptr_array_add (open, (gpointer) root);
  while (open->len > 0)
    {
      const struct node *node = g_ptr_array_steal_index_fast (open, open->len - 1);

      for (size_t i = 0; i < node->count; i++)
        {
          check_node (node->members[i], node);
          g_ptr_array_add (open, node->members[i]);
        }
    }
  g_ptr_array_unref (open);
}

/* JSON is a part of YAML. */
static void
check_json (const struct document *document)
{
  cJSON *json = node_to_json (document_root (document)), *again;
  char *text = cJSON_PrintUnformatted (json);
  struct document *second;
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (text == NULL)
    abort ();
  if (document_parse ("x", text, strlen (text), &second, &err) == 0)
    {
      again = node_to_json (document_root (second));
      if (!cJSON_Compare (json, again, 1))
        abort ();
      cJSON_Delete (again);
      document_free (second);
    }
  cJSON_free (text);
  cJSON_Delete (json);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count)
{
  static const char *const none[] = { NULL };
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct document *document = NULL;

  if (document_parse ("x\n", (const char *) bytes, count, &document, &err) != 0)
    {
      if (document != NULL || !text_is_utf8 (err.message) || strncmp (err.message, "x\\x0a:", 6) != 0)
        abort ();
      return 0;
    }
  check_tree (document_root (document));
  check_json (document);
  if (document_check_keys (document, document_root (document), "it", none, &err) != 0 && !text_is_utf8 (err.message))
    abort ();
  document_free (document);
  return 0;
}
