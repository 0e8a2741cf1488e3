/* SPDX-License-Identifier: MIT */

/* The wrappers of the slots: what they refuse, what they pass on, and what they make of a provider's answers. */
#include "support.h"
#include "stub.h"

#include <stdint.h>
#include <string.h>

static struct compute_registry *registry;
static struct compute_handle *handle;

static void
set_up (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  stub_reset ();
  registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_assert_cmpint (compute_register (registry, "stub", &stub_provider, &err), ==, 0);
  g_assert_cmpint (compute_resolve (registry, "stub", &handle, &err), ==, 0);
}

static void
tear_down (void)
{
  compute_close (handle);
  g_assert_cmpint (stub.opened, ==, 1);
  g_assert_cmpint (stub.closed, ==, 1);
  compute_registry_close (registry);
}

static int
execute (const struct compute_command *command, const struct compute_config *config, struct compute_error *err)
{
  struct compute_result result = COMPUTE_RESULT_INIT;

  stub.last_instance[0] = '\0';
  return compute_execute (handle, "stub-1", command, config, NULL, &result, err);
}

/* The provider was not asked, and the error says why. */
static void
check_refused (int rc, const struct compute_error *err, int code, const char *message)
{
  g_assert_cmpint (rc, ==, code);
  g_assert_cmpint (err->code, ==, code);
  g_assert_cmpstr (err->message, ==, message);
  g_assert_cmpstr (stub.last_instance, ==, "");
}

static void
check_command (struct compute_command command, const char *message)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc = execute (&command, NULL, &err);

  check_refused (rc, &err, COMPUTE_E_INVALID, message);
  g_assert_cmpint (execute (&command, NULL, NULL), ==, COMPUTE_E_INVALID); /* err may be NULL */
}

static void
test_command_is_either_script_or_argv (void)
{
  static const char *const argv[] = { "true" };
  struct compute_command command = COMPUTE_COMMAND_INIT;

  set_up ();
  check_command (command, "the command has neither a script nor arguments");
  command.script = "true";
  command.argv = argv;
  command.argc = 1;
  check_command (command, "the command has both a script and arguments");
  tear_down ();
}

static void
test_empty_command_is_refused (void)
{
  static const char *const scripts[] = { "", "   ", "\n", " \t\r\n\v\f" };
  static const char *const argv[] = { "" };
  struct compute_command command = COMPUTE_COMMAND_INIT;

  set_up ();
  for (guint i = 0; i < G_N_ELEMENTS (scripts); i++)
    {
      command.script = scripts[i];
      check_command (command, "the command is empty");
    }
  command.script = NULL;
  command.argv = argv;
  check_command (command, "the command is empty");
  command.argc = 1;
  check_command (command, "the command is empty");
  tear_down ();
}

static void
test_nul_byte_in_script_is_refused_with_its_offset (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  set_up ();
  command.script = "echo a\0rm -rf b";
  command.script_bytes = sizeof "echo a\0rm -rf b" - 1;
  check_command (command, "the command has a NUL byte at offset 6");
  tear_down ();
}

static void
test_missing_argument_is_refused (void)
{
  static const char *const argv[] = { "printf", NULL, "x" };
  struct compute_command command = COMPUTE_COMMAND_INIT;

  set_up ();
  command.argv = argv;
  command.argc = 3;
  check_command (command, "argument 1 of 3 is missing");
  tear_down ();
}

static void
test_two_kinds_of_input_are_refused (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  set_up ();
  command.script = "cat";
  command.flags = COMPUTE_COMMAND_STDIN_FD;
  check_command (command, "the command's input is descriptor -1");
  command.stdin_fd = 0;
  command.stdin_data = "x";
  check_command (command, "the command has two inputs, bytes and a descriptor");
  command.flags = 0;
  command.stdin_data = NULL;
  command.stdin_bytes = 5;
  check_command (command, "the command's input is 5 bytes at no address");
  tear_down ();
}

static void
test_unknown_flags_are_refused (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc;

  set_up ();
  command.script = "true";
  command.flags = 0x80;
  check_command (command, "the command has unknown flags 0x80");
  command.flags = 0;
  config.flags = 0x40 | COMPUTE_CONFIG_ENV_REPLACE;
  rc = execute (&command, &config, &err);
  check_refused (rc, &err, COMPUTE_E_INVALID, "the config has unknown flags 0x40");
  tear_down ();
}

static void
check_config (struct compute_config config, int code, const char *message)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc;

  command.script = "true";
  rc = execute (&command, &config, &err);
  check_refused (rc, &err, code, message);
}

static void
check_env (const char *name, const char *value, const char *message)
{
  const struct compute_pair pair = { name, value };
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.env = &pair;
  config.env_count = 1;
  check_config (config, COMPUTE_E_INVALID, message);
}

static void
test_invalid_environment_is_refused (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  set_up ();
  check_env (NULL, "x", "an environment variable has no name");
  check_env ("", "x", "an environment variable has no name");
  check_env ("A=B", "x", "invalid environment name 'A=B': it contains '='");
  check_env ("A\n=", "x", "invalid environment name 'A\\x0a=': it contains '='");
  check_env ("A", NULL, "environment variable 'A' has no value");
  config.env_count = 2;
  check_config (config, COMPUTE_E_INVALID, "2 environment variables at no address");
  tear_down ();
}

static void
test_negative_timeout_and_limit_are_refused_by_value (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  set_up ();
  config.timeout_ms = -5;
  check_config (config, COMPUTE_E_INVALID, "the timeout is -5 ms; it must be 0 (no limit) or more");
  config.timeout_ms = 0;
  config.output_limit_bytes = -1;
  check_config (config, COMPUTE_E_INVALID, "the output limit is -1 bytes; it must be 0 (no limit) or more");
  tear_down ();
}

static void
test_relative_working_directory_is_refused (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  set_up ();
  config.workdir = "relative";
  check_config (config, COMPUTE_E_INVALID, "the working directory 'relative' is not an absolute path");
  config.workdir = "";
  check_config (config, COMPUTE_E_INVALID, "the working directory '' is not an absolute path");
  tear_down ();
}

static void
test_execute_takes_only_its_own_settings (void)
{
  static const struct compute_pair option = { "name", "value" };
  static const struct compute_mount mount = { "/a", "/b", 0, 0 };
  struct
  {
    const char *name;
    struct compute_config config;
  } cases[] = {
    { "image", COMPUTE_CONFIG_INIT },    { "network", COMPUTE_CONFIG_INIT },    { "gpu", COMPUTE_CONFIG_INIT },
    { "options", COMPUTE_CONFIG_INIT },  { "mounts", COMPUTE_CONFIG_INIT },     { "memory_bytes", COMPUTE_CONFIG_INIT },
    { "detached", COMPUTE_CONFIG_INIT }, { "definition", COMPUTE_CONFIG_INIT }, { "cpu_millis", COMPUTE_CONFIG_INIT },
  };

  cases[0].config.image = "x";
  cases[1].config.network = "none";
  cases[2].config.gpu = "all";
  cases[3].config.options = &option;
  cases[3].config.option_count = 1;
  cases[4].config.mounts = &mount;
  cases[4].config.mount_count = 1;
  cases[5].config.memory_bytes = 1;
  cases[6].config.flags = COMPUTE_CONFIG_DETACHED;
  cases[7].config.definition = "0123";
  cases[8].config.cpu_millis = 1000;
  set_up ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *message = g_strdup_printf ("execute takes no '%s'; give it to provision", cases[i].name);

      check_config (cases[i].config, COMPUTE_E_UNSUPPORTED, message);
    }
  tear_down ();
}

static void
test_mounts_and_options_of_provision_are_checked (void)
{
  struct compute_pair option = { "", "x" };
  struct compute_mount mount = { "relative", "/b", 0, 0 };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  config.mounts = &mount;
  config.mount_count = 1;
  g_assert_cmpint (compute_provision (handle, &config, NULL, &instance, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "the source of a mount 'relative' is not an absolute path");
  mount.source = "/a";
  mount.target = NULL;
  g_assert_cmpint (compute_provision (handle, &config, NULL, &instance, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "the target of a mount is missing");
  mount.target = "/b";
  mount.flags = 2;
  g_assert_cmpint (compute_provision (handle, &config, NULL, &instance, &err), ==, COMPUTE_E_INVALID);
  config.mount_count = 0;
  config.options = &option;
  config.option_count = 1;
  g_assert_cmpint (compute_provision (handle, &config, NULL, &instance, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "an option has no name or no value");
  g_assert_cmpstr (instance.id, ==, "");
  tear_down ();
}

static void
test_environment_holds_each_name_once_with_its_last_value (void)
{
  static const struct compute_pair env[] = { { "A", "1" }, { "B", "2" }, { "A", "3" }, { "C", "" }, { "B", "4" } };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = "true";
  config.env = env;
  config.env_count = G_N_ELEMENTS (env);
  g_assert_cmpint (execute (&command, &config, &err), ==, 0);
  g_assert_cmpuint (stub.config.env_count, ==, 3);
  g_assert_cmpstr (stub.env[0].name, ==, "A");
  g_assert_cmpstr (stub.env[0].value, ==, "3");
  g_assert_cmpstr (stub.env[1].name, ==, "B");
  g_assert_cmpstr (stub.env[1].value, ==, "4");
  g_assert_cmpstr (stub.env[2].name, ==, "C");
  g_assert_cmpstr (stub.env[2].value, ==, "");
  tear_down ();
}

static void
test_script_reaches_the_provider_with_its_length (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = " true";
  g_assert_cmpint (execute (&command, NULL, &err), ==, 0);
  g_assert_cmpuint (stub.command.script_bytes, ==, 5);
  g_assert_cmpstr (stub.last_instance, ==, "stub-1");
  tear_down ();
}

static void
test_null_stands_for_the_defaults (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = "true";
  g_assert_cmpint (execute (&command, NULL, &err), ==, 0);
  g_assert_cmpint (stub.config.timeout_ms, ==, COMPUTE_UNSET);
  g_assert_cmpint (stub.config.output_limit_bytes, ==, COMPUTE_UNSET);
  g_assert_cmpint (stub.call.cancel_fd, ==, -1);
  g_assert_null (stub.call.output);
  tear_down ();
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

static void
test_older_callers_missing_members_have_their_defaults (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = "true";
  command.size = offsetof (struct compute_command, argv);
  command.argv = (const char *const *) -1; /* not there */
  config.workdir = "/w";
  config.size = offsetof (struct compute_config, timeout_ms);
  config.timeout_ms = -77;
  call.size = offsetof (struct compute_call, output);
  call.cancel_fd = 5;
  call.output = (__typeof__ (call.output)) -1;
  g_assert_cmpint (compute_execute (handle, "stub-1", &command, &config, &call, &result, &err), ==, 0);
  g_assert_null (stub.command.argv);
  g_assert_cmpint (stub.command.stdin_fd, ==, -1);
  g_assert_cmpstr (stub.config.workdir, ==, "/w");
  g_assert_cmpint (stub.config.timeout_ms, ==, COMPUTE_UNSET);
  g_assert_cmpint (stub.call.cancel_fd, ==, 5);
  g_assert_null (stub.call.output);
  tear_down ();
}

static void
test_newer_callers_extra_members_are_ignored (void)
{
  struct
  {
    struct compute_command command;
    uint64_t later;
  } command = { COMPUTE_COMMAND_INIT, UINT64_MAX };
  struct
  {
    struct compute_result result;
    uint64_t later;
  } result = { COMPUTE_RESULT_INIT, 0x1122334455667788 };
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.command.script = "true";
  command.command.size = sizeof command;
  result.result.size = sizeof result;
  g_assert_cmpint (compute_execute (handle, "stub-1", &command.command, NULL, NULL, &result.result, &err), ==, 0);
  g_assert_cmpint (result.result.exit_code, ==, 3);
  g_assert_cmpuint (result.result.size, ==, sizeof result);
  g_assert_cmpuint (result.later, ==, 0x1122334455667788);
  tear_down ();
}

static void
test_older_callers_result_is_not_written_past_its_end (void)
{
  struct /* as struct compute_result could have been once */
  {
    uint32_t size, outcome;
    int32_t exit_code, signal;
    uint32_t flags, reserved;
    uint64_t stdout_bytes, stderr_bytes, past_the_end;
  } result = { .size = offsetof (struct compute_result, duration_us), .past_the_end = 44 };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  void *given = &result;

  set_up ();
  command.script = "true";
  stub.result.stderr_bytes = 42;
  stub.result.duration_us = 43;
  g_assert_cmpint (compute_execute (handle, "stub-1", &command, NULL, NULL, given, &err), ==, 0);
  g_assert_cmpuint (result.size, ==, offsetof (struct compute_result, duration_us));
  g_assert_cmpint (result.exit_code, ==, 3);
  g_assert_cmpuint (result.stderr_bytes, ==, 42);
  g_assert_cmpuint (result.past_the_end, ==, 44);
  tear_down ();
}

static void
test_size_that_was_never_set_is_refused (void)
{
  struct compute_command command = { .script = "true" };
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_instance instance = { .size = 0 };
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  check_command (command, "the command's size is 0; start from its _INIT value");
  command.size = sizeof command;
  command.stdin_fd = -1;
  result.size = 0;
  g_assert_cmpint (compute_execute (handle, "x", &command, NULL, NULL, &result, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_execute (handle, "x", &command, NULL, NULL, NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "no place for the result was given");
  g_assert_cmpint (compute_get_status (handle, "x", NULL, &instance, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_execute (handle, "x", NULL, NULL, NULL, &result, &err), ==, COMPUTE_E_INVALID);
  tear_down ();
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static void
test_error_of_the_provider_is_passed_on (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  stub.returns = COMPUTE_E_UNAVAILABLE;
  compute_error_set (&stub.err, COMPUTE_E_UNAVAILABLE, ECONNREFUSED, "no engine; start it");
  g_assert_cmpint (compute_is_available (handle, NULL, &err), ==, COMPUTE_E_UNAVAILABLE);
  g_assert_cmpint (err.code, ==, COMPUTE_E_UNAVAILABLE);
  g_assert_cmpint (err.sys_errno, ==, ECONNREFUSED);
  g_assert_cmpstr (err.message, ==, "no engine; start it");
  stub.returns = -4711; /* of a newer header: a failure like any other */
  g_assert_cmpint (compute_is_available (handle, NULL, &err), ==, -4711);
  g_assert_cmpint (compute_is_available (handle, NULL, NULL), ==, -4711);
  stub.returns = 0;
  tear_down ();
}

static void
test_error_without_words_gets_some (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  stub.returns = COMPUTE_E_NOT_FOUND;
  g_assert_cmpint (compute_shutdown (handle, "x", NULL, &err), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpstr (err.message, ==, "shutdown: no such thing");
  stub.returns = 0;
  tear_down ();
}

static void
test_unterminated_error_text_is_ended (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  stub.returns = COMPUTE_E_ENGINE;
  memset (stub.err.message, 'x', sizeof stub.err.message);
  g_assert_cmpint (compute_shutdown (handle, "x", NULL, &err), ==, COMPUTE_E_ENGINE);
  g_assert_cmpuint (strlen (err.message), ==, sizeof err.message - 1);
  stub.returns = 0;
  tear_down ();
}

static void
test_result_that_is_no_code_is_the_engines_failure (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  stub.returns = 7;
  g_assert_cmpint (compute_is_available (handle, NULL, &err), ==, COMPUTE_E_ENGINE);
  g_assert_cmpstr (err.message, ==, "provider 'stub' returned 7 from is_available, which is no error code");
  stub.returns = 0;
  tear_down ();
}

static void
test_answer_without_substance_is_the_engines_failure (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = "true";
  stub.result.outcome = COMPUTE_OUTCOME_NONE;
  g_assert_cmpint (execute (&command, NULL, &err), ==, COMPUTE_E_ENGINE);
  stub.instance.id[0] = '\0';
  g_assert_cmpint (compute_provision (handle, NULL, NULL, &instance, &err), ==, COMPUTE_E_ENGINE);
  g_assert_cmpstr (err.message, ==, "provider 'stub' made an instance without an id");
  tear_down ();
}

static void
test_failure_leaves_the_result_alone_and_success_the_error (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = "true";
  stub.returns = COMPUTE_E_LOST;
  g_assert_cmpint (compute_execute (handle, "x", &command, NULL, NULL, &result, &err), ==, COMPUTE_E_LOST);
  g_assert_cmpuint (result.outcome, ==, COMPUTE_OUTCOME_NONE);
  g_assert_cmpint (result.exit_code, ==, -1);
  compute_error_set (&err, 1, 2, "before");
  stub.returns = 0;
  g_assert_cmpint (compute_execute (handle, "x", &command, NULL, NULL, &result, &err), ==, 0);
  g_assert_cmpint (err.code, ==, 1);
  g_assert_cmpstr (err.message, ==, "before");
  tear_down ();
}

static void
test_unterminated_instance_text_is_ended (void)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  memset (stub.instance.id, 'i', sizeof stub.instance.id);
  memset (stub.instance.detail, 'd', sizeof stub.instance.detail);
  g_assert_cmpint (compute_provision (handle, NULL, NULL, &instance, &err), ==, 0);
  g_assert_cmpuint (strlen (instance.id), ==, sizeof instance.id - 1);
  g_assert_cmpuint (strlen (instance.detail), ==, sizeof instance.detail - 1);
  tear_down ();
}

static int
count_then_stop (void *user, const struct compute_instance *instance)
{
  int *left = user;

  g_assert_cmpuint (instance->size, ==, sizeof *instance);
  return --*left == 0 ? 99 : 0;
}

static void
test_list_ends_with_what_the_callback_returned (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  int left = 2;

  set_up ();
  stub.list_count = 5;
  g_assert_cmpint (compute_list_instances (handle, count_then_stop, &left, NULL, &err), ==, 99);
  g_assert_cmpint (left, ==, 0);
  left = 9;
  g_assert_cmpint (compute_list_instances (handle, count_then_stop, &left, NULL, &err), ==, 0);
  g_assert_cmpint (left, ==, 4);
  tear_down ();
}

static int
check_older_instance (void *user, const struct compute_instance *instance)
{
  (void) user;
  g_assert_cmpuint (instance->size, ==, sizeof *instance);
  g_assert_cmpstr (instance->id, ==, "stub-1");
  g_assert_cmpstr (instance->detail, ==, "");
  return 0;
}

static void
test_list_of_an_older_provider_is_filled_up (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  stub.list_count = 1;
  stub.instance.size = offsetof (struct compute_instance, detail);
  g_strlcpy (stub.instance.detail, "past its end", sizeof stub.instance.detail);
  g_assert_cmpint (compute_list_instances (handle, check_older_instance, NULL, NULL, &err), ==, 0);
  tear_down ();
}

/* ---- The rest ---------------------------------------------------------------------------------------------------- */

static void
test_empty_instance_id_is_refused (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  command.script = "true";
  g_assert_cmpint (compute_execute (handle, "", &command, NULL, NULL, &result, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_execute (handle, NULL, &command, NULL, NULL, &result, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_shutdown (handle, "", NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_get_status (handle, NULL, NULL, &instance, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "the instance id is empty");
  tear_down ();
}

static void
test_files_are_passed_on_where_the_provider_has_them (void)
{
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  set_up ();
  g_assert_cmpint (compute_put (handle, "stub-1", "/file", 0644, 0, NULL, &err), ==, 0);
  g_assert_cmpstr (stub.last_instance, ==, "stub-1");
  g_assert_cmpint (compute_put (handle, "stub-1", "/file", 010000, 0, NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "the mode 010000 is more than permission bits");
  g_assert_cmpint (compute_put (handle, "stub-1", "", 0644, 0, NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_put (handle, "stub-1", "/file", 0644, -1, NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_get (handle, "stub-1", "/file", 1, NULL, &info, &err), ==, COMPUTE_E_UNSUPPORTED);
  g_assert_cmpstr (err.message, ==, "provider 'stub' cannot get files");
  tear_down ();
}

static void
test_slot_beyond_size_is_not_called (void)
{
  struct compute_provider old = stub_provider;
  struct compute_error err = COMPUTE_ERROR_INIT;

  stub_reset ();
  old.size = offsetof (struct compute_provider, get_extension);
  g_assert_cmpint (compute_adopt (&old, NULL, &handle, &err), ==, 0);
  g_assert_cmpint (compute_put (handle, "x", "/file", 0644, 0, NULL, &err), ==, COMPUTE_E_UNSUPPORTED);
  compute_close (handle);
}

static void
test_adopted_state_stays_open (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  stub_reset ();
  g_assert_cmpint (compute_adopt (&stub_provider, NULL, &handle, &err), ==, 0);
  g_assert_true (compute_get_provider (handle) == &stub_provider);
  compute_close (handle);
  g_assert_cmpint (stub.opened, ==, 0);
  g_assert_cmpint (stub.closed, ==, 0);
  compute_close (NULL);
}

static void
check_table (struct compute_provider table, const char *message)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *untouched = NULL;

  g_assert_cmpint (compute_adopt (&table, NULL, &untouched, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, message);
  g_assert_null (untouched);
}

static void
test_table_without_a_required_slot_is_refused (void)
{
  struct compute_provider table;

#define CHECK_SLOT(slot)                                                                                               \
  table = stub_provider;                                                                                               \
  table.slot = NULL;                                                                                                   \
  check_table (table, "provider 'stub' has no " #slot);
  CHECK_SLOT (open)
  CHECK_SLOT (close)
  CHECK_SLOT (is_available)
  CHECK_SLOT (provision)
  CHECK_SLOT (execute)
  CHECK_SLOT (shutdown)
  CHECK_SLOT (list_instances)
  CHECK_SLOT (get_status)
#undef CHECK_SLOT
  table = stub_provider;
  table.size = offsetof (struct compute_provider, execute);
  check_table (table, "provider 'stub' has no execute");
  table.size = 4;
  check_table (table, "provider '?' has a table of 4 bytes");
}

static void
test_table_of_another_major_is_refused (void)
{
  struct compute_provider table = stub_provider;
  struct compute_error err = COMPUTE_ERROR_INIT;

  table.abi_major = COMPUTE_ABI_MAJOR + 1;
  table.abi_minor = 4;
  check_table (table, "provider 'stub' was built for ABI 2.4, this core has 1.0");
  g_assert_cmpint (compute_adopt (NULL, NULL, &handle, &err), ==, COMPUTE_E_INVALID);
}

#define AREA "handle"
#define TESTS(X)                                                                                                       \
  X (command_is_either_script_or_argv)                                                                                 \
  X (empty_command_is_refused)                                                                                         \
  X (nul_byte_in_script_is_refused_with_its_offset)                                                                    \
  X (missing_argument_is_refused)                                                                                      \
  X (two_kinds_of_input_are_refused)                                                                                   \
  X (unknown_flags_are_refused)                                                                                        \
  X (invalid_environment_is_refused)                                                                                   \
  X (negative_timeout_and_limit_are_refused_by_value)                                                                  \
  X (relative_working_directory_is_refused)                                                                            \
  X (execute_takes_only_its_own_settings)                                                                              \
  X (mounts_and_options_of_provision_are_checked)                                                                      \
  X (environment_holds_each_name_once_with_its_last_value)                                                             \
  X (script_reaches_the_provider_with_its_length)                                                                      \
  X (null_stands_for_the_defaults)                                                                                     \
  X (older_callers_missing_members_have_their_defaults)                                                                \
  X (newer_callers_extra_members_are_ignored)                                                                          \
  X (older_callers_result_is_not_written_past_its_end)                                                                 \
  X (size_that_was_never_set_is_refused)                                                                               \
  X (error_of_the_provider_is_passed_on)                                                                               \
  X (error_without_words_gets_some)                                                                                    \
  X (unterminated_error_text_is_ended)                                                                                 \
  X (result_that_is_no_code_is_the_engines_failure)                                                                    \
  X (answer_without_substance_is_the_engines_failure)                                                                  \
  X (failure_leaves_the_result_alone_and_success_the_error)                                                            \
  X (unterminated_instance_text_is_ended)                                                                              \
  X (list_ends_with_what_the_callback_returned)                                                                        \
  X (list_of_an_older_provider_is_filled_up)                                                                           \
  X (empty_instance_id_is_refused)                                                                                     \
  X (files_are_passed_on_where_the_provider_has_them)                                                                  \
  X (slot_beyond_size_is_not_called)                                                                                   \
  X (adopted_state_stays_open)                                                                                         \
  X (table_without_a_required_slot_is_refused)                                                                         \
  X (table_of_another_major_is_refused)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  TESTS (ADD_TEST)
  return g_test_run ();
}
