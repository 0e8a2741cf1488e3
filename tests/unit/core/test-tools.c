/* SPDX-License-Identifier: MIT */
/* Files of tools: what they declare, what is wrong with one and where, and what arguments a declared tool takes. */
#include "stub.h"
#include "support.h"

#include <string.h>
#include <unistd.h>

#define AREA "core/tools"

static struct compute_handle *handle;
static char *path; /* of the file */

static struct compute_place *
place_new (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_place *place = NULL;

  g_assert_cmpint (compute_place_adopt (handle, NULL, &place, &err), ==, 0);
  return place;
}

static int
load (struct compute_place *place, const char *text, struct compute_error *err)
{
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return compute_place_load_tools (place, path, err);
}

static struct compute_place *
load_good (const char *text)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_place *place = place_new ();

  if (load (place, text, &err) != 0)
    g_error ("'%s' gave '%s'", text, err.message);
  return place;
}

static int
print_tool (void *user, const struct compute_tool_info *tool)
{
  g_string_append_printf (user, "%s|%s|%s|%s|%d\n", tool->name, tool->description, tool->parameters, tool->command,
                          tool->timeout_ms == COMPUTE_UNSET ? -1 : (int) tool->timeout_ms);
  return 0;
}

static void
assert_tools (struct compute_place *place, const char *wanted)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_assert_cmpint (compute_list_tools (place, print_tool, text, NULL), ==, 0);
  g_assert_cmpstr (text->str, ==, wanted);
}

static void
test_file_declares_tools (void)
{
  struct compute_place *place = load_good ("read_file:\n"
                                           "  description: Reads a file.\n"
                                           "  command: cat -- {{path}}\n"
                                           "  timeout: 1.0005\n"
                                           "  parameters:\n"
                                           "    properties:\n"
                                           "      path: {type: string, title: Path}\n"
                                           "    required: [path]\n"
                                           "    $comment: kept\n"
                                           "A-2: {command: date, timeout: 0}\n");

  g_assert_cmpint (compute_place_set_command (place, "by-hand", "ls {{x?}}", 7, NULL), ==, 0);
  assert_tools (place, "A-2|(null)|(null)|date|0\n"
                       "by-hand|(null)|(null)|ls {{x?}}|7\n"
                       "read_file|Reads a file.|{\"properties\":{\"path\":{\"type\":\"string\",\"title\":\"Path\"}},"
                       "\"required\":[\"path\"],\"$comment\":\"kept\",\"type\":\"object\"}|cat -- {{path}}|1001\n");
  compute_place_close (place);
}

static void
test_json_is_a_file_of_tools (void)
{
  struct compute_place *place
      = load_good ("{\"t\": {\"command\": \"echo {{a}}\\n\",\n\t\"parameters\": {\"type\": "
                   "\"object\", \"properties\": {\"a\": {\"type\": [\"null\", \"string\"]}}}}}");

  assert_tools (place,
                "t|(null)|{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"null\",\"string\"]}}}|echo {{a}}\n"
                "|-1\n");
  compute_place_close (place);
}

static int
stop (void *user, const struct compute_tool_info *tool)
{
  (void) user;
  (void) tool;
  return 17;
}

static void
test_list_ends_when_told_to (void)
{
  struct compute_place *place = load_good ("{a: {command: x}, b: {command: x}}");

  g_assert_cmpint (compute_list_tools (place, stop, NULL, NULL), ==, 17);
  compute_place_close (place);
}

/* What a file says it declares replaces what there was. */
static void
test_all_or_nothing (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_place *place = load_good ("a: {command: one}\nb: {command: two}\n");

  g_assert_cmpint (load (place, "a: {command: new}\nc: {comand: x}\n", &err), ==, COMPUTE_E_INVALID);
  assert_tools (place, "a|(null)|(null)|one|-1\nb|(null)|(null)|two|-1\n");
  g_assert_cmpint (load (place, "a: {command: new}\n", &err), ==, 0);
  assert_tools (place, "a|(null)|(null)|new|-1\nb|(null)|(null)|two|-1\n");
  compute_place_close (place);
}

static void
test_errors_have_a_line (void)
{
  static const struct
  {
    const char *text, *message;
  } rows[] = {
    { "", ":1: declares no tool" },
    { "{}", ":1: declares no tool" },
    { "- a\n", ":1: has to be a map from each tool's name to what it is, and is a list" },
    { "a: {command: x}\na: {command: y}\n", ":2: the key 'a' comes twice, first in line 1" },
    { "a.b: {command: x}\n", ":1: 'a.b' is no tool's name: 1 to 64 of A-Z a-z 0-9 _ -" },
    { "'': {command: x}\n", ":1: '' is no tool's name: 1 to 64 of A-Z a-z 0-9 _ -" },
    { "a23456789-123456789-123456789-123456789-123456789-123456789-12345: {command: x}\n",
      ":1: 'a23456789-123456789-123456789-123456789-123456789-123456789-12345' is no tool's name: 1 to 64 of A-Z a-z "
      "0-9 _ -" },
    { "a: echo\n", ":1: a has to be a map, and is a text" },
    { "a:\n  command: x\n  shell: bash\n",
      ":3: a has no key 'shell'; allowed: description, parameters, command, timeout" },
    { "a: {description: x}\n", ":1: the tool 'a' has no command" },
    { "a:\n  command: [ls]\n", ":2: command has to be a text, and is a list" },
    { "a:\n  command: ' '\n", ":2: the command is empty" },
    { "a:\n  command: x\n  description: 5\n", ":3: description has to be a text, and is an integer" },
    { "a:\n  command: x\n  timeout: 5s\n", ":3: timeout has to be a number of seconds, and is a text" },
    { "a:\n  command: x\n  timeout: -1\n", ":3: timeout has to be a number of seconds, from 0 (no limit)" },
    { "a:\n  command: x\n  timeout: 1e300\n", ":3: timeout has to be a number of seconds, from 0 (no limit)" },
    { "a:\n\n  command: |\n    echo '{{x}}'\n", ":3: at 'echo '{{x}}'\\x0a': {{x}} is inside single quotes, where its "
                                                "quotes do not protect it; write it outside, without quotes" },
    { "a:\n  command: x\n  parameters: []\n", ":3: parameters has to be a map, and is a list" },
    { "a:\n  command: x\n  parameters:\n    type: array\n", ":4: the type of a tool's parameters has to be 'object'" },
    { "a:\n  command: x\n  parameters: {properties: []}\n", ":3: properties has to be a map, and is a list" },
    { "a:\n  command: x\n  parameters: {properties: {b: string}}\n",
      ":3: the parameter 'b' has to be a map, and is a text" },
    { "a:\n  command: x\n  parameters:\n    properties:\n      b:\n        type: strng\n",
      ":6: there is no type 'strng'; there are: string, integer, number, boolean, array, object, null" },
    { "a:\n  command: x\n  parameters: {properties: {b: {type: [null]}}}\n",
      ":3: type has to be a text or a list of them, and is nothing" },
    { "a:\n  command: x\n  parameters: {properties: {b: {enum: x}}}\n", ":3: enum has to be a list of values" },
    { "a:\n  command: x\n  parameters: {required: x}\n", ":3: required has to be a list, and is a text" },
    { "a:\n  command: x\n  parameters:\n    properties: {b: {}}\n    required: [b,\n      c]\n",
      ":6: 'c' is required, and not among the properties" },
    { "a:\n  command: x\n  parameters: {required: [1]}\n", ":3: required has to list texts, and one is an integer" },
    { "a:\n  command: x {{b}} {{c?}}\n  parameters: {properties: {b: {}}}\n",
      ":2: {{c}} is not among the properties of parameters: b" },
  };
  struct compute_place *place = place_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      g_autofree char *wanted = g_strconcat (path, rows[i].message, NULL);

      g_assert_cmpint (load (place, rows[i].text, &err), ==, COMPUTE_E_INVALID);
      if (strncmp (err.message, wanted, strlen (err.message)) != 0 || strlen (err.message) < MIN (strlen (wanted), 230))
        g_error ("'%s' gave '%s', not '%s'", rows[i].text, err.message, wanted);
    }
  assert_tools (place, "");
  compute_place_close (place);
}

static void
test_file_that_is_not_there (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_place *place = place_new (), *nowhere;
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);

  g_assert_cmpint (compute_place_load_tools (place, "/nowhere/tools.yaml", &err), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (compute_place_load_tools (place, NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_place_open (registry, NULL, NULL, &nowhere, &err), ==, 0);
  g_assert_cmpint (load (nowhere, "a: {command: x}", &err), ==, COMPUTE_E_INVALID);
  g_assert_nonnull (strstr (err.message, "needs a provider"));
  compute_place_close (nowhere);
  compute_registry_close (registry);
  compute_place_close (place);
}

static void
test_arguments_are_checked (void)
{
  static const struct
  {
    const char *arguments, *message; /* NULL: good */
  } rows[] = {
    { "{\"s\":\"x\"}", NULL },
    { "{\"s\":\"x\",\"i\":3,\"n\":-1.5,\"b\":true,\"l\":[1],\"o\":{\"k\":1},\"c\":\"two\",\"u\":7,\"any\":\"x\"}",
      NULL },
    { "{\"s\":\"x\",\"i\":3.0,\"n\":2,\"u\":\"x\",\"c\":1}", NULL },
    { "{\"s\":\"x\",\"i\":null}", NULL }, /* is missing, and may be */
    { "{}", "the argument 's' is missing" },
    { "{\"s\":null}", "the argument 's' is missing" },
    { "{\"s\":3}", "the argument 's' has to be of type string, and is of type integer" },
    { "{\"s\":true}", "the argument 's' has to be of type string, and is of type boolean" },
    { "{\"s\":[1]}", "the argument 's' has to be of type string, and is of type array" },
    { "{\"s\":\"x\",\"i\":1.5}", "the argument 'i' has to be of type integer, and is of type number" },
    { "{\"s\":\"x\",\"i\":\"3\"}", "the argument 'i' has to be of type integer, and is of type string" },
    { "{\"s\":\"x\",\"n\":{}}", "the argument 'n' has to be of type number, and is of type object" },
    { "{\"s\":\"x\",\"b\":0}", "the argument 'b' has to be of type boolean, and is of type integer" },
    { "{\"s\":\"x\",\"l\":{}}", "the argument 'l' has to be of type array, and is of type object" },
    { "{\"s\":\"x\",\"o\":[]}", "the argument 'o' has to be of type object, and is of type array" },
    { "{\"s\":\"x\",\"u\":[]}", "the argument 'u' has to be of type string or integer, and is of type array" },
    { "{\"s\":\"x\",\"c\":\"three\"}", "the argument 'c' has to be one of [\"two\",1]" },
    { "{\"s\":\"x\",\"S\":\"y\"}", "there is no argument 'S'; there are: s, i, n, b, l, o, u, c, any" },
  };
  struct compute_place *place = load_good (
      "t:\n  command: tool -- {{s}} {{i?}}\n  parameters:\n    required: [s]\n    properties:\n"
      "      s: {type: string}\n      i: {type: integer}\n      n: {type: number}\n      b: {type: boolean}\n"
      "      l: {type: array}\n      o: {type: object}\n      u: {type: [string, integer]}\n"
      "      c: {enum: [two, 1]}\n      any: {}\n");

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      int code = compute_run_tool (place, "t", rows[i].arguments, NULL, NULL, NULL, NULL, &err);

      if (code != (rows[i].message == NULL ? 0 : COMPUTE_E_INVALID))
        g_error ("'%s' gave %d, '%s'", rows[i].arguments, code, err.message);
      g_assert_cmpstr (err.message, ==, rows[i].message != NULL ? rows[i].message : "");
    }
  compute_place_close (place);
}

/* Properties that are not stated, or more that are allowed, leave arguments to the command. */
static void
test_unknown_arguments_may_be_allowed (void)
{
  static const struct
  {
    const char *parameters;
    int code;
  } rows[] = {
    { "{}", 0 },
    { "{properties: {}}", COMPUTE_E_INVALID },
    { "{properties: {}, additionalProperties: false}", COMPUTE_E_INVALID },
    { "{properties: {}, additionalProperties: true}", 0 },
    { "{properties: {}, additionalProperties: {type: string}}", 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *text = g_strdup_printf ("t: {command: x, parameters: %s}", rows[i].parameters);
      struct compute_place *place = load_good (text);

      g_assert_cmpint (compute_run_tool (place, "t", "{\"x\":1}", NULL, NULL, NULL, NULL, NULL), ==, rows[i].code);
      compute_place_close (place);
    }
}

#define TESTS(X)                                                                                                       \
  X (file_declares_tools)                                                                                              \
  X (json_is_a_file_of_tools)                                                                                          \
  X (list_ends_when_told_to)                                                                                           \
  X (all_or_nothing)                                                                                                   \
  X (errors_have_a_line)                                                                                               \
  X (file_that_is_not_there)                                                                                           \
  X (arguments_are_checked)                                                                                            \
  X (unknown_arguments_may_be_allowed)

int
main (int argc, char **argv)
{
  struct compute_registry *registry;
  int status, fd;

  g_test_init (&argc, &argv, NULL);
  stub_reset ();
  stub.result.exit_code = 0;
  registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_assert_cmpint (compute_register (registry, "stub", &stub_provider, NULL), ==, 0);
  g_assert_cmpint (compute_resolve (registry, "stub", &handle, NULL), ==, 0);
  fd = g_file_open_tmp ("tools-XXXXXX", &path, NULL);
  g_assert_cmpint (fd, >=, 0);
  close (fd);
  TESTS (ADD_TEST)
  status = g_test_run ();
  unlink (path);
  g_free (path);
  compute_close (handle);
  compute_registry_close (registry);
  return status;
}
