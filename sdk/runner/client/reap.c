/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* 1 while the child runs. One that the host reaped, or that the kernel reaps for a host that ignores SIGCHLD, is no
 * child any more. */
static int
runs (pid_t pid, int *ret_status)
{
  pid_t ended;

  do
    ended = waitpid (pid, ret_status, WNOHANG);
  while (ended < 0 && errno == EINTR);
  return ended == 0;
}

/* A descriptor of the process, so that its number cannot mean another one; valid only when the child runs after it was
 * opened. */
int32_t
compute_runner_wait (int64_t pid, uint32_t timeout_ms)
{
  struct pollfd process = { .fd = (int) syscall (SYS_pidfd_open, (pid_t) pid, 0), .events = POLLIN };
  int64_t deadline = now_ms () + timeout_ms;
  int status = -1;
  int killed = 0;

  while (runs ((pid_t) pid, &status))
    {
      int64_t left = deadline - now_ms ();

      if (left <= 0 && !killed)
        {
          if (process.fd >= 0)
            (void) syscall (SYS_pidfd_send_signal, process.fd, SIGKILL, NULL, 0);
          else
            kill ((pid_t) pid, SIGKILL);
          killed = 1;
        }
      (void) poll (&process, 1, killed ? 100 : left > 100 ? 100 : (int) left);
    }
  close_fd (process.fd);
  return status;
}

void
compute_runner_reap (int64_t pid, uint32_t timeout_ms)
{
  (void) compute_runner_wait (pid, timeout_ms);
}
