/* SPDX-License-Identifier: MIT */
#include "parent.h"

#include "clock.h"
#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define LOOK_EVERY_MS 500 /* where there are no pidfds (before Linux 5.3, or a filter of system calls refuses them) */

static pid_t parent_pid;
static void (*parent_died) (void);

static void
parent_ready (struct watch *watch, uint32_t events)
{
  (void) events;
  loop_close (watch);
  parent_died ();
}

static void
look (struct timer *timer)
{
  if (getppid () != parent_pid)
    parent_died ();
  else
    timer->at_us = clock_after_ms (LOOK_EVERY_MS);
}

int
parent_watch (pid_t pid, void (*died) (void))
{
  static struct watch watch = { .ready = parent_ready };
  static struct timer timer = { .fire = look }; /* due at once: the parent may have died before the pidfd was there */

  parent_pid = pid;
  parent_died = died;
  watch.fd = (int) syscall (SYS_pidfd_open, pid, 0);
  if (watch.fd < 0 && errno != ENOSYS && errno != EPERM && errno != ESRCH)
    return -1;
  loop_timer (&timer);
  return watch.fd >= 0 ? loop_watch (&watch, EPOLLIN) : 0;
}
