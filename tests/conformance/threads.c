/* SPDX-License-Identifier: MIT */
/* Many calls at once on one handle: each gets its own, none waits for another. */
#include "conformance.h"
#include <sys/mman.h>
#include <unistd.h>

void
test_case_O12_outputs_of_concurrent_commands (void)
{
  auto_place place = place_open (NULL);
  struct job *jobs[64];

  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    {
      g_autofree char *script = g_strdup_printf ("i=0; while [ $i -lt 100 ]; do echo %u; i=$((i+1)); done; "
                                                 "echo %u >&2; exit %u",
                                                 i, i, i);

      jobs[i] = job_start (&place, script, 120 * SECOND);
    }
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    {
      g_autofree char *line = g_strdup_printf ("%u\n", i);
      auto_run run = job_end (jobs[i]);

      assert_exited (run, (int) i);
      g_assert_cmpuint (run.out->len, ==, 100 * strlen (line));
      for (gsize at = 0; at < run.out->len; at += strlen (line))
        g_assert_cmpint (memcmp (run.out->str + at, line, strlen (line)), ==, 0);
      g_assert_cmpstr (run.err->str, ==, line);
    }
}

/* All of them read one FIFO and end when its writer does, which it does when all of them run. */
void
test_case_D05_200_commands_at_once (void)
{
  auto_place place = place_open (NULL);
  auto_run made = run_script (&place, "mkfifo gate", 30 * SECOND);
  struct job *writer = job_start (&place, "exec 3> gate; while [ ! -e all ]; do sleep 0.1; done", 0);
  struct job *jobs[200];

  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    {
      g_autofree char *script = g_strdup_printf ("exec 3< gate; echo begun; read end <&3; echo %u; exit %u", i, i);

      jobs[i] = job_start (&place, script, 0);
    }
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    job_wait_output (jobs[i], "begun\n");
  auto_run all = run_script (&place, ": > all", 60 * SECOND);
  auto_run written = job_end (writer);

  assert_exited (made, 0);
  assert_exited (all, 0);
  assert_exited (written, 0);
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    {
      g_autofree char *expected = g_strdup_printf ("begun\n%u\n", i);
      auto_run run = job_end (jobs[i]);

      assert_exited (run, (int) i);
      g_assert_cmpstr (run.out->str, ==, expected);
    }
}

/* A caller that does not come back from its output callback keeps no other call waiting. */
void
test_thread_slow_output_delays_nobody (void)
{
  auto_place place = place_open (NULL);
  struct job *slow = job_start_held (&place, "yes | head -c 20000000", 120 * SECOND);
  struct compute_instance status = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int file = memfd_create ("file", MFD_CLOEXEC);

  job_wait_output (slow, "y\n");
  for (int i = 0; i < 20; i++)
    {
      auto_run run = run_script (&place, "head -c 400000 /dev/zero; echo ok >&2", 20 * SECOND);

      assert_exited (run, 0);
      g_assert_cmpuint (run.out->len, ==, 400000);
      g_assert_cmpstr (run.err->str, ==, "ok\n");
    }
  assert_code (compute_get_status (place.handle, place.instance.id, NULL, &status, &err), 0, &err);
  write_whole (file, "x", 1);
  assert_code (compute_put (place.handle, place.instance.id, "f", 0644, file, NULL, &err), 0, &err);
  close (file);
  job_release (slow);
  auto_run run = job_end (slow);

  assert_exited (run, 0);
  g_assert_cmpuint (run.result.stdout_bytes, ==, 20000000);
  g_assert_cmpuint (run.out->len, ==, COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES);
}

struct nested
{
  struct place *place;
  guint calls;
};

static int
run_another (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct nested *nested = user;

  (void) stream, (void) data, (void) bytes;
  nested->calls++;
  auto_run run = run_script (nested->place, "echo inner", 20 * SECOND);

  assert_prints (run, "inner\n");
  return 0;
}

/* No lock of the provider is held in a callback: it may use the same handle. */
void
test_thread_callback_runs_a_command (void)
{
  auto_place place = place_open (NULL);
  struct nested nested = { &place, 0 };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  command.script = "echo outer; sleep 0.2; echo outer";
  call.user = &nested;
  call.output = run_another;
  assert_code (compute_execute (place.handle, place.instance.id, &command, NULL, &call, &result, &err), 0, &err);
  g_assert_cmpint (result.exit_code, ==, 0);
  g_assert_cmpuint (nested.calls, >=, 1);
}

static int
check_thread (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  (void) stream, (void) data, (void) bytes;
  g_assert_true (g_thread_self () == user);
  return 0;
}

static void *
run_and_check_thread (void *user)
{
  struct place *place = user;
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  command.script = "i=0; while [ $i -lt 20 ]; do echo $i; sleep 0.01; i=$((i+1)); done";
  call.user = g_thread_self ();
  call.output = check_thread;
  assert_code (compute_execute (place->handle, place->instance.id, &command, NULL, &call, &result, &err), 0, &err);
  g_assert_cmpint (result.exit_code, ==, 0);
  return NULL;
}

/* Output comes on the thread that made the call, whichever thread reads the pipe. */
void
test_thread_output_on_the_calling_thread (void)
{
  auto_place place = place_open (NULL);
  GThread *threads[8];

  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("caller", run_and_check_thread, &place);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void *
provision_and_run (void *user)
{
  struct compute_handle *handle = user;

  for (int i = 0; i < 5; i++)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      struct place place;
      g_autofree char *expected = NULL;

      assert_code (place_provision (&place, handle, NULL, &err), 0, &err);
      expected = g_strconcat (place.workdir, "\n", NULL);
      auto_run run = run_script (&place, "pwd", 30 * SECOND);

      assert_prints (run, expected);
      assert_code (compute_shutdown (handle, place.instance.id, NULL, &err), 0, &err);
      g_free (place.workdir);
    }
  return NULL;
}

void
test_thread_instances_come_and_go (void)
{
  struct compute_handle *handle = handle_open ();
  GThread *threads[8];

  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("caller", provision_and_run, handle);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  compute_close (handle);
}

/* Every other one is cancelled; the rest go on until they are let go. */
void
test_thread_cancel_hits_one_alone (void)
{
  auto_place place = place_open (NULL);
  struct job *jobs[8];

  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i++)
    jobs[i] = job_start (&place, "echo begun; while [ ! -e go ]; do sleep 0.1; done; echo end", 0);
  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i++)
    job_wait_output (jobs[i], "begun\n");
  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i += 2)
    job_cancel (jobs[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i += 2)
    {
      auto_run run = job_end (jobs[i]);

      assert_cancelled (run);
    }
  auto_run go = run_script (&place, ": > go", 30 * SECOND);

  assert_exited (go, 0);
  for (gsize i = 1; i < G_N_ELEMENTS (jobs); i += 2)
    {
      auto_run run = job_end (jobs[i]);

      assert_prints (run, "begun\nend\n");
    }
}
