/* SPDX-License-Identifier: MIT */
#include "client.h"

static int
too_large (struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command and its environment are larger than %u MiB",
                            FRAME_MESSAGE_MAX >> 20);
}

static int
put_script (struct writer *message, const struct compute_command *command, struct compute_error *err)
{
  uint64_t bytes = command->script_bytes > 0 ? command->script_bytes : strlen (command->script);

  if (bytes > FRAME_MESSAGE_MAX)
    return too_large (err);
  if (memchr (command->script, '\0', bytes) != NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the script has a NUL byte in it");
  writer_u32 (message, 1);
  writer_string (message, command->script, bytes);
  return 0;
}

static void
put_argv (struct writer *message, const struct compute_command *command)
{
  writer_u32 (message, (uint32_t) command->argc);
  for (uint64_t i = 0; i < command->argc; i++)
    put_text (message, command->argv[i]);
}

static int
put_command (struct writer *message, const struct compute_command *command, int input,
             const struct compute_config *config, struct compute_error *err)
{
  int result = 0;

  put_start (message, command->script != NULL ? START_SHELL : START_ARGV, input, 0, config);
  if (command->script != NULL)
    result = put_script (message, command, err);
  else
    put_argv (message, command);
  return result == 0 && message->count > FRAME_MESSAGE_MAX ? too_large (err) : result;
}

int
compute_runner_execute (struct compute_runner *runner, const struct compute_command *command,
                        const struct compute_config *config, const struct compute_call *call,
                        struct compute_result *ret_result, struct compute_error *err)
{
  static const struct compute_config no_config = COMPUTE_CONFIG_INIT;
  struct run run = { .runner = runner, .input_fd = -1 };
  struct writer message = { 0 };
  uint32_t size = ret_result->size;
  int result;

  if ((command->flags & COMPUTE_COMMAND_STDIN_FD) != 0)
    run.input_fd = command->stdin_fd;
  run.input = command->stdin_data;
  run.input_bytes = command->stdin_bytes;
  run.input_open = run.input_fd >= 0 || run.input != NULL;
  if (call != NULL)
    {
      run.output = call->output;
      run.user = call->user;
    }
  result = put_command (&message, command, run.input_open, config != NULL ? config : &no_config, err);
  if (result == 0)
    result = run_start (&run, call, &message, err);
  writer_free (&message);
  if (result != 0)
    return result;
  memcpy (ret_result, &run.result, size < sizeof run.result ? size : sizeof run.result);
  ret_result->size = size;
  return 0;
}
