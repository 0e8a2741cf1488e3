/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "environment.h"
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "result.h"
#include "signals.h"
#include "subcommands.h"
#include "suggest.h"
#include "table.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX (64 * 1024 * 1024) /* bytes from stdin */
#define NAMES_SHOWN 160                  /* bytes of the tools' names in a message */

/* A place whose tools are declared. */
struct tools
{
  const struct request *request;
  struct compute_environment *environment; /* or NULL */
  struct compute_handle *handle;
  struct compute_place *place;
};

static void
tools_close (struct tools *tools)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (tools->place != NULL && compute_place_shutdown (tools->place, NULL, &err) != 0)
    report_warning ("the instance was not ended: %s", err.message);
  compute_place_close (tools->place);
  compute_close (tools->handle);
  compute_environment_close (tools->environment);
}

static int
tools_open (struct tools *tools, struct compute_registry *registry, const char *provider, struct compute_error *err)
{
  struct compute_config config = config_of_place (tools->request);
  int rc = compute_resolve (registry, provider, &tools->handle, err);

  if (rc == 0)
    rc = compute_place_adopt (tools->handle, &config, &tools->place, err);
  if (rc == 0)
    rc = compute_place_load_tools (tools->place, tools->request->tools, err);
  return rc;
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static int
collect_name (void *user, const struct compute_tool_info *tool)
{
  g_ptr_array_add (user, g_strdup (tool->name));
  return 0;
}

static GPtrArray *
tool_names (struct compute_place *place)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  (void) compute_list_tools (place, collect_name, names, NULL);
  return names;
}

static int
add_json (void *user, const struct compute_tool_info *tool)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", tool->name);
  cJSON_AddItemToObject (object, "description", json_text (tool->description));
  cJSON_AddItemToObject (object, "parameters",
                         tool->parameters != NULL ? cJSON_Parse (tool->parameters) : cJSON_CreateNull ());
  cJSON_AddStringToObject (object, "command", tool->command);
  cJSON_AddItemToObject (object, "timeoutMs",
                         tool->timeout_ms != COMPUTE_UNSET ? cJSON_CreateNumber ((double) tool->timeout_ms)
                                                           : cJSON_CreateNull ());
  cJSON_AddItemToArray (user, object);
  return 0;
}

static int
add_row (void *user, const struct compute_tool_info *tool)
{
  const char *const row[] = { tool->name, tool->description };

  table_add_row (user, row);
  return 0;
}

static int
print_names (struct compute_place *place, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = tool_names (place);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s\n", (char *) names->pdata[i]);
  return output_write (1, text->str, text->len, err);
}

static int
print_table (struct compute_place *place, struct compute_error *err)
{
  static const char *const titles[] = { "NAME", "DESCRIPTION", NULL };
  struct table table;
  int rc;

  table_init (&table, titles);
  (void) compute_list_tools (place, add_row, &table, NULL);
  rc = table_print (&table, err);
  table_clear (&table);
  return rc;
}

static int
print_list (const struct tools *tools, struct compute_error *err)
{
  cJSON *object;

  if (!tools->request->json)
    return tools->request->quiet ? print_names (tools->place, err) : print_table (tools->place, err);
  object = cJSON_CreateObject ();
  (void) compute_list_tools (tools->place, add_json, cJSON_AddArrayToObject (object, "tools"), NULL);
  return json_print (object, err);
}

/* Nothing runs, so any provider will do, and need not be available. */
static int
list_tools (const struct request *request, struct compute_registry *registry)
{
  struct tools tools = { .request = request };
  struct compute_error err = COMPUTE_ERROR_INIT;
  int status = STATUS_OK;

  if (tools_open (&tools, registry, request->on != NULL ? request->on : "local", &err) != 0
      || print_list (&tools, &err) != 0)
    status = report_failure (request, request->on, &err);
  tools_close (&tools);
  return status;
}

/* ---- A call ------------------------------------------------------------------------------------------------------ */

/* Where a tool's output goes. In text mode its text goes to stdout when it has succeeded, and not before. */
struct call
{
  const struct request *request;
  struct sink sink;
};

static int
on_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct call *call = user;

  return stream == COMPUTE_STDOUT && !call->sink.keep ? 0 : sink_take (&call->sink, stream, data, bytes);
}

static void
on_progress (void *user, const struct compute_progress *progress)
{
  place_show_progress (((struct call *) user)->request, progress);
}

static int
on_text (void *user, const void *text, uint64_t bytes)
{
  struct call *call = user;

  return call->sink.keep ? 0 : output_write (1, text, bytes, &call->sink.failed);
}

/* The object of the call; one that failed has its error, too. */
static int
print_json (const struct tools *tools, const char *tool, const struct call *call, const struct compute_result *result,
            const char *instance, const struct compute_error *failed)
{
  const char *provider = place_provider_name (tools->handle);
  cJSON *object = result_json (result, &call->sink, provider, instance);
  struct compute_error err = COMPUTE_ERROR_INIT;

  cJSON_AddStringToObject (object, "tool", tool);
  if (failed->code != 0)
    cJSON_AddItemToObject (object, "error", json_error (provider, failed));
  return json_print (object, &err) == 0 ? result_status (result) : report_failure (tools->request, provider, &err);
}

/* What a call that did not end well makes of it: what the caller gave may have been wrong. */
static int
report (const struct tools *tools, const struct compute_error *err)
{
  if (err->code == COMPUTE_E_INVALID || err->code == COMPUTE_E_UNKNOWN_TOOL)
    return report_usage (tools->request, err);
  return report_failure (tools->request, place_provider_name (tools->handle), err);
}

static int
finish (const struct tools *tools, const char *tool, const struct call *call, const struct compute_tool_result *about,
        const struct compute_error *err)
{
  const struct compute_result *result = about->result;
  int status;

  if (call->sink.failed.code != 0)
    return report (tools, &call->sink.failed);
  if (result->outcome == 0)
    return report (tools, err);
  if (tools->request->json)
    return print_json (tools, tool, call, result, about->instance, err);
  status = err->code != 0 ? report (tools, err) : STATUS_OK;
  result_note (tools->request, result);
  result_note_survivors (result);
  return err->code == COMPUTE_E_TOOL_FAILED ? result_status (result) : status;
}

static int
run_tool (const struct tools *tools, const char *tool, const char *arguments)
{
  struct compute_tool_result about = COMPUTE_TOOL_RESULT_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_call wanted = place_call (tools->request);
  struct call call = { .request = tools->request };
  int status;

  sink_init (&call.sink, tools->request->json);
  about.result = &result;
  wanted.user = &call;
  wanted.output = on_output;
  wanted.progress = on_progress;
  (void) compute_run_tool (tools->place, tool, arguments, NULL, on_text, &wanted, &about, &err);
  status = finish (tools, tool, &call, &about, &err);
  sink_clear (&call.sink);
  return status;
}

static int
check_tool (const struct tools *tools, const char *tool, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = tool_names (tools->place);
  g_autoptr (GString) list = g_string_new (NULL);
  struct suggestion nearest = SUGGESTION_INIT (tool);

  for (guint i = 0; i < names->len; i++)
    {
      if (g_str_equal (tool, names->pdata[i]))
        return 0;
      suggestion_consider (&nearest, names->pdata[i]);
      g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", (char *) names->pdata[i]);
    }
  if (list->len > NAMES_SHOWN)
    g_string_append (g_string_truncate (list, NAMES_SHOWN), "...");
  if (nearest.best != NULL)
    return compute_error_set (err, COMPUTE_E_UNKNOWN_TOOL, 0, "no tool '%.64s'; did you mean '%s'? There are: %s", tool,
                              nearest.best, list->str);
  return compute_error_set (err, COMPUTE_E_UNKNOWN_TOOL, 0, "no tool '%.64s'; there are: %s", tool, list->str);
}

/* A signal is not kept waiting for who writes. */
static int
wait_for_stdin (struct compute_error *err)
{
  struct pollfd fds[] = { { .fd = 0, .events = POLLIN }, { .fd = signals_fd (), .events = POLLIN } };

  while (poll (fds, G_N_ELEMENTS (fds), -1) < 0)
    if (errno != EINTR)
      return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot wait for stdin: %s", g_strerror (errno));
  return fds[1].revents != 0 ? compute_error_set (err, COMPUTE_E_CANCELLED, 0, "cancelled") : 0;
}

static int
read_stdin (GString *text, struct compute_error *err)
{
  char chunk[65536];
  ssize_t count = 1;

  while (count > 0)
    {
      if (wait_for_stdin (err) != 0)
        return err->code;
      count = read (0, chunk, sizeof chunk);
      if (count < 0)
        return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot read the arguments from stdin: %s",
                                  g_strerror (errno));
      g_string_append_len (text, chunk, count);
      if (text->len > ARGUMENTS_MAX)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "the arguments are larger than %d bytes", ARGUMENTS_MAX);
    }
  if (strlen (text->str) != text->len)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the arguments hold a NUL byte");
  return 0;
}

/* Of the named provider; its tools are declared. */
static int
call_tool (const struct tools *tools)
{
  const GPtrArray *operands = tools->request->operands;
  const char *tool = operands->pdata[0], *arguments = operands->len > 1 ? operands->pdata[1] : NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GString) read = g_string_new (NULL);

  if (check_tool (tools, tool, &err) != 0)
    return report (tools, &err);
  if (arguments != NULL && g_str_equal (arguments, "-"))
    {
      if (read_stdin (read, &err) != 0)
        return report (tools, &err);
      arguments = read->str;
    }
  return run_tool (tools, tool, arguments);
}

/* The provider that --on names, or the environment does. */
static int
open_named (struct tools *tools, struct compute_registry *registry)
{
  const struct request *request = tools->request;
  const char *on = request->on;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc = environment_open (request, &tools->environment, &err);

  if (rc == 0 && on == NULL && tools->environment != NULL)
    on = compute_environment_backend (tools->environment);
  if (rc == 0 && on == NULL)
    {
      (void) place_unnamed (registry, &err);
      return report_usage (request, &err);
    }
  if (rc == 0)
    rc = tools_open (tools, registry, on, &err);
  if (rc == 0)
    rc = compute_place_set_environment (tools->place, tools->environment,
                                        request->refuse_secrets ? COMPUTE_PREPARE_REFUSE_SECRETS : 0, &err);
  return rc != 0 ? report_failure (request, on, &err) : STATUS_OK;
}

int
tool_main (const struct request *request, struct compute_registry *registry)
{
  struct tools tools = { .request = request };
  int status;

  if (request->list)
    return list_tools (request, registry);
  status = open_named (&tools, registry);
  if (status == STATUS_OK)
    status = call_tool (&tools);
  tools_close (&tools);
  return status;
}
