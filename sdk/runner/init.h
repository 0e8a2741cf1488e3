/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_INIT_H
#define RUNNER_INIT_H

/**
 * A container's first process: only its child returns from here, to be the runner. What comes to be an orphan outside
 * of the runner (a child of "docker exec") is reaped here and never taken for a command's. Returns 1 in that child, and
 * 0 in any other process.
 */
int init_if_first (void);

#endif
