/* SPDX-License-Identifier: MIT */
/* The runner: runs commands for a host that speaks frames to it; see PROTOCOL.md. */

#include "child.h"
#include "instance.h"
#include "loop.h"
#include "oom.h"
#include "pool.h"
#include "command.h"
#include "runner.h"
#include "session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME "compute-runner"
#define STOP_MAX_MS 10000 /* after which the runner's end waits for nothing any more */
#define FILES_MAX 8192    /* descriptors are wanted for many commands at once; more would make old kernels slow */

static int stopping;
static struct timer stop_timer;

int
runner_is_stopping (void)
{
  return stopping;
}

static void
stop_waiting (struct timer *timer)
{
  (void) timer;
  stopping = 2;
}

void
runner_stop (void)
{
  if (stopping)
    return;
  stopping = 1;
  stop_timer.at_ms = loop_now_ms () + STOP_MAX_MS;
  pool_stop ();
}

static int
is_over (void)
{
  return stopping > 1 || (stopping && pool_is_quiet () && command_count () == 0);
}

static void
signalled (int number)
{
  if (number == SIGCHLD)
    pool_reap ();
  else
    runner_stop ();
}

/* Whatever the starter did to signals must not reach commands; the C library's own are among them. */
static void
default_signals (void)
{
  static const char zeroes[64]; /* the kernel's struct sigaction for SIG_DFL */

  for (int number = 1; number < _NSIG; number++)
    (void) syscall (SYS_rt_sigaction, number, zeroes, NULL, _NSIG / 8);
}

static void
raise_file_limit (void)
{
  struct rlimit raised;

  (void) getrlimit (RLIMIT_NOFILE, &child_nofile);
  raised = child_nofile;
  if (raised.rlim_cur < FILES_MAX)
    raised.rlim_cur = raised.rlim_max < FILES_MAX ? raised.rlim_max : FILES_MAX;
  (void) setrlimit (RLIMIT_NOFILE, &raised);
}

static int
die (const char *what)
{
  (void) fprintf (stderr, NAME ": %s: %s\n", what, strerror (errno));
  return 1;
}

/* Moves the protocol away from where commands have their standard streams, and leaves /dev/null there. */
static int
take_descriptors (int *ret_in_fd, int *ret_out_fd)
{
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);

  *ret_in_fd = fcntl (0, F_DUPFD_CLOEXEC, 3);
  *ret_out_fd = fcntl (1, F_DUPFD_CLOEXEC, 3);
  if (null_fd < 0 || *ret_in_fd < 0 || *ret_out_fd < 0)
    return -1;
  for (int fd = 0; fd <= 2; fd++)
    (void) dup2 (null_fd, fd);
  if (null_fd > 2)
    (void) close (null_fd);
  (void) fcntl (*ret_in_fd, F_SETFL, fcntl (*ret_in_fd, F_GETFL) | O_NONBLOCK);
  (void) fcntl (*ret_out_fd, F_SETFL, fcntl (*ret_out_fd, F_GETFL) | O_NONBLOCK);
  return 0;
}

int
main (int argc, char **argv)
{
  struct compute_error error = COMPUTE_ERROR_INIT;
  int in_fd;
  int out_fd;

  if (argc > 1 && strcmp (argv[1], "--version") == 0)
    return printf (NAME " " VERSION "\n") < 0;
  default_signals ();
  raise_file_limit ();
  (void) setsid ();
  (void) prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (loop_open (signalled) != 0 || instance_open (&error) != 0 || take_descriptors (&in_fd, &out_fd) != 0)
    return die ("cannot start");
  oom_open ();
  pool_open ();
  stop_timer = (struct timer){ .at_ms = LOOP_NEVER, .fire = stop_waiting };
  loop_timer (&stop_timer);
  if (session_open (in_fd, out_fd, runner_stop) != 0)
    return die ("standard input");
  while (!is_over ())
    {
      loop_round ();
      session_flush_all ();
      if (!stopping)
        pool_prepare ();
    }
  session_bye_all (pool_close ());
  return 0;
}
