/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <time.h>

int64_t
clock_us (void)
{
  struct timespec now;

  (void) clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
clock_after_ms (int64_t ms)
{
  int64_t now = clock_us ();

  return ms > (CLOCK_NEVER - now) / 1000 ? CLOCK_NEVER : now + ms * 1000;
}
