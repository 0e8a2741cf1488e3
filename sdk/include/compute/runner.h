/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_RUNNER_H
#define COMPUTE_RUNNER_H

/**
 * runner.h: the host side of the runner, for providers. Link libcompute-runner.a; it needs the C library alone.
 *
 * A provider starts the runner program inside its instance by whatever means its engine has (a child, docker, ssh) and
 * gives the two ends of the byte pipe to compute_runner_open. From then on commands, files and the end of the instance
 * go over that pipe, with the semantics of provider.h.
 *
 * Threads: one connection may be used from many threads at once; there is no thread of the kit's own unless a lease is
 * asked for. Callbacks run on the calling thread. Close it only when no call on it is running. SIGCHLD, SIGPIPE and
 * waitpid of the host are left alone. When the runner or the pipe dies, calls under way and later ones fail with
 * COMPUTE_E_LOST.
 */

#include <compute/provider.h>

#ifdef __cplusplus
extern "C"
{
#endif

  struct compute_runner;

  struct compute_runner_options
  {
    uint32_t size;
    int32_t read_fd;   /* taken, on success and on failure; may equal write_fd (a socket) */
    int32_t write_fd;  /* taken */
    uint32_t lease_ms; /* no sign of this side for so long means it died; 0: a closed pipe tells */
    uint32_t hello_ms; /* how long the runner may take to answer; 0: 10 s */
    int32_t cancel_fd; /* becomes readable: give up. 0 or negative: none. Not read from and not closed */
  };

  /* Takes the descriptors and shakes hands. Errors: PROTOCOL (no runner answered, or another version: names both),
   * TIMEOUT, CANCELLED, LOST, SYSTEM, NO_MEMORY. */
  int compute_runner_open (const struct compute_runner_options *options, struct compute_runner **ret_runner,
                           struct compute_error *err);

  /* Closes the pipe: the runner ends what this connection owns. Does not wait for it. Accepts NULL. */
  void compute_runner_close (struct compute_runner *runner);

  /* Sets the instance's workdir (made if missing), env, timeout and limit, before the first command; again only after
   * it has failed. Errors: INVALID, NOT_STARTED (the workdir cannot be made or entered), LOST. */
  int compute_runner_configure (struct compute_runner *runner, const struct compute_config *config,
                                struct compute_error *err);

  /* execute, put and get as in provider.h. config may be NULL. */
  int compute_runner_execute (struct compute_runner *runner, const struct compute_command *command,
                              const struct compute_config *config, const struct compute_call *call,
                              struct compute_result *ret_result, struct compute_error *err);
  int compute_runner_put (struct compute_runner *runner, const char *path, uint32_t mode, int32_t source_fd,
                          const struct compute_call *call, struct compute_error *err);
  int compute_runner_get (struct compute_runner *runner, const char *path, int32_t target_fd,
                          const struct compute_call *call, struct compute_file_info *ret_info,
                          struct compute_error *err);

  /* Sends a signal to the process of the command that another thread is executing with this call. Errors: NOT_FOUND (no
   * such command runs), INVALID (no such signal), LOST. */
  int compute_runner_signal (struct compute_runner *runner, const struct compute_call *call, int signal_number,
                             struct compute_error *err);

  /* Ends every process that the runner started, background ones included, then the runner. Returns when all have ended.
   * Errors: LOST, TIMEOUT (something did not end: the message says what). */
  int compute_runner_shutdown (struct compute_runner *runner, struct compute_error *err);

  /* Returns 0 while the connection lives; COMPUTE_E_LOST when it does not. Waits for nothing. */
  int compute_runner_check (struct compute_runner *runner, struct compute_error *err);

  /* The runner's pid as it sees itself. */
  int64_t compute_runner_pid (const struct compute_runner *runner);

  /**
   * Starts a program as a child with a pipe to it: the runner itself, or an engine's client that leads to one. argv
   * ends with NULL; envp NULL: this process's. The child gets default signals, no descriptor of ours but the pipe, and
   * its stderr is stderr_fd (-1: /dev/null). Never through a shell; no fork of the host's memory. *ret_read_fd and
   * *ret_write_fd are the host's ends. Errors: NOT_FOUND (no such program), SYSTEM.
   */
  int compute_runner_spawn (const char *const *argv, const char *const *envp, int32_t stderr_fd, int64_t *ret_pid,
                            int32_t *ret_read_fd, int32_t *ret_write_fd, struct compute_error *err);

  /* Waits until a child of compute_runner_spawn has ended, killing it after timeout_ms. Copes with a host that reaps it
   * first or ignores SIGCHLD. */
  void compute_runner_reap (int64_t pid, uint32_t timeout_ms);

  /* The same, and returns how it ended, as waitpid has it; -1 when somebody else has reaped it. */
  int32_t compute_runner_wait (int64_t pid, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
