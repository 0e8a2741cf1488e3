/* SPDX-License-Identifier: MIT */
#include "listen.h"

#include "clock.h"
#include "loop.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MAX 128
#define AGAIN_AFTER_MS 100 /* when there was no descriptor or memory for a connection, which goes on waiting */

static struct watch listener = { .fd = -1 };
static struct timer again_timer;
static int folder_fd = -1;
static char socket_name[sizeof ((struct sockaddr_un *) 0)->sun_path];
static void (*session_closed) (void);

/* Opens the folder of path and keeps the name in it. */
static int
find_place (const char *path)
{
  const char *slash = strrchr (path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  char folder[PATH_MAX] = ".";

  if (*name == '\0')
    {
      errno = ENOENT;
      return -1;
    }
  if (strlen (name) >= sizeof socket_name || strlen (path) >= sizeof folder)
    {
      errno = ENAMETOOLONG;
      return -1;
    }
  memcpy (socket_name, name, strlen (name) + 1);
  if (slash != NULL)
    {
      memcpy (folder, path, (size_t) (name - path));
      folder[name - path] = '\0';
    }
  folder_fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return folder_fd >= 0 ? 0 : -1;
}

/* Binds from within the folder, since a whole path might not fit. */
static int
bind_here (int fd)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  mode_t mask = umask (0177);
  int result;

  memcpy (address.sun_path, socket_name, sizeof address.sun_path);
  result = bind (fd, (struct sockaddr *) &address, sizeof address);
  (void) umask (mask);
  return result;
}

/* Returns 0, or -1 with errno; only a socket that was made here may ever be removed by listen_close. */
static int
bind_at (int fd, const char *path)
{
  int home_fd = open (".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int result = -1;

  if (home_fd >= 0 && find_place (path) == 0 && fchdir (folder_fd) == 0)
    {
      result = bind_here (fd);
      if (fchdir (home_fd) != 0)
        result = -1;
    }
  if (home_fd >= 0)
    (void) close (home_fd);
  return result;
}

int
listen_open (const char *path)
{
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd < 0 || bind_at (fd, path) != 0)
    return -1;
  listener.fd = fd;
  return listen (fd, WAITING_MAX);
}

/* The folder's mode keeps others out; this does so where a file system has none. */
static int
is_welcome (int fd)
{
  struct ucred peer;
  socklen_t size = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid () || peer.uid == 0);
}

static void
accept_one (struct watch *watch, uint32_t events)
{
  int fd = accept4 (watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  int copy = fd >= 0 && is_welcome (fd) ? fcntl (fd, F_DUPFD_CLOEXEC, 3) : -1;

  (void) events;
  if (copy >= 0)
    {
      (void) session_open (fd, copy, session_closed);
      return;
    }
  if (fd >= 0)
    (void) close (fd);
  else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
    {
      (void) loop_watch (watch, 0);
      again_timer.at_us = clock_after_ms (AGAIN_AFTER_MS);
    }
}

static void
accept_again (struct timer *timer)
{
  (void) timer;
  (void) loop_watch (&listener, EPOLLIN);
}

int
listen_begin (void (*closed) (void))
{
  session_closed = closed;
  listener.ready = accept_one;
  again_timer = (struct timer){ .at_us = CLOCK_NEVER, .fire = accept_again };
  loop_timer (&again_timer);
  return loop_watch (&listener, EPOLLIN);
}

void
listen_close (void)
{
  if (listener.fd < 0)
    return;
  loop_close (&listener);
  (void) unlinkat (folder_fd, socket_name, 0);
}
