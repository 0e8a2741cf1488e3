/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define THREADS 64u
#define ROUNDS 4u

struct job
{
  Place *place;
  guint number;
  GThread *thread;
  Run *run;
  gint *gate;
  gint done;
};

static void
start_jobs (struct job *jobs, guint count, Place *place, gint *gate, GThreadFunc function)
{
  for (guint i = 0; i < count; i++)
    {
      jobs[i] = (struct job){ .place = place, .number = i, .run = run_new (), .gate = gate };
      jobs[i].run->call.cancel_fd = eventfd (0, EFD_CLOEXEC);
      jobs[i].thread = g_thread_new ("job", function, &jobs[i]);
    }
}

static void
end_job (struct job *job)
{
  g_thread_join (job->thread);
  close (job->run->call.cancel_fd);
  run_free (job->run);
}

static void
end_jobs (struct job *jobs, guint count)
{
  for (guint i = 0; i < count; i++)
    end_job (&jobs[i]);
}

/* Output of its own, more than a frame of it, an input, an exit status; every eighth is cancelled by its own output. */
static gpointer
mixed (gpointer user)
{
  struct job *job = user;

  for (guint round = 0; round < ROUNDS; round++)
    {
      guint lines = 1 + job->number * 20;
      g_autofree char *script
          = g_strdup_printf ("i=0; while [ $i -lt %u ]; do echo %u.%u; i=$((i+1)); done; cat >&2; exit %u", lines,
                             job->number, round, job->number);
      g_autofree char *line = g_strdup_printf ("%u.%u\n", job->number, round);
      struct compute_command command = COMPUTE_COMMAND_INIT;
      g_autoptr (Run) run = run_new ();

      command.script = script;
      command.stdin_data = line;
      command.stdin_bytes = strlen (line);
      run->cancel_after = job->number % 8 == 7 ? 1 : 0;
      run_command (run, job->place, &command, NULL);
      g_assert_cmpstr (run->err.message, ==, "");
      if (run->cancel_after == 0)
        {
          assert_exited (run, (int) job->number);
          g_assert_cmpuint (run->out->len, ==, lines * strlen (line));
          g_assert_cmpstr (run->error_out->str, ==, line);
        }
      else if (run->result.outcome != COMPUTE_OUTCOME_EXITED) /* it may have been faster */
        g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
      for (gsize at = 0; at + strlen (line) <= run->out->len; at += strlen (line))
        g_assert_cmpmem (run->out->str + at, strlen (line), line, strlen (line));
    }
  return NULL;
}

static void
test_outputs_never_mix (void)
{
  g_autoptr (Place) place = place_new ();
  struct job jobs[THREADS];

  start_jobs (jobs, THREADS, place, NULL, mixed);
  end_jobs (jobs, THREADS);
}

static void
wait_at_gate (gpointer user)
{
  struct job *job = user;

  g_atomic_int_inc (&job->gate[1]);
  while (g_atomic_int_get (&job->gate[0]) == 0)
    g_usleep (1000);
}

static gpointer
slow (gpointer user)
{
  struct job *job = user;

  job->run->on_output = wait_at_gate;
  job->run->user = job;
  run_script (job->run, job->place, "head -c 5000000 /dev/zero");
  assert_exited (job->run, 0);
  g_assert_cmpuint (job->run->out->len, ==, 5000000);
  return NULL;
}

/* Its consumer stands still in the middle of the output, perhaps after having led. */
static void
test_a_slow_consumer_stalls_nobody (void)
{
  g_autoptr (Place) place = place_new ();
  gint gate[2] = { 0, 0 };
  struct job job;

  start_jobs (&job, 1, place, gate, slow);
  wait_until (g_atomic_int_get (&gate[1]) > 0);
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (Run) run = run_well (place, "head -c 3000000 /dev/zero");

      g_assert_cmpuint (run->out->len, ==, 3000000);
    }
  g_assert_cmpint (g_atomic_int_get (&gate[1]), ==, 1);
  g_atomic_int_set (&gate[0], 1);
  end_jobs (&job, 1);
}

static gpointer
sleeper (gpointer user)
{
  struct job *job = user;

  run_script (job->run, job->place, "exec sleep 60");
  g_atomic_int_set (&job->done, 1);
  return NULL;
}

static void
test_one_of_many_is_cancelled (void)
{
  g_autoptr (Place) place = place_new ();
  struct job jobs[8];

  start_jobs (jobs, G_N_ELEMENTS (jobs), place, NULL, sleeper);
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    {
      g_assert_cmpint (g_atomic_int_get (&jobs[i].done), ==, 0);
      g_assert_cmpint (eventfd_write (jobs[i].run->call.cancel_fd, 1), ==, 0);
      wait_until (g_atomic_int_get (&jobs[i].done) == 1);
      g_assert_cmpstr (jobs[i].run->err.message, ==, "");
      g_assert_cmpuint (jobs[i].run->result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
      end_job (&jobs[i]);
    }
}

static void
test_a_signal_reaches_its_command (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_call other = COMPUTE_CALL_INIT;
  struct job jobs[2];

  start_jobs (jobs, 2, place, NULL, sleeper);
  wait_until (compute_runner_signal (place->runner, &jobs[1].run->call, 10, &err) == 0);
  wait_until (g_atomic_int_get (&jobs[1].done) == 1);
  g_assert_cmpuint (jobs[1].run->result.outcome, ==, COMPUTE_OUTCOME_SIGNALED);
  g_assert_cmpint (jobs[1].run->result.signal, ==, 10);
  g_assert_cmpint (g_atomic_int_get (&jobs[0].done), ==, 0);
  g_assert_cmpint (compute_runner_signal (place->runner, &jobs[1].run->call, 10, &err), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (compute_runner_signal (place->runner, &other, 10, &err), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (compute_runner_signal (place->runner, NULL, 10, &err), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (compute_runner_signal (place->runner, &jobs[0].run->call, 65, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (eventfd_write (jobs[0].run->call.cancel_fd, 1), ==, 0);
  end_jobs (jobs, 2);
}

static gpointer
burst (gpointer user)
{
  struct job *job = user;

  run_script (job->run, job->place, "echo x");
  assert_exited (job->run, 0);
  return NULL;
}

static void
test_no_descriptor_is_left (void)
{
  guint before = count_descriptors ();
  Place *place = place_new ();
  struct job jobs[200];

  start_jobs (jobs, G_N_ELEMENTS (jobs), place, NULL, burst);
  end_jobs (jobs, G_N_ELEMENTS (jobs));
  g_assert_cmpuint (count_descriptors (), <=, before + 2 + 64);
  place_free (place);
  g_assert_cmpuint (count_descriptors (), ==, before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/threads/outputs-never-mix", test_outputs_never_mix);
  g_test_add_func ("/threads/a-slow-consumer-stalls-nobody", test_a_slow_consumer_stalls_nobody);
  g_test_add_func ("/threads/one-of-many-is-cancelled", test_one_of_many_is_cancelled);
  g_test_add_func ("/threads/a-signal-reaches-its-command", test_a_signal_reaches_its_command);
  g_test_add_func ("/threads/no-descriptor-is-left", test_no_descriptor_is_left);
  return g_test_run ();
}
