/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static gpointer
sleeper (gpointer user)
{
  Place *place = user;
  Run *run = run_new ();

  run_script (run, place, "echo begun; sleep 60");
  return run;
}

static void
test_a_dead_runner_loses_what_runs (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) late = run_new ();
  struct compute_error err = COMPUTE_ERROR_INIT;
  GThread *threads[8];

  run_free (run_well (place, "true"));
  g_assert_cmpint (compute_runner_check (place->runner, &err), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("sleeper", sleeper, place);
  g_usleep (200000);
  kill ((pid_t) place->pid, SIGKILL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      g_autoptr (Run) run = g_thread_join (threads[i]);

      g_assert_cmpint (run->code, ==, COMPUTE_E_LOST);
      g_assert_nonnull (strstr (run->err.message, "whether it finished is unknown"));
    }
  run_script (late, place, "true");
  g_assert_cmpint (late->code, ==, COMPUTE_E_LOST);
  g_assert_nonnull (strstr (late->err.message, "nothing was sent"));
  g_assert_cmpint (compute_runner_check (place->runner, &err), ==, COMPUTE_E_LOST);
  g_assert_cmpint (compute_runner_shutdown (place->runner, &err), ==, COMPUTE_E_LOST);
}

static void
test_check_sees_a_death_between_commands (void)
{
  g_autoptr (Place) place = place_new ();

  kill ((pid_t) place->pid, SIGKILL);
  wait_until (compute_runner_check (place->runner, NULL) == COMPUTE_E_LOST);
}

static void
test_a_lease_finds_a_runner_that_stands_still (void)
{
  g_autoptr (Place) place = place_new_with_lease (600);
  g_autoptr (Run) run = run_new ();

  g_usleep (1500000); /* longer than the lease, nothing said */
  run_free (run_well (place, "true"));
  kill ((pid_t) place->pid, SIGSTOP);
  run_script (run, place, "sleep 60");
  kill ((pid_t) place->pid, SIGCONT);
  g_assert_cmpint (run->code, ==, COMPUTE_E_LOST);
  g_assert_nonnull (strstr (run->err.message, "has not answered for 600 ms"));
}

/* A pipe has no MSG_NOSIGNAL, and SIGPIPE has its default action here. */
static void
test_a_dead_runner_on_a_pipe_raises_no_signal (void)
{
  char *argv[] = { (char *) g_getenv ("COMPUTE_RUNNER"), NULL };
  g_autoptr (Run) run = run_new ();
  g_autoptr (Run) late = run_new ();
  struct compute_runner_options options = { .size = sizeof options };
  Place place = { 0 };
  GPid pid;
  gint in, out;

  g_assert_true (
      g_spawn_async_with_pipes (NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &in, &out, NULL, NULL));
  options.read_fd = out;
  options.write_fd = in;
  g_assert_cmpint (compute_runner_open (&options, &place.runner, NULL), ==, 0);
  g_assert_cmpint (compute_runner_pid (place.runner), ==, pid);
  run_script (run, &place, "head -c 2000000 /dev/zero");
  assert_exited (run, 0);
  g_assert_cmpuint (run->out->len, ==, 2000000);
  kill (pid, SIGKILL);
  compute_runner_reap (pid, 10000);
  run_script (late, &place, "true");
  g_assert_cmpint (late->code, ==, COMPUTE_E_LOST);
  g_assert_nonnull (strstr (late->err.message, "was not sent"));
  compute_runner_close (place.runner);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/lost/a-dead-runner-loses-what-runs", test_a_dead_runner_loses_what_runs);
  g_test_add_func ("/lost/check-sees-a-death-between-commands", test_check_sees_a_death_between_commands);
  g_test_add_func ("/lost/a-lease-finds-a-runner-that-stands-still", test_a_lease_finds_a_runner_that_stands_still);
  g_test_add_func ("/lost/a-dead-runner-on-a-pipe-raises-no-signal", test_a_dead_runner_on_a_pipe_raises_no_signal);
  return g_test_run ();
}
