/* SPDX-License-Identifier: MIT */
#include "child.h"

#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct rlimit child_nofile;

static const char *
get_path (char *const *envp)
{
  for (; *envp != NULL; envp++)
    if (strncmp (*envp, "PATH=", 5) == 0)
      return *envp + 5;
  return DEFAULT_PATH;
}

/* Tries each folder of the path, as execvp does; returns the errno that tells most. */
static int
exec_in_path (const struct child *child)
{
  char file[PATH_MAX];
  const char *name = child->argv[0];
  size_t name_bytes = strlen (name);
  int best = ENOENT;

  for (const char *path = get_path (child->envp), *end; path != NULL; path = *end == ':' ? end + 1 : NULL)
    {
      size_t bytes;

      end = path + strcspn (path, ":");
      bytes = (size_t) (end - path);
      if (bytes + 1 + name_bytes >= sizeof file)
        continue;
      memcpy (file, path, bytes);
      file[bytes] = '/';
      memcpy (file + bytes + (bytes > 0), name, name_bytes + 1); /* an empty entry is the working directory */
      (void) execve (file, child->argv, child->envp);
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
        return errno;
      if (errno == EACCES)
        best = EACCES;
    }
  return best;
}

static int
exec_program (const struct child *child)
{
  const char *program = child->program != NULL ? child->program : child->argv[0];

  if (child->program == NULL && strchr (program, '/') == NULL)
    return *program != '\0' ? exec_in_path (child) : ENOENT;
  (void) execve (program, child->argv, child->envp);
  return errno;
}

int
child_exit_code (int sys_errno)
{
  return sys_errno == ENOENT || sys_errno == ENOTDIR ? 127 : 126;
}

static _Noreturn void
fail (struct child_failure *failure, int stage, int sys_errno)
{
  failure->sys_errno = sys_errno;
  failure->stage = stage;
  _exit (child_exit_code (sys_errno));
}

/* Gives from the number to, without close-on-exec. */
static void
place_descriptor (int from, int to)
{
  if (from == to)
    (void) fcntl (from, F_SETFD, 0);
  else if (from >= 0)
    (void) dup2 (from, to);
}

/* A session, streams and a place of its own. Every other descriptor is close-on-exec. */
static void
settle (const struct child *child, struct child_failure *failure)
{
  (void) setsid ();
  place_descriptor (child->stdin_fd, 0);
  place_descriptor (child->stdout_fd, 1);
  place_descriptor (child->stderr_fd, 2);
  place_descriptor (child->script_fd, 3);
  if (*child->workdir != '\0' && chdir (child->workdir) != 0)
    fail (failure, CHILD_WORKDIR, errno);
}

/* Runs in the keeper's memory until the exec: no allocation, nothing written but *failure. */
static _Noreturn void
become_command (const struct child *child, struct child_failure *failure)
{
  sigset_t none;

  settle (child, failure);
  (void) setrlimit (RLIMIT_NOFILE, &child_nofile);
  sigemptyset (&none);
  (void) sigprocmask (SIG_SETMASK, &none, NULL);
  fail (failure, CHILD_EXEC, exec_program (child));
}

pid_t
child_start (const struct child *child, struct child_failure *failure)
{
  pid_t pid;

  failure->stage = 0;
  pid = vfork ();
  if (pid == 0)
    become_command (child, failure);
  return pid;
}

pid_t
child_start_function (const struct child *child, int (*function) (void *context, struct compute_error *err),
                      void *context, struct child_failure *failure)
{
  pid_t pid;

  failure->stage = 0;
  pid = fork ();
  if (pid != 0)
    return pid;
  settle (child, failure);
  descriptors_close_from (3, -1);
  if (function (context, &failure->error) != 0)
    fail (failure, CHILD_FILES, failure->error.sys_errno);
  _exit (0);
}
