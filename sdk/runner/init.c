/* SPDX-License-Identifier: MIT */
#include "init.h"

#include "descriptors.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reaps everyone. Returns the runner's status once it has ended; -1 before. */
static int
reap (pid_t runner)
{
  int ended = -1;
  int status;
  pid_t pid;

  while ((pid = waitpid (-1, &status, WNOHANG | __WALL)) > 0)
    if (pid == runner)
      ended = WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
  return ended;
}

int
init_if_first (void)
{
  sigset_t set;
  pid_t runner;
  int status;

  if (getpid () != 1)
    return 0;
  sigfillset (&set);
  (void) sigprocmask (SIG_SETMASK, &set, NULL);
  runner = fork ();
  if (runner <= 0)
    return 1;
  descriptors_close_from (0, -1); /* the pipe's ends above all: the runner alone has them */
  while ((status = reap (runner)) < 0)
    {
      int number = sigwaitinfo (&set, NULL);

      if (number == SIGTERM || number == SIGINT || number == SIGHUP)
        (void) kill (runner, SIGTERM);
    }
  _exit (status);
}
