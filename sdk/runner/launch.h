/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_LAUNCH_H
#define RUNNER_LAUNCH_H

/* A keeper's side of an order: from the packet to the command's own process, and from that process's failure to start
 * to words about it. */

#include "child.h"
#include "keeper.h"

#define LAUNCH_FDS_MAX 4

/* An order with all that came along. The strings live until launch_free. */
struct launch
{
  struct order order;
  char inline_text[ORDER_TEXT_MAX];
  void *long_text; /* a mapping, if the text came in a memfd */
  char **strings;  /* the words, NULL, the environment, NULL; points into the text */
  const char *workdir;
  int fds[LAUNCH_FDS_MAX]; /* as they came; -1: none */
};

enum launch_fd
{
  LAUNCH_STDOUT,
  LAUNCH_STDERR,
  LAUNCH_STDIN /* or the long text's, if there is no input */
};

/* Receives one packet. Returns 1; 0 when the runner has closed its end; -1 with errno. */
int launch_receive (int socket_fd, struct launch *launch);

/* Starts what the order says. failure is shared with the child and read when it has ended. Returns the pid, or -1 with
 * *err filled. */
pid_t launch_start (struct launch *launch, struct child_failure *failure, struct compute_error *err);

/* After the end of a child: what kept it from running, if anything did. A program that is not there is no error but
 * said on the command's stderr, as a shell says it. */
void launch_explain (const struct launch *launch, const struct child_failure *failure, int status,
                     struct compute_error *err);

void launch_free (struct launch *launch);

#endif
