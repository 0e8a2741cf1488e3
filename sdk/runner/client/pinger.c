/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <signal.h>
#include <time.h>

/* Under lock: sleeps for a while, or until the connection closes. */
static void
pinger_sleep (struct compute_runner *runner, uint32_t ms)
{
  struct timespec until;

  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += (long) (ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000)
    {
      until.tv_sec++;
      until.tv_nsec -= 1000000000;
    }
  while (!runner->closing && pthread_cond_timedwait (&runner->pinger_stop, &runner->lock, &until) == 0)
    ;
}

/* Reads, too, while no call does: nobody else would find out that the runner is gone. */
static void *
pinger_main (void *user)
{
  struct compute_runner *runner = user;

  pthread_mutex_lock (&runner->lock);
  while (!runner->closing && runner->broken == 0)
    {
      pthread_mutex_unlock (&runner->lock);
      (void) send_frame (runner, FRAME_PING, 0, NULL, 0);
      pthread_mutex_lock (&runner->lock);
      pinger_sleep (runner, runner->lease_ms / 4);
      if (runner->leader == NULL && runner->broken == 0)
        receive (runner);
      if (now_ms () - runner->heard_ms > runner->lease_ms)
        break_connection (runner, COMPUTE_E_LOST, "the runner has not answered for %u ms", runner->lease_ms);
    }
  pthread_mutex_unlock (&runner->lock);
  return NULL;
}

/* The host's signals are not for this thread. */
int
pinger_start (struct compute_runner *runner, struct compute_error *err)
{
  pthread_condattr_t clock;
  sigset_t all, old;
  int failed;

  pthread_condattr_init (&clock);
  pthread_condattr_setclock (&clock, CLOCK_MONOTONIC);
  pthread_cond_init (&runner->pinger_stop, &clock);
  pthread_condattr_destroy (&clock);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  failed = pthread_create (&runner->pinger, NULL, pinger_main, runner);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (failed != 0)
    {
      pthread_cond_destroy (&runner->pinger_stop);
      return compute_error_set (err, COMPUTE_E_SYSTEM, failed, "cannot keep up the runner's lease: %s",
                                strerror (failed));
    }
  runner->pinger_runs = 1;
  return 0;
}

void
pinger_end (struct compute_runner *runner)
{
  if (!runner->pinger_runs)
    return;
  pthread_mutex_lock (&runner->lock);
  runner->closing = 1;
  pthread_cond_signal (&runner->pinger_stop);
  pthread_mutex_unlock (&runner->lock);
  pthread_join (runner->pinger, NULL);
  pthread_cond_destroy (&runner->pinger_stop);
}
