/* SPDX-License-Identifier: MIT */
#include "document.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

/**
 * document.c: libyaml's events, made into a tree with a stack of the lists and maps that are open. What is refused is
 * refused at its event, so that nothing of a hostile document grows.
 */

#define SHOWN_PATH 60
#define SHOWN_KEY 40

struct document
{
  char shown_path[SHOWN_PATH];
  struct node *root;
};

/* One document while it is read. */
struct build
{
  struct document *document;
  struct node *open[DOCUMENT_MAX_DEPTH]; /* lists and maps */
  GPtrArray *members[DOCUMENT_MAX_DEPTH];
  char *keys[DOCUMENT_MAX_DEPTH]; /* of a map whose value comes next */
  int key_lines[DOCUMENT_MAX_DEPTH];
  int depth;
  struct compute_error *err;
};

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static struct node *
node_new (enum node_kind kind, int line)
{
  struct node *node = g_new0 (struct node, 1);

  node->kind = kind;
  node->line = line;
  return node;
}

/* Frees a tree without recursion: what is below a node is put behind it in a list. */
static void
free_tree (struct node *root)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();

  g_ptr_array_add (nodes, root);
  for (guint i = 0; i < nodes->len; i++)
    {
      struct node *node = nodes->pdata[i];

      for (size_t k = 0; k < node->count; k++)
        g_ptr_array_add (nodes, node->members[k]);
      g_free ((char *) node->text);
      g_free ((char *) node->key);
      g_free (node->members);
      g_free (node);
    }
}

void
document_free (struct document *document)
{
  if (document == NULL)
    return;
  if (document->root != NULL)
    free_tree (document->root);
  g_free (document);
}

const struct node *
document_root (const struct document *document)
{
  return document->root;
}

const struct node *
node_member (const struct node *map, const char *key)
{
  for (size_t i = 0; i < map->count; i++)
    if (map->members[i]->key != NULL && strcmp (map->members[i]->key, key) == 0)
      return map->members[i];
  return NULL;
}

const char *
node_kind_name (const struct node *node)
{
  static const char *const names[] = {
    [NODE_NULL] = "nothing",   [NODE_BOOL] = "true or false", [NODE_INTEGER] = "a whole number",
    [NODE_FLOAT] = "a number", [NODE_TEXT] = "a text",        [NODE_LIST] = "a list",
    [NODE_MAP] = "a map",
  };

  return names[node->kind];
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

static int
refuse_line (const struct document *document, int line, struct compute_error *err, const char *text)
{
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s:%d: %s", document->shown_path, line, text);
}

int
document_refuse (const struct document *document, const struct node *node, struct compute_error *err,
                 const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return refuse_line (document, node->line, err, text);
}

int
document_check_keys (const struct document *document, const struct node *node, const char *what,
                     const char *const *allowed, struct compute_error *err)
{
  g_autofree char *list = g_strjoinv (", ", (char **) allowed);
  char shown[SHOWN_KEY];

  if (node->kind != NODE_MAP)
    return document_refuse (document, node, err, "%s is %s; it must be a map of: %s", what, node_kind_name (node),
                            list);
  for (size_t i = 0; i < node->count; i++)
    if (!g_strv_contains (allowed, node->members[i]->key))
      return document_refuse (document, node->members[i], err, "unknown key '%s' in %s; allowed: %s",
                              text_for_people (shown, sizeof shown, node->members[i]->key), what, list);
  return 0;
}

/* ---- Scalars ----------------------------------------------------------------------------------------------------- */

static gboolean
is_word (const char *text, const char *const *words)
{
  return g_strv_contains (words, text);
}

static const char *
skip_digits (const char *text)
{
  return text + strspn (text, "0123456789");
}

/* -12, +3; not 012, which YAML 1.1 reads as octal. */
static gboolean
is_integer (const char *text)
{
  const char *digits = text + (text[0] == '-' || text[0] == '+');

  return digits[0] != '\0' && *skip_digits (digits) == '\0' && (digits[0] != '0' || digits[1] == '\0');
}

/* 1.5, .5, 1e3, -2.5E-3. */
static gboolean
is_float (const char *text)
{
  const char *start = text + (text[0] == '-' || text[0] == '+');
  const char *p = skip_digits (start);
  size_t digits = (size_t) (p - start);

  if (*p == '.')
    {
      const char *fraction = p + 1;

      p = skip_digits (fraction);
      digits += (size_t) (p - fraction);
    }
  if (digits == 0)
    return FALSE;
  if (*p == 'e' || *p == 'E')
    {
      const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');

      p = skip_digits (exponent);
      if (p == exponent)
        return FALSE;
    }
  return *p == '\0';
}

/* The core schema of YAML 1.2; numbers in its other notations stay text. */
static enum node_kind
plain_kind (const char *text)
{
  static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
  static const char *const bools[] = { "true", "True", "TRUE", "false", "False", "FALSE", NULL };

  if (is_word (text, nulls))
    return NODE_NULL;
  if (is_word (text, bools))
    return NODE_BOOL;
  if (is_integer (text))
    return NODE_INTEGER;
  return is_float (text) ? NODE_FLOAT : NODE_TEXT;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static int
event_line (const yaml_event_t *event)
{
  return (int) event->start_mark.line + 1;
}

static int
refuse_event (const struct build *build, const yaml_event_t *event, const char *why)
{
  return refuse_line (build->document, event_line (event), build->err, why);
}

/* Puts a node where it belongs. */
static void
place (struct build *build, struct node *node)
{
  int above = build->depth - 1;

  if (build->depth == 0)
    build->document->root = node;
  else
    {
      if (build->keys[above] != NULL)
        node->line = build->key_lines[above];
      node->key = g_steal_pointer (&build->keys[above]);
      g_ptr_array_add (build->members[above], node);
    }
}

static gboolean
has_key (const GPtrArray *members, const char *key)
{
  for (guint i = 0; i < members->len; i++)
    if (strcmp (((const struct node *) members->pdata[i])->key, key) == 0)
      return TRUE;
  return FALSE;
}

/* True when the next node is a map's key. */
static gboolean
wants_key (const struct build *build)
{
  return build->depth > 0 && build->open[build->depth - 1]->kind == NODE_MAP && build->keys[build->depth - 1] == NULL;
}

static int
take_key (struct build *build, const yaml_event_t *event, const char *text)
{
  int above = build->depth - 1;
  g_autofree char *why = NULL;
  char shown[SHOWN_KEY];

  if (strcmp (text, "<<") == 0)
    return refuse_event (build, event, "'<<' merges maps, which is not allowed here");
  if (has_key (build->members[above], text))
    {
      why = g_strdup_printf ("the key '%s' comes twice", text_for_people (shown, sizeof shown, text));
      return refuse_event (build, event, why);
    }
  build->keys[above] = g_strdup (text);
  build->key_lines[above] = event_line (event);
  return 0;
}

static int
take_scalar (struct build *build, const yaml_event_t *event)
{
  const char *text = (const char *) event->data.scalar.value;
  gboolean is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  struct node *node;

  if (event->data.scalar.anchor != NULL)
    return refuse_event (build, event, "anchors and aliases are not allowed here");
  if (event->data.scalar.tag != NULL)
    return refuse_event (build, event, "tags are not allowed here");
  if (strlen (text) != event->data.scalar.length)
    return refuse_event (build, event, "a text has a NUL byte");
  if (wants_key (build))
    return take_key (build, event, text);
  node = node_new (is_plain ? plain_kind (text) : NODE_TEXT, event_line (event));
  node->text = g_strdup (text);
  place (build, node);
  return 0;
}

static int
open_node (struct build *build, const yaml_event_t *event, enum node_kind kind, const yaml_char_t *anchor,
           const yaml_char_t *tag)
{
  struct node *node;

  if (anchor != NULL)
    return refuse_event (build, event, "anchors and aliases are not allowed here");
  if (tag != NULL)
    return refuse_event (build, event, "tags are not allowed here");
  if (wants_key (build))
    return refuse_event (build, event, "a key must be a text");
  if (build->depth == DOCUMENT_MAX_DEPTH)
    return refuse_event (build, event, "nested too deep");
  node = node_new (kind, event_line (event));
  place (build, node);
  build->members[build->depth] = g_ptr_array_new ();
  build->open[build->depth++] = node;
  return 0;
}

static void
close_node (struct build *build)
{
  struct node *node = build->open[--build->depth];
  GPtrArray *members = g_steal_pointer (&build->members[build->depth]);

  node->count = members->len;
  node->members = (struct node **) g_ptr_array_free (members, FALSE);
  g_clear_pointer (&build->keys[build->depth], g_free);
}

static int
take_event (struct build *build, const yaml_event_t *event)
{
  switch (event->type)
    {
    case YAML_DOCUMENT_START_EVENT:
      if (build->document->root != NULL)
        return refuse_event (build, event, "a second document begins; only one is allowed");
      return 0;
    case YAML_ALIAS_EVENT:
      return refuse_event (build, event, "anchors and aliases are not allowed here");
    case YAML_SCALAR_EVENT:
      return take_scalar (build, event);
    case YAML_SEQUENCE_START_EVENT:
      return open_node (build, event, NODE_LIST, event->data.sequence_start.anchor, event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
      return open_node (build, event, NODE_MAP, event->data.mapping_start.anchor, event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      close_node (build);
      return 0;
    default:
      return 0;
    }
}

/* libyaml's own complaint. */
static int
refuse_syntax (const struct build *build, const yaml_parser_t *parser)
{
  const char *problem = parser->problem != NULL ? parser->problem : "not valid YAML";
  g_autofree char *why = NULL;
  int line = (int) parser->problem_mark.line + 1;

  if (parser->error == YAML_MEMORY_ERROR)
    return compute_error_set (build->err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the document");
  if (parser->error == YAML_READER_ERROR)
    why = g_strdup_printf ("%s at byte %zu", problem, parser->problem_offset);
  else if (strstr (problem, "cannot start any token") != NULL)
    why = g_strdup_printf ("%s (a tab cannot indent; use spaces, and quote what begins with @ or `)", problem);
  return refuse_line (build->document, line, build->err, why != NULL ? why : problem);
}

static int
read_events (struct build *build, yaml_parser_t *parser)
{
  gboolean has_ended = FALSE;
  int rc = 0;

  while (rc == 0 && !has_ended)
    {
      yaml_event_t event;

      if (!yaml_parser_parse (parser, &event))
        return refuse_syntax (build, parser);
      has_ended = event.type == YAML_STREAM_END_EVENT;
      rc = take_event (build, &event);
      yaml_event_delete (&event);
    }
  return rc;
}

int
document_parse (const char *path, const char *text, size_t bytes, struct document **ret_document,
                struct compute_error *err)
{
  struct build build = { .document = g_new0 (struct document, 1), .err = err };
  yaml_parser_t parser;
  int rc;

  (void) text_for_people (build.document->shown_path, SHOWN_PATH, path);
  if (bytes > DOCUMENT_MAX_BYTES)
    rc = refuse_line (build.document, 1, err, "the document is over 1 MiB");
  else if (!yaml_parser_initialize (&parser))
    rc = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the document");
  else
    {
      yaml_parser_set_encoding (&parser, YAML_UTF8_ENCODING);
      yaml_parser_set_input_string (&parser, (const unsigned char *) text, bytes);
      rc = read_events (&build, &parser);
      yaml_parser_delete (&parser);
    }
  while (build.depth > 0)
    close_node (&build);
  if (rc == 0 && build.document->root == NULL)
    build.document->root = node_new (NODE_NULL, 1);
  if (rc == 0)
    *ret_document = build.document;
  else
    document_free (build.document);
  return rc;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int
refuse_file (const char *path, int error, struct compute_error *err)
{
  int code = error == ENOENT || error == ENOTDIR ? COMPUTE_E_NOT_FOUND
             : error == EACCES                   ? COMPUTE_E_DENIED
                                                 : COMPUTE_E_SYSTEM;
  char shown[SHOWN_PATH * 2];

  return compute_error_set (err, code, error, "could not read %s: %s", text_for_people (shown, sizeof shown, path),
                            text_of_errno (error));
}

/* Up to one byte more than is allowed. */
static int
read_all (int fd, GString *text)
{
  ssize_t count = 1;

  while (count != 0 && text->len <= DOCUMENT_MAX_BYTES)
    {
      char buffer[16384];

      count = read (fd, buffer, sizeof buffer);
      if (count < 0 && errno != EINTR)
        return errno;
      if (count > 0)
        g_string_append_len (text, buffer, count);
    }
  return 0;
}

int
document_load (const char *path, struct document **ret_document, struct compute_error *err)
{
  g_autoptr (GString) text = g_string_new (NULL);
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat about;
  char shown[SHOWN_PATH * 2];
  int error;

  if (fd < 0)
    return refuse_file (path, errno, err);
  error = fstat (fd, &about) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG (about.st_mode))
    {
      close (fd);
      return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s is no regular file",
                                text_for_people (shown, sizeof shown, path));
    }
  if (error == 0)
    error = read_all (fd, text);
  close (fd);
  if (error != 0)
    return refuse_file (path, error, err);
  return document_parse (path, text->str, text->len, ret_document, err);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static cJSON *
json_of_one (const struct node *node)
{
  switch (node->kind)
    {
    case NODE_NULL:
      return cJSON_CreateNull ();
    case NODE_BOOL:
      return cJSON_CreateBool (g_ascii_strcasecmp (node->text, "true") == 0);
    case NODE_INTEGER:
    case NODE_FLOAT:
      return cJSON_CreateNumber (g_ascii_strtod (node->text, NULL));
    case NODE_TEXT:
      return cJSON_CreateString (node->text);
    case NODE_LIST:
      return cJSON_CreateArray ();
    case NODE_MAP:
      return cJSON_CreateObject ();
    }
  g_assert_not_reached ();
}

/* A node whose members are still to be made, and what they go into. */
struct pending
{
  const struct node *node;
  cJSON *json;
};

cJSON *
node_to_json (const struct node *node)
{
  g_autoptr (GArray) pending = g_array_new (FALSE, FALSE, sizeof (struct pending));
  struct pending root = { node, json_of_one (node) };

  g_array_append_val (pending, root);
  for (guint i = 0; i < pending->len; i++)
    {
      struct pending now = g_array_index (pending, struct pending, i);

      for (size_t k = 0; k < now.node->count; k++)
        {
          struct pending below = { now.node->members[k], json_of_one (now.node->members[k]) };

          if (now.node->kind == NODE_MAP)
            cJSON_AddItemToObject (now.json, below.node->key, below.json);
          else
            cJSON_AddItemToArray (now.json, below.json);
          g_array_append_val (pending, below);
        }
    }
  return root.json;
}
