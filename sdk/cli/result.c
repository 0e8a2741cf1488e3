/* SPDX-License-Identifier: MIT */
#include "result.h"

#include "json.h"
#include "output.h"
#include "report.h"
#include "signals.h"
#include "words.h"

/* JSON text may take six bytes for one, and cJSON holds 2 GiB. */
#define KEPT_BYTES_MAX (256 * 1024 * 1024)

void
sink_init (struct sink *sink, bool keep)
{
  *sink = (struct sink){ keep, { NULL, g_byte_array_new (), g_byte_array_new () }, COMPUTE_ERROR_INIT };
}

void
sink_clear (struct sink *sink)
{
  g_byte_array_unref (sink->kept[COMPUTE_STDOUT]);
  g_byte_array_unref (sink->kept[COMPUTE_STDERR]);
}

int
sink_take (struct sink *sink, uint32_t stream, const void *data, uint64_t bytes)
{
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

cJSON *
result_json (const struct compute_result *result, const struct sink *sink, const char *provider, const char *instance)
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
  return object;
}

static void
note_cut (const struct request *request, const struct compute_result *result, const char *stream, uint64_t bytes)
{
  report_note (request, "%s was cut at %" G_GINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes; raise --max-output", stream,
               result->output_limit_bytes, bytes);
}

void
result_note (const struct request *request, const struct compute_result *result)
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

void
result_note_survivors (const struct compute_result *result)
{
  if (result->flags & COMPUTE_RESULT_SURVIVORS)
    report_warning ("something that the command started could not be ended and lives on");
}

int
result_status (const struct compute_result *result)
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
