/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_PARENT_H
#define RUNNER_PARENT_H

#include <sys/types.h>

/* Calls died when the process that is parent dies; pid is what getppid () said at the start. Returns 0, or -1 with
 * errno. */
int parent_watch (pid_t pid, void (*died) (void));

#endif
