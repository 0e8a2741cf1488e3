/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define GET_HEADER_BYTES 12u

/* A file takes as long as it takes, and is never cut. */
static int
run_transfer (struct run *run, enum start_kind kind, const char *path, uint32_t mode, const struct compute_call *call,
              struct compute_error *err)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct writer message = { 0 };
  int result;

  config.timeout_ms = config.output_limit_bytes = 0;
  put_start (&message, kind, run->input_open, mode, &config);
  writer_u32 (&message, 1);
  put_text (&message, path);
  if (message.count > FRAME_MESSAGE_MAX)
    result = compute_error_set (err, COMPUTE_E_INVALID, 0, "the path is longer than %u MiB", FRAME_MESSAGE_MAX >> 20);
  else
    result = run_start (run, call, &message, err);
  writer_free (&message);
  if (result != 0)
    return result;
  if (run->result.outcome == COMPUTE_OUTCOME_CANCELLED)
    return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "the transfer of '%s' was cancelled", path);
  if (run->result.outcome != COMPUTE_OUTCOME_EXITED || run->result.exit_code != 0)
    return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "the runner ended the transfer of '%s' without a reason",
                              path);
  return 0;
}

int
compute_runner_put (struct compute_runner *runner, const char *path, uint32_t mode, int32_t source_fd,
                    const struct compute_call *call, struct compute_error *err)
{
  struct run run = { .runner = runner, .input_fd = source_fd, .input_open = 1 };

  return run_transfer (&run, START_PUT, path, mode, call, err);
}

/* Where the bytes of a get go. */
struct target
{
  int fd;
  int is_socket;
  int cancel_fd; /* -1: none */
  size_t step;   /* so many bytes at a time: what a pipe that is ready takes without blocking */
  int sys_errno; /* why they could not be written */
  unsigned char header[GET_HEADER_BYTES];
  uint32_t header_count;
  uint64_t bytes;
};

static struct target
target_of (int fd, const struct compute_call *call)
{
  struct target target = { .fd = fd, .cancel_fd = -1, .step = PIPE_BUF };
  struct stat status;

  if (fstat (fd, &status) == 0)
    {
      target.is_socket = S_ISSOCK (status.st_mode);
      target.step = S_ISREG (status.st_mode) ? FRAME_PAYLOAD_MAX : PIPE_BUF;
    }
  if (call != NULL && call->cancel_fd > 0)
    target.cancel_fd = call->cancel_fd;
  return target;
}

/* Nobody may be reading what we write to: a cancel must reach us all the same. Returns 0 when the target takes bytes.
 */
static int
wait_for_room (struct target *target)
{
  struct pollfd fds[] = { { .fd = target->fd, .events = POLLOUT }, { .fd = target->cancel_fd, .events = POLLIN } };

  while (poll (fds, 2, -1) < 0)
    if (errno != EINTR)
      {
        target->sys_errno = errno;
        return -1;
      }
  return fds[1].revents != 0 ? -1 : 0;
}

static int
write_all (struct target *target, const unsigned char *bytes, uint64_t count)
{
  while (count > 0)
    {
      size_t step = count < target->step ? (size_t) count : target->step;
      ssize_t written;

      if (wait_for_room (target) != 0)
        return -1;
      written = write_quietly (target->fd, target->is_socket, bytes, step);
      if (written >= 0)
        {
          bytes += written;
          count -= (uint64_t) written;
        }
      else if (errno != EAGAIN && errno != EINTR)
        {
          target->sys_errno = errno;
          return -1;
        }
    }
  return 0;
}

static int
take_file (void *user, uint32_t stream, const void *data, uint64_t count)
{
  struct target *target = user;
  const unsigned char *bytes = data;

  if (stream != COMPUTE_STDOUT)
    return 0;
  while (count > 0 && target->header_count < GET_HEADER_BYTES)
    {
      target->header[target->header_count++] = *bytes++;
      count--;
    }
  target->bytes += count;
  return write_all (target, bytes, count);
}

int
compute_runner_get (struct compute_runner *runner, const char *path, int32_t target_fd, const struct compute_call *call,
                    struct compute_file_info *ret_info, struct compute_error *err)
{
  struct target target = target_of (target_fd, call);
  struct run run = { .runner = runner, .input_fd = -1, .output = take_file, .user = &target };
  struct reader reader;
  int result = run_transfer (&run, START_GET, path, 0, call, err);

  if (target.sys_errno != 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, target.sys_errno, "cannot write what came of '%s': %s", path,
                              strerror (target.sys_errno));
  if (result != 0)
    return result;
  reader_init (&reader, target.header, target.header_count);
  ret_info->mode = reader_u32 (&reader) & 07777;
  (void) reader_u64 (&reader);
  if (!reader_done (&reader))
    return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "the runner sent '%s' without its mode and size", path);
  ret_info->bytes = target.bytes;
  return 0;
}
