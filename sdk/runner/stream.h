/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_STREAM_H
#define RUNNER_STREAM_H

/* One output pipe of a command: what may go to the host is read into its connection's outbox, what lies past the limit
 * is counted and dropped without being looked at. */

#include "loop.h"

#include <stddef.h>

struct command;

struct stream
{
  struct watch watch;
  struct command *command; /* NULL: it has ended; all that background children still write is dropped */
  uint8_t frame_type;      /* FRAME_STDOUT or FRAME_STDERR */
  uint64_t limit_left;     /* how much more may be sent */
  uint64_t total;          /* read in all */
  uint64_t left;           /* to be read before the command is done; UINT64_MAX while its process lives */
  uint64_t burst;          /* read since it was last slow */
  int floods;              /* visited by the clock */
  unsigned visited;        /* in which round of visits */
  struct stream *next_flood;
  struct stream *next; /* of a keeper's left-over streams */
};

/* Takes read_fd. limit_bytes: 0: none. Returns NULL with errno; read_fd is then still the caller's. */
struct stream *stream_new (struct command *command, uint8_t frame_type, int read_fd, uint64_t limit_bytes);

/* Reads on, if something kept it from doing so: a window, a full outbox. */
void stream_resume (struct stream *stream);

/* The command's process has ended: what is in the pipe at this moment is the last that counts. */
void stream_end (struct stream *stream);

int stream_is_done (const struct stream *stream);

/* The command is over, but background children have the pipe: from now on all is dropped. */
void stream_leave (struct stream *stream);

void stream_free (struct stream *stream);

#endif
