/* SPDX-License-Identifier: MIT */
#ifndef CORE_DOCUMENT_H
#define CORE_DOCUMENT_H

#include <cjson/cJSON.h>
#include <compute/error.h>
#include <glib.h>

/**
 * A YAML document (of which JSON is a part) as a tree whose nodes know their lines. What is ambiguous or hostile is an
 * error that says where, "FILE:LINE: ...": more than one document, keys that come twice or are no plain text, anchors
 * and aliases, tags, bytes that are no UTF-8, a NUL, a document over DOCUMENT_MAX_BYTES, nesting over
 * DOCUMENT_MAX_DEPTH. An empty file is a document whose root is null.
 */
#define DOCUMENT_MAX_BYTES (1024 * 1024)
#define DOCUMENT_MAX_DEPTH 32

/* The core schema's kinds: only a plain scalar is other than text. */
enum node_kind
{
  NODE_NULL,
  NODE_BOOL,    /* text is "true" or "false" in any case that YAML knows */
  NODE_INTEGER, /* decimal, perhaps with a sign */
  NODE_FLOAT,   /* decimal, with a point or an exponent */
  NODE_TEXT,
  NODE_LIST,
  NODE_MAP
};

struct document;

struct node
{
  enum node_kind kind;
  int line;              /* from 1; a map's member has its key's */
  const char *text;      /* of a scalar, as it stands */
  const char *key;       /* of a map's member; NULL elsewhere */
  struct node **members; /* of a list or a map, in order */
  size_t count;
};

/* path is what messages call the file. */
int document_parse (const char *path, const char *text, size_t bytes, struct document **ret_document,
                    struct compute_error *err);
int document_load (const char *path, struct document **ret_document, struct compute_error *err);

/* Accepts NULL. */
void document_free (struct document *document);

const struct node *document_root (const struct document *document);

/* A map's member, or NULL. */
const struct node *node_member (const struct node *map, const char *key);

/* "a list", for messages. */
const char *node_kind_name (const struct node *node);

/* Says what is wrong at a node: "FILE:LINE: ...". Returns COMPUTE_E_INVALID. */
int document_refuse (const struct document *document, const struct node *node, struct compute_error *err,
                     const char *format, ...) COMPUTE_PRINTF (4, 5);

/* Refuses a node that is no map, and one with a key that is not among those allowed (NULL-terminated), which the
 * message lists. what is what messages call the map, "resources". */
int document_check_keys (const struct document *document, const struct node *node, const char *what,
                         const char *const *allowed, struct compute_error *err);

/* A tree of cJSON's for a node; the caller frees it. Numbers are doubles there. */
cJSON *node_to_json (const struct node *node);

#endif
