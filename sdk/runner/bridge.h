/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_BRIDGE_H
#define RUNNER_BRIDGE_H

/* Connects standard input and output with the socket of a listening runner: for an engine that offers a pipe to a new
 * program inside an instance, and no way to a socket there. Returns 0 when the runner has closed the connection, or -1
 * with errno. */
int bridge_run (const char *socket_path);

#endif
