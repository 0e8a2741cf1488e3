/* SPDX-License-Identifier: MIT */
/* A call ends when the command's own process ends; what it left in the background lives on until shutdown. */
#include "conformance.h"
#include <unistd.h>

void
test_case_T05_child_in_the_background_keeps_the_pipes (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("(sleep %s &) ; exit 0", mark);
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, script, 1 * SECOND);

  assert_exited (run, 0);
  g_assert_cmpuint (run.result.duration_us, <, G_USEC_PER_SEC);
  wait_until (place_runs (&place, mark), 5 * SECOND);
}

void
test_case_B01_child_in_the_background_keeps_stdout (void)
{
  auto_run run = X ("sleep 30 & echo ok", 60 * SECOND);

  assert_prints (run, "ok\n");
  g_assert_cmpuint (run.result.duration_us, <, 1500 * 1000);
}

void
test_case_B04_tail_of_the_output (void)
{
  auto_place place = place_open (NULL);

  for (int i = 0; i < 100; i++)
    {
      auto_run run = run_script (&place, "head -c 300000 /dev/zero | tr '\\0' a; exit 3", 60 * SECOND);

      assert_exited (run, 3);
      g_assert_cmpuint (run.out->len, ==, 300000);
      g_assert_cmpuint (run.result.stdout_bytes, ==, 300000);
    }
}

void
test_case_B06_background_job_outlives_the_limit (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("nohup sleep %s >/dev/null 2>&1 &", mark);
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, script, 1 * SECOND);
  auto_run meanwhile = run_script (&place, "sleep 4", 60 * SECOND);
  struct compute_error err = COMPUTE_ERROR_INIT;

  assert_exited (run, 0);
  assert_exited (meanwhile, 0);
  wait_until (place_runs (&place, mark), 5 * SECOND);
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
  g_assert_false (machine_runs (mark));
}

void
test_case_B11_end_of_output_is_not_the_end (void)
{
  auto_run run = X ("exec >&- 2>&-; sleep 2; exit 4", 30 * SECOND);

  assert_exited (run, 4);
  g_assert_cmpuint (run.result.duration_us, >=, 2 * G_USEC_PER_SEC);
}

/* A child that never stops printing does not keep the call either. */
void
test_background_child_floods_the_pipe (void)
{
  auto_run run = X ("yes & exit 3", 20 * SECOND);

  assert_exited (run, 3);
  g_assert_cmpuint (run.result.duration_us, <, 5 * G_USEC_PER_SEC);
}

/* A server started in the background goes on when it logs, and when it logs more than a pipe holds. */
void
test_background_child_goes_on_printing (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place,
                             "(sleep 0.5; echo late; echo late >&2; head -c 300000 /dev/zero; echo alive > b) & "
                             "echo started",
                             20 * SECOND);
  auto_run later = run_script (&place, "i=0; while [ ! -s b ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; cat b",
                               30 * SECOND);

  assert_prints (run, "started\n");
  assert_prints (later, "alive\n");
}

void
test_background_close_ends_all (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("(trap '' TERM; setsid sleep %s &) ; setsid sleep %s &", mark, mark);
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, script, 20 * SECOND);

  assert_exited (run, 0);
  wait_until (machine_runs (mark), 5 * SECOND);
  compute_close (g_steal_pointer (&place.handle));
  wait_until (!machine_runs (mark), 5 * SECOND);
}

/* The dead are buried, however many there are. */
void
test_case_G10_no_zombies (void)
{
  auto_place place = place_open (NULL);
  auto_run run
      = run_script (&place, "i=0; while [ $i -lt 300 ]; do (sleep 0.01 &) ; i=$((i+1)); done; sleep 1", 60 * SECOND);

  assert_exited (run, 0);
  wait_until (process_tree_zombies (getpid ()) == 0, 5 * SECOND);
}
