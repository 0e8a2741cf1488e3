/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <sys/socket.h>
#include <unistd.h>

void
break_connection (struct compute_runner *runner, int code, const char *format, ...)
{
  va_list args;

  if (runner->broken != 0)
    return;
  runner->broken = code;
  va_start (args, format);
  vsnprintf (runner->why, sizeof runner->why, format, args);
  va_end (args);
  shutdown (runner->write_fd, SHUT_RDWR); /* of use on a socket only: the runner sees at once that it is over */
  for (struct call *call = runner->asleep; call != NULL; call = call->next_asleep)
    call_wake (call);
}

static struct call *
find_call (struct compute_runner *runner, uint32_t id)
{
  struct call *call = id == 0 ? runner->control : runner->calls[id % BUCKETS];

  while (call != NULL && call->id != id)
    call = call->next;
  return call;
}

/* Puts a frame into the queue of its call. */
static const char *
keep (struct compute_runner *runner, struct call *call, const struct frame *frame)
{
  writer_bytes (&call->frames, frame->payload - FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + frame->length);
  if (call->frames.failed)
    break_connection (runner, COMPUTE_E_NO_MEMORY, "no memory for what the runner sent");
  call_wake (call);
  return NULL;
}

static const char *
take_output (struct compute_runner *runner, struct call *call, const struct frame *frame)
{
  if (frame->length == 0)
    return "an empty output frame";
  if (frame->length > call->window)
    return "more output than it was allowed";
  call->window -= frame->length;
  return keep (runner, call, frame);
}

static const char *
take_input_window (struct call *call, const struct frame *frame)
{
  struct reader reader;
  uint64_t more;

  reader_init (&reader, frame->payload, frame->length);
  more = reader_u64 (&reader);
  if (!reader_done (&reader) || call->input_window > UINT64_MAX - more)
    return "a malformed input window";
  call->input_window += more;
  call->changed = 1;
  call_wake (call);
  return NULL;
}

static const char *
take_last (struct compute_runner *runner, struct call *call, const struct frame *frame)
{
  call_forget (runner, call);
  return keep (runner, call, frame);
}

/* A frame about a command. Returns what is wrong with it. */
static const char *
take_command_frame (struct compute_runner *runner, const struct frame *frame)
{
  struct call *call = find_call (runner, frame->id);

  if (call == NULL)
    return "a frame for a command that does not run";
  switch (frame->type)
    {
    case FRAME_STDOUT:
    case FRAME_STDERR:
      return take_output (runner, call, frame);
    case FRAME_STDIN_WINDOW:
      return take_input_window (call, frame);
    case FRAME_EXIT:
    case FRAME_FAILED:
      return take_last (runner, call, frame);
    default:
      return "an unknown frame";
    }
}

/* The runner says why it is about to close. */
static void
take_complaint (struct compute_runner *runner, const struct frame *frame)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  (void) failure_error (frame, &err);
  break_connection (runner, COMPUTE_E_PROTOCOL, "the runner refused to go on: %s", err.message);
}

/* A frame about the connection: the answer to a question, or one that needs none. */
static const char *
take_connection_frame (struct compute_runner *runner, const struct frame *frame)
{
  switch (frame->type)
    {
    case FRAME_PONG:
      return frame->length == 0 ? NULL : "a malformed sign of life";
    case FRAME_WELCOME:
    case FRAME_CONFIGURED:
    case FRAME_BYE:
      if (runner->control == NULL)
        return "an answer to no question";
      return take_last (runner, runner->control, frame);
    case FRAME_FAILED:
      if (runner->control != NULL)
        return take_last (runner, runner->control, frame);
      take_complaint (runner, frame);
      return NULL;
    default:
      return "an unknown frame";
    }
}

/* Hands out the whole frames at the start of the buffer. */
static void
take_frames (struct compute_runner *runner)
{
  size_t at = 0;
  struct frame frame;
  int found = 0;

  while (runner->broken == 0 && (found = frame_parse (runner->in + at, runner->in_count - at, &frame)) > 0)
    {
      const char *wrong = (frame.flags != 0) ? "a frame in parts"
                          : frame.id == 0    ? take_connection_frame (runner, &frame)
                                             : take_command_frame (runner, &frame);

      at += FRAME_HEADER_BYTES + frame.length;
      if (wrong != NULL)
        break_connection (runner, COMPUTE_E_PROTOCOL, "the runner broke the protocol: %s (type %u, id %u)", wrong,
                          frame.type, frame.id);
    }
  if (found < 0)
    break_connection (runner, COMPUTE_E_PROTOCOL, "the runner broke the protocol: what came is no frame");
  runner->in_count -= at;
  memmove (runner->in, runner->in + at, runner->in_count);
}

void
receive (struct compute_runner *runner)
{
  ssize_t count = read (runner->read_fd, runner->in + runner->in_count, RECEIVE_BYTES - runner->in_count);

  if (count > 0)
    {
      runner->in_count += (size_t) count;
      runner->heard_ms = now_ms ();
      runner->asked_ms = 0;
      take_frames (runner);
    }
  else if (count == 0)
    break_connection (runner, COMPUTE_E_LOST, "the runner closed the connection");
  else if (errno != EAGAIN && errno != EINTR)
    break_connection (runner, COMPUTE_E_LOST, "cannot read from the runner: %s", strerror (errno));
}
