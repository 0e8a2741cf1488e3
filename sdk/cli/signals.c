/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include "request.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static int event_fd = -1;
static volatile sig_atomic_t first_signal;
static struct timespec first_time; /* written and read by the handler alone, which nothing interrupts */

static void
on_signal (int number)
{
  const uint64_t one = 1;
  int saved = errno;
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  if (first_signal == 0)
    {
      first_signal = number;
      first_time = now;
      (void) !write (event_fd, &one, sizeof one);
    }
  else if ((now.tv_sec - first_time.tv_sec) * 1000 + (now.tv_nsec - first_time.tv_nsec) / 1000000 > COMPUTE_GRACE_MS)
    _exit (STATUS_SIGNALED + first_signal);
  errno = saved;
}

void
signals_watch (void)
{
  static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART: a write that is stuck comes back */

  event_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0)
    g_error ("eventfd: %s", g_strerror (errno));
  sigfillset (&action.sa_mask);
  for (size_t i = 0; i < G_N_ELEMENTS (ending); i++)
    {
      struct sigaction old;

      if (sigaction (ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction (ending[i], &action, NULL);
    }
  sigaction (SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

int
signals_fd (void)
{
  return event_fd;
}

int
signals_caught (void)
{
  return first_signal;
}
