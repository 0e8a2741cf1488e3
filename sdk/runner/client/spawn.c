/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* Default signals, none blocked, a session of its own: what the terminal sends is for the host alone. */
static int
set_attributes (posix_spawnattr_t *attributes)
{
  sigset_t all, none;
  int failed;

  sigfillset (&all);
  sigemptyset (&none);
  failed = posix_spawnattr_setsigdefault (attributes, &all);
  if (failed == 0)
    failed = posix_spawnattr_setsigmask (attributes, &none);
  if (failed == 0)
    failed = posix_spawnattr_setflags (attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  return failed;
}

/* Only 0, 1 and 2 reach the child, whatever the host has open. pipe_fd is above them. */
static int
set_descriptors (posix_spawn_file_actions_t *actions, int pipe_fd, int stderr_fd)
{
  int failed = stderr_fd >= 0 ? posix_spawn_file_actions_adddup2 (actions, stderr_fd, 2)
                              : posix_spawn_file_actions_addopen (actions, 2, "/dev/null", O_WRONLY, 0);

  if (failed == 0)
    failed = posix_spawn_file_actions_adddup2 (actions, pipe_fd, 0);
  if (failed == 0)
    failed = posix_spawn_file_actions_adddup2 (actions, pipe_fd, 1);
  if (failed == 0)
    failed = posix_spawn_file_actions_addclosefrom_np (actions, 3);
  return failed;
}

static int
spawn_with (const char *const *argv, const char *const *envp, int pipe_fd, int stderr_fd, pid_t *ret_pid)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = posix_spawnattr_init (&attributes);

  if (failed != 0)
    return failed;
  failed = posix_spawn_file_actions_init (&actions);
  if (failed == 0)
    {
      failed = set_attributes (&attributes);
      if (failed == 0)
        failed = set_descriptors (&actions, pipe_fd, stderr_fd);
      if (failed == 0)
        failed = posix_spawnp (ret_pid, argv[0], &actions, &attributes, (char *const *) argv,
                               envp != NULL ? (char *const *) envp : environ);
      posix_spawn_file_actions_destroy (&actions);
    }
  posix_spawnattr_destroy (&attributes);
  return failed;
}

/* Two ends of one pipe, none of them a standard descriptor. */
static int
open_pipe (int *ends)
{
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return -1;
  ends[0] = fd_above_stdio (ends[0]);
  ends[1] = fd_above_stdio (ends[1]);
  if (ends[0] >= 0 && ends[1] >= 0)
    return 0;
  close_fd (ends[0]);
  close_fd (ends[1]);
  return -1;
}

/* A socket pair, so that writing to a dead child raises no SIGPIPE. */
int
compute_runner_spawn (const char *const *argv, const char *const *envp, int32_t stderr_fd, int64_t *ret_pid,
                      int32_t *ret_read_fd, int32_t *ret_write_fd, struct compute_error *err)
{
  int ends[2], write_fd, failed;
  pid_t pid;

  if (open_pipe (ends) != 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot make a pipe to '%s': %s", argv[0],
                              strerror (errno));
  write_fd = fcntl (ends[0], F_DUPFD_CLOEXEC, 3);
  failed = write_fd < 0 ? errno : spawn_with (argv, envp, ends[1], stderr_fd, &pid);
  close_fd (ends[1]);
  if (failed == 0)
    {
      *ret_pid = pid;
      *ret_read_fd = ends[0];
      *ret_write_fd = write_fd;
      return 0;
    }
  close_fd (write_fd);
  close_fd (ends[0]);
  return compute_error_set (err, failed == ENOENT ? COMPUTE_E_NOT_FOUND : COMPUTE_E_SYSTEM, failed,
                            "cannot start '%s': %s", argv[0], strerror (failed));
}
