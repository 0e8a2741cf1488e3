/* SPDX-License-Identifier: MIT */

/*
 * A hostile runner: what it says is the input. The first byte chooses what the host does; then come chunks, each with a
 * length of two bytes, that arrive one at each poll of the kit's; then the pipe closes. All in one thread, so that an
 * input does the same each time.
 */

#include "../../sdk/runner/client/client.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static struct
{
  const uint8_t *at;
  const uint8_t *end;
  int fd; /* the runner's end */
} peer = { .fd = -1 };

static void
say_next_chunk (void)
{
  size_t left = (size_t) (peer.end - peer.at), count;
  char drain[65536];

  while (recv (peer.fd, drain, sizeof drain, MSG_DONTWAIT) > 0)
    ;
  if (left < 2)
    {
      shutdown (peer.fd, SHUT_WR);
      return;
    }
  count = peer.at[0] + 256u * peer.at[1];
  if (count > left - 2)
    count = left - 2;
  peer.at += 2;
  (void) !send (peer.fd, peer.at, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  peer.at += count;
}

/* In the place of the C library's: nothing is ever waited for. */
int
poll (struct pollfd *fds, nfds_t count, int timeout_ms)
{
  static const struct timespec at_once;

  if (timeout_ms != 0 && peer.fd >= 0)
    say_next_chunk ();
  return ppoll (fds, count, &at_once, NULL);
}

static int
take_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  uint64_t *received = user;

  assert (stream == COMPUTE_STDOUT || stream == COMPUTE_STDERR);
  assert (bytes > 0 && bytes <= FRAME_PAYLOAD_MAX);
  assert (((const char *) data)[bytes - 1] != 0 || 1); /* reads it */
  received[3] += memchr (data, 0xEE, bytes) != NULL;   /* reads it all */
  received[stream - 1] += bytes;
  return received[2] != 0 && received[0] >= received[2];
}

static uint64_t
least (uint64_t bytes, int64_t limit)
{
  return limit > 0 && bytes > (uint64_t) limit ? (uint64_t) limit : bytes;
}

static void
execute (struct compute_runner *runner, int fd, int cancels)
{
  static char input[600000];
  uint64_t received[4] = { 0, 0, (uint64_t) cancels, 0 };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int code;

  command.script = "true";
  command.flags = fd >= 0 ? COMPUTE_COMMAND_STDIN_FD : 0;
  command.stdin_fd = fd;
  if (fd < 0)
    {
      command.stdin_data = input;
      command.stdin_bytes = sizeof input;
    }
  call.output = take_output;
  call.user = received;
  code = compute_runner_execute (runner, &command, NULL, &call, &result, &err);
  assert (code <= 0 && (code == 0) == (err.message[0] == '\0'));
  if (code != 0)
    return;
  assert (result.outcome >= COMPUTE_OUTCOME_EXITED && result.outcome <= COMPUTE_OUTCOME_OUT_OF_MEMORY);
  assert (cancels || received[0] == least (result.stdout_bytes, result.output_limit_bytes));
  assert (cancels || received[1] == least (result.stderr_bytes, result.output_limit_bytes));
}

static void
act (struct compute_runner *runner, uint8_t what)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int fd = memfd_create ("file", MFD_CLOEXEC);

  (void) !ftruncate (fd, 300000);
  if (what % 8 == 0)
    (void) compute_runner_configure (runner, &config, &err);
  else if (what % 8 == 1)
    (void) compute_runner_put (runner, "file", 0644, fd, NULL, &err);
  else if (what % 8 == 2)
    (void) compute_runner_get (runner, "file", fd, NULL, &info, &err);
  else if (what % 8 == 3)
    (void) compute_runner_shutdown (runner, &err);
  else
    execute (runner, what % 8 == 4 ? fd : -1, what % 8 == 5);
  (void) compute_runner_check (runner, &err);
  close (fd);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct compute_runner_options options = { .size = sizeof options };
  struct compute_runner *runner;
  int ends[2];

  if (size < 1 || socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return 0;
  peer.at = data + 1;
  peer.end = data + size;
  peer.fd = ends[1];
  options.read_fd = options.write_fd = ends[0];
  if (compute_runner_open (&options, &runner, NULL) == 0)
    {
      act (runner, data[0]);
      act (runner, data[0] >> 3);
      compute_runner_close (runner);
    }
  close (peer.fd);
  peer.fd = -1;
  return 0;
}
