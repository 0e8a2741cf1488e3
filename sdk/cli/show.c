/* SPDX-License-Identifier: MIT */
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
print_check (const struct request *request, struct compute_error *err)
{
  cJSON *object;

  if (!request->json)
    return output_write (1, "ok\n", 3, err);
  object = cJSON_CreateObject ();
  cJSON_AddBoolToObject (object, "ok", true);
  return json_print (object, err);
}

static int
print_action (const struct request *request, const char *action, const struct compute_environment *environment,
              struct compute_error *err)
{
  struct compute_config config = config_of_place (request);
  cJSON *shown = NULL;
  int rc = compute_environment_show (environment, &config, parse_text, &shown, err);

  if (rc == 0 && strcmp (action, "hash") == 0)
    rc = print_hash (request, shown, err);
  else if (rc == 0 && strcmp (action, "check") == 0)
    rc = print_check (request, err);
  else if (rc == 0)
    rc = request->json ? json_print (cJSON_Duplicate (shown, true), err) : print_lines (shown, err);
  cJSON_Delete (shown);
  return rc;
}

int
env_main (const struct request *request, struct compute_registry *registry)
{
  const char *action = request->operands->pdata[0];
  struct request own = *request;
  struct compute_environment *environment;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc;

  (void) registry;
  if (strcmp (action, "show") != 0 && strcmp (action, "hash") != 0 && strcmp (action, "check") != 0)
    {
      (void) compute_error_set (&err, COMPUTE_E_INVALID, 0, "'%s' is none of show, hash, check", action);
      return report_usage (request, &err);
    }
  if (request->operands->len > 1)
    own.environment = request->operands->pdata[1];
  rc = environment_open (&own, &environment, &err);
  if (rc == 0 && environment == NULL)
    rc = compute_error_set (&err, COMPUTE_E_NOT_FOUND, 0, "no %s in this folder or above", COMPUTE_ENVIRONMENT_FILE);
  if (rc == 0)
    rc = print_action (request, action, environment, &err);
  compute_environment_close (environment);
  return rc == 0 ? STATUS_OK : report_failure (request, NULL, &err);
}
