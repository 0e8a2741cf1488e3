/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "oom.h"
#include "pool.h"
#include "request.h"
#include "runner.h"
#include "session.h"

#include <compute/provider.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct command *commands; /* of all connections */

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void
free_command (struct command *command)
{
  struct command **at = &commands;

  while (*at != NULL && *at != command)
    at = &(*at)->next;
  if (*at == command)
    *at = command->next;
  input_close (&command->input);
  for (int i = 0; i < 2; i++)
    if (command->streams[i] != NULL)
      stream_free (command->streams[i]);
  free (command);
}

static void
fail (struct command *command, const struct compute_error *error)
{
  if (command->session != NULL)
    session_fail (command->session, command->id, error);
  free_command (command);
}

static int
was_killed_for_memory (const struct command *command)
{
  const struct report *report = &command->report;

  return WIFSIGNALED (report->status) && WTERMSIG (report->status) == SIGKILL && (report->flags & REPORT_SIGNALLED) == 0
         && oom_kills () > command->oom_kills;
}

/* The outcome table: what a command's end is called. */
static void
name_outcome (const struct command *command, uint32_t *ret_outcome, int32_t *ret_exit_code, int32_t *ret_signal)
{
  const struct report *report = &command->report;

  *ret_outcome = report->outcome;
  *ret_exit_code = -1;
  *ret_signal = 0;
  if (report->outcome != COMPUTE_OUTCOME_EXITED)
    return;
  if (!WIFSIGNALED (report->status))
    {
      *ret_exit_code = WEXITSTATUS (report->status);
      return;
    }
  *ret_outcome = was_killed_for_memory (command) ? COMPUTE_OUTCOME_OUT_OF_MEMORY : COMPUTE_OUTCOME_SIGNALED;
  *ret_signal = WTERMSIG (report->status);
  *ret_exit_code = 128 + *ret_signal;
}

static int
is_truncated (const struct command *command, int stream)
{
  return command->output_limit_bytes > 0 && command->streams[stream]->total > (uint64_t) command->output_limit_bytes;
}

static void
send_exit (struct command *command)
{
  const struct report *report = &command->report;
  unsigned char array[128];
  struct writer payload = WRITER_ON (array);
  uint32_t outcome;
  int32_t exit_code;
  int32_t signal_number;
  uint32_t flags = 0;

  name_outcome (command, &outcome, &exit_code, &signal_number);
  flags |= is_truncated (command, 0) ? COMPUTE_RESULT_STDOUT_TRUNCATED : 0;
  flags |= is_truncated (command, 1) ? COMPUTE_RESULT_STDERR_TRUNCATED : 0;
  flags |= report->flags & REPORT_SURVIVORS ? COMPUTE_RESULT_SURVIVORS : 0;
  writer_u32 (&payload, outcome);
  writer_u32 (&payload, (uint32_t) exit_code);
  writer_u32 (&payload, (uint32_t) signal_number);
  writer_u32 (&payload, flags);
  writer_u64 (&payload, command->streams[0]->total);
  writer_u64 (&payload, command->streams[1]->total);
  writer_u64 (&payload, report->duration_us);
  writer_u64 (&payload, report->max_rss_bytes);
  writer_u64 (&payload, report->user_us);
  writer_u64 (&payload, report->sys_us);
  writer_u64 (&payload, (uint64_t) command->timeout_ms);
  writer_u64 (&payload, (uint64_t) command->output_limit_bytes);
  session_frame (command->session, FRAME_EXIT, command->id, &payload);
}

static void
finish (struct command *command)
{
  if (command->session != NULL)
    {
      if (command->report.error.code == 0)
        send_exit (command);
      else
        session_fail (command->session, command->id, &command->report.error);
    }
  if (command->keeper != NULL)
    pool_release (command->keeper, command->streams);
  free_command (command);
}

void
command_go_on (struct command *command)
{
  if (command->ended && stream_is_done (command->streams[0]) && stream_is_done (command->streams[1]))
    finish (command);
}

void
command_ended (struct command *command, const struct report *report)
{
  command->ended = 1;
  command->report = *report;
  input_close (&command->input);
  stream_end (command->streams[0]);
  stream_end (command->streams[1]);
  command_go_on (command);
}

void
command_lost (struct command *command)
{
  struct compute_error error = COMPUTE_ERROR_INIT;

  (void) compute_error_set (
      &error, COMPUTE_E_LOST, 0,
      "the command's keeper was killed: how the command would have ended is unknown; all it started "
      "was ended");
  fail (command, &error);
}

/* ---- The start --------------------------------------------------------------------------------------------------- */

static void
input_moved (struct input *input)
{
  struct command *command = LOOP_OBJECT (struct command, input, input);
  uint64_t credit = input_take_credit (input);
  unsigned char array[64];
  struct writer payload = WRITER_ON (array);

  if (credit == 0 || command->session == NULL)
    return;
  writer_u64 (&payload, credit);
  session_frame (command->session, FRAME_STDIN_WINDOW, command->id, &payload);
}

/* The command's ends of its pipes. */
struct ends
{
  int fds[3]; /* stdout, stderr, stdin; -1: none */
};

static int
open_output (struct command *command, int index, int *ret_write_fd)
{
  int pair[2];

  if (pipe2 (pair, O_CLOEXEC) != 0)
    return -1;
  *ret_write_fd = pair[1];
  if (fcntl (pair[0], F_SETFL, O_NONBLOCK) == 0)
    command->streams[index] = stream_new (command, index == 0 ? FRAME_STDOUT : FRAME_STDERR, pair[0],
                                          (uint64_t) command->output_limit_bytes);
  if (command->streams[index] == NULL)
    (void) close (pair[0]);
  return command->streams[index] != NULL ? 0 : -1;
}

static int
open_input (struct command *command, int *ret_read_fd)
{
  int pair[2];

  if (pipe2 (pair, O_CLOEXEC) != 0)
    return -1;
  *ret_read_fd = pair[0];
  input_open (&command->input, pair[1], command->kind == START_PUT, input_moved);
  return fcntl (pair[1], F_SETFL, O_NONBLOCK);
}

static int
open_pipes (struct command *command, int has_input, struct ends *ends, struct compute_error *err)
{
  if (open_output (command, 0, &ends->fds[0]) != 0 || open_output (command, 1, &ends->fds[1]) != 0
      || (has_input && open_input (command, &ends->fds[2]) != 0))
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot make the command's pipes: %s", strerror (errno));
  return 0;
}

static struct command *
new_command (struct session *session, uint32_t id, const struct request *request)
{
  struct command *command = calloc (1, sizeof *command);

  if (command == NULL)
    return NULL;
  command->id = id;
  command->session = session;
  command->kind = request->kind;
  command->timeout_ms = request->timeout_ms;
  command->output_limit_bytes = request->output_limit_bytes;
  command->window = request->window;
  command->input.watch.fd = -1;
  command->next = commands;
  commands = command;
  return command;
}

static int
launch (struct command *command, const struct request *request, struct compute_error *err)
{
  const struct order order = {
    .kind = ORDER_START,
    .start_kind = request->kind,
    .mode = request->mode,
    .has_input = request->has_input,
    .word_count = request->word_count,
    .env_count = request->env_count,
    .text_bytes = (uint32_t) request->text.count,
    .timeout_ms = request->timeout_ms,
  };
  struct ends ends = { { -1, -1, -1 } };
  int result = open_pipes (command, request->has_input, &ends, err);

  if (result == 0)
    result = pool_start (command, &order, (const char *) request->text.bytes, ends.fds, err);
  for (int i = 0; i < 3; i++)
    if (ends.fds[i] >= 0)
      (void) close (ends.fds[i]);
  return result;
}

int
command_start (struct session *session, uint32_t id, const unsigned char *payload, size_t count)
{
  struct compute_error error = COMPUTE_ERROR_INIT;
  struct command *command = NULL;
  struct request request;
  int result = request_read (payload, count, &request, &error);

  if (result == 0 && runner_is_stopping ())
    result = compute_error_set (&error, COMPUTE_E_NOT_RUNNING, 0, "the runner is ending");
  if (result == 0)
    {
      command = new_command (session, id, &request);
      if (command == NULL)
        result = compute_error_set (&error, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for a command");
    }
  if (command != NULL)
    {
      command->oom_kills = oom_kills ();
      result = launch (command, &request, &error);
    }
  request_free (&request);
  if (result == 0 || result == COMPUTE_E_PROTOCOL)
    return result;
  if (command != NULL)
    fail (command, &error);
  else
    session_fail (session, id, &error);
  return 0;
}

/* ---- In between -------------------------------------------------------------------------------------------------- */

struct command *
command_find (const struct session *session, uint32_t id)
{
  struct command *command = commands;

  while (command != NULL && (command->session != session || command->id != id))
    command = command->next;
  return command;
}

int
command_count (void)
{
  int count = 0;

  for (const struct command *command = commands; command != NULL; command = command->next)
    count++;
  return count;
}

int
command_input (struct command *command, const unsigned char *bytes, size_t count)
{
  int result = input_add (&command->input, bytes, count);

  if (result == 0)
    input_moved (&command->input);
  return result;
}

int
command_open_window (struct command *command, uint64_t bytes)
{
  if (bytes > UINT64_MAX - command->window)
    return -1;
  command->window += bytes;
  stream_resume (command->streams[0]);
  stream_resume (command->streams[1]);
  command_go_on (command);
  return 0;
}

void
command_order (struct command *command, enum order_kind kind, uint32_t number)
{
  if (!command->ended && command->keeper != NULL)
    pool_order (command->keeper, kind, number);
}

void
command_resume_all (struct session *session)
{
  struct command *next;

  for (struct command *command = commands; command != NULL; command = next)
    {
      next = command->next;
      if (command->session != session)
        continue;
      stream_resume (command->streams[0]);
      stream_resume (command->streams[1]);
      command_go_on (command);
    }
}

/* Its input stays open until it has ended: the end of input would let it finish as if all had been said. */
void
command_abandon_all (struct session *session)
{
  struct command *next;

  for (struct command *command = commands; command != NULL; command = next)
    {
      next = command->next;
      if (command->session != session)
        continue;
      command->session = NULL;
      command_order (command, ORDER_CANCEL, 0);
      stream_resume (command->streams[0]);
      stream_resume (command->streams[1]);
      command_go_on (command);
    }
}
