/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_END_H
#define RUNNER_END_H

/* Signals to everything that descends from the calling process, a subreaper: whatever it has started, however it tried
 * to get away, is in its tree of parents. */

#include <sys/types.h>

struct end_pass
{
  unsigned sent;   /* processes that got the signal */
  unsigned denied; /* that may not be signalled (another user's) */
  int blind;       /* there is no usable /proc: nobody was looked for */
};

/* Parents get it before their children, so that no shell starts its next command when the present one is ended. is_kept
 * (NULL: none) names children that are left alone with all that is theirs. Safe from reused pids. */
struct end_pass end_signal_all (int number, int (*is_kept) (pid_t child));

#endif
