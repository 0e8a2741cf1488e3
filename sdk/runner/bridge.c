/* SPDX-License-Identifier: MIT */
#include "bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* One direction. Its buffer is filled when it is empty, and emptied before it is filled. */
struct lane
{
  int from;
  int to;
  size_t head;
  size_t count;
  int ended; /* nothing more comes from there */
  unsigned char buffer[64 * 1024];
};

static int
connect_to (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (strlen (path) >= sizeof address.sun_path)
    {
      errno = ENAMETOOLONG;
      return -1;
    }
  memcpy (address.sun_path, path, strlen (path) + 1);
  return fd >= 0 && connect (fd, (const struct sockaddr *) &address, sizeof address) == 0 ? fd : -1;
}

static int
is_transient (void)
{
  return errno == EAGAIN || errno == EINTR;
}

/* Returns 0, or -1 when what it leads to takes no more. */
static int
empty_lane (struct lane *lane)
{
  ssize_t count = write (lane->to, lane->buffer + lane->head, lane->count);

  if (count < 0)
    return is_transient () ? 0 : -1;
  lane->head += (size_t) count;
  lane->count -= (size_t) count;
  return 0;
}

static void
fill_lane (struct lane *lane)
{
  ssize_t count = read (lane->from, lane->buffer, sizeof lane->buffer);

  lane->head = 0;
  if (count > 0)
    lane->count = (size_t) count;
  else
    lane->ended = count == 0 || !is_transient ();
}

static struct pollfd
wish (const struct lane *lane)
{
  if (lane->count > 0)
    return (struct pollfd){ .fd = lane->to, .events = POLLOUT };
  return (struct pollfd){ .fd = lane->ended ? -1 : lane->from, .events = POLLIN };
}

/* Returns 0, or -1 when the lane leads nowhere any more. */
static int
serve (struct lane *lane, const struct pollfd *ready)
{
  if (ready->revents == 0)
    return 0;
  if (lane->count > 0)
    return empty_lane (lane);
  fill_lane (lane);
  return 0;
}

/* Until the runner has closed its end and all it said has been handed on. */
static void
carry (int socket_fd)
{
  static struct lane in, out; /* with values here, the file would hold their buffers */
  int told = 0;

  in.from = 0;
  in.to = out.from = socket_fd;
  out.to = 1;
  while (!out.ended || out.count > 0)
    {
      struct pollfd fds[] = { wish (&in), wish (&out) };

      if (poll (fds, 2, -1) < 0 && errno != EINTR)
        return;
      if (serve (&out, &fds[1]) != 0)
        return;
      if (serve (&in, &fds[0]) != 0)
        in.ended = 1, in.count = 0;
      if (in.ended && in.count == 0 && !told)
        told = shutdown (socket_fd, SHUT_WR) == 0 || errno != EINTR;
    }
}

int
bridge_run (const char *socket_path)
{
  int fd = connect_to (socket_path);

  if (fd < 0)
    return -1;
  (void) signal (SIGPIPE, SIG_IGN);
  for (int i = 0; i <= 1; i++)
    (void) fcntl (i, F_SETFL, fcntl (i, F_GETFL) | O_NONBLOCK);
  (void) fcntl (fd, F_SETFL, O_NONBLOCK | O_RDWR);
  carry (fd);
  return 0;
}
