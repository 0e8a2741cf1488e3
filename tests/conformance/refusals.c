/* SPDX-License-Identifier: MIT */
/* What cannot be right or cannot be honoured is an error of its own, that names it; nothing runs, nothing is left. */
#include "conformance.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command is refused with that code, and the place works as before. */
static void
assert_refuses (struct place *place, const struct compute_command *command, const struct compute_config *config,
                int code)
{
  auto_run run = run_command (place, command, config);
  auto_run after = run_script (place, "echo ok; ls", 30 * SECOND);

  assert_code (run.code, code, &run.error);
  g_assert_cmpint (run.error.code, ==, code);
  g_assert_cmpuint (strlen (run.error.message), >, 0);
  g_assert_true (g_utf8_validate (run.error.message, -1, NULL));
  g_assert_cmpuint (run.out->len + run.err->len, ==, 0);
  g_assert_cmpuint (run.result.outcome, ==, 0); /* a failure leaves the result alone */
  g_assert_cmpint (run.result.exit_code, ==, -1);
  assert_prints (after, "ok\n");
}

static void
assert_refuses_config (const struct compute_config *config, int code)
{
  auto_place place = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = "touch ran";
  assert_refuses (&place, &command, config, code);
}

void
test_case_E12_empty_command (void)
{
  static const char *const empty[] = { "", "   ", "\n", " \t\r\n\v\f " };
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (empty); i++)
    {
      struct compute_command command = COMPUTE_COMMAND_INIT;

      command.script = empty[i];
      assert_refuses (&place, &command, NULL, COMPUTE_E_INVALID);
      command.script_bytes = strlen (empty[i]);
      assert_refuses (&place, &command, NULL, COMPUTE_E_INVALID);
    }
}

void
test_refusal_of_nul_bytes (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  auto_place place = place_open (NULL);

  command.script = "touch ran\0; touch more";
  command.script_bytes = sizeof "touch ran\0; touch more" - 1;
  assert_refuses (&place, &command, NULL, COMPUTE_E_INVALID);
  command.script_bytes = strlen ("touch ran") + 1;
  assert_refuses (&place, &command, NULL, COMPUTE_E_INVALID);
}

void
test_refusal_of_commands_that_are_none (void)
{
  const char *words[] = { "touch", "ran", NULL };
  struct compute_command nothing = COMPUTE_COMMAND_INIT;
  struct compute_command both = COMPUTE_COMMAND_INIT;
  struct compute_command no_words = COMPUTE_COMMAND_INIT;
  struct compute_command hole = COMPUTE_COMMAND_INIT;
  struct compute_command unknown_flag = COMPUTE_COMMAND_INIT;
  struct compute_command two_inputs = COMPUTE_COMMAND_INIT;
  auto_place place = place_open (NULL);

  assert_refuses (&place, &nothing, NULL, COMPUTE_E_INVALID);
  both.script = "touch ran";
  both.argv = words;
  both.argc = 2;
  assert_refuses (&place, &both, NULL, COMPUTE_E_INVALID);
  no_words.argv = words;
  assert_refuses (&place, &no_words, NULL, COMPUTE_E_INVALID);
  hole.argv = words;
  hole.argc = 3; /* the NULL counts as a word */
  assert_refuses (&place, &hole, NULL, COMPUTE_E_INVALID);
  unknown_flag.script = "touch ran";
  unknown_flag.flags = 1u << 31;
  assert_refuses (&place, &unknown_flag, NULL, COMPUTE_E_INVALID);
  two_inputs.script = "touch ran";
  two_inputs.flags = COMPUTE_COMMAND_STDIN_FD;
  two_inputs.stdin_fd = 0;
  two_inputs.stdin_data = "x";
  two_inputs.stdin_bytes = 1;
  assert_refuses (&place, &two_inputs, NULL, COMPUTE_E_INVALID);
}

void
test_refusal_of_env_names (void)
{
  static const char *const names[] = { NULL, "", "=", "A=B", "=A" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      struct compute_pair env = { names[i], "s3cr3t-value" };
      struct compute_config config = COMPUTE_CONFIG_INIT;
      struct compute_error err = COMPUTE_ERROR_INIT;
      struct compute_handle *handle = handle_open ();
      struct place place;

      config.env = &env;
      config.env_count = 1;
      assert_refuses_config (&config, COMPUTE_E_INVALID);
      assert_code (place_provision (&place, handle, &config, &err), COMPUTE_E_INVALID, &err);
      g_assert_null (strstr (err.message, "s3cr3t"));
      g_assert_false (g_file_test (place.workdir, G_FILE_TEST_EXISTS));
      place_close (&place);
    }
}

void
test_refusal_of_an_env_without_a_value (void)
{
  struct compute_pair env = { "CC_A", NULL };
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.env = &env;
  config.env_count = 1;
  assert_refuses_config (&config, COMPUTE_E_INVALID);
}

void
test_refusal_of_negative_limits (void)
{
  static const gint64 negative[] = { -1, -1000, G_MININT64 + 1 };

  for (gsize i = 0; i < G_N_ELEMENTS (negative); i++)
    {
      struct compute_config timeout = COMPUTE_CONFIG_INIT;
      struct compute_config limit = COMPUTE_CONFIG_INIT;
      struct compute_error err = COMPUTE_ERROR_INIT;
      struct compute_handle *handle = handle_open ();
      struct place place;

      timeout.timeout_ms = negative[i];
      limit.output_limit_bytes = negative[i];
      assert_refuses_config (&timeout, COMPUTE_E_INVALID);
      assert_refuses_config (&limit, COMPUTE_E_INVALID);
      assert_code (place_provision (&place, handle, &timeout, &err), COMPUTE_E_INVALID, &err);
      g_free (place.workdir);
      assert_code (place_provision (&place, handle, &limit, &err), COMPUTE_E_INVALID, &err);
      place_close (&place);
    }
}

/* execute takes workdir, env, user, timeout and limit; the rest belongs to provision. */
void
test_refusal_of_what_execute_does_not_take (void)
{
  const struct compute_pair option = { "key", "value" };
  const struct compute_mount mount = { "/tmp", "/mnt", 0, 0 };
  struct compute_config configs[10];
  static const struct compute_config nothing_stated = COMPUTE_CONFIG_INIT;

  for (gsize i = 0; i < G_N_ELEMENTS (configs); i++)
    configs[i] = nothing_stated;
  configs[0].image = "busybox";
  configs[1].network = "none";
  configs[2].gpu = "all";
  configs[3].definition = "0123456789ab";
  configs[4].options = &option;
  configs[4].option_count = 1;
  configs[5].mounts = &mount;
  configs[5].mount_count = 1;
  configs[6].memory_bytes = 1 << 30;
  configs[7].cpu_millis = 1000;
  configs[8].flags = COMPUTE_CONFIG_DETACHED;
  configs[9].network = "unrestricted";
  for (gsize i = 0; i < G_N_ELEMENTS (configs); i++)
    assert_refuses_config (&configs[i], COMPUTE_E_UNSUPPORTED);
}

void
test_refusal_of_unknown_flags (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = handle_open ();
  struct place place;

  config.flags = 1u << 30;
  assert_refuses_config (&config, COMPUTE_E_INVALID);
  assert_code (place_provision (&place, handle, &config, &err), COMPUTE_E_INVALID, &err);
  place_close (&place);
}

/* Provision fails with one of the two codes, says what it is about, leaves nothing. */
static void
assert_provision_refuses (const struct compute_config *config, int code, int other_code, const char *text)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = handle_open ();
  struct place place;
  int got = place_provision (&place, handle, config, &err);

  if (got != other_code)
    assert_code (got, code, &err);
  assert_text (err.message, text);
  g_assert_cmpstr (place.instance.id, ==, "");
  g_assert_cmpuint (place.instance.state, ==, 0);
  if (config->workdir == NULL)
    g_assert_false (g_file_test (place.workdir, G_FILE_TEST_EXISTS));
  place_close (&place);
}

void
test_refusal_of_unknown_options (void)
{
  const struct compute_pair unknown = { "no-such-option", "1" };
  const struct compute_pair nameless = { "", "1" };
  const struct compute_pair none = { NULL, NULL };
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.option_count = 1;
  config.options = &unknown;
  assert_provision_refuses (&config, COMPUTE_E_INVALID, COMPUTE_E_UNSUPPORTED, "'no-such-option'");
  config.options = &nameless;
  assert_provision_refuses (&config, COMPUTE_E_INVALID, COMPUTE_E_UNSUPPORTED, "");
  config.options = &none;
  assert_provision_refuses (&config, COMPUTE_E_INVALID, COMPUTE_E_UNSUPPORTED, "");
}

/* However large a value is, the message stays one line of bounded length. */
void
test_refusal_of_huge_values (void)
{
  g_autofree char *huge = g_strnfill (1 * MEBI, 'x');
  g_autofree char *path = g_strconcat ("/", huge, NULL);
  const struct compute_pair option = { huge, huge };
  struct compute_config options = COMPUTE_CONFIG_INIT;
  struct compute_config workdir = COMPUTE_CONFIG_INIT;

  options.options = &option;
  options.option_count = 1;
  assert_provision_refuses (&options, COMPUTE_E_INVALID, COMPUTE_E_UNSUPPORTED, "xxx");
  workdir.workdir = path;
  assert_provision_refuses (&workdir, COMPUTE_E_INVALID, COMPUTE_E_NOT_STARTED, "xxx");
}

/* A value that the system does not take fails where it is used first, and not the instance's other commands. */
void
test_refusal_of_a_huge_env_value (void)
{
  g_autofree char *huge = g_strnfill (1 * MEBI, 'x');
  const struct compute_pair env = { "CC_HUGE", huge };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_command command = COMPUTE_COMMAND_INIT;
  auto_place place = place_open (NULL);

  config.env = &env;
  config.env_count = 1;
  command.script = "touch ran";
  auto_run run = run_command (&place, &command, &config);
  auto_run after = run_script (&place, "echo ok; ls", 30 * SECOND);

  if (run.code != COMPUTE_E_INVALID)
    assert_code (run.code, COMPUTE_E_NOT_STARTED, &run.error);
  g_assert_null (strstr (run.error.message, "xxxx"));
  assert_prints (after, "ok\n");
}

void
test_refusal_of_more_than_a_command_can_hold (void)
{
  const gsize bytes = 70 * MEBI;
  g_autofree char *script = g_strnfill (bytes, ' ');
  struct compute_command command = COMPUTE_COMMAND_INIT;
  auto_place place = place_open (NULL);

  memcpy (script, "touch ran", strlen ("touch ran"));
  command.script = script;
  assert_refuses (&place, &command, NULL, COMPUTE_E_INVALID);
}

void
test_refusal_of_workdirs (void)
{
  g_autofree char *file = g_build_filename (private_dir (), "file", NULL);
  g_autofree char *below = g_build_filename (file, "below", NULL);
  struct compute_config config = COMPUTE_CONFIG_INIT;

  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  config.workdir = file;
  assert_provision_refuses (&config, COMPUTE_E_NOT_STARTED, COMPUTE_E_INVALID, "/file'");
  config.workdir = below;
  assert_provision_refuses (&config, COMPUTE_E_NOT_STARTED, COMPUTE_E_INVALID, "/file/below'");
  config.workdir = "relative";
  assert_provision_refuses (&config, COMPUTE_E_INVALID, COMPUTE_E_INVALID, "'relative'");
  config.workdir = "";
  assert_provision_refuses (&config, COMPUTE_E_INVALID, COMPUTE_E_INVALID, "");
  g_assert_false (g_file_test ("relative", G_FILE_TEST_EXISTS));
}

void
test_refusal_of_workdirs_of_a_command (void)
{
  auto_place place = place_open (NULL);
  auto_run made = run_script (&place, "mkdir ../aside && touch ../aside/file", 30 * SECOND);
  g_autofree char *missing = g_build_filename (private_dir (), "aside", "missing", NULL);
  g_autofree char *file = g_build_filename (private_dir (), "aside", "file", NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  assert_exited (made, 0);
  command.script = "touch ran";
  config.workdir = missing;
  assert_refuses (&place, &command, &config, COMPUTE_E_NOT_STARTED);
  config.workdir = file;
  assert_refuses (&place, &command, &config, COMPUTE_E_NOT_STARTED);
  config.workdir = "relative";
  assert_refuses (&place, &command, &config, COMPUTE_E_INVALID);
}

static void
provision_as_nobody (int fd, const void *data)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct place place;
  int code;

  if (getuid () == 0 && (setgid (65534) != 0 || setuid (65534) != 0))
    _exit (1);
  config.workdir = data;
  code = place_provision (&place, handle_open (), &config, &err);
  if (code != COMPUTE_E_NOT_STARTED)
    fail_code (__FILE__, __LINE__, "provision in a closed folder", code, COMPUTE_E_NOT_STARTED, &err);
  write_whole (fd, &err, sizeof err);
}

/* A folder that the host's user may not enter, and one that it may not make. */
void
test_refusal_of_an_unreadable_workdir (void)
{
  g_autofree char *closed = g_build_filename (private_dir (), "closed", NULL);
  g_autofree char *below = g_build_filename (closed, "below", NULL);
  const char *workdirs[] = { closed, below };

  g_assert_cmpint (mkdir (closed, getuid () == 0 ? 0700 : 0), ==, 0);
  g_assert_cmpint (chmod (private_dir (), 0755), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (workdirs); i++)
    {
      struct compute_error err;
      int fd;
      pid_t pid = host_start (provision_as_nobody, workdirs[i], &fd);

      read_whole (fd, &err, sizeof err);
      host_wait (pid);
      close (fd);
      assert_text (err.message, workdirs[i]);
    }
}

/* An instance that there is not: no command runs, and the message names it. */
void
test_refusal_of_unknown_instances (void)
{
  static const char *const ids[] = { "never-was", "../../etc/passwd", "a b", "-x", "x\n", "\377" };
  auto_place place = place_open (NULL);
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *huge = g_strnfill (1 * MEBI, 'i');

  command.script = "touch ran";
  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      assert_code (compute_execute (place.handle, ids[i], &command, NULL, NULL, &result, &err), COMPUTE_E_NOT_FOUND,
                   &err);
      assert_code (compute_get_status (place.handle, ids[i], NULL, &instance, &err), COMPUTE_E_NOT_FOUND, &err);
      assert_code (compute_shutdown (place.handle, ids[i], NULL, &err), COMPUTE_E_NOT_FOUND, &err);
    }
  assert_error (compute_execute (place.handle, "never-was", &command, NULL, NULL, &result, &err), COMPUTE_E_NOT_FOUND,
                &err, "'never-was'");
  assert_error (compute_execute (place.handle, huge, &command, NULL, NULL, &result, &err), COMPUTE_E_NOT_FOUND, &err,
                "iii");
  g_assert_cmpint (compute_execute (place.handle, "", &command, NULL, NULL, &result, &err), <, 0);
  g_assert_cmpint (compute_execute (place.handle, NULL, &command, NULL, NULL, &result, &err), <, 0);
  g_assert_cmpint (compute_get_status (place.handle, NULL, NULL, &instance, &err), <, 0);
  g_assert_cmpint (compute_shutdown (place.handle, NULL, NULL, &err), <, 0);
}

/* No provider was asked for: no handle, and the calls on none are errors. */
void
test_refusal_of_no_handle (void)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = (struct compute_handle *) &err;

  assert_code (compute_resolve (registry_get (), "", &handle, &err), 0, &err);
  g_assert_null (handle);
  handle = (struct compute_handle *) &err;
  assert_code (compute_resolve (registry_get (), NULL, &handle, &err), 0, &err);
  g_assert_null (handle);
  command.script = "true";
  assert_code (compute_is_available (NULL, NULL, &err), COMPUTE_E_INVALID, &err);
  assert_code (compute_provision (NULL, NULL, NULL, &instance, &err), COMPUTE_E_INVALID, &err);
  assert_code (compute_execute (NULL, "x", &command, NULL, NULL, &result, &err), COMPUTE_E_INVALID, &err);
  assert_code (compute_shutdown (NULL, "x", NULL, &err), COMPUTE_E_INVALID, &err);
  compute_close (NULL);
}

/* An error record is optional, everywhere. */
void
test_refusal_without_an_error_record (void)
{
  auto_place place = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_handle *handle;

  g_assert_cmpint (compute_resolve (registry_get (), "e2b", &handle, NULL), ==, COMPUTE_E_UNKNOWN_PROVIDER);
  g_assert_cmpint (compute_execute (place.handle, place.instance.id, &command, NULL, NULL, &result, NULL), ==,
                   COMPUTE_E_INVALID);
  g_assert_cmpint (compute_get_status (place.handle, "never-was", NULL, &instance, NULL), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (compute_put (place.handle, place.instance.id, "/", 0644, -1, NULL, NULL), <, 0);
  g_assert_cmpint (compute_get (place.handle, place.instance.id, "none", -1, NULL, NULL, NULL), <, 0);
}

/* What this provider cannot honour is an error, never dropped in silence. */
void
test_refusal_of_what_local_cannot_do (void)
{
  const struct compute_mount mount = { "/tmp", "/mnt", COMPUTE_MOUNT_READ_ONLY, 0 };
  struct compute_config configs[7];
  static const struct compute_config nothing_stated = COMPUTE_CONFIG_INIT;
  static const char *const words[G_N_ELEMENTS (configs)]
      = { "image", "network", "gpu", "mount", "memory", "cpu", "user" };

  for (gsize i = 0; i < G_N_ELEMENTS (configs); i++)
    configs[i] = nothing_stated;
  configs[0].image = "python:3.11-slim";
  configs[1].network = "none";
  configs[2].gpu = "all";
  configs[3].mounts = &mount;
  configs[3].mount_count = 1;
  configs[4].memory_bytes = 1 << 30;
  configs[5].cpu_millis = 500;
  configs[6].user = getuid () == 0 ? "nobody" : "root";
  for (gsize i = 0; i < G_N_ELEMENTS (configs); i++)
    assert_provision_refuses (&configs[i], COMPUTE_E_UNSUPPORTED, COMPUTE_E_UNSUPPORTED, words[i]);
  auto_place place = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = "touch ran";
  assert_refuses (&place, &command, &configs[6], COMPUTE_E_UNSUPPORTED);
}
