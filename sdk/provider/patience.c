/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <poll.h>
#include <time.h>

#define LOOK_MS 50 /* between looks whether the caller has given up */

int
cancel_fd (const struct compute_call *call)
{
  return call != NULL && call->cancel_fd > 0 ? call->cancel_fd : -1;
}

int
is_cancelled (const struct compute_call *call)
{
  struct pollfd poll_fd = { .fd = cancel_fd (call), .events = POLLIN };

  return poll_fd.fd >= 0 && poll (&poll_fd, 1, 0) > 0;
}

int
cancelled (struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "cancelled by the caller");
}

/* By the clock that nobody sets. */
void
patience_init (pthread_cond_t *changed)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (changed, &attributes);
  pthread_condattr_destroy (&attributes);
}

void
patience_wait (pthread_cond_t *changed, pthread_mutex_t *lock)
{
  struct timespec soon;

  clock_gettime (CLOCK_MONOTONIC, &soon);
  soon.tv_nsec += LOOK_MS * 1000000L;
  soon.tv_sec += soon.tv_nsec / 1000000000L;
  soon.tv_nsec %= 1000000000L;
  (void) pthread_cond_timedwait (changed, lock, &soon);
}
