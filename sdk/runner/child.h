/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_CHILD_H
#define RUNNER_CHILD_H

/* The step from a keeper to the command's own process. */

#include <compute/error.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The limit of open files as the runner was started with; it raises its own. */
extern struct rlimit child_nofile;

struct child
{
  char *const *argv; /* a shell command: argv[0] is "sh", program "/bin/sh" */
  char *const *envp;
  const char *program; /* NULL: argv[0] is looked up in the PATH of envp */
  const char *workdir; /* "": stay */
  int stdin_fd;        /* -1: /dev/null */
  int stdout_fd;
  int stderr_fd;
  int script_fd; /* becomes descriptor 3; -1: none */
};

/* What went wrong between the fork and the program; lies in memory that both share, filled by the child, read when it
 * has ended. */
struct child_failure
{
  int32_t stage; /* enum child_stage; 0: the program ran */
  int32_t sys_errno;
  struct compute_error error; /* of CHILD_FILES */
};

enum child_stage
{
  CHILD_WORKDIR = 1,
  CHILD_EXEC,
  CHILD_FILES
};

/* What a shell exits with when a program cannot be run: 127 if it is not there, else 126. */
int child_exit_code (int sys_errno);

/* Returns the pid, or -1 with errno. All signals must be blocked. */
pid_t child_start (const struct child *child, struct child_failure *failure);

/* The same for a process that runs a function of ours, with its signals blocked, instead of a program. */
pid_t child_start_function (const struct child *child, int (*function) (void *context, struct compute_error *err),
                            void *context, struct child_failure *failure);

#endif
