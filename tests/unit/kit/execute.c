/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <errno.h>
#include <string.h>

static void
test_streams_stay_apart (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();

  run_script (run, place, "echo out; echo err >&2; exit 7");
  assert_exited (run, 7);
  assert_out (run, "out\n");
  g_assert_cmpstr (run->error_out->str, ==, "err\n");
  g_assert_cmpuint (run->result.stdout_bytes, ==, 4);
  g_assert_cmpuint (run->result.stderr_bytes, ==, 4);
}

static void
test_bytes_are_exact (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_well (place, "printf 'a\\000\\377\\r\\n'");

  g_assert_cmpmem (run->out->str, run->out->len, "a\0\377\r\n", 5);
}

static void
test_a_signal_is_an_outcome (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();

  run_script (run, place, "kill -SEGV $$");
  g_assert_cmpint (run->code, ==, 0);
  g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_SIGNALED);
  g_assert_cmpint (run->result.exit_code, ==, 139);
  g_assert_cmpint (run->result.signal, ==, 11);
}

static void
test_a_timeout_keeps_the_output (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  command.script = "echo before; sleep 60";
  config.timeout_ms = 300;
  run_command (run, place, &command, &config);
  g_assert_cmpint (run->code, ==, 0);
  g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_TIMED_OUT);
  g_assert_cmpint (run->result.exit_code, ==, -1);
  g_assert_cmpint (run->result.timeout_ms, ==, 300);
  assert_out (run, "before\n");
}

static void
test_the_default_limits_apply (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_well (place, "true");

  g_assert_cmpint (run->result.timeout_ms, ==, COMPUTE_DEFAULT_TIMEOUT_MS);
  g_assert_cmpint (run->result.output_limit_bytes, ==, COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES);
}

static void
test_output_is_cut_with_totals (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.output_limit_bytes = 10000;
  for (guint bytes = 9999; bytes <= 10001; bytes++)
    {
      g_autofree char *script = g_strdup_printf ("head -c %u /dev/zero; echo e >&2", bytes);
      g_autoptr (Run) run = run_new ();

      command.script = script;
      run_command (run, place, &command, &config);
      assert_exited (run, 0);
      g_assert_cmpuint (run->out->len, ==, MIN (bytes, 10000));
      g_assert_cmpuint (run->result.stdout_bytes, ==, bytes);
      g_assert_cmpuint (run->result.flags, ==, bytes > 10000 ? COMPUTE_RESULT_STDOUT_TRUNCATED : 0);
      g_assert_cmpstr (run->error_out->str, ==, "e\n");
    }
}

/* Much more than any window. */
static void
test_a_limit_of_0_is_none (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  command.script = "head -c 33333333 /dev/zero";
  config.output_limit_bytes = 0;
  run_command (run, place, &command, &config);
  assert_exited (run, 0);
  g_assert_cmpuint (run->out->len, ==, 33333333);
  g_assert_cmpuint (run->result.flags, ==, 0);
}

static void
test_without_a_callback_output_is_dropped (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  command.script = "head -c 3000000 /dev/zero; exit 4";
  g_assert_cmpint (compute_runner_execute (place->runner, &command, NULL, NULL, &result, &err), ==, 0);
  g_assert_cmpint (result.exit_code, ==, 4);
  g_assert_cmpuint (result.stdout_bytes, ==, 3000000);
}

static void
test_words_are_not_split (void)
{
  static const char *const words[] = { "printf", "<%s>\n", "a  b", "$HOME", "", "*" };
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.argv = words;
  command.argc = G_N_ELEMENTS (words);
  run_command (run, place, &command, NULL);
  assert_exited (run, 0);
  assert_out (run, "<a  b>\n<$HOME>\n<>\n<*>\n");
}

static void
test_a_script_may_be_long (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (GString) script = g_string_new ("wc -c <<'E'\n");
  g_autoptr (Run) run = NULL;

  for (guint i = 0; i < 1024 * 1024; i++)
    g_string_append_c (script, i % 64 == 63 ? '\n' : 'x');
  g_string_append (script, "E\n");
  run = run_well (place, script->str);
  assert_out (run, "1048576\n");
}

static void
test_a_nul_in_the_script_is_refused (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = "echo a\0echo b";
  command.script_bytes = 13;
  run_command (run, place, &command, NULL);
  g_assert_cmpint (run->code, ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (run->err.message, ==, "the script has a NUL byte in it");
}

static void
test_what_is_too_large_is_refused (void)
{
  const gsize bytes = 65 * 1024 * 1024;
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  g_autofree char *word = g_strnfill (bytes, 'x');
  const char *const words[] = { "true", word };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_pair env = { "A", NULL };

  command.script = word;
  run_command (run, place, &command, NULL);
  g_assert_cmpint (run->code, ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (run->err.message, ==, "the command and its environment are larger than 64 MiB");
  command.script = NULL;
  command.argv = words;
  command.argc = 2;
  run_command (run, place, &command, NULL);
  g_assert_cmpint (run->code, ==, COMPUTE_E_INVALID);
  env.value = word;
  config.env = &env;
  config.env_count = 1;
  g_assert_cmpint (compute_runner_configure (place->runner, &config, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_runner_put (place->runner, word, 0600, 0, NULL, &err), ==, COMPUTE_E_INVALID);
  run_free (run_well (place, "true"));
}

static void
test_one_command_has_its_own_place (void)
{
  static const struct compute_pair env[] = { { "A", "l1\nl2" }, { "B", "" } };
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  g_autoptr (Run) next = NULL;
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  g_autofree char *expected = g_strdup_printf ("%s\n[none]\n", place->workdir);

  command.script = "pwd; printf '%s[%s]' \"$A\" \"${B-none}\"";
  config.workdir = "/";
  config.env = env;
  config.env_count = G_N_ELEMENTS (env);
  run_command (run, place, &command, &config);
  assert_exited (run, 0);
  assert_out (run, "/\nl1\nl2[]");
  next = run_well (place, "pwd; echo [${A-none}]");
  assert_out (next, expected);
}

static void
test_a_missing_folder_starts_nothing (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  command.script = "echo never";
  config.workdir = "/no/such/folder";
  run_command (run, place, &command, &config);
  g_assert_cmpint (run->code, ==, COMPUTE_E_NOT_STARTED);
  g_assert_nonnull (strstr (run->err.message, "/no/such/folder"));
  g_assert_cmpint (run->err.sys_errno, ==, ENOENT);
  g_assert_cmpuint (run->out->len, ==, 0);
}

/* A result that is shorter than ours, of a caller that was compiled before it grew. */
static void
test_a_shorter_result_is_filled_so_far (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  union
  {
    struct compute_result result;
    char bytes[sizeof (struct compute_result)];
  } room;
  const uint32_t size = offsetof (struct compute_result, flags);

  memset (room.bytes, 'x', sizeof room.bytes);
  room.result.size = size;
  command.script = "exit 9";
  g_assert_cmpint (compute_runner_execute (place->runner, &command, NULL, NULL, &room.result, &err), ==, 0);
  g_assert_cmpuint (room.result.size, ==, size);
  g_assert_cmpint (room.result.exit_code, ==, 9);
  for (gsize i = size; i < sizeof room.bytes; i++)
    g_assert_cmpint (room.bytes[i], ==, 'x');
}

static void
test_shutdown_answers_when_all_has_ended (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_well (place, "(trap '' TERM; sleep 67 & wait) >/dev/null 2>&1 & echo $!");
  g_autofree char *proc = g_strdup_printf ("/proc/%s", g_strchomp (run->out->str));
  g_autoptr (Run) late = run_new ();
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_true (g_file_test (proc, G_FILE_TEST_EXISTS));
  g_assert_cmpint (compute_runner_shutdown (place->runner, &err), ==, 0);
  g_assert_false (g_file_test (proc, G_FILE_TEST_EXISTS));
  run_script (late, place, "true");
  g_assert_cmpint (late->code, ==, COMPUTE_E_LOST);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/execute/streams-stay-apart", test_streams_stay_apart);
  g_test_add_func ("/execute/bytes-are-exact", test_bytes_are_exact);
  g_test_add_func ("/execute/a-signal-is-an-outcome", test_a_signal_is_an_outcome);
  g_test_add_func ("/execute/a-timeout-keeps-the-output", test_a_timeout_keeps_the_output);
  g_test_add_func ("/execute/the-default-limits-apply", test_the_default_limits_apply);
  g_test_add_func ("/execute/output-is-cut-with-totals", test_output_is_cut_with_totals);
  g_test_add_func ("/execute/a-limit-of-0-is-none", test_a_limit_of_0_is_none);
  g_test_add_func ("/execute/without-a-callback-output-is-dropped", test_without_a_callback_output_is_dropped);
  g_test_add_func ("/execute/words-are-not-split", test_words_are_not_split);
  g_test_add_func ("/execute/a-script-may-be-long", test_a_script_may_be_long);
  g_test_add_func ("/execute/a-nul-in-the-script-is-refused", test_a_nul_in_the_script_is_refused);
  g_test_add_func ("/execute/what-is-too-large-is-refused", test_what_is_too_large_is_refused);
  g_test_add_func ("/execute/one-command-has-its-own-place", test_one_command_has_its_own_place);
  g_test_add_func ("/execute/a-missing-folder-starts-nothing", test_a_missing_folder_starts_nothing);
  g_test_add_func ("/execute/a-shorter-result-is-filled-so-far", test_a_shorter_result_is_filled_so_far);
  g_test_add_func ("/execute/shutdown-answers-when-all-has-ended", test_shutdown_answers_when_all_has_ended);
  return g_test_run ();
}
