/* SPDX-License-Identifier: MIT */
/* A limit ends everything that the command started, and nothing else. */
#include "conformance.h"

/* Runs a script, in which each %s is a mark, with a limit of one second; nothing of it may be left. */
static void
assert_ends_all (const char *script_format)
{
  g_autofree char *mark = mark_new ();
  g_auto (GStrv) parts = g_strsplit (script_format, "%s", -1);
  g_autofree char *script = g_strjoinv (mark, parts);
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, script, 1 * SECOND);

  assert_timed_out (run);
  g_assert_cmpuint (run.result.flags & COMPUTE_RESULT_SURVIVORS, ==, 0);
  g_assert_cmpint (run.wall_ms, <, 1 * SECOND + COMPUTE_GRACE_MS + 2 * SECOND);
  g_assert_false (place_runs (&place, mark));
}

void
test_case_T01_command_goes_on_after_the_timeout (void)
{
  auto_place place = place_open (NULL);
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("rm -f b; sleep 2; touch b; sleep %s", mark);
  auto_run run = run_script (&place, script, 1 * SECOND);
  auto_run later = run_script (&place, "sleep 2; ls b", 30 * SECOND);

  assert_timed_out (run);
  g_assert_cmpint (run.wall_ms, <, 1 * SECOND + 5 * SECOND);
  assert_code (later.code, 0, &later.error);
  g_assert_cmpint (later.result.exit_code, >, 0);
  g_assert_false (place_runs (&place, mark));
}

void
test_case_T04_background_child_of_the_shell (void)
{
  assert_ends_all ("sleep %s & wait");
}

void
test_case_T06_setsid (void)
{
  assert_ends_all ("setsid sleep %s & sleep 60");
}

void
test_case_T07_double_fork (void)
{
  assert_ends_all ("sh -c '(setsid sleep %s </dev/null >/dev/null 2>&1 &)'; sleep 60");
}

void
test_case_T09_command_ignores_TERM (void)
{
  assert_ends_all ("trap '' TERM; while :; do sleep 1; : %s; done");
}

void
test_case_T26_grandchildren (void)
{
  assert_ends_all ("sh -c 'sh -c \"sleep %s; true\"; true'");
}

void
test_timeout_stopped_process (void)
{
  assert_ends_all ("sleep %s & kill -STOP $!; kill -STOP $$");
}

/* Children made while the end is under way are ended too. */
void
test_timeout_children_without_end (void)
{
  assert_ends_all ("trap '' TERM; while :; do (setsid sleep %s &); sleep 0.02; done");
}

void
test_timeout_term_comes_first (void)
{
  auto_run run = X ("trap 'echo cleaned; exit 0' TERM; echo begun; sleep 30 & wait", 500);

  assert_timed_out (run);
  g_assert_cmpstr (run.out->str, ==, "begun\ncleaned\n");
  g_assert_cmpint (run.wall_ms, <, 500 + COMPUTE_GRACE_MS);
}

/* What an earlier command left in the background and what another thread runs are left alone. */
void
test_timeout_ends_nothing_else (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *background = g_strdup_printf ("setsid sleep %s >/dev/null 2>&1 &", mark);
  auto_place place = place_open (NULL);
  auto_run earlier = run_script (&place, background, 30 * SECOND);
  struct job *beside = job_start (&place, "echo begun; sleep 2; echo whole", 30 * SECOND);
  auto_run run = (job_wait_output (beside, "begun\n"), run_script (&place, "sleep 30", 300));
  auto_run whole = job_end (beside);

  assert_exited (earlier, 0);
  assert_timed_out (run);
  assert_prints (whole, "begun\nwhole\n");
  wait_until (place_runs (&place, mark), 30 * SECOND);
}

void
test_case_T10_exit_124_is_no_timeout (void)
{
  auto_run run = X ("exit 124", 60 * SECOND);

  assert_exited (run, 124);
  g_assert_cmpint (run.wall_ms, <, 10 * SECOND);
}

void
test_case_T11_exit_137_and_143_are_no_timeout (void)
{
  auto_run a = X ("exit 137", 60 * SECOND);
  auto_run b = X ("sleep 0.5; exit 143", 60 * SECOND);
  auto_run c = X ("kill -9 $$", 60 * SECOND);

  assert_exited (a, 137);
  assert_exited (b, 143);
  assert_outcome (c, SIGNALED, 137, 9);
}

void
test_case_T12_death_by_signal_is_128_and_its_number (void)
{
  auto_run killed = X ("kill -9 $$", 60 * SECOND);
  auto_run terminated = X ("kill -TERM $$", 60 * SECOND);
  auto_run crashed = X ("ulimit -c 0; kill -SEGV $$", 60 * SECOND);

  assert_outcome (killed, SIGNALED, 137, 9);
  assert_outcome (terminated, SIGNALED, 143, 15);
  assert_outcome (crashed, SIGNALED, 139, 11);
}

void
test_case_T15_output_before_the_timeout (void)
{
  auto_run run = X ("echo one; echo two >&2; sleep 30", 1 * SECOND);

  assert_timed_out (run);
  g_assert_cmpstr (run.out->str, ==, "one\n");
  g_assert_cmpstr (run.err->str, ==, "two\n");
}

void
test_case_T19_zero_is_no_limit_and_negative_an_error (void)
{
  auto_run unlimited = X ("sleep 1; echo ok", 0);
  auto_run negative = X ("true", -1);

  assert_prints (unlimited, "ok\n");
  g_assert_cmpint (unlimited.result.timeout_ms, ==, 0);
  assert_code (negative.code, COMPUTE_E_INVALID, &negative.error);
}

/* What the command is given wins over what the instance was given, and the result names what applied. */
void
test_timeout_of_the_instance (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.timeout_ms = 400;
  auto_place place = place_open (&config);
  auto_run limited = run_script (&place, "sleep 30", COMPUTE_UNSET);
  auto_run longer = run_script (&place, "sleep 0.8; echo ok", 20 * SECOND);
  auto_run unlimited = run_script (&place, "sleep 0.8; echo ok", 0);

  assert_timed_out (limited);
  g_assert_cmpint (limited.result.timeout_ms, ==, 400);
  assert_prints (longer, "ok\n");
  g_assert_cmpint (longer.result.timeout_ms, ==, 20 * SECOND);
  assert_prints (unlimited, "ok\n");
  g_assert_cmpint (unlimited.result.timeout_ms, ==, 0);
}

/* A limit past every clock is no instant end. */
void
test_timeout_huge (void)
{
  auto_run most = X ("echo ok", G_MAXINT64);
  auto_run days = X ("echo ok", G_GINT64_CONSTANT (4294967296) * 1000);

  assert_prints (most, "ok\n");
  assert_prints (days, "ok\n");
}

/* A caller that takes its time with the output does not keep the limit from working. */
void
test_timeout_while_the_caller_is_slow (void)
{
  auto_place place = place_open (NULL);
  struct job *job = job_start_held (&place, "echo $$; exec yes", 500);
  g_autofree char *pid
      = (job_wait_output (job, "\n"), g_strndup (job->run.out->str, strcspn (job->run.out->str, "\n")));
  g_autofree char *script = g_strdup_printf ("while kill -0 %s 2>/dev/null; do sleep 0.1; done; echo gone", pid);
  auto_run gone = run_script (&place, script, 20 * SECOND);
  auto_run run = (job_release (job), job_end (job));

  assert_prints (gone, "gone\n");
  assert_timed_out (run);
  g_assert_cmpuint (run.result.duration_us, <, 20 * G_USEC_PER_SEC);
}
