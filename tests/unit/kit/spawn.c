/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a program that was started says on its standard output until it ends. */
static char *
spawn_and_read (const char *const *argv, const char *const *envp, int stderr_fd)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  GString *text = g_string_new (NULL);
  int32_t read_fd, write_fd;
  char buffer[4096];
  ssize_t count;
  int64_t pid;

  g_assert_cmpint (compute_runner_spawn (argv, envp, stderr_fd, &pid, &read_fd, &write_fd, &err), ==, 0);
  g_assert_cmpint (read_fd, >, 2);
  g_assert_cmpint (write_fd, >, 2);
  g_assert_cmpint (fcntl (read_fd, F_GETFD), ==, FD_CLOEXEC);
  g_assert_cmpint (fcntl (write_fd, F_GETFD), ==, FD_CLOEXEC);
  close (write_fd);
  while ((count = read (read_fd, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, count);
  close (read_fd);
  compute_runner_reap (pid, 10000);
  return g_string_free (text, FALSE);
}

static char *
shell (const char *script)
{
  const char *const argv[] = { "sh", "-c", script, NULL };

  return spawn_and_read (argv, NULL, -1);
}

static void
set_action (int number, void (*handler) (int))
{
  struct sigaction action = { .sa_handler = handler };

  g_assert_cmpint (sigaction (number, &action, NULL), ==, 0);
}

static void
test_signals_are_as_new (void)
{
  g_autofree char *text = NULL;
  unsigned long blocked, ignored;
  sigset_t term, old;

  sigemptyset (&term);
  sigaddset (&term, SIGTERM);
  set_action (SIGPIPE, SIG_IGN);
  set_action (SIGCHLD, SIG_IGN);
  pthread_sigmask (SIG_BLOCK, &term, &old);
  text = shell ("grep -E 'SigBlk|SigIgn' /proc/self/status");
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  set_action (SIGCHLD, SIG_DFL);
  set_action (SIGPIPE, SIG_DFL);
  g_assert_cmpint (sscanf (text, "SigBlk: %lx SigIgn: %lx", &blocked, &ignored), ==, 2);
  g_assert_cmphex (blocked, ==, 0);
  g_assert_cmphex (ignored & 0x7FFFFFFF, ==, 0); /* 32 and 33 are the C library's own business */
}

static void
test_no_descriptor_of_ours_is_passed_on (void)
{
  int opened[50];
  g_autofree char *text = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (opened); i++)
    opened[i] = open ("/dev/null", O_RDONLY); /* without O_CLOEXEC */
  text = shell ("ls /proc/$$/fd | wc -l");
  for (guint i = 0; i < G_N_ELEMENTS (opened); i++)
    close (opened[i]);
  g_assert_cmpstr (text, ==, "3\n");
}

static void
test_it_has_a_session_of_its_own (void)
{
  g_autofree char *text = shell ("echo $$; cut -d' ' -f6 /proc/$$/stat");
  g_auto (GStrv) lines = g_strsplit (text, "\n", 3);

  g_assert_cmpstr (lines[0], ==, lines[1]);
}

static void
test_stderr_goes_where_it_is_told (void)
{
  const char *const argv[] = { "/bin/sh", "-c", "echo text >&2", NULL };
  int fd = open ("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  g_autofree char *text = spawn_and_read (argv, NULL, fd);
  char said[16] = "";

  g_assert_cmpstr (text, ==, "");
  g_assert_cmpint (pread (fd, said, sizeof said - 1, 0), ==, 5);
  g_assert_cmpstr (said, ==, "text\n");
  close (fd);
}

static void
test_the_environment_can_be_given (void)
{
  const char *const argv[] = { "/bin/sh", "-c", "echo $A $HOME", NULL };
  const char *const envp[] = { "A=b", NULL };
  g_autofree char *text = spawn_and_read (argv, envp, -1);

  g_assert_cmpstr (text, ==, "b\n");
}

static void
test_a_missing_program_is_named (void)
{
  const char *const argv[] = { "/no/such/program", NULL };
  struct compute_error err = COMPUTE_ERROR_INIT;
  guint before = count_descriptors ();
  int32_t read_fd, write_fd;
  int64_t pid;

  g_assert_cmpint (compute_runner_spawn (argv, NULL, -1, &pid, &read_fd, &write_fd, &err), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpstr (err.message, ==, "cannot start '/no/such/program': No such file or directory");
  g_assert_cmpuint (count_descriptors (), ==, before);
}

/* What a daemon looks like after it closed all it had: the new pipe must not become its standard output. */
static void
test_closed_standard_descriptors_stay_free (void)
{
  if (g_test_subprocess ())
    {
      g_autofree char *text = NULL;

      close (0);
      close (1);
      text = shell ("echo text");
      _exit (strcmp (text, "text\n") == 0 && fcntl (0, F_GETFD) < 0 && fcntl (1, F_GETFD) < 0 ? 0 : 1);
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

static int64_t
spawn_sleep (void)
{
  const char *const argv[] = { "sleep", "60", NULL };
  int32_t read_fd, write_fd;
  int64_t pid;

  g_assert_cmpint (compute_runner_spawn (argv, NULL, -1, &pid, &read_fd, &write_fd, NULL), ==, 0);
  close (read_fd);
  close (write_fd);
  return pid;
}

static void
test_reap_kills_after_its_time (void)
{
  int64_t pid = spawn_sleep ();

  compute_runner_reap (pid, 50);
  g_assert_cmpint (kill ((pid_t) pid, 0), !=, 0);
  g_assert_cmpint (waitpid ((pid_t) pid, NULL, WNOHANG), ==, -1);
}

static void
test_reap_copes_with_a_host_that_reaps (void)
{
  int64_t pid = spawn_sleep ();

  kill ((pid_t) pid, SIGKILL);
  g_assert_cmpint (waitpid (-1, NULL, 0), ==, pid);
  compute_runner_reap (pid, 60000);
}

static void
test_reap_copes_with_ignored_children (void)
{
  set_action (SIGCHLD, SIG_IGN);
  compute_runner_reap (spawn_sleep (), 50);
  set_action (SIGCHLD, SIG_DFL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/spawn/signals-are-as-new", test_signals_are_as_new);
  g_test_add_func ("/spawn/no-descriptor-of-ours-is-passed-on", test_no_descriptor_of_ours_is_passed_on);
  g_test_add_func ("/spawn/it-has-a-session-of-its-own", test_it_has_a_session_of_its_own);
  g_test_add_func ("/spawn/stderr-goes-where-it-is-told", test_stderr_goes_where_it_is_told);
  g_test_add_func ("/spawn/the-environment-can-be-given", test_the_environment_can_be_given);
  g_test_add_func ("/spawn/a-missing-program-is-named", test_a_missing_program_is_named);
  g_test_add_func ("/spawn/closed-standard-descriptors-stay-free", test_closed_standard_descriptors_stay_free);
  g_test_add_func ("/reap/kills-after-its-time", test_reap_kills_after_its_time);
  g_test_add_func ("/reap/copes-with-a-host-that-reaps", test_reap_copes_with_a_host_that_reaps);
  g_test_add_func ("/reap/copes-with-ignored-children", test_reap_copes_with_ignored_children);
  return g_test_run ();
}
