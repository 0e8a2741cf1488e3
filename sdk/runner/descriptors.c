/* SPDX-License-Identifier: MIT */
#include "descriptors.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int
close_range_of (int first, unsigned last)
{
  return (unsigned) first > last ? 0 : (int) syscall (SYS_close_range, first, last, 0);
}

void
descriptors_close_from (int first, int kept)
{
  int middle = kept >= first ? kept : first;

  if (close_range_of (first, (unsigned) middle - 1) == 0 && close_range_of (kept >= first ? kept + 1 : first, ~0u) == 0)
    return;
  for (int fd = first; fd < (int) sysconf (_SC_OPEN_MAX); fd++) /* before Linux 5.9 */
    if (fd != kept)
      (void) close (fd);
}
