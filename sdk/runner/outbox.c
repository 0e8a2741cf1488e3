/* SPDX-License-Identifier: MIT */
#include "outbox.h"

#include "protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX (256u * 1024)    /* with so much unwritten, no more output of commands is taken in */
#define ALL_MAX (16u * 1024 * 1024) /* so much unwritten is a host that does not read */
#define FIRST_ROOM 4096

/* Makes room for count bytes after what is there. Returns where, or NULL. */
static unsigned char *
reserve (struct outbox *outbox, size_t count)
{
  size_t room = outbox->room > 0 ? outbox->room : FIRST_ROOM;
  unsigned char *bytes;

  if (outbox->failed || outbox->count + count > ALL_MAX)
    {
      outbox->failed = 1;
      return NULL;
    }
  if (outbox->head > 0 && outbox->head + outbox->count + count > outbox->room)
    {
      memmove (outbox->bytes, outbox->bytes + outbox->head, outbox->count);
      outbox->head = 0;
    }
  while (room < outbox->count + count)
    room *= 2;
  if (room != outbox->room)
    {
      bytes = realloc (outbox->bytes, room);
      if (bytes == NULL)
        {
          outbox->failed = 1;
          return NULL;
        }
      outbox->bytes = bytes;
      outbox->room = room;
    }
  return outbox->bytes + outbox->head + outbox->count;
}

void
outbox_frame (struct outbox *outbox, uint8_t type, uint32_t id, const void *payload, size_t count)
{
  unsigned char *to = reserve (outbox, FRAME_HEADER_BYTES + count);

  if (to == NULL)
    return;
  frame_put_header (to, type, 0, id, (uint32_t) count);
  if (count > 0)
    memcpy (to + FRAME_HEADER_BYTES, payload, count);
  outbox->count += FRAME_HEADER_BYTES + count;
}

unsigned char *
outbox_space (struct outbox *outbox)
{
  unsigned char *to;

  if (outbox->count >= OUTPUT_MAX)
    {
      outbox->starved = 1;
      return NULL;
    }
  to = reserve (outbox, FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX);
  return to != NULL ? to + FRAME_HEADER_BYTES : NULL;
}

void
outbox_commit (struct outbox *outbox, uint8_t type, uint32_t id, size_t count)
{
  frame_put_header (outbox->bytes + outbox->head + outbox->count, type, 0, id, (uint32_t) count);
  outbox->count += FRAME_HEADER_BYTES + count;
}

int
outbox_flush (struct outbox *outbox, int fd)
{
  while (outbox->count > 0)
    {
      ssize_t count = write (fd, outbox->bytes + outbox->head, outbox->count);

      if (count < 0 && errno != EINTR)
        return errno == EAGAIN ? 0 : -1;
      if (count > 0)
        {
          outbox->head += (size_t) count;
          outbox->count -= (size_t) count;
        }
    }
  outbox->head = 0;
  return 0;
}

void
outbox_free (struct outbox *outbox)
{
  free (outbox->bytes);
  *outbox = (struct outbox){ 0 };
}
