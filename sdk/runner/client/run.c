/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <stdlib.h>
#include <unistd.h>

#define SENT "the command had been sent, whether it finished is unknown"

static void
put_header (struct run *run, uint8_t type, uint32_t count)
{
  unsigned char header[FRAME_HEADER_BYTES];

  frame_put_header (header, type, 0, run->call->id, count);
  writer_bytes (&run->frames, header, sizeof header);
}

/* Adds a frame of the input in memory, as large as the window takes; then its end. */
static void
put_input (struct run *run)
{
  uint64_t part = run->input_bytes < run->input_window ? run->input_bytes : run->input_window;

  if (part > FRAME_PAYLOAD_MAX)
    part = FRAME_PAYLOAD_MAX;
  if (part > 0)
    {
      put_header (run, FRAME_STDIN, (uint32_t) part);
      writer_bytes (&run->frames, run->input, part);
      run->input += part;
      run->input_bytes -= part;
      run->input_window -= part;
    }
  if (run->input_bytes > 0)
    return;
  put_header (run, FRAME_STDIN_END, 0);
  run->input_open = 0;
}

static void
run_cancel (struct run *run)
{
  if (run->cancelled)
    return;
  run->cancelled = 1;
  run->cancel_fd = -1;
  run->deadline_ms = now_ms () + END_MS;
  (void) send_frame (run->runner, FRAME_CANCEL, run->call->id, NULL, 0);
}

/* Passes on what the input's descriptor has now. A runner that has gone is noticed by the next wait. */
static void
read_input (struct run *run)
{
  unsigned char *frame = run->input_buffer;
  size_t room = run->input_window < FRAME_PAYLOAD_MAX ? run->input_window : FRAME_PAYLOAD_MAX;
  ssize_t count = read (run->input_fd, frame + FRAME_HEADER_BYTES, room);

  if (count >= 0)
    {
      run->input_open = count > 0;
      run->input_window -= (uint64_t) count;
      frame_put_header (frame, count > 0 ? FRAME_STDIN : FRAME_STDIN_END, 0, run->call->id, (uint32_t) count);
      (void) send_bytes (run->runner, frame, FRAME_HEADER_BYTES + (size_t) count);
    }
  else if (errno != EAGAIN && errno != EINTR)
    {
      run->input_errno = errno;
      run->input_open = 0;
      run_cancel (run);
    }
}

/* Sends the frames that were put together. */
static int
send_put (struct run *run)
{
  int result;

  if (run->frames.failed)
    {
      run->input_errno = ENOMEM;
      run->input_open = 0;
      run_cancel (run);
      return -1;
    }
  result = send_bytes (run->runner, run->frames.bytes, run->frames.count);
  run->frames.count = 0;
  return result;
}

static void
send_input (struct run *run, int readable)
{
  if (run->input_fd < 0)
    while (run->input_open && run->input_window > 0 && run->frames.failed == 0)
      {
        put_input (run);
        (void) send_put (run);
      }
  else if (readable)
    read_input (run);
}

/* What the outcome table of provider.h says must hold. */
static int
outcome_is_sound (const struct compute_result *result)
{
  switch (result->outcome)
    {
    case COMPUTE_OUTCOME_EXITED:
      return result->exit_code >= 0 && result->exit_code <= 255 && result->signal == 0;
    case COMPUTE_OUTCOME_SIGNALED:
      return result->signal > 0 && result->signal < 128 && result->exit_code == 128 + result->signal;
    case COMPUTE_OUTCOME_TIMED_OUT:
    case COMPUTE_OUTCOME_CANCELLED:
      return result->exit_code == -1 && result->signal == 0;
    case COMPUTE_OUTCOME_OUT_OF_MEMORY:
      return result->exit_code == 137 && result->signal == 9;
    default:
      return 0;
    }
}

/* All that was kept has come, and the flag says whether that was all there was. */
static int
output_is_whole (uint64_t received, uint64_t produced, int64_t limit, int truncated)
{
  int over = limit > 0 && produced > (uint64_t) limit;

  return limit >= 0 && over == truncated && received == (over ? (uint64_t) limit : produced);
}

static int
result_is_sound (const struct run *run)
{
  const struct compute_result *result = &run->result;
  uint32_t known = COMPUTE_RESULT_STDOUT_TRUNCATED | COMPUTE_RESULT_STDERR_TRUNCATED | COMPUTE_RESULT_SURVIVORS;

  return outcome_is_sound (result) && (result->flags & ~known) == 0
         && output_is_whole (run->received[0], result->stdout_bytes, result->output_limit_bytes,
                             (result->flags & COMPUTE_RESULT_STDOUT_TRUNCATED) != 0)
         && output_is_whole (run->received[1], result->stderr_bytes, result->output_limit_bytes,
                             (result->flags & COMPUTE_RESULT_STDERR_TRUNCATED) != 0);
}

static int
protocol_broken (struct run *run, const char *what, struct compute_error *err)
{
  pthread_mutex_lock (&run->runner->lock);
  break_connection (run->runner, COMPUTE_E_PROTOCOL, "the runner broke the protocol: %s", what);
  pthread_mutex_unlock (&run->runner->lock);
  return call_lost (run->runner, COMPUTE_E_PROTOCOL, SENT, err);
}

static int
take_exit (struct run *run, const struct frame *frame, struct compute_error *err)
{
  struct compute_result *result = &run->result;
  struct reader reader;

  reader_init (&reader, frame->payload, frame->length);
  *result = (struct compute_result) COMPUTE_RESULT_INIT;
  result->outcome = reader_u32 (&reader);
  result->exit_code = (int32_t) reader_u32 (&reader);
  result->signal = (int32_t) reader_u32 (&reader);
  result->flags = reader_u32 (&reader);
  result->stdout_bytes = reader_u64 (&reader);
  result->stderr_bytes = reader_u64 (&reader);
  result->duration_us = reader_u64 (&reader);
  result->max_rss_bytes = reader_u64 (&reader);
  result->user_us = reader_u64 (&reader);
  result->sys_us = reader_u64 (&reader);
  result->timeout_ms = (int64_t) reader_u64 (&reader);
  result->output_limit_bytes = (int64_t) reader_u64 (&reader);
  if (!reader_done (&reader) || !result_is_sound (run))
    return protocol_broken (run, "the end of the command makes no sense", err);
  if (run->input_errno == 0)
    return 0;
  return compute_error_set (err, COMPUTE_E_SYSTEM, run->input_errno, "cannot read the input: %s",
                            strerror (run->input_errno));
}

int
failure_error (const struct frame *frame, struct compute_error *err)
{
  struct reader reader;
  int32_t code, sys_errno;
  uint32_t count;
  const char *text;
  char message[sizeof err->message];

  reader_init (&reader, frame->payload, frame->length);
  code = (int32_t) reader_u32 (&reader);
  sys_errno = (int32_t) reader_u32 (&reader);
  text = reader_string (&reader, &count);
  if (!reader_done (&reader) || code >= 0)
    return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "the runner failed without a reason that makes sense");
  copy_text (message, sizeof message, text, count);
  return compute_error_set (err, code, sys_errno, "%s", message);
}

static void
take_output (struct run *run, const struct frame *frame)
{
  uint32_t stream = frame->type == FRAME_STDOUT ? COMPUTE_STDOUT : COMPUTE_STDERR;

  run->received[stream - COMPUTE_STDOUT] += frame->length;
  run->owed += frame->length;
  if (run->output == NULL || run->output (run->user, stream, frame->payload, frame->length) == 0)
    return;
  run->output = NULL;
  run_cancel (run);
}

/* Returns 1 when the last frame was among them and the run ended well, 0 to go on, or an error. */
static int
take_frames (struct run *run, const struct writer *frames, struct compute_error *err)
{
  struct frame frame;
  int result;

  for (size_t at = 0; at < frames->count && frame_parse (frames->bytes + at, frames->count - at, &frame) > 0;
       at += FRAME_HEADER_BYTES + frame.length)
    switch (frame.type)
      {
      case FRAME_EXIT:
        result = take_exit (run, &frame, err);
        return result != 0 ? result : 1;
      case FRAME_FAILED:
        return failure_error (&frame, err);
      default:
        take_output (run, &frame);
      }
  return 0;
}

/* Opens the window again by what was consumed, in few steps. */
static void
give_window (struct run *run)
{
  uint64_t bytes = run->owed;

  if (bytes < OUTPUT_WINDOW_STEP)
    return;
  run->owed = 0;
  pthread_mutex_lock (&run->runner->lock);
  run->call->window += bytes;
  pthread_mutex_unlock (&run->runner->lock);
  (void) send_window (run->runner, run->call->id, bytes);
}

/* The runner answers a CANCEL in bounded time, or is given up. */
static void
mind_deadline (struct run *run)
{
  if (run->deadline_ms == 0 || now_ms () < run->deadline_ms)
    return;
  pthread_mutex_lock (&run->runner->lock);
  break_connection (run->runner, COMPUTE_E_LOST, "the runner did not end a cancelled command in %d s", END_MS / 1000);
  pthread_mutex_unlock (&run->runner->lock);
}

static int
run_step (struct run *run, struct arrival *arrival, struct compute_error *err)
{
  struct pollfd fds[2] = { { .fd = run->cancel_fd, .events = POLLIN },
                           { .fd = run->input_open && run->input_window > 0 ? run->input_fd : -1, .events = POLLIN } };
  int result = call_wait (run->runner, run->call, fds, 2, run->deadline_ms, arrival);

  if (result != 0)
    return call_lost (run->runner, result, SENT, err);
  run->input_window += arrival->input_window;
  result = take_frames (run, &arrival->frames, err);
  if (result != 0)
    return result;
  if (fds[0].revents != 0)
    run_cancel (run);
  send_input (run, fds[1].revents != 0);
  give_window (run);
  mind_deadline (run);
  return 0;
}

/* Sends START, with the input in memory that may go along. */
static int
send_start (struct run *run, const struct writer *message, struct compute_error *err)
{
  put_message (&run->frames, FRAME_START, run->call->id, message);
  if (run->input_open && run->input_fd < 0)
    put_input (run);
  if (message->failed || run->frames.failed)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the command");
  if (send_put (run) != 0)
    return call_lost (run->runner, COMPUTE_E_LOST, "the command was not sent", err);
  send_input (run, 0);
  return 0;
}

/* Sees the command to its last frame. */
static int
run_to_end (struct run *run, struct compute_error *err)
{
  struct arrival arrival = { 0 };
  int result;

  do
    result = run_step (run, &arrival, err);
  while (result == 0);
  writer_free (&arrival.frames);
  return result > 0 ? 0 : result;
}

/* Returns 1 when the caller gave up before anything was sent. */
static int
is_cancelled (const struct run *run, struct compute_error *err)
{
  struct pollfd fd = { .fd = run->cancel_fd, .events = POLLIN };

  if (poll (&fd, 1, 0) <= 0)
    return 0;
  if ((fd.revents & POLLNVAL) != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, EBADF, "cancel_fd %d is not open", run->cancel_fd);
  return 1;
}

/* What a run needs besides the call. Returns 1 when it ends before it begins. */
static int
prepare (struct run *run, const struct compute_call *caller, struct compute_error *err)
{
  run->input_window = STDIN_FIRST_WINDOW;
  run->cancel_fd = -1;
  if (run->input_fd >= 0 && (run->input_buffer = malloc (FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX)) == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the input");
  if (caller == NULL || caller->cancel_fd <= 0)
    return 0;
  run->cancel_fd = caller->cancel_fd;
  return is_cancelled (run, err);
}

static int
run_through (struct run *run, const struct compute_call *caller, const struct writer *message,
             struct compute_error *err)
{
  int result = call_open (run->runner, 0, &run->call, err);

  if (result != 0)
    return result;
  result = send_start (run, message, err);
  pthread_mutex_lock (&run->runner->lock);
  run->call->caller = caller; /* a signal sent any earlier would overtake START, and be lost */
  pthread_mutex_unlock (&run->runner->lock);
  if (result == 0)
    result = run_to_end (run, err);
  call_close (run->runner, run->call);
  return result;
}

int
run_start (struct run *run, const struct compute_call *caller, const struct writer *message, struct compute_error *err)
{
  int result = prepare (run, caller, err);

  if (result == 0)
    result = run_through (run, caller, message, err);
  else if (result > 0)
    {
      run->result = (struct compute_result) COMPUTE_RESULT_INIT;
      run->result.outcome = COMPUTE_OUTCOME_CANCELLED;
      result = 0;
    }
  writer_free (&run->frames);
  free (run->input_buffer);
  return result;
}
