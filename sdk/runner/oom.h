/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_OOM_H
#define RUNNER_OOM_H

#include <stdint.h>

/* Finds the memory controller of this process's cgroup (version 2 or 1), if there is one that can be read. */
void oom_open (void);

/* How many processes of the cgroup were killed for memory so far; 0 where it cannot be told. */
uint64_t oom_kills (void);

#endif
