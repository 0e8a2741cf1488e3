/* SPDX-License-Identifier: MIT */
/* Tools that run on a place: what they return, how they fail, and the one instance they share. */
#include "conformance.h"

#include <cjson/cJSON.h>

/* A place on a handle of the test's, where its one tool has a command. */
struct tools
{
  struct compute_handle *handle;
  struct compute_place *place;
};

#define auto_tools __attribute__ ((cleanup (tools_close))) struct tools

static struct tools
tools_open (const char *tool, const char *command, gint64 timeout_ms)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct tools tools = { handle_open (), NULL };
  g_autofree char *workdir = g_build_filename (private_dir (), "tools", NULL);

  config.workdir = workdir;
  assert_code (compute_place_adopt (tools.handle, &config, &tools.place, &err), 0, &err);
  assert_code (compute_place_set_command (tools.place, tool, command, timeout_ms, &err), 0, &err);
  return tools;
}

static void
tools_close (struct tools *tools)
{
  compute_place_close (tools->place);
  compute_close (tools->handle);
}

static int
take_text (void *user, const void *text, uint64_t bytes)
{
  g_string_append_len (user, text, (gssize) bytes);
  return 0;
}

static int
run_tool (struct tools *tools, const char *tool, const char *arguments, GString *text,
          struct compute_tool_result *about, struct compute_error *err)
{
  struct compute_call call = COMPUTE_CALL_INIT;

  call.user = text;
  return compute_run_tool (tools->place, tool, arguments, NULL, take_text, &call, about, err);
}

/* Returns exactly that text. */
static void
assert_returns (struct tools *tools, const char *tool, const char *arguments, const char *wanted)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GString) text = g_string_new (NULL);

  assert_code (run_tool (tools, tool, arguments, text, NULL, &err), 0, &err);
  g_assert_cmpstr (text->str, ==, wanted);
}

/* Fails with exactly that message, in which %s is the provider's name, and returns nothing. */
static void
assert_fails (const char *command, gint64 timeout_ms, int code, const char *format)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("tool", command, timeout_ms);
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (GStrv) parts = g_strsplit (format, "%s", -1);
  g_autofree char *wanted = g_strjoinv (provider_name (), parts);

  assert_code (run_tool (&tools, "tool", NULL, text, NULL, &err), code, &err);
  g_assert_cmpstr (err.message, ==, wanted);
  g_assert_cmpuint (text->len, ==, 0);
}

void
test_tool_returns_its_output (void)
{
  auto_tools tools = tools_open ("greet", "echo hello-{{who}}; echo noise >&2", COMPUTE_UNSET);

  assert_returns (&tools, "greet", "{\"who\":\"world\"}", "hello-world\n");
  assert_returns (&tools, "greet", "{\"who\":\"it's $(id) `id` \\\" \\n;\"}", "hello-it's $(id) `id` \" \n;\n");
  assert_returns (&tools, "greet", "{\"who\":{\"a\":[1,\"b\"]}}", "hello-{\"a\":[1,\"b\"]}\n");
}

void
test_tool_fails_in_words (void)
{
  assert_fails ("echo partial; echo sorry >&2; exit 3", COMPUTE_UNSET, COMPUTE_E_TOOL_FAILED,
                "Tool 'tool' failed on %s (exit 3): sorry");
  assert_fails ("echo only out; exit 4", COMPUTE_UNSET, COMPUTE_E_TOOL_FAILED,
                "Tool 'tool' failed on %s (exit 4): only out");
  assert_fails ("exit 5", COMPUTE_UNSET, COMPUTE_E_TOOL_FAILED, "Tool 'tool' failed on %s (exit 5): no output");
  assert_fails (
      "sleep 1000", 300, COMPUTE_E_TOOL_FAILED,
      "Tool 'tool' timed out on %s. No output was produced, so nothing is returned rather than an empty string "
      "that would read as success.");
  assert_fails (
      "echo some; sleep 1000", 1000, COMPUTE_E_TOOL_FAILED,
      "Tool 'tool' timed out on %s. Some output was produced, which is not returned as if it were whole: some");
}

void
test_tool_arguments (void)
{
  static const char *const bad[] = { "[]", "{", "{} x", "\"who\"", "{}", "{\"who\":null}", "{\"who\":\"a\\u0000b\"}" };
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("count", "printf %s {{who}} | wc -c", COMPUTE_UNSET);
  g_autofree char *large = g_strnfill (300000, 'x');
  g_autofree char *arguments = g_strdup_printf ("{\"who\":\"%s\"}", large);

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    assert_code (run_tool (&tools, "count", bad[i], NULL, NULL, &err), COMPUTE_E_INVALID, &err);
  assert_returns (&tools, "count", arguments, "300000\n");
  assert_returns (&tools, "count", "{\"who\":\"\\\\u0000\"}", "6\n");
}

/* ---- Field cases --------------------------------------------------------------------------------------------------
 */

void
test_case_Q08_values_are_not_scanned_again (void)
{
  auto_tools tools = tools_open ("tool", "printf '%s|%s' {{a}} {{b}}", COMPUTE_UNSET);

  assert_returns (&tools, "tool", "{\"a\":\"{{b}}\",\"b\":\"X\"}", "{{b}}|X");
}

void
test_case_Q09_values_stay_one_word (void)
{
  static const char *const values[] = {
    "it's", "$(id)", "`id`", "; rm -rf /",           "a\nb", "a\n", "' ; echo pwn ; '", "\\", "!hi",
    "*",    "~",     "\t",   "\303\251\342\230\225", "\r",
  };
  auto_tools tools = tools_open ("tool", "printf '%s' {{a}}", COMPUTE_UNSET);

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      cJSON *arguments = cJSON_CreateObject ();
      char *text = (cJSON_AddStringToObject (arguments, "a", values[i]), cJSON_PrintUnformatted (arguments));

      assert_returns (&tools, "tool", text, values[i]);
      cJSON_free (text);
      cJSON_Delete (arguments);
    }
}

void
test_case_Q10_placeholders_inside_quotes_are_refused (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("tool", "true", COMPUTE_UNSET);

  assert_code (compute_place_set_command (tools.place, "tool", "echo \"{{a}}\"", COMPUTE_UNSET, &err),
               COMPUTE_E_INVALID, &err);
  g_assert_nonnull (strstr (err.message, "echo \"{{a}}"));
  assert_code (compute_place_set_command (tools.place, "tool", "echo '{{a}}'", COMPUTE_UNSET, &err), COMPUTE_E_INVALID,
               &err);
  g_assert_nonnull (strstr (err.message, "echo '{{a}}"));
}

void
test_case_Q11_arguments_of_every_kind (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("tool", "printf '<%s>' {{a}}", COMPUTE_UNSET);

  assert_code (run_tool (&tools, "tool", "{}", NULL, NULL, &err), COMPUTE_E_INVALID, &err);
  assert_code (run_tool (&tools, "tool", "{\"a\":null}", NULL, NULL, &err), COMPUTE_E_INVALID, &err);
  assert_returns (&tools, "tool", "{\"a\":3}", "<3>");
  assert_returns (&tools, "tool", "{\"a\":true}", "<true>");
  assert_returns (&tools, "tool", "{\"a\":[1]}", "<[1]>");
  assert_returns (&tools, "tool", "{\"a\":\"x\",\"b\":\"more\"}", "<x>");
}

void
test_case_Q13_a_value_is_no_option (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("tool", "cat {{p}}", COMPUTE_UNSET);

  assert_code (run_tool (&tools, "tool", "{\"p\":\"--version\"}", NULL, NULL, &err), COMPUTE_E_INVALID, &err);
  assert_code (run_tool (&tools, "tool", "{\"p\":\"-n\"}", NULL, NULL, &err), COMPUTE_E_INVALID, &err);
  assert_code (compute_place_set_command (tools.place, "tool", "echo in-n >./-n; cat -- {{p}}", COMPUTE_UNSET, &err), 0,
               &err);
  assert_returns (&tools, "tool", "{\"p\":\"-n\"}", "in-n\n");
}

static int
run_here (void *user, const char *tool, const char *arguments, compute_text_fn emit, const struct compute_call *call,
          struct compute_error *err)
{
  g_autofree char *text = g_strdup_printf ("%s here with %s", tool, arguments);

  (void) call;
  (void) err;
  return emit (user, text, strlen (text));
}

void
test_tool_without_a_command_runs_locally (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_tool_result about = COMPUTE_TOOL_RESULT_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  g_autoptr (GString) text = g_string_new (NULL);
  auto_tools tools = tools_open ("placed", "echo placed", COMPUTE_UNSET);
  struct compute_place *nowhere;

  call.user = text;
  assert_code (compute_run_tool (tools.place, "other", "{\"a\":1}", run_here, take_text, &call, &about, &err), 0, &err);
  g_assert_cmpstr (text->str, ==, "other here with {\"a\":1}");
  g_assert_cmpuint (about.flags, ==, COMPUTE_TOOL_RAN_LOCALLY);
  assert_error (run_tool (&tools, "other", NULL, text, NULL, &err), COMPUTE_E_UNKNOWN_TOOL, &err, "'other'");
  assert_code (compute_place_open (registry_get (), "", NULL, &nowhere, &err), 0, &err);
  assert_code (compute_place_set_command (nowhere, "tool", "true", COMPUTE_UNSET, &err), COMPUTE_E_INVALID, &err);
  compute_place_close (nowhere);
}

static gpointer
call_tool (gpointer data)
{
  assert_returns (data, "tool", NULL, "on\n");
  return NULL;
}

static int
count_instance (void *user, const struct compute_instance *instance)
{
  if (instance->owner == COMPUTE_OWNER_SELF)
    ++*(guint *) user;
  return 0;
}

void
test_tool_instance_is_made_once (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("tool", "echo on", COMPUTE_UNSET);
  GThread *threads[10];
  guint count = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("caller", call_tool, &tools);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  assert_code (compute_list_instances (tools.handle, count_instance, &count, NULL, &err), 0, &err);
  g_assert_cmpuint (count, ==, 1);
  assert_code (compute_place_shutdown (tools.place, NULL, &err), 0, &err);
}

void
test_tool_says_that_its_text_was_cut (void)
{
  struct compute_tool_result about = COMPUTE_TOOL_RESULT_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct tools tools = { handle_open (), NULL };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *workdir = g_build_filename (private_dir (), "tools", NULL);

  config.workdir = workdir;
  config.output_limit_bytes = 3;
  assert_code (compute_place_adopt (tools.handle, &config, &tools.place, &err), 0, &err);
  assert_code (compute_place_set_command (tools.place, "tool", "printf abcdef", COMPUTE_UNSET, &err), 0, &err);
  assert_code (run_tool (&tools, "tool", NULL, text, &about, &err), 0, &err);
  g_assert_cmpstr (text->str, ==, "abc");
  g_assert_cmpuint (about.flags, ==, COMPUTE_TOOL_PROVISIONED | COMPUTE_TOOL_TEXT_CUT);
  tools_close (&tools);
}

void
test_tool_outlives_its_instance (void)
{
  struct compute_tool_result about = COMPUTE_TOOL_RESULT_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_tools tools = tools_open ("tool", "echo on", COMPUTE_UNSET);
  g_autoptr (GString) text = g_string_new (NULL);

  about.result = &result;
  assert_code (run_tool (&tools, "tool", NULL, text, &about, &err), 0, &err);
  g_assert_cmpuint (about.flags, ==, COMPUTE_TOOL_PROVISIONED);
  g_assert_cmpuint (result.outcome, ==, COMPUTE_OUTCOME_EXITED);
  g_assert_cmpuint (result.stdout_bytes, ==, 3);
  assert_code (run_tool (&tools, "tool", NULL, text, &about, &err), 0, &err);
  g_assert_cmpuint (about.flags, ==, 0);
  assert_code (compute_shutdown (tools.handle, about.instance, NULL, &err), 0, &err);
  assert_code (run_tool (&tools, "tool", NULL, text, &about, &err), 0, &err);
  g_assert_cmpuint (about.flags, ==, COMPUTE_TOOL_PROVISIONED | COMPUTE_TOOL_INSTANCE_LOST);
  g_assert_cmpstr (text->str, ==, "on\non\non\n");
}

void
test_tool_place_that_is_not_available (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_place *place = NULL;

  g_assert_true (g_setenv ("COMPUTE_DOCKER", "/no/docker", TRUE));
  assert_code (compute_place_open (registry_get (), "docker", NULL, &place, &err), COMPUTE_E_UNAVAILABLE, &err);
  assert_text (err.message,
               "toolsRunOn='docker' but that provider is not available here (there is no program '/no/docker'");
  assert_text (err.message,
               "). Tools would silently run on the host instead, which is the opposite of what asking for a "
               "sandbox means.");
  assert_code (compute_place_open (registry_get (), "e2b", NULL, &place, &err), COMPUTE_E_UNKNOWN_PROVIDER, &err);
  g_assert_null (place);
}
