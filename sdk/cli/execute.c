/* SPDX-License-Identifier: MIT */
#include "execute.h"

#include "environment.h"
#include "json.h"
#include "places.h"
#include "report.h"
#include "result.h"

static int
on_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  return sink_take (user, stream, data, bytes);
}

static int
finish (const struct request *request, const struct compute_result *result, struct sink *sink, const char *provider,
        const char *instance, const struct compute_prepared *prepared)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (sink->failed.code != 0)
    return report_failure (request, provider, &sink->failed);
  if (request->json)
    {
      cJSON *object = result_json (result, sink, provider, instance);

      environment_add_json (object, prepared);
      if (json_print (object, &err) != 0)
        return report_failure (request, provider, &err);
    }
  else
    result_note (request, result);
  result_note_survivors (result);
  return result_status (result);
}

int
execute_command (const struct request *request, struct compute_handle *handle, const char *instance,
                 const struct compute_config *config, const struct compute_prepared *prepared)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_call call = place_call (request);
  struct sink sink;
  int status;

  command.script = request->script;
  if (request->script == NULL)
    {
      command.argv = (const char *const *) request->argv;
      command.argc = request->argc;
    }
  if (request->use_stdin)
    {
      command.flags = COMPUTE_COMMAND_STDIN_FD;
      command.stdin_fd = 0;
    }
  sink_init (&sink, request->json);
  call.user = &sink;
  call.output = on_output;
  call.progress = NULL; /* its user is the sink now, and a command shows itself */
  if (compute_execute (handle, instance, &command, config, &call, &result, &err) != 0)
    status = report_failure (request, place_provider_name (handle), &err);
  else
    status = finish (request, &result, &sink, place_provider_name (handle), instance, prepared);
  sink_clear (&sink);
  return status;
}
