/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <poll.h>
#include <sys/socket.h>

/* Waits until the pipe takes more. Returns -1 when it did not for too long: a runner must always read. */
static int
wait_writable (struct compute_runner *runner)
{
  struct pollfd pipe = { .fd = runner->write_fd, .events = POLLOUT };
  int ready;

  do
    ready = poll (&pipe, 1, WRITE_STUCK_MS);
  while (ready < 0 && errno == EINTR);
  if (ready > 0)
    return 0;
  pthread_mutex_lock (&runner->lock);
  break_connection (runner, COMPUTE_E_LOST, "the runner has taken no input for %d s", WRITE_STUCK_MS / 1000);
  pthread_mutex_unlock (&runner->lock);
  return -1;
}

/* A pipe that is closed at the other end is no news here: the reader finds out, after all that the runner still said.
 */
int
send_bytes (struct compute_runner *runner, const void *bytes, size_t count)
{
  const unsigned char *at = bytes;
  int result = 0;

  pthread_mutex_lock (&runner->write_lock);
  while (count > 0 && result == 0)
    {
      ssize_t sent = write_quietly (runner->write_fd, runner->write_is_socket, at, count);

      if (sent > 0)
        {
          at += sent;
          count -= (size_t) sent;
        }
      else if (errno == EAGAIN)
        result = wait_writable (runner);
      else if (errno != EINTR)
        result = -1;
    }
  runner->written_ms = now_ms ();
  pthread_mutex_unlock (&runner->write_lock);
  return result;
}

int
send_frame (struct compute_runner *runner, uint8_t type, uint32_t id, const void *payload, uint32_t count)
{
  unsigned char frame[FRAME_HEADER_BYTES + 16];

  frame_put_header (frame, type, 0, id, count);
  if (count > 0)
    memcpy (frame + FRAME_HEADER_BYTES, payload, count);
  return send_bytes (runner, frame, FRAME_HEADER_BYTES + count);
}

int
send_window (struct compute_runner *runner, uint32_t id, uint64_t bytes)
{
  unsigned char payload[8];

  for (int i = 0; i < 8; i++)
    payload[i] = (unsigned char) (bytes >> (8 * i));
  return send_frame (runner, FRAME_WINDOW, id, payload, sizeof payload);
}

void
put_message (struct writer *frames, uint8_t type, uint32_t id, const struct writer *message)
{
  size_t at = 0;

  do
    {
      size_t part = message->count - at;
      unsigned char header[FRAME_HEADER_BYTES];

      if (part > FRAME_PAYLOAD_MAX)
        part = FRAME_PAYLOAD_MAX;
      frame_put_header (header, type, at + part < message->count ? FRAME_MORE : 0, id, (uint32_t) part);
      writer_bytes (frames, header, sizeof header);
      writer_bytes (frames, message->bytes + at, part);
      at += part;
    }
  while (at < message->count);
}
