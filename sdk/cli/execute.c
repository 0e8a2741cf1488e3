/* SPDX-License-Identifier: MIT */
#include "execute.h"

#include "environment.h"
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "signals.h"
#include "words.h"

/* JSON text may take six bytes for one, and cJSON holds 2 GiB. */
#define KEPT_BYTES_MAX (256 * 1024 * 1024)

/* Where a command's output goes: through to ours as it comes, or kept for the JSON object. */
struct sink
{
  bool keep;
  const struct compute_prepared *prepared; /* for the object, too */
  GByteArray *kept[3];                     /* by COMPUTE_STDOUT, COMPUTE_STDERR */
  struct compute_error failed;             /* why the output could not be written */
};

static int
on_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct sink *sink = user;

  if (sink->keep)
    {
      if (bytes > KEPT_BYTES_MAX - sink->kept[stream]->len)
        return compute_error_set (&sink->failed, COMPUTE_E_INVALID, 0,
                                  "more output than the %d bytes that --json can hold; lower --max-output",
                                  KEPT_BYTES_MAX);
      g_byte_array_append (sink->kept[stream], data, (guint) bytes);
      return 0;
    }
  return output_write (stream == COMPUTE_STDOUT ? 1 : 2, data, bytes, &sink->failed);
}

static cJSON *
json_result (const struct compute_result *result, const struct sink *sink, const char *provider, const char *instance)
{
  cJSON *object = cJSON_CreateObject ();
  cJSON *part;

  json_add_bytes (object, "stdout", sink->kept[COMPUTE_STDOUT]);
  json_add_bytes (object, "stderr", sink->kept[COMPUTE_STDERR]);
  cJSON_AddItemToObject (object, "exitCode",
                         result->exit_code >= 0 ? cJSON_CreateNumber (result->exit_code) : cJSON_CreateNull ());
  cJSON_AddBoolToObject (object, "timedOut", result->outcome == COMPUTE_OUTCOME_TIMED_OUT);
  cJSON_AddNumberToObject (object, "durationMs", (double) (result->duration_us / 1000));
  cJSON_AddStringToObject (object, "outcome", word_of_outcome (result->outcome));
  cJSON_AddItemToObject (object, "signal",
                         result->signal != 0 ? cJSON_CreateNumber (result->signal) : cJSON_CreateNull ());
  part = cJSON_AddObjectToObject (object, "truncated");
  cJSON_AddBoolToObject (part, "stdout", result->flags & COMPUTE_RESULT_STDOUT_TRUNCATED);
  cJSON_AddBoolToObject (part, "stderr", result->flags & COMPUTE_RESULT_STDERR_TRUNCATED);
  part = cJSON_AddObjectToObject (object, "bytes");
  cJSON_AddNumberToObject (part, "stdout", (double) result->stdout_bytes);
  cJSON_AddNumberToObject (part, "stderr", (double) result->stderr_bytes);
  part = cJSON_AddObjectToObject (object, "usage");
  cJSON_AddNumberToObject (part, "maxRssBytes", (double) result->max_rss_bytes);
  cJSON_AddNumberToObject (part, "userMs", (double) (result->user_us / 1000));
  cJSON_AddNumberToObject (part, "sysMs", (double) (result->sys_us / 1000));
  cJSON_AddItemToObject (object, "provider", json_text (provider));
  cJSON_AddItemToObject (object, "instance", json_text (instance));
  environment_add_json (object, sink->prepared);
  return object;
}

static void
note_cut (const struct request *request, const struct compute_result *result, const char *stream, uint64_t bytes)
{
  report_note (request, "%s was cut at %" G_GINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes; raise --max-output", stream,
               result->output_limit_bytes, bytes);
}

/* What the exit status alone does not tell. */
static void
note_result (const struct request *request, const struct compute_result *result)
{
  if (result->flags & COMPUTE_RESULT_STDOUT_TRUNCATED)
    note_cut (request, result, "stdout", result->stdout_bytes);
  if (result->flags & COMPUTE_RESULT_STDERR_TRUNCATED)
    note_cut (request, result, "stderr", result->stderr_bytes);
  if (result->outcome == COMPUTE_OUTCOME_TIMED_OUT)
    report_note (request, "timed out after %.15g s", (double) result->timeout_ms / 1000);
  if (result->outcome == COMPUTE_OUTCOME_OUT_OF_MEMORY)
    report_note (request, "killed, since memory ran out");
}

static int
status_of (const struct compute_result *result)
{
  switch (result->outcome)
    {
    case COMPUTE_OUTCOME_TIMED_OUT:
      return STATUS_TIMED_OUT;
    case COMPUTE_OUTCOME_CANCELLED:
      return signals_caught () != 0 ? STATUS_SIGNALED + signals_caught () : STATUS_FAILED;
    default: /* -1 with an outcome that this program does not know */
      return result->exit_code >= 0 ? result->exit_code : STATUS_FAILED;
    }
}

static int
finish (const struct request *request, const struct compute_result *result, struct sink *sink, const char *provider,
        const char *instance)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (sink->failed.code != 0)
    return report_failure (request, provider, &sink->failed);
  if (request->json && json_print (json_result (result, sink, provider, instance), &err) != 0)
    return report_failure (request, provider, &err);
  if (!request->json)
    note_result (request, result);
  if (result->flags & COMPUTE_RESULT_SURVIVORS)
    report_warning ("something that the command started could not be ended and lives on");
  return status_of (result);
}

int
execute_command (const struct request *request, struct compute_handle *handle, const char *instance,
                 const struct compute_config *config, const struct compute_prepared *prepared)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_call call = place_call (request);
  g_autoptr (GByteArray) kept_stdout = g_byte_array_new ();
  g_autoptr (GByteArray) kept_stderr = g_byte_array_new ();
  struct sink sink = { request->json, prepared, { NULL, kept_stdout, kept_stderr }, COMPUTE_ERROR_INIT };

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
  call.user = &sink;
  call.output = on_output;
  call.progress = NULL; /* its user is the sink now, and a command shows itself */
  if (compute_execute (handle, instance, &command, config, &call, &result, &err) != 0)
    return report_failure (request, place_provider_name (handle), &err);
  return finish (request, &result, &sink, place_provider_name (handle), instance);
}
