/* SPDX-License-Identifier: MIT */
#include "document.h"

#include "text.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define PATH_SHOWN 100 /* bytes of a path in a message: its end says more than its start */
#define TEXT_SHOWN 60

struct document
{
  char *path;         /* as messages show it */
  GPtrArray *nodes;   /* all of them */
  GStringChunk *text; /* theirs */
  struct node *root;
};

/* A list or a map whose end has not come. */
struct open
{
  struct node *node;
  GPtrArray *members;
  GHashTable *keys; /* of a map: key -> its line */
  const char *key;  /* of a map: the one whose value comes next */
  int key_line;
};

struct builder
{
  struct document *document;
  yaml_parser_t parser;
  const char *text;
  size_t at;         /* a place in text, */
  size_t characters; /* so many characters behind its start: libyaml counts these */
  struct open open[DOCUMENT_MAX_DEPTH];
  unsigned depth;
  struct compute_error *err;
};

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static char *
path_for_people (const char *path)
{
  size_t length = strlen (path);
  const char *from = length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
  char shown[4 * PATH_SHOWN + 8];

  while (((unsigned char) *from & 0xC0) == 0x80) /* not in the middle of a character */
    from++;
  return g_strconcat (from == path ? "" : "...", text_for_people (shown, sizeof shown, from), NULL);
}

COMPUTE_PRINTF (4, 5)
static int
refuse_line (const struct document *document, int line, struct compute_error *err, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s:%d: %s", document->path, line, what);
}

int
document_refuse (const struct document *document, const struct node *node, struct compute_error *err,
                 const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  return refuse_line (document, node->line, err, "%s", what);
}

static int
line_of (const char *text, size_t offset)
{
  int line = 1;

  for (size_t i = 0; i < offset; i++)
    line += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
  return line;
}

/* ---- What is no text for us -------------------------------------------------------------------------------------- */

static int
check_bytes (const struct document *document, const char *text, size_t bytes, struct compute_error *err)
{
  /* Ends of lines to YAML 1.1, and none to YAML 1.2, to JSON and to editors. */
  static const char *const breaks[] = { "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
  const char *nul = memchr (text, '\0', bytes), *bad;

  if (nul != NULL)
    return refuse_line (document, line_of (text, (size_t) (nul - text)), err, "holds a NUL byte");
  if (!g_utf8_validate_len (text, bytes, &bad))
    return refuse_line (document, line_of (text, (size_t) (bad - text)), err, "holds bytes that are not UTF-8");
  for (size_t i = 0; i < G_N_ELEMENTS (breaks); i++)
    if ((bad = g_strstr_len (text, (gssize) bytes, breaks[i])) != NULL)
      return refuse_line (document, line_of (text, (size_t) (bad - text)), err,
                          "U+%04X may be an end of a line or not; write it in double quotes as \\u%04X",
                          g_utf8_get_char (bad), g_utf8_get_char (bad));
  return 0;
}

/* ---- Plain scalars ----------------------------------------------------------------------------------------------- */

static size_t
count_digits (const char *text)
{
  return strspn (text, "0123456789");
}

static bool
is_exponent (const char *text)
{
  size_t digits;

  if (*text != 'e' && *text != 'E')
    return false;
  text += text[1] == '+' || text[1] == '-' ? 2 : 1;
  digits = count_digits (text);
  return digits > 0 && text[digits] == '\0';
}

/* 017 is a number of another base to some, 1e999 is none that can be told: they are text. */
static enum node_kind
kind_of_number (const char *text)
{
  const char *number = text + (*text == '-' || *text == '+');
  size_t whole = count_digits (number), part;

  if (number[0] == '0' && whole > 1)
    return NODE_TEXT;
  if (number[whole] == '\0')
    return whole > 0 && isfinite (g_ascii_strtod (text, NULL)) ? NODE_INTEGER : NODE_TEXT;
  part = number[whole] == '.' ? count_digits (number + whole + 1) : 0;
  if (whole + part == 0)
    return NODE_TEXT;
  number += whole + (number[whole] == '.' ? part + 1 : 0);
  return (*number == '\0' || is_exponent (number)) && isfinite (g_ascii_strtod (text, NULL)) ? NODE_FLOAT : NODE_TEXT;
}

static enum node_kind
kind_of_plain (const char *text)
{
  static const struct
  {
    const char *word;
    enum node_kind kind;
  } words[] = {
    { "", NODE_NULL },      { "~", NODE_NULL },     { "null", NODE_NULL },  { "Null", NODE_NULL },
    { "NULL", NODE_NULL },  { "true", NODE_BOOL },  { "True", NODE_BOOL },  { "TRUE", NODE_BOOL },
    { "false", NODE_BOOL }, { "False", NODE_BOOL }, { "FALSE", NODE_BOOL },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (words); i++)
    if (strcmp (text, words[i].word) == 0)
      return words[i].kind;
  return kind_of_number (text);
}

/* ---- Building ---------------------------------------------------------------------------------------------------- */

static int
event_line (const yaml_event_t *event)
{
  return (int) event->start_mark.line + 1;
}

/* The character at a mark; marks come in order. */
static const char *
character_at (struct builder *builder, const yaml_mark_t *mark)
{
  while (builder->characters < mark->index && builder->text[builder->at] != '\0')
    {
      builder->at += (size_t) g_utf8_skip[(unsigned char) builder->text[builder->at]];
      builder->characters++;
    }
  return builder->text + builder->at;
}

static struct open *
innermost (struct builder *builder)
{
  return builder->depth > 0 ? &builder->open[builder->depth - 1] : NULL;
}

static bool
is_key_next (struct builder *builder)
{
  const struct open *open = innermost (builder);

  return open != NULL && open->keys != NULL && open->key == NULL;
}

/* A new node in its place. A map's member has the line of its key. */
static struct node *
add_node (struct builder *builder, enum node_kind kind, int line)
{
  struct node *node = g_new0 (struct node, 1);
  struct open *open = innermost (builder);

  *node = (struct node){ .kind = kind, .line = line };
  g_ptr_array_add (builder->document->nodes, node);
  if (open == NULL)
    builder->document->root = node;
  else
    g_ptr_array_add (open->members, node);
  if (open != NULL && open->key != NULL)
    {
      node->key = open->key;
      node->line = open->key_line;
      open->key = NULL;
    }
  return node;
}

static int
take_key (struct builder *builder, const char *text, enum node_kind kind, int line)
{
  struct open *open = innermost (builder);
  const struct node as_node = { .kind = kind };
  char shown[TEXT_SHOWN];
  gpointer first;

  text_for_people (shown, sizeof shown, text);
  if (kind != NODE_TEXT)
    return refuse_line (builder->document, line, builder->err, "the key '%s' is %s; put it in quotes", shown,
                        node_kind_name (&as_node));
  if (g_hash_table_lookup_extended (open->keys, text, NULL, &first))
    return refuse_line (builder->document, line, builder->err, "the key '%s' comes twice, first in line %d", shown,
                        GPOINTER_TO_INT (first));
  open->key = g_string_chunk_insert (builder->document->text, text);
  open->key_line = line;
  g_hash_table_insert (open->keys, (gpointer) open->key, GINT_TO_POINTER (line));
  return 0;
}

static int
take_scalar (struct builder *builder, const yaml_event_t *event)
{
  const char *text = (const char *) event->data.scalar.value;
  enum node_kind kind = NODE_TEXT;
  struct node *node;

  if (strlen (text) != event->data.scalar.length)
    return refuse_line (builder->document, event_line (event), builder->err, "a text holds a NUL byte");
  if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
    kind = kind_of_plain (text);
  if (is_key_next (builder))
    return take_key (builder, text, kind, event_line (event));
  node = add_node (builder, kind, event_line (event));
  node->text = g_string_chunk_insert (builder->document->text, text);
  return 0;
}

static int
open_node (struct builder *builder, const yaml_event_t *event, enum node_kind kind)
{
  struct node *node;

  if (is_key_next (builder))
    return refuse_line (builder->document, event_line (event), builder->err, "a key has to be a text");
  if (builder->depth == DOCUMENT_MAX_DEPTH)
    return refuse_line (builder->document, event_line (event), builder->err, "nested deeper than %d levels",
                        DOCUMENT_MAX_DEPTH);
  node = add_node (builder, kind, event_line (event));
  builder->open[builder->depth++] = (struct open){
    .node = node,
    .members = g_ptr_array_new (),
    .keys = kind == NODE_MAP ? g_hash_table_new (g_str_hash, g_str_equal) : NULL,
  };
  return 0;
}

static void
close_node (struct builder *builder)
{
  struct open *open = innermost (builder);

  open->node->count = open->members->len;
  open->node->members = (struct node **) g_ptr_array_free (open->members, FALSE);
  g_clear_pointer (&open->keys, g_hash_table_unref);
  builder->depth--;
}

static int
refuse_anchor (struct builder *builder, const yaml_event_t *event)
{
  return refuse_line (builder->document, event_line (event), builder->err,
                      "anchors (&) and aliases (*) are not allowed; write the value out, or put it in quotes");
}

/* The tag "!" alone is none to libyaml: its place tells. */
static int
check_properties (struct builder *builder, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag)
{
  if (anchor != NULL)
    return refuse_anchor (builder, event);
  if (tag != NULL || *character_at (builder, &event->start_mark) == '!')
    return refuse_line (builder->document, event_line (event), builder->err,
                        "tags (!) are not allowed; a text that starts with ! goes in quotes");
  return 0;
}

static int
take_event (struct builder *builder, const yaml_event_t *event)
{
  int result = 0;

  switch (event->type)
    {
    case YAML_DOCUMENT_START_EVENT:
      if (builder->document->root != NULL)
        return refuse_line (builder->document, event_line (event), builder->err, "a second document starts here");
      break;
    case YAML_ALIAS_EVENT:
      return refuse_anchor (builder, event);
    case YAML_SCALAR_EVENT:
      result = check_properties (builder, event, event->data.scalar.anchor, event->data.scalar.tag);
      return result == 0 ? take_scalar (builder, event) : result;
    case YAML_SEQUENCE_START_EVENT:
      result = check_properties (builder, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
      return result == 0 ? open_node (builder, event, NODE_LIST) : result;
    case YAML_MAPPING_START_EVENT:
      result = check_properties (builder, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
      return result == 0 ? open_node (builder, event, NODE_MAP) : result;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      close_node (builder);
      break;
    default:
      break;
    }
  return 0;
}

/* What libyaml did not take. */
static int
refuse_syntax (struct builder *builder)
{
  const yaml_parser_t *parser = &builder->parser;
  const char *problem = parser->problem != NULL ? parser->problem : "this is no YAML";
  int last = line_of (builder->text, MAX (strlen (builder->text), 1) - 1);
  int line = MIN ((int) parser->problem_mark.line + 1, last); /* the end is behind it */
  int from = (int) parser->context_mark.line + 1;

  if (parser->error == YAML_MEMORY_ERROR)
    return compute_error_set (builder->err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for '%s'", builder->document->path);
  if (parser->error == YAML_READER_ERROR)
    return refuse_line (builder->document, line_of (builder->text, parser->problem_offset), builder->err, "%s",
                        problem);
  if (*character_at (builder, &parser->problem_mark) == '\t' || strstr (problem, "tab character") != NULL)
    return refuse_line (builder->document, line, builder->err, "a tab indents here; indent with blanks");
  if (parser->context != NULL && from < line)
    return refuse_line (builder->document, line, builder->err, "%s, %s that starts in line %d", problem,
                        parser->context, from);
  return refuse_line (builder->document, line, builder->err, "%s", problem);
}

static int
build (struct builder *builder)
{
  bool has_ended = false;
  int result = 0;

  while (result == 0 && !has_ended)
    {
      yaml_event_t event;

      if (!yaml_parser_parse (&builder->parser, &event))
        return refuse_syntax (builder);
      has_ended = event.type == YAML_STREAM_END_EVENT;
      result = take_event (builder, &event);
      yaml_event_delete (&event);
    }
  if (result == 0 && builder->document->root == NULL)
    add_node (builder, NODE_NULL, 1)->text = "";
  return result;
}

/* ---- Documents --------------------------------------------------------------------------------------------------- */

static void
node_free (gpointer data)
{
  struct node *node = data;

  g_free (node->members);
  g_free (node);
}

static struct document *
document_new (const char *path)
{
  struct document *document = g_new0 (struct document, 1);

  document->path = path_for_people (path);
  document->nodes = g_ptr_array_new_with_free_func (node_free);
  document->text = g_string_chunk_new (1024);
  return document;
}

void
document_free (struct document *document)
{
  if (document == NULL)
    return;
  g_ptr_array_unref (document->nodes);
  g_string_chunk_free (document->text);
  g_free (document->path);
  g_free (document);
}

/* text has a NUL behind its bytes. */
static int
parse (struct document *document, const char *text, size_t bytes, struct compute_error *err)
{
  struct builder builder = { .document = document, .text = text, .err = err };
  int result = check_bytes (document, text, bytes, err);

  if (result != 0)
    return result;
  if (!yaml_parser_initialize (&builder.parser))
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for '%s'", document->path);
  yaml_parser_set_encoding (&builder.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string (&builder.parser, (const unsigned char *) text, bytes);
  result = build (&builder);
  while (builder.depth > 0)
    close_node (&builder);
  yaml_parser_delete (&builder.parser);
  return result;
}

int
document_parse (const char *path, const char *text, size_t bytes, struct document **ret_document,
                struct compute_error *err)
{
  struct document *document = document_new (path);
  int result;

  if (bytes > DOCUMENT_MAX_BYTES)
    result = compute_error_set (err, COMPUTE_E_INVALID, 0, "%s: is larger than %d bytes", document->path,
                                DOCUMENT_MAX_BYTES);
  else
    {
      g_autoptr (GString) ended = g_string_new_len (text, (gssize) bytes);

      result = parse (document, ended->str, bytes, err);
    }
  if (result == 0)
    *ret_document = document;
  else
    document_free (document);
  return result;
}

const struct node *
document_root (const struct document *document)
{
  return document->root;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int
refuse_file (const char *shown, const char *what, struct compute_error *err)
{
  int code = errno == ENOENT || errno == ENOTDIR ? COMPUTE_E_NOT_FOUND
             : errno == EACCES || errno == EPERM ? COMPUTE_E_DENIED
                                                 : COMPUTE_E_SYSTEM;

  return compute_error_set (err, code, errno, "%s: cannot %s it: %s", shown, what, text_of_errno (errno));
}

/* A FIFO without a writer would be waited for. */
static int
open_regular (const char *path, const char *shown, int *ret_fd, struct compute_error *err)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status;
  int result = 0;

  if (fd < 0)
    return refuse_file (shown, "open", err);
  if (fstat (fd, &status) != 0)
    result = refuse_file (shown, "look at", err);
  else if (!S_ISREG (status.st_mode))
    result = compute_error_set (err, COMPUTE_E_INVALID, 0, "%s: is %s, not a regular file", shown,
                                S_ISDIR (status.st_mode)    ? "a folder"
                                : S_ISFIFO (status.st_mode) ? "a FIFO"
                                                            : "a device");
  if (result != 0)
    close (fd);
  else
    *ret_fd = fd;
  return result;
}

/* One byte more than is allowed tells that there are too many. */
static int
read_all (int fd, const char *shown, char *buffer, size_t *ret_bytes, struct compute_error *err)
{
  size_t used = 0;
  ssize_t count = 1;

  while (count > 0 && used <= DOCUMENT_MAX_BYTES)
    {
      count = read (fd, buffer + used, DOCUMENT_MAX_BYTES + 1 - used);
      if (count < 0 && errno == EINTR)
        count = 1;
      else if (count < 0)
        return refuse_file (shown, "read", err);
      else
        used += (size_t) count;
    }
  *ret_bytes = used;
  return 0;
}

int
document_load (const char *path, struct document **ret_document, struct compute_error *err)
{
  g_autofree char *shown = path_for_people (path);
  g_autofree char *buffer = NULL;
  size_t bytes = 0;
  int fd = -1, result = open_regular (path, shown, &fd, err);

  if (result != 0)
    return result;
  buffer = g_malloc (DOCUMENT_MAX_BYTES + 1);
  result = read_all (fd, shown, buffer, &bytes, err);
  close (fd);
  return result == 0 ? document_parse (path, buffer, bytes, ret_document, err) : result;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

const struct node *
node_member (const struct node *map, const char *key)
{
  for (size_t i = 0; map->kind == NODE_MAP && i < map->count; i++)
    if (strcmp (map->members[i]->key, key) == 0)
      return map->members[i];
  return NULL;
}

const char *
node_kind_name (const struct node *node)
{
  static const char *const names[] = {
    [NODE_NULL] = "nothing", [NODE_BOOL] = "true or false", [NODE_INTEGER] = "an integer", [NODE_FLOAT] = "a number",
    [NODE_TEXT] = "a text",  [NODE_LIST] = "a list",        [NODE_MAP] = "a map",
  };

  return names[node->kind];
}

static bool
is_among (const char *key, const char *const *allowed)
{
  for (; *allowed != NULL; allowed++)
    if (strcmp (key, *allowed) == 0)
      return true;
  return false;
}

int
document_check_keys (const struct document *document, const struct node *node, const char *what,
                     const char *const *allowed, struct compute_error *err)
{
  if (node->kind != NODE_MAP)
    return document_refuse (document, node, err, "%s has to be a map, and is %s", what, node_kind_name (node));
  for (size_t i = 0; i < node->count; i++)
    if (!is_among (node->members[i]->key, allowed))
      {
        g_autofree char *list = g_strjoinv (", ", (char **) allowed);
        char shown[TEXT_SHOWN];

        return document_refuse (document, node->members[i], err, "%s has no key '%s'; allowed: %s", what,
                                text_for_people (shown, sizeof shown, node->members[i]->key), list);
      }
  return 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static cJSON *
json_of (const struct node *node)
{
  switch (node->kind)
    {
    case NODE_BOOL:
      return cJSON_CreateBool (node->text[0] == 't' || node->text[0] == 'T');
    case NODE_INTEGER:
    case NODE_FLOAT:
      return cJSON_CreateNumber (g_ascii_strtod (node->text, NULL));
    case NODE_TEXT:
      return cJSON_CreateString (node->text);
    case NODE_LIST:
      return cJSON_CreateArray ();
    case NODE_MAP:
      return cJSON_CreateObject ();
    case NODE_NULL:
      break;
    }
  return cJSON_CreateNull ();
}

/* A list or a map on its way into JSON. */
struct copied
{
  const struct node *node;
  cJSON *json;
  size_t next;
};

cJSON *
node_to_json (const struct node *node)
{
  struct copied stack[DOCUMENT_MAX_DEPTH + 1] = { { node, json_of (node), 0 } };
  unsigned depth = 1;

  while (depth > 0)
    {
      struct copied *top = &stack[depth - 1];
      const struct node *member;
      cJSON *json;

      if (top->next == top->node->count)
        {
          depth--;
          continue;
        }
      member = top->node->members[top->next++];
      json = json_of (member);
      if (top->node->kind == NODE_MAP)
        cJSON_AddItemToObject (top->json, member->key, json);
      else
        cJSON_AddItemToArray (top->json, json);
      if (member->count > 0)
        stack[depth++] = (struct copied){ member, json, 0 };
    }
  return stack[0].json;
}
