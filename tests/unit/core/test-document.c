/* SPDX-License-Identifier: MIT */

/* What a strict document takes, what it makes of it, and what it says of the rest. */
#include "document.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
parse (const char *text, struct document **ret_document, struct compute_error *err)
{
  return document_parse ("file.yaml", text, strlen (text), ret_document, err);
}

static struct document *
parse_good (const char *text)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct document *document = NULL;

  if (parse (text, &document, &err) != 0)
    g_error ("'%s' gave '%s'", text, err.message);
  return document;
}

static void
check_json (const char *text, const char *json)
{
  struct document *document = parse_good (text);
  cJSON *tree = node_to_json (document_root (document));
  char *printed = cJSON_PrintUnformatted (tree);

  if (strcmp (printed, json) != 0)
    g_error ("'%s' gave '%s', not '%s'", text, printed, json);
  cJSON_free (printed);
  cJSON_Delete (tree);
  document_free (document);
}

static void
test_yaml_and_json_are_read (void)
{
  check_json ("", "null");
  check_json ("# nothing\n", "null");
  check_json ("---\n...\n", "null");
  check_json ("\xef\xbb\xbf"
              "a: 1\n",
              "{\"a\":1}");
  check_json ("a: 1\r\nb:\r\n  - x\r\n  - {c: [d, \"e\\n\"]}\r\n", "{\"a\":1,\"b\":[\"x\",{\"c\":[\"d\",\"e\\n\"]}]}");
  check_json ("{\"a\": {\"b\": [1, -2.5, 1e3, true, null, \"\\u00e9\\/\"]},\n\t\"c\": []}",
              "{\"a\":{\"b\":[1,-2.5,1000,true,null,\"\xc3\xa9/\"]},\"c\":[]}");
  check_json ("a: |\n  one\n    two\nb: >\n  one\n  two\n? c\n: d\n",
              "{\"a\":\"one\\n  two\\n\",\"b\":\"one two\\n\",\"c\":\"d\"}");
  check_json ("%YAML 1.1\n---\na:\n- b\n", "{\"a\":[\"b\"]}");
  check_json ("- x!y & z *t\n- '!'\n", "[\"x!y & z *t\",\"!\"]");
}

static void
test_plain_scalars_follow_the_core_schema (void)
{
  static const struct
  {
    enum node_kind kind;
    const char *words[26];
  } rows[] = {
    { NODE_NULL, { "null", "Null", "NULL", "~", "" } },
    { NODE_BOOL, { "true", "True", "TRUE", "false", "False", "FALSE" } },
    { NODE_INTEGER, { "0", "7", "-1", "+5", "-0", "123456789012345678901234567890" } },
    { NODE_FLOAT, { "1.5", "-1.", ".5", "1e3", "1.5E-3", "+0.0", "0.1e+10" } },
    { NODE_TEXT,
      { "yes",  "no",   "on", "off",        "y",     "nULL", "tRue", "017", "0o7",   "0x1F", "0b1", "1_000",   ".inf",
        ".nan", "1:30", ".",  "2001-01-01", "1e999", "+",    "1e",   "e1",  "1.2.3", "00",   "--1", "infinity" } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (rows[i].words) && rows[i].words[k] != NULL; k++)
      {
        g_autofree char *plain = g_strdup_printf ("a: %s\n", rows[i].words[k]);
        g_autofree char *quoted = g_strdup_printf ("a: '%s'\n", rows[i].words[k]);
        struct document *document = parse_good (plain);
        const struct node *node = node_member (document_root (document), "a");

        if (node->kind != rows[i].kind)
          g_error ("'%s' is %s", rows[i].words[k], node_kind_name (node));
        g_assert_cmpstr (node->text, ==, rows[i].words[k]);
        document_free (document);
        document = parse_good (quoted);
        node = node_member (document_root (document), "a");
        g_assert_cmpint (node->kind, ==, NODE_TEXT);
        g_assert_cmpstr (node->text, ==, rows[i].words[k]);
        document_free (document);
      }
}

static void
test_nodes_know_their_lines (void)
{
  struct document *document = parse_good ("# x\na:\n\n  - b\n  -\n    c: |\n      d\n  - {e: 1,\n     f: 2}\n");
  const struct node *a = node_member (document_root (document), "a");

  g_assert_cmpint (document_root (document)->line, ==, 2);
  g_assert_cmpint (a->line, ==, 2); /* its key's */
  g_assert_cmpuint (a->count, ==, 3);
  g_assert_cmpint (a->members[0]->line, ==, 4);
  g_assert_cmpint (node_member (a->members[1], "c")->line, ==, 6);
  g_assert_cmpint (node_member (a->members[2], "f")->line, ==, 9);
  g_assert_null (a->members[0]->key);
  g_assert_null (node_member (a, "b"));
  g_assert_null (node_member (a->members[1], "d"));
  document_free (document);
}

static void
check_refused (const char *text, size_t bytes, const char *message)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct document *document = NULL;

  g_assert_cmpint (document_parse ("file.yaml", text, bytes, &document, &err), ==, COMPUTE_E_INVALID);
  g_assert_null (document);
  if (strcmp (err.message, message) != 0)
    g_error ("'%s' gave '%s', not '%s'", text, err.message, message);
}

static void
test_what_is_ambiguous_or_hostile_is_refused (void)
{
  static const struct
  {
    const char *text, *message;
  } rows[] = {
    { "a: 1\nb: 2\na: 3\n", "file.yaml:3: the key 'a' comes twice, first in line 1" },
    { "{\"a\": 1, 'a': 3}", "file.yaml:1: the key 'a' comes twice, first in line 1" },
    { "a: 1\n---\nb: 2\n", "file.yaml:2: a second document starts here" },
    { "a: 1\n...\n---\n", "file.yaml:3: a second document starts here" },
    { "a: &x 1\n",
      "file.yaml:1: anchors (&) and aliases (*) are not allowed; write the value out, or put it in quotes" },
    { "a: &x [1]\n",
      "file.yaml:1: anchors (&) and aliases (*) are not allowed; write the value out, or put it in quotes" },
    { "a:\n  *x\n",
      "file.yaml:2: anchors (&) and aliases (*) are not allowed; write the value out, or put it in quotes" },
    { "a: !!str 1\n", "file.yaml:1: tags (!) are not allowed; a text that starts with ! goes in quotes" },
    { "a:\n- ! 12\n", "file.yaml:2: tags (!) are not allowed; a text that starts with ! goes in quotes" },
    { "\xc3\xa9: x\na: ! 'x'\n", "file.yaml:2: tags (!) are not allowed; a text that starts with ! goes in quotes" },
    { "a: !x {b: c}\n", "file.yaml:1: tags (!) are not allowed; a text that starts with ! goes in quotes" },
    { "[a]: b\n", "file.yaml:1: a key has to be a text" },
    { "? {a: b}\n: c\n", "file.yaml:1: a key has to be a text" },
    { "a: 1\n12: b\n", "file.yaml:2: the key '12' is an integer; put it in quotes" },
    { "true: b\n", "file.yaml:1: the key 'true' is true or false; put it in quotes" },
    { "? \n: b\n", "file.yaml:1: the key '' is nothing; put it in quotes" },
    { "a:\n\tb: 1\n", "file.yaml:2: a tab indents here; indent with blanks" },
    { "a:\n  - b\n\t- c\n", "file.yaml:3: a tab indents here; indent with blanks" },
    { "a: \"x\\0y\"\n", "file.yaml:1: a text holds a NUL byte" },
    { "a: 1\nb: \x01\n", "file.yaml:2: control characters are not allowed" },
    { "a: 1\r\n\nb: \xff\n", "file.yaml:3: holds bytes that are not UTF-8" },
    { "a: 1\nb: x\xe2\x80\xa8y\n",
      "file.yaml:2: U+2028 may be an end of a line or not; write it in double quotes as \\u2028" },
    { "a: [1, 2\n", "file.yaml:1: did not find expected ',' or ']'" },
    { "a: [1,\n2\n",
      "file.yaml:2: did not find expected ',' or ']', while parsing a flow sequence that starts in line 1" },
    { "a: [", "file.yaml:1: did not find expected node content" },
    { "a: 'x\n", "file.yaml:1: found unexpected end of stream" },
    { "a: b: c\n", "file.yaml:1: mapping values are not allowed in this context" },
    { "a: 1\n b: 2\n", "file.yaml:2: mapping values are not allowed in this context" },
    { "a: @x\n", "file.yaml:1: found character that cannot start any token" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    check_refused (rows[i].text, strlen (rows[i].text), rows[i].message);
  check_refused ("a: 1\nb: x\0y\n", 12, "file.yaml:2: holds a NUL byte");
  check_refused ("a\0: \0", 5, "file.yaml:1: holds a NUL byte");
  check_refused ("\xff\xfe"
                 "a\0:\0",
                 6, "file.yaml:1: holds a NUL byte");
}

static void
test_depth_and_size_have_limits (void)
{
  g_autofree char *large = g_strnfill (DOCUMENT_MAX_BYTES + 1, '#');
  struct document *document;

  check_refused (large, DOCUMENT_MAX_BYTES + 1, "file.yaml: is larger than 1048576 bytes");
  g_assert_cmpint (document_parse ("x", large, DOCUMENT_MAX_BYTES, &document, NULL), ==, 0);
  document_free (document);
  memset (large, '[', DOCUMENT_MAX_BYTES);
  check_refused (large, DOCUMENT_MAX_BYTES, "file.yaml:1: nested deeper than 32 levels");
  memset (large + DOCUMENT_MAX_DEPTH, ']', DOCUMENT_MAX_DEPTH);
  g_assert_cmpint (document_parse ("x", large, (size_t) 2 * DOCUMENT_MAX_DEPTH, &document, NULL), ==, 0);
  cJSON_Delete (node_to_json (document_root (document)));
  document_free (document);
}

/* As many keys as fit take no longer than the reading. */
static void
test_many_keys_are_no_slower (void)
{
  GString *text = g_string_new (NULL);
  gint64 start = g_get_monotonic_time ();
  struct document *document;

  for (int i = 0; text->len < DOCUMENT_MAX_BYTES - 16; i++)
    g_string_append_printf (text, "k%x:\n", i);
  document = parse_good (text->str);
  g_assert_cmpuint (document_root (document)->count, >, 100000);
  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
  document_free (document);
  g_string_free (text, TRUE);
}

static void
test_the_path_is_printable (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *deep = g_strnfill (300, 'd');
  g_autofree char *path = g_strconcat (deep, "/x.yaml", NULL);
  struct document *document = NULL;

  g_assert_cmpint (document_parse ("a\nb\xff", "[", 1, &document, &err), ==, COMPUTE_E_INVALID);
  g_assert_true (g_str_has_prefix (err.message, "a\\x0ab\\xff:1: "));
  g_assert_cmpint (document_parse (path, "[", 1, &document, &err), ==, COMPUTE_E_INVALID);
  g_assert_nonnull (strstr (err.message, "dd/x.yaml:1: did not find"));
  g_assert_true (g_str_has_prefix (err.message, "...dd"));
}

static void
test_keys_are_checked_against_a_list (void)
{
  static const char *const allowed[] = { "cpu", "memory_mb", NULL };
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct document *document = parse_good ("good: {cpu: 1}\nbad:\n  cpu: 1\n  gpus: 2\nlist: []\n");
  const struct node *root = document_root (document);

  g_assert_cmpint (document_check_keys (document, node_member (root, "good"), "resources", allowed, &err), ==, 0);
  g_assert_cmpint (document_check_keys (document, node_member (root, "bad"), "resources", allowed, &err), ==,
                   COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "file.yaml:4: resources has no key 'gpus'; allowed: cpu, memory_mb");
  g_assert_cmpint (document_check_keys (document, node_member (root, "list"), "resources", allowed, &err), ==,
                   COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "file.yaml:5: resources has to be a map, and is a list");
  g_assert_cmpint (document_refuse (document, node_member (root, "bad"), &err, "no %d", 7), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "file.yaml:2: no 7");
  document_free (document);
}

static void
check_not_loaded (const char *path, int code, const char *end)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct document *document = NULL;

  g_assert_cmpint (document_load (path, &document, &err), ==, code);
  g_assert_null (document);
  if (!g_str_has_suffix (err.message, end))
    g_error ("'%s' gave '%s', not '%s'", path, err.message, end);
}

static void
test_only_a_regular_file_is_read (void)
{
  g_autofree char *folder = g_dir_make_tmp ("compute-document-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "file", NULL);
  g_autofree char *fifo = g_build_filename (folder, "fifo", NULL);
  g_autofree char *below = g_build_filename (file, "x", NULL);
  g_autofree char *large = g_strnfill (DOCUMENT_MAX_BYTES + 100, '#');
  struct document *document;

  check_not_loaded (file, COMPUTE_E_NOT_FOUND, "/file: cannot open it: No such file or directory");
  g_assert_true (g_file_set_contents (file, "a: 1\n", -1, NULL));
  g_assert_cmpint (document_load (file, &document, NULL), ==, 0);
  g_assert_cmpstr (node_member (document_root (document), "a")->text, ==, "1");
  document_free (document);
  check_not_loaded (below, COMPUTE_E_NOT_FOUND, "/file/x: cannot open it: Not a directory");
  check_not_loaded (folder, COMPUTE_E_INVALID, ": is a folder, not a regular file");
  check_not_loaded ("/dev/zero", COMPUTE_E_INVALID, "/dev/zero: is a device, not a regular file");
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  check_not_loaded (fifo, COMPUTE_E_INVALID, "/fifo: is a FIFO, not a regular file");
  g_assert_true (g_file_set_contents (file, large, DOCUMENT_MAX_BYTES + 100, NULL));
  check_not_loaded (file, COMPUTE_E_INVALID, "/file: is larger than 1048576 bytes");
  g_assert_cmpint (chmod (file, 0), ==, 0);
  if (geteuid () != 0)
    check_not_loaded (file, COMPUTE_E_DENIED, "/file: cannot open it: Permission denied");
  unlink (fifo);
  unlink (file);
  rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/document/yaml-and-json", test_yaml_and_json_are_read);
  g_test_add_func ("/document/core-schema", test_plain_scalars_follow_the_core_schema);
  g_test_add_func ("/document/lines", test_nodes_know_their_lines);
  g_test_add_func ("/document/refused", test_what_is_ambiguous_or_hostile_is_refused);
  g_test_add_func ("/document/limits", test_depth_and_size_have_limits);
  g_test_add_func ("/document/many-keys", test_many_keys_are_no_slower);
  g_test_add_func ("/document/path", test_the_path_is_printable);
  g_test_add_func ("/document/keys", test_keys_are_checked_against_a_list);
  g_test_add_func ("/document/files", test_only_a_regular_file_is_read);
  return g_test_run ();
}
