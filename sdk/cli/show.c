/* SPDX-License-Identifier: MIT */
#include "actions.h"
#include "config.h"
#include "environment.h"
#include "output.h"
#include "report.h"
#include "subcommands.h"

#include <string.h>

/**
 * show.c: the subcommand env.
 */

static int
parse_text (void *user, const void *text, uint64_t bytes)
{
  *(cJSON **) user = cJSON_ParseWithLength (text, bytes);
  return 0;
}

/* A line for each member: text as it is, anything else as JSON. */
static int
print_lines (const cJSON *object, struct compute_error *err)
{
  g_autoptr (GString) lines = g_string_new (NULL);
  const cJSON *member;

  cJSON_ArrayForEach (member, object)
  {
    char *json = cJSON_PrintUnformatted (member);
    g_autofree char *shown = output_printable (cJSON_IsString (member) ? member->valuestring : json);

    g_string_append_printf (lines, "%s: %s\n", member->string, shown);
    cJSON_free (json);
  }
  return output_write (1, lines->str, lines->len, err);
}

static int
print_hash (const struct request *request, const cJSON *shown, struct compute_error *err)
{
  const char *hash = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (shown, "definition_hash"));
  g_autofree char *line = g_strconcat (hash, "\n", NULL);
  cJSON *object;

  if (!request->json)
    return output_write (1, line, strlen (line), err);
  object = cJSON_CreateObject ();
  cJSON_AddStringToObject (object, "definition_hash", hash);
  return json_print (object, err);
}

static int
print_check (const struct request *request, const cJSON *shown, struct compute_error *err)
{
  cJSON *object;

  (void) shown;
  if (!request->json)
    return output_write (1, "ok\n", 3, err);
  object = cJSON_CreateObject ();
  cJSON_AddBoolToObject (object, "ok", true);
  return json_print (object, err);
}

static int
print_all (const struct request *request, const cJSON *shown, struct compute_error *err)
{
  return request->json ? json_print (cJSON_Duplicate (shown, true), err) : print_lines (shown, err);
}

typedef int (*print_fn) (const struct request *request, const cJSON *shown, struct compute_error *err);

/* What the environment comes to, in the form that print gives it. */
static int
show_as (const struct request *request, print_fn print)
{
  struct compute_config config = config_of_place (request);
  struct compute_environment *environment = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct request own = *request;
  cJSON *shown = NULL;
  int rc;

  if (request->operands->len > 1)
    own.environment = request->operands->pdata[1];
  rc = environment_need (&own, &environment, &err);
  if (rc == 0)
    rc = compute_environment_show (environment, &config, parse_text, &shown, &err);
  if (rc == 0)
    rc = print (request, shown, &err);
  cJSON_Delete (shown);
  compute_environment_close (environment);
  return rc == 0 ? STATUS_OK : report_failure (request, NULL, &err);
}

static int
show (const struct request *request, struct compute_registry *registry)
{
  (void) registry;
  return show_as (request, print_all);
}

static int
hash (const struct request *request, struct compute_registry *registry)
{
  (void) registry;
  return show_as (request, print_hash);
}

static int
check (const struct request *request, struct compute_registry *registry)
{
  (void) registry;
  return show_as (request, print_check);
}

int
env_main (const struct request *request, struct compute_registry *registry)
{
  static const struct action actions[] = { { "show", show }, { "hash", hash }, { "check", check } };

  return actions_run (actions, G_N_ELEMENTS (actions), request, registry);
}
