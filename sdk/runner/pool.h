/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_POOL_H
#define RUNNER_POOL_H

/* The keepers, as the runner sees them. One is always kept ready, and one is used again when nothing of its command is
 * left, so that a command costs no fork of a keeper. */

#include "keeper.h"

struct command;
struct keeper;
struct stream;

void pool_open (void);

/* Gives a command to a keeper. fds are borrowed: stdout, stderr, and stdin if the order says so. Sets command->keeper.
 * Returns 0, or COMPUTE_E_SYSTEM. */
int pool_start (struct command *command, const struct order *order, const char *text, const int *fds,
                struct compute_error *err);

void pool_order (struct keeper *keeper, enum order_kind kind, uint32_t number);

/* The command has been answered; what background children may still write goes to nobody. Takes both streams. */
void pool_release (struct keeper *keeper, struct stream **streams);

/* Sees to it that a keeper will be ready: the first when the instance is, a spare when a command runs for longer than a
 * moment. At the end of a round, when nothing is waiting for it. */
void pool_prepare (void);

/* SIGCHLD came. */
void pool_reap (void);

/* Ends everything that any command started. */
void pool_stop (void);

/* Nothing runs any more, but for what could not be ended. */
int pool_is_quiet (void);

/* Kills the keepers. Returns how many processes could not be ended. */
uint32_t pool_close (void);

/* Waits for them: no zombie is left to whoever inherits it. */
void pool_wait (void);

#endif
