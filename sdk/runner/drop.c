/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SINK_SIZE (1024 * 1024)

/* A pipe of our own, and where it ends. The kernel frees pages while it holds the lock of the pipe that they come out
 * of; the command's pipe must not be locked for so long, as its writer waits for the lock. */
static int sink[2] = { -1, -1 };
static int null_fd = -1;

static int
is_open (void)
{
  if (null_fd >= 0)
    return 1;
  if (sink[0] < 0 && pipe2 (sink, O_CLOEXEC | O_NONBLOCK) != 0)
    return 0;
  (void) fcntl (sink[1], F_SETPIPE_SZ, SINK_SIZE);
  null_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  return null_fd >= 0;
}

static ssize_t
read_away (int fd, size_t count)
{
  static char nowhere[64 * 1024];

  return read (fd, nowhere, count < sizeof nowhere ? count : sizeof nowhere);
}

static void
empty_sink (size_t count)
{
  while (count > 0)
    {
      ssize_t gone = splice (sink[0], NULL, null_fd, NULL, count, SPLICE_F_MOVE);

      if (gone <= 0)
        gone = read_away (sink[0], count);
      if (gone <= 0)
        return;
      count -= (size_t) gone;
    }
}

ssize_t
drop_bytes (int pipe_fd, size_t count)
{
  ssize_t moved = -1;

  if (!is_open ())
    return read_away (pipe_fd, count);
  moved = splice (pipe_fd, NULL, sink[1], NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (moved > 0)
    empty_sink ((size_t) moved);
  else if (moved < 0 && errno != EAGAIN)
    return read_away (pipe_fd, count);
  return moved;
}
