/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <signal.h>

/* Waits for the answer to a question about the connection. Returns 0 with the answer in arrival->frames. */
static int
wait_answer (struct compute_runner *runner, struct call *call, const struct control *control, struct arrival *arrival,
             struct compute_error *err)
{
  struct pollfd cancel = { .fd = control->cancel_fd > 0 ? control->cancel_fd : -1, .events = POLLIN };
  int64_t deadline_ms = control->limit_ms > 0 ? now_ms () + control->limit_ms : 0;

  while (arrival->frames.count == 0)
    {
      int result = call_wait (runner, call, &cancel, cancel.fd >= 0, deadline_ms, arrival);

      if (result != 0)
        return call_lost (runner, result, control->what, err);
      if (arrival->frames.count > 0)
        break;
      if (cancel.fd >= 0 && cancel.revents != 0)
        return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "cancelled by the caller");
      if (deadline_ms != 0 && now_ms () >= deadline_ms)
        return compute_error_set (err, COMPUTE_E_TIMEOUT, 0, "the runner has not answered in time; %s", control->what);
    }
  return 0;
}

int
control_ask (struct compute_runner *runner, const struct writer *question, const struct control *control,
             struct arrival *arrival, struct frame *ret_answer, struct compute_error *err)
{
  struct call *call;
  int result;

  pthread_mutex_lock (&runner->control_lock);
  result = call_open (runner, 1, &call, err);
  if (result == 0)
    {
      (void) send_bytes (runner, question->bytes, question->count);
      result = wait_answer (runner, call, control, arrival, err);
      call_close (runner, call);
    }
  pthread_mutex_unlock (&runner->control_lock);
  if (result != 0)
    return result;
  (void) frame_parse (arrival->frames.bytes, arrival->frames.count, ret_answer);
  if (ret_answer->type == FRAME_FAILED)
    return failure_error (ret_answer, err);
  if (ret_answer->type != control->answer)
    return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "the runner gave another answer than was asked for; %s",
                              control->what);
  return 0;
}

int
compute_runner_configure (struct compute_runner *runner, const struct compute_config *config, struct compute_error *err)
{
  static const struct control control = { FRAME_CONFIGURED, 0, "the instance is not configured", -1 };
  int64_t timeout_ms = config->timeout_ms;
  int64_t limit_bytes = config->output_limit_bytes;
  struct writer message = { 0 }, frames = { 0 };
  struct arrival arrival = { 0 };
  struct frame answer;
  int result;

  writer_u64 (&message, (uint64_t) (timeout_ms != COMPUTE_UNSET ? timeout_ms : COMPUTE_DEFAULT_TIMEOUT_MS));
  writer_u64 (&message, (uint64_t) (limit_bytes != COMPUTE_UNSET ? limit_bytes : COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES));
  writer_u8 (&message, (config->flags & COMPUTE_CONFIG_ENV_REPLACE) != 0);
  put_place (&message, config);
  put_message (&frames, FRAME_CONFIGURE, 0, &message);
  if (message.failed || frames.failed)
    result = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the instance's environment");
  else if (message.count > FRAME_MESSAGE_MAX)
    result = compute_error_set (err, COMPUTE_E_INVALID, 0, "the instance's environment is larger than %u MiB",
                                FRAME_MESSAGE_MAX >> 20);
  else
    result = control_ask (runner, &frames, &control, &arrival, &answer, err);
  writer_free (&message);
  writer_free (&frames);
  writer_free (&arrival.frames);
  return result;
}

int
compute_runner_shutdown (struct compute_runner *runner, struct compute_error *err)
{
  static const struct control control = { FRAME_BYE, END_MS, "whether all processes have ended is unknown", -1 };
  unsigned char bytes[FRAME_HEADER_BYTES];
  struct writer frames = { .bytes = bytes, .count = sizeof bytes };
  struct arrival arrival = { 0 };
  struct frame answer;
  struct reader reader;
  uint32_t left;
  int result;

  frame_put_header (bytes, FRAME_SHUTDOWN, 0, 0, 0);
  result = control_ask (runner, &frames, &control, &arrival, &answer, err);
  if (result == 0)
    {
      reader_init (&reader, answer.payload, answer.length);
      left = reader_u32 (&reader);
      if (left > 0)
        result = compute_error_set (err, COMPUTE_E_TIMEOUT, 0, "%u processes of the instance could not be ended", left);
    }
  writer_free (&arrival.frames);
  return result;
}

int
compute_runner_signal (struct compute_runner *runner, const struct compute_call *call, int signal_number,
                       struct compute_error *err)
{
  unsigned char payload[4] = { (unsigned char) signal_number };
  uint32_t id = 0;

  if (signal_number < 1 || signal_number > 64)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "there is no signal %d", signal_number);
  pthread_mutex_lock (&runner->lock);
  for (unsigned i = 0; i < BUCKETS && id == 0; i++)
    for (const struct call *other = runner->calls[i]; other != NULL; other = other->next)
      if (call != NULL && other->caller == call)
        id = other->id;
  pthread_mutex_unlock (&runner->lock);
  if (id == 0)
    return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no such command runs");
  if (send_frame (runner, FRAME_SIGNAL, id, payload, sizeof payload) != 0)
    return call_lost (runner, COMPUTE_E_LOST, "the signal was not sent", err);
  return 0;
}
