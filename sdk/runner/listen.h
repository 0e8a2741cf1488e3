/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_LISTEN_H
#define RUNNER_LISTEN_H

/* The socket of a runner that outlives its starter. */

/* Makes the socket, for its owner alone; path may be longer than a socket's name can be. Returns 0, or -1 with errno.
 */
int listen_open (const char *path);

/* Makes every connection a session, from now on; closed as for session_open. Returns 0, or -1 with errno. */
int listen_begin (void (*closed) (void));

/* Removes the socket. */
void listen_close (void);

#endif
