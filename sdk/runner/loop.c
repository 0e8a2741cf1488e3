/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define BATCH 64

static int epoll_fd = -1;
static struct epoll_event batch[BATCH]; /* the round's events; one whose watch ended meanwhile has a NULL pointer */
static int batch_count;
static struct timer *timers;
static void (*on_signal) (int number);

static void
signals_ready (struct watch *watch, uint32_t events)
{
  struct signalfd_siginfo info;

  (void) events;
  while (read (watch->fd, &info, sizeof info) == (ssize_t) sizeof info)
    on_signal ((int) info.ssi_signo);
}

int
loop_open (void (*signalled) (int number))
{
  static struct watch signals = { .ready = signals_ready };
  sigset_t set;

  on_signal = signalled;
  sigfillset (&set);
  (void) sigprocmask (SIG_SETMASK, &set, NULL);
  sigemptyset (&set);
  sigaddset (&set, SIGCHLD);
  sigaddset (&set, SIGTERM);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGHUP);
  epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
  signals.fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return epoll_fd >= 0 && signals.fd >= 0 ? loop_watch (&signals, EPOLLIN) : -1;
}

int
loop_watch (struct watch *watch, uint32_t events)
{
  struct epoll_event event = { .events = events, .data.ptr = watch };
  int operation = watch->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

  if (events == watch->events)
    return 0;
  if (epoll_ctl (epoll_fd, operation, watch->fd, &event) != 0)
    return -1;
  watch->events = events;
  for (int i = 0; events == 0 && i < batch_count; i++)
    if (batch[i].data.ptr == watch)
      batch[i].data.ptr = NULL;
  return 0;
}

void
loop_close (struct watch *watch)
{
  if (watch->fd < 0)
    return;
  (void) loop_watch (watch, 0);
  (void) close (watch->fd);
  watch->fd = -1;
}

void
loop_timer (struct timer *timer)
{
  timer->next = timers;
  timers = timer;
}

void
loop_forget (struct timer *timer)
{
  for (struct timer **at = &timers; *at != NULL; at = &(*at)->next)
    if (*at == timer)
      {
        *at = timer->next;
        return;
      }
}

/* How long to wait; CLOCK_NEVER: for ever. */
static int64_t
time_left_us (void)
{
  int64_t first = CLOCK_NEVER;
  int64_t left;

  for (struct timer *timer = timers; timer != NULL; timer = timer->next)
    if (timer->at_us < first)
      first = timer->at_us;
  if (first == CLOCK_NEVER)
    return CLOCK_NEVER;
  left = first - clock_us ();
  return left > 0 ? left : 0;
}

/* epoll_pwait2 is of Linux 5.11, and a container's filter of system calls may not know it; without it, a wait has whole
 * milliseconds. */
static int
wait_for_events (int64_t left_us)
{
  static int has_fine_wait = 1;
  int64_t timeout[2] = { left_us / 1000000, left_us % 1000000 * 1000 };
  int count;

  if (left_us == CLOCK_NEVER)
    return epoll_wait (epoll_fd, batch, BATCH, -1);
  if (has_fine_wait)
    {
      count = (int) syscall (SYS_epoll_pwait2, epoll_fd, batch, BATCH, timeout, NULL, 0);
      if (count >= 0 || errno == EINTR)
        return count;
      has_fine_wait = 0;
    }
  return epoll_wait (epoll_fd, batch, BATCH, (int) (left_us < 1000000000 ? (left_us + 999) / 1000 : 1000000));
}

/* A timer that fires may end any other, so the search begins anew after each. */
static void
fire_timers (void)
{
  int64_t now = clock_us ();
  struct timer *timer = timers;

  while (timer != NULL)
    if (timer->at_us <= now)
      {
        timer->at_us = CLOCK_NEVER;
        timer->fire (timer);
        timer = timers;
      }
    else
      timer = timer->next;
}

void
loop_round (void)
{
  batch_count = wait_for_events (time_left_us ());
  for (int i = 0; i < batch_count; i++)
    {
      struct watch *watch = batch[i].data.ptr;

      if (watch != NULL)
        watch->ready (watch, batch[i].events);
    }
  batch_count = 0;
  fire_timers ();
}
