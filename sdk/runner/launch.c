/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include "files.h"
#include "protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENT_MAX (128u * 1024)       /* one string of an exec, its NUL included (MAX_ARG_STRLEN) */
#define ARGUMENTS_MAX (6u * 1024 * 1024) /* all of them, however large the stack may grow */
#define SHELL "/bin/sh"
#define SCRIPT_START "exec 3<&-;" /* the shell has opened the script anew: nobody inherits it */
#define SCRIPT_RUN ". /proc/self/fd/3"

int
launch_receive (int socket_fd, struct launch *launch)
{
  union
  {
    char bytes[CMSG_SPACE (LAUNCH_FDS_MAX * sizeof (int))];
    struct cmsghdr align;
  } control;
  struct iovec parts[]
      = { { &launch->order, sizeof launch->order }, { launch->inline_text, sizeof launch->inline_text } };
  struct msghdr message
      = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = control.bytes, .msg_controllen = sizeof control };
  ssize_t count = recvmsg (socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const struct cmsghdr *head = count > 0 ? CMSG_FIRSTHDR (&message) : NULL;

  for (int i = 0; i < LAUNCH_FDS_MAX; i++)
    launch->fds[i] = -1;
  if (head != NULL && head->cmsg_type == SCM_RIGHTS)
    memcpy (launch->fds, CMSG_DATA (head), head->cmsg_len - CMSG_LEN (0));
  return count > 0 ? 1 : (int) count;
}

/* Finds the strings in the text: the workdir, the words, the environment. Returns 0, or -1 with errno. */
static int
split_text (struct launch *launch)
{
  const struct order *order = &launch->order;
  size_t count = (size_t) order->word_count + order->env_count;
  char *at = launch->inline_text;

  if (order->text_bytes > ORDER_TEXT_MAX)
    {
      int fd = launch->fds[LAUNCH_STDIN + (order->has_input != 0)];
      void *text = mmap (NULL, order->text_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

      if (text == MAP_FAILED)
        return -1;
      launch->long_text = at = text;
    }
  launch->strings = malloc ((count + 2) * sizeof *launch->strings);
  if (launch->strings == NULL)
    return -1;
  launch->workdir = at;
  for (size_t i = 0; i < count + 2; i++)
    if (i == order->word_count || i == count + 1)
      launch->strings[i] = NULL;
    else
      launch->strings[i] = at += strlen (at) + 1;
  return 0;
}

/* Returns 0, or -1 with errno. */
static int
write_script (int fd, const char *script)
{
  size_t bytes = strlen (script);

  if (write (fd, SCRIPT_START, strlen (SCRIPT_START)) < 0)
    return -1;
  while (bytes > 0)
    {
      ssize_t count = write (fd, script, bytes);

      if (count < 0)
        return -1;
      script += count;
      bytes -= (size_t) count;
    }
  return 0;
}

/* A file without a name that holds the script. Returns its descriptor, or -1 with errno. */
static int
hold_script (const char *script)
{
  int fd = memfd_create ("script", MFD_CLOEXEC);

  if (fd >= 0 && write_script (fd, script) != 0)
    {
      (void) close (fd);
      fd = -1;
    }
  return fd;
}

/* sh -c SCRIPT, and for one that is too long for an argument, sh -c that reads it from a descriptor: the command's
 * input stays its own, and $0 is the same. Returns the pid, or -1 with errno. */
static pid_t
start_shell (struct launch *launch, struct child *child, struct child_failure *failure)
{
  char *script = launch->strings[0];
  char *argv[5];
  int count = 0;
  pid_t pid;

  if (strlen (script) >= ARGUMENT_MAX)
    {
      child->script_fd = hold_script (script);
      if (child->script_fd < 0)
        return -1;
      script = (char *) SCRIPT_RUN;
    }
  argv[count++] = (char *) "sh";
  argv[count++] = (char *) "-c";
  if (*script == '-' || *script == '+')
    argv[count++] = (char *) "--";
  argv[count++] = script;
  argv[count] = NULL;
  child->argv = argv;
  child->program = SHELL;
  pid = child_start (child, failure);
  if (child->script_fd >= 0)
    (void) close (child->script_fd);
  return pid;
}

static int
run_file_command (void *context, struct compute_error *err)
{
  const struct launch *launch = context;
  const char *path = launch->strings[0];

  return launch->order.start_kind == START_PUT ? files_put (path, launch->order.mode, err) : files_get (path, err);
}

static pid_t
start_by_kind (struct launch *launch, struct child *child, struct child_failure *failure)
{
  switch (launch->order.start_kind)
    {
    case START_SHELL:
      return start_shell (launch, child, failure);
    case START_ARGV:
      return child_start (child, failure);
    default:
      return child_start_function (child, run_file_command, launch, failure);
    }
}

pid_t
launch_start (struct launch *launch, struct child_failure *failure, struct compute_error *err)
{
  struct child child = { .stdin_fd = -1, .script_fd = -1 };
  pid_t pid = -1;

  launch->long_text = NULL;
  launch->strings = NULL;
  if (split_text (launch) == 0)
    {
      child.argv = launch->strings;
      child.envp = launch->strings + launch->order.word_count + 1;
      child.workdir = launch->workdir;
      child.stdin_fd = launch->order.has_input ? launch->fds[LAUNCH_STDIN] : -1;
      child.stdout_fd = launch->fds[LAUNCH_STDOUT];
      child.stderr_fd = launch->fds[LAUNCH_STDERR];
      pid = start_by_kind (launch, &child, failure);
    }
  if (pid < 0)
    (void) compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot start a process: %s", strerror (errno));
  return pid;
}

static void
explain_too_long (struct compute_error *err)
{
  struct rlimit stack;
  uint64_t all = ARGUMENTS_MAX;

  if (getrlimit (RLIMIT_STACK, &stack) == 0 && stack.rlim_cur / 4 < all)
    all = stack.rlim_cur / 4 > ARGUMENT_MAX ? stack.rlim_cur / 4 : ARGUMENT_MAX;
  (void) compute_error_set (
      err, COMPUTE_E_INVALID, E2BIG,
      "the command's arguments and environment are too long: the limit here is %llu bytes in all and "
      "%u bytes for one",
      (unsigned long long) all, ARGUMENT_MAX);
}

static const char *
why_not_run (int sys_errno)
{
  if (sys_errno == ENOEXEC)
    return "it is neither a program for this machine's CPU nor a script that starts with '#!'";
  return child_exit_code (sys_errno) == 127 ? "not found" : strerror (sys_errno);
}

static void
explain_exec (const struct launch *launch, int sys_errno, struct compute_error *err)
{
  struct compute_error line = COMPUTE_ERROR_INIT;

  if (sys_errno == E2BIG)
    explain_too_long (err);
  else if (sys_errno == ENOMEM || sys_errno == EAGAIN || sys_errno == EMFILE || sys_errno == ENFILE || sys_errno == EIO)
    (void) compute_error_set (err, COMPUTE_E_SYSTEM, sys_errno, "cannot run '%s': %s", launch->strings[0],
                              strerror (sys_errno));
  else if (launch->order.start_kind == START_SHELL)
    (void) compute_error_set (err, COMPUTE_E_NOT_STARTED, sys_errno, "cannot run the shell '%s': %s", SHELL,
                              why_not_run (sys_errno));
  else
    {
      (void) compute_error_set (&line, 0, 0, "%.200s: %s\n", launch->strings[0], why_not_run (sys_errno));
      (void) write (launch->fds[LAUNCH_STDERR], line.message, strlen (line.message));
    }
}

/* A transfer that was killed has told nothing. */
static void
explain_files (const struct launch *launch, const struct child_failure *failure, int status, struct compute_error *err)
{
  if (failure->stage == CHILD_FILES)
    *err = failure->error;
  else if (WIFSIGNALED (status))
    (void) compute_error_set (err, COMPUTE_E_SYSTEM, 0, "the transfer of '%s' was killed by signal %d",
                              launch->strings[0], WTERMSIG (status));
}

void
launch_explain (const struct launch *launch, const struct child_failure *failure, int status, struct compute_error *err)
{
  if (failure->stage == CHILD_WORKDIR)
    (void) compute_error_set (err, COMPUTE_E_NOT_STARTED, failure->sys_errno,
                              "cannot enter the working directory '%s': %s", launch->workdir,
                              strerror (failure->sys_errno));
  else if (failure->stage == CHILD_EXEC)
    explain_exec (launch, failure->sys_errno, err);
  else if (launch->order.start_kind == START_PUT || launch->order.start_kind == START_GET)
    explain_files (launch, failure, status, err);
}

void
launch_free (struct launch *launch)
{
  if (launch->long_text != NULL)
    (void) munmap (launch->long_text, launch->order.text_bytes);
  launch->long_text = NULL;
  free (launch->strings);
  launch->strings = NULL;
  for (int i = 0; i < LAUNCH_FDS_MAX; i++)
    {
      if (launch->fds[i] >= 0)
        (void) close (launch->fds[i]);
      launch->fds[i] = -1;
    }
}
