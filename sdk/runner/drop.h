/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_DROP_H
#define RUNNER_DROP_H

/* What lies past a limit is read and dropped, without copying where the kernel can. */

#include <stddef.h>
#include <sys/types.h>

/* Takes up to count bytes out of the pipe, which does not block. Returns as read() does. */
ssize_t drop_bytes (int pipe_fd, size_t count);

#endif
