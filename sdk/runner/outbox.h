/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_OUTBOX_H
#define RUNNER_OUTBOX_H

/* Frames on their way to the host. They are put together here and leave in one write per round of the loop. */

#include <stddef.h>
#include <stdint.h>

struct outbox
{
  unsigned char *bytes;
  size_t head;  /* where what is still to be written begins */
  size_t count; /* how much that is */
  size_t room;
  int starved; /* outbox_space had none to give since the last flush */
  int failed;  /* memory ran out, or the host has not read for far too long: the connection is to be closed */
};

void outbox_frame (struct outbox *outbox, uint8_t type, uint32_t id, const void *payload, size_t count);

/* A command's output is read straight into place: where FRAME_PAYLOAD_MAX bytes may be put, or NULL while the host has
 * enough to read as it is. outbox_commit then makes a frame of the first count of them. */
unsigned char *outbox_space (struct outbox *outbox);
void outbox_commit (struct outbox *outbox, uint8_t type, uint32_t id, size_t count);

/* Writes what the descriptor takes. Returns 0, or -1 with errno when it is broken. */
int outbox_flush (struct outbox *outbox, int fd);

void outbox_free (struct outbox *outbox);

#endif
