/* SPDX-License-Identifier: MIT */
#include "call.h"
#include "text.h"
#include "tool_place.h"
#include "tool_schema.h"

#include <string.h>

#define LAST_WORDS 400 /* bytes kept of a stream for an error's message */
#define SHOWN_WORDS 120

/* One call of a tool with a command. */
struct run
{
  struct compute_call call; /* the caller's */
  GString *text;            /* its standard output */
  GString *said;            /* the end of its standard error */
};

static int
take_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct run *run = user;

  if (stream == COMPUTE_STDOUT)
    g_string_append_len (run->text, data, (gssize) bytes);
  else
    {
      g_string_append_len (run->said, data, (gssize) bytes);
      if (run->said->len > LAST_WORDS)
        g_string_erase (run->said, 0, (gssize) (run->said->len - LAST_WORDS));
    }
  return run->call.output != NULL ? run->call.output (run->call.user, stream, data, bytes) : 0;
}

static void
take_progress (void *user, const struct compute_progress *progress)
{
  struct run *run = user;

  run->call.progress (run->call.user, progress);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* The parser would end a string there. */
static gboolean
has_nul (const char *json)
{
  gboolean is_escaped = FALSE;

  for (; *json != '\0'; json++)
    {
      if (is_escaped && strncmp (json, "u0000", 5) == 0)
        return TRUE;
      is_escaped = !is_escaped && *json == '\\';
    }
  return FALSE;
}

static int
parse_arguments (const char *json, cJSON **ret_arguments, struct compute_error *err)
{
  cJSON *arguments;

  if (json != NULL && has_nul (json))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "an argument has a NUL byte, which no command can be given");
  arguments = json != NULL ? cJSON_ParseWithOpts (json, NULL, 1) : cJSON_CreateObject ();
  if (cJSON_IsObject (arguments))
    {
      *ret_arguments = arguments;
      return 0;
    }
  cJSON_Delete (arguments);
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "the arguments are no JSON object");
}

static int
fill (const struct tool *tool, const char *json, GString *script, struct compute_error *err)
{
  cJSON *arguments = NULL;
  int result = parse_arguments (json, &arguments, err);

  if (result == 0 && tool->schema != NULL)
    result = tool_schema_check (tool->schema, arguments, err);
  if (result == 0)
    result = template_fill (tool->template, arguments, script, err);
  cJSON_Delete (arguments);
  return result;
}

/* ---- How it ended ------------------------------------------------------------------------------------------------ */

/* What is known of why: the end of what it wrote, without the blank around. */
static const char *
last_words (struct run *run, char *shown, size_t room)
{
  GString *words;

  g_strstrip (run->said->str);
  run->said->len = strlen (run->said->str);
  if (run->said->len == 0)
    {
      g_string_append_len (run->said, run->text->str, (gssize) MIN (run->text->len, LAST_WORDS));
      g_strstrip (run->said->str);
    }
  words = run->said;
  return words->str[0] != '\0' ? text_for_people (shown, room, words->str) : "no output";
}

static int
timed_out (struct run *run, const char *tool, const char *place, struct compute_error *err)
{
  char shown[SHOWN_WORDS / 2];

  if (run->text->len == 0 && run->said->len == 0)
    return compute_error_set (
        err, COMPUTE_E_TOOL_FAILED, 0,
        "Tool '%.40s' timed out on %.20s. No output was produced, so nothing is returned rather than "
        "an empty string that would read as success.",
        tool, place);
  return compute_error_set (err, COMPUTE_E_TOOL_FAILED, 0,
                            "Tool '%.40s' timed out on %.20s. Some output was produced, which is not returned as if it "
                            "were whole: %s",
                            tool, place, last_words (run, shown, sizeof shown));
}

/* A result that is no success is the tool's failure. */
static int
judge (struct run *run, const char *tool, const char *place, const struct compute_result *result,
       struct compute_error *err)
{
  char shown[SHOWN_WORDS];

  switch (result->outcome)
    {
    case COMPUTE_OUTCOME_TIMED_OUT:
      return timed_out (run, tool, place, err);
    case COMPUTE_OUTCOME_CANCELLED:
      return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "Tool '%.40s' was cancelled on %.20s", tool, place);
    case COMPUTE_OUTCOME_EXITED:
      if (result->exit_code == 0)
        return 0;
      break;
    case COMPUTE_OUTCOME_OUT_OF_MEMORY:
      return compute_error_set (err, COMPUTE_E_TOOL_FAILED, 0, "Tool '%.40s' ran out of memory on %.20s: %s", tool,
                                place, last_words (run, shown, sizeof shown));
    }
  return compute_error_set (err, COMPUTE_E_TOOL_FAILED, 0, "Tool '%.40s' failed on %.20s (exit %d): %s", tool, place,
                            result->exit_code, last_words (run, shown, sizeof shown));
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* True when the instance is no more; the command then did not start, or nobody knows what it did. */
static gboolean
is_death (int code)
{
  return code == COMPUTE_E_NOT_RUNNING || code == COMPUTE_E_NOT_FOUND || code == COMPUTE_E_LOST;
}

/* Executes, once more in a fresh instance when the one there was found dead before the command started. */
static int
execute (struct compute_place *place, const struct compute_command *command, const struct compute_config *config,
         struct run *run, struct compute_tool_result *about, struct compute_result *result, struct compute_error *err)
{
  struct compute_call call
      = { sizeof call, run->call.cancel_fd, run, take_output, run->call.progress != NULL ? take_progress : NULL };
  struct compute_call making = call;

  making.output = NULL; /* what preparing the place prints is nothing that the tool has said */
  for (;;)
    {
      struct compute_error why = COMPUTE_ERROR_INIT;
      int code = place_enter (place, &making, about->instance, &about->flags, err);

      if (code != 0)
        return code;
      code = compute_execute (place_handle (place), about->instance, command, config, &call, result, &why);
      if (is_death (code))
        place_note_death (place, about->instance);
      if (code == 0)
        return 0;
      if ((code != COMPUTE_E_NOT_RUNNING && code != COMPUTE_E_NOT_FOUND) || about->flags != 0)
        return compute_error_set (err, code, why.sys_errno, "%s", why.message);
    }
}

static int
run_command (struct compute_place *place, const struct tool *tool, const char *name, const char *script,
             compute_text_fn emit, struct run *run, struct compute_tool_result *about, struct compute_error *err)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  int code;

  command.script = script;
  config.timeout_ms = tool->timeout_ms;
  code = execute (place, &command, &config, run, about, &result, err);
  if (code != 0)
    return code;
  if (about->result != NULL)
    result_give (about->result, &result, sizeof result);
  if ((result.flags & COMPUTE_RESULT_STDOUT_TRUNCATED) != 0)
    about->flags |= COMPUTE_TOOL_TEXT_CUT;
  code = judge (run, name, place_name (place), &result, err);
  return code == 0 && emit != NULL ? emit (run->call.user, run->text->str, run->text->len) : code;
}

static int
run_locally (const char *name, const char *arguments, compute_local_tool_fn local, compute_text_fn emit,
             const struct compute_call *call, struct compute_tool_result *about, struct compute_error *err)
{
  char shown[64];

  if (local == NULL)
    return compute_error_set (err, COMPUTE_E_UNKNOWN_TOOL, 0, "no tool '%s' has a command, and none runs locally",
                              text_for_people (shown, sizeof shown, name));
  about->flags = COMPUTE_TOOL_RAN_LOCALLY;
  return local (call->user, name, arguments != NULL ? arguments : "{}", emit, call, err);
}

static int
run_placed (struct compute_place *place, const struct tool *tool, const char *name, const char *arguments,
            compute_text_fn emit, const struct compute_call *call, struct compute_tool_result *about,
            struct compute_error *err)
{
  g_autoptr (GString) script = g_string_new (NULL);
  struct run run = { .call = *call, .text = g_string_new (NULL), .said = g_string_new (NULL) };
  int code = fill (tool, arguments, script, err);

  if (code == 0)
    code = run_command (place, tool, name, script->str, emit, &run, about, err);
  g_string_free (run.text, TRUE);
  g_string_free (run.said, TRUE);
  return code;
}

int
compute_run_tool (struct compute_place *place, const char *tool, const char *arguments, compute_local_tool_fn local,
                  compute_text_fn emit, const struct compute_call *call, struct compute_tool_result *ret_result,
                  struct compute_error *err)
{
  struct compute_tool_result about = COMPUTE_TOOL_RESULT_INIT;
  struct compute_call own;
  struct tool *held;
  int code = call_take (&own, call, err);

  if (code == 0 && ret_result != NULL)
    code = result_check (ret_result, "tool result", err);
  if (code == 0 && (tool == NULL || tool[0] == '\0'))
    code = compute_error_set (err, COMPUTE_E_INVALID, 0, "the tool has no name");
  if (code != 0)
    return code;
  if (ret_result != NULL && COMPUTE_HAS (ret_result, result))
    about.result = ret_result->result;
  held = place_hold_tool (place, tool);
  if (held == NULL)
    code = run_locally (tool, arguments, local, emit, &own, &about, err);
  else
    {
      code = run_placed (place, held, tool, arguments, emit, &own, &about, err);
      tool_release (held);
    }
  if (ret_result != NULL)
    result_give (ret_result, &about, sizeof about);
  return code;
}
