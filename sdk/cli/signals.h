/* SPDX-License-Identifier: MIT */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

/**
 * SIGINT, SIGTERM and SIGHUP ask compute to end what it started and then to exit with 128 + n; one that was ignored
 * from the start (nohup) stays ignored. The first one makes signals_fd readable, for as long as the process lives.
 * Ending a command takes COMPUTE_GRACE_MS at most; who asks again after that time is not kept waiting: compute exits at
 * once, and the runner ends what is left as it does for any host that dies. SIGPIPE is ignored: a closed pipe is an
 * error.
 */
void signals_watch (void);

/* To be given as a call's cancel_fd. */
int signals_fd (void);

/* The first of these signals that came; 0: none so far. */
int signals_caught (void);

#endif
