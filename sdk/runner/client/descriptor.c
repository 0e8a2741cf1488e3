/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t
now_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
close_fd (int fd)
{
  int saved = errno;

  if (fd >= 0)
    (void) close (fd); /* no retry: the number is free even after EINTR */
  errno = saved;
}

/* A host that closed its standard descriptors still has something write to them now and then. */
int
fd_above_stdio (int fd)
{
  int moved;

  if (fd < 0 || fd > 2)
    return fd;
  moved = fcntl (fd, F_DUPFD_CLOEXEC, 3);
  close_fd (fd);
  return moved;
}

/* A pipe has no MSG_NOSIGNAL. The signal is blocked in this thread for the length of the write, and one that the write
 * raised is taken out again; one that was pending before stays. */
static ssize_t
write_pipe (int fd, const void *bytes, size_t count)
{
  static const struct timespec at_once;
  sigset_t pipe_signal, old, pending;
  ssize_t written;
  int saved;

  sigemptyset (&pipe_signal);
  sigaddset (&pipe_signal, SIGPIPE);
  pthread_sigmask (SIG_BLOCK, &pipe_signal, &old);
  sigpending (&pending);
  written = write (fd, bytes, count);
  saved = errno;
  if (written < 0 && saved == EPIPE && !sigismember (&pending, SIGPIPE))
    (void) sigtimedwait (&pipe_signal, NULL, &at_once);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  errno = saved;
  return written;
}

ssize_t
write_quietly (int fd, int is_socket, const void *bytes, size_t count)
{
  return is_socket ? send (fd, bytes, count, MSG_NOSIGNAL) : write_pipe (fd, bytes, count);
}
