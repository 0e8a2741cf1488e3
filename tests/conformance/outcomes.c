/* SPDX-License-Identifier: MIT */
/* The rows of the outcome table, and that a cancel is one however it comes. */
#include "conformance.h"
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

void
test_outcome_exited (void)
{
  static const int codes[] = { 0, 1, 2, 124, 125, 126, 127, 128, 130, 137, 143, 255 };
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      g_autofree char *script = g_strdup_printf ("exit %d", codes[i]);
      auto_run run = run_script (&place, script, 30 * SECOND);

      assert_exited (run, codes[i]);
    }
}

void
test_outcome_signaled (void)
{
  static const int signals[] = { 1, 2, 3, 6, 9, 11, 13, 15, 31 };
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autofree char *script = g_strdup_printf ("ulimit -c 0; kill -%d $$; sleep 30", signals[i]);
      auto_run run = run_script (&place, script, 60 * SECOND);

      assert_outcome (run, SIGNALED, 128 + signals[i], signals[i]);
    }
}

void
test_outcome_timed_out (void)
{
  auto_run run = X ("sleep 30; exit 3", 300);

  assert_timed_out (run);
  g_assert_cmpint (run.result.timeout_ms, ==, 300);
  g_assert_cmpuint (run.result.duration_us, >=, 300 * 1000);
}

/* Ended as at a timeout: with everything that the command started, and the output so far is delivered. */
void
test_outcome_cancelled (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("setsid sleep %s & echo begun; sleep %s", mark, mark);
  auto_place place = place_open (NULL);
  struct job *job = job_start (&place, script, 60 * SECOND);
  auto_run run = (job_wait_output (job, "begun\n"), job_cancel (job), job_end (job));

  assert_cancelled (run);
  g_assert_cmpstr (run.out->str, ==, "begun\n");
  g_assert_cmpint (run.wall_ms, <, 10 * SECOND);
  g_assert_false (place_runs (&place, mark));
}

void
test_outcome_cancelled_before_the_start (void)
{
  auto_place place = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct pollfd still = { eventfd (1, EFD_CLOEXEC), POLLIN, 0 };

  command.script = "sleep 30";
  call.cancel_fd = still.fd;
  assert_code (compute_execute (place.handle, place.instance.id, &command, NULL, &call, &result, &err), 0, &err);
  g_assert_cmpuint (result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
  /* Neither read nor closed. */
  g_assert_cmpint (poll (&still, 1, 0), ==, 1);
  g_assert_cmpint (still.revents, ==, POLLIN);
  close (still.fd);
}

static int
refuse_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  guint *calls = user;

  (void) stream, (void) data, (void) bytes;
  ++*calls;
  return -1;
}

void
test_outcome_cancelled_by_the_output (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("while :; do echo more; sleep 0.1; done & sleep %s", mark);
  auto_place place = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  guint calls = 0;

  command.script = script;
  call.user = &calls;
  call.output = refuse_output;
  assert_code (compute_execute (place.handle, place.instance.id, &command, NULL, &call, &result, &err), 0, &err);
  g_assert_cmpuint (result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
  g_assert_cmpuint (calls, ==, 1);
  g_assert_false (place_runs (&place, mark));
}

/* A cancel that comes when the command has ended changes nothing, whatever is already on its way. */
void
test_outcome_cancel_races_with_the_end (void)
{
  auto_place place = place_open (NULL);

  for (int i = 0; i < 60; i++)
    {
      struct job *job = job_start (&place, "echo begun; exit 3", 30 * SECOND);
      auto_run run = (job_wait_output (job, "begun\n"), job_cancel (job), job_end (job));

      assert_code (run.code, 0, &run.error);
      if (run.result.outcome == COMPUTE_OUTCOME_CANCELLED)
        assert_cancelled (run);
      else
        assert_exited (run, 3);
      g_assert_cmpstr (run.out->str, ==, "begun\n");
    }
}

/* What is not known is not made up: the result names the limits that applied and what the command used. */
void
test_outcome_figures (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; printf abc; printf defg >&2",
                             COMPUTE_UNSET);

  assert_exited (run, 0);
  g_assert_cmpuint (run.result.stdout_bytes, ==, 3);
  g_assert_cmpuint (run.result.stderr_bytes, ==, 4);
  g_assert_cmpuint (run.result.flags, ==, 0);
  g_assert_cmpint (run.result.timeout_ms, ==, COMPUTE_DEFAULT_TIMEOUT_MS);
  g_assert_cmpint (run.result.output_limit_bytes, ==, COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES);
  g_assert_cmpuint (run.result.max_rss_bytes, >, 100 * 1024);
  g_assert_cmpuint (run.result.max_rss_bytes, <, 512 * (guint64) MEBI);
  g_assert_cmpuint (run.result.user_us + run.result.sys_us, >, 0);
  g_assert_cmpuint (run.result.user_us + run.result.sys_us, <=, run.result.duration_us + 50 * 1000);
  g_assert_cmpuint (run.result.duration_us, <=, (guint64) (run.wall_ms + 1) * 1000);
}

/* Only as much is written as the caller's struct holds. */
void
test_outcome_short_result (void)
{
  auto_place place = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_result result;

  memset (&result, 0x5a, sizeof result);
  result.size = G_STRUCT_OFFSET (struct compute_result, duration_us);
  command.script = "exit 5";
  assert_code (compute_execute (place.handle, place.instance.id, &command, NULL, NULL, &result, &err), 0, &err);
  g_assert_cmpuint (result.size, ==, G_STRUCT_OFFSET (struct compute_result, duration_us));
  g_assert_cmpint (result.exit_code, ==, 5);
  for (gsize i = result.size; i < sizeof result; i++)
    g_assert_cmphex (((unsigned char *) &result)[i], ==, 0x5a);
}
