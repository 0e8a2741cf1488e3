/* SPDX-License-Identifier: MIT */
#include "actions.h"
#include "config.h"
#include "environment.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"
#include "table.h"
#include "words.h"

#include <string.h>

/* Captures as they are printed. Only JSON, which is for programs, has what they are called. */
struct listing
{
  cJSON *array; /* NULL: text */
  struct table table;
  bool has_failed;
};

static const char *
word_of_pruned (uint32_t pruned)
{
  switch (pruned)
    {
#define WORD(name, value, word)                                                                                        \
  case value:                                                                                                          \
    return word;
      COMPUTE_PRUNE_MAP (WORD)
#undef WORD
    default:
      return "unknown";
    }
}

static void
add_json (cJSON *array, const struct compute_capture_entry *entry)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddItemToObject (object, "definition", json_text (entry->definition));
  cJSON_AddItemToObject (object, "backend", json_text (entry->backend));
  cJSON_AddItemToObject (object, "ref", json_text (entry->ref));
  cJSON_AddNumberToObject (object, "createdMs", (double) entry->created_ms);
  cJSON_AddNumberToObject (object, "lastUsedMs", (double) entry->last_used_ms);
  if (entry->pruned != COMPUTE_PRUNE_NONE)
    {
      cJSON_AddStringToObject (object, "pruned", word_of_pruned (entry->pruned));
      cJSON_AddItemToObject (object, "why", json_text (entry->why));
    }
  cJSON_AddItemToArray (array, object);
}

static int
add_capture (void *user, const struct compute_capture_entry *entry)
{
  struct listing *listing = user;
  g_autofree char *created = word_of_time (entry->created_ms);
  g_autofree char *last_used = word_of_time (entry->last_used_ms);
  const char *const listed[] = { entry->definition, entry->backend, created, last_used };
  const char *const pruned[]
      = { entry->definition, entry->backend, last_used, word_of_pruned (entry->pruned), entry->why };

  listing->has_failed |= entry->pruned == COMPUTE_PRUNE_FAILED;
  if (listing->array != NULL)
    add_json (listing->array, entry);
  else
    table_add_row (&listing->table, entry->pruned == COMPUTE_PRUNE_NONE ? listed : pruned);
  return 0;
}

static int
print_listing (const struct request *request, struct listing *listing, struct compute_error *err)
{
  cJSON *object;

  if (!request->json)
    return table_print (&listing->table, err);
  object = cJSON_CreateObject ();
  cJSON_AddItemToObject (object, "captures", listing->array);
  listing->array = NULL;
  return json_print (object, err);
}

static int
list (const struct request *request, struct compute_registry *registry)
{
  static const char *const titles[] = { "DEFINITION", "PROVIDER", "CREATED", "LAST USED", NULL };
  struct listing listing = { .array = request->json ? cJSON_CreateArray () : NULL };
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc;

  table_init (&listing.table, titles);
  rc = compute_list_captures (registry, add_capture, &listing, &err);
  if (rc == 0)
    rc = print_listing (request, &listing, &err);
  table_clear (&listing.table);
  cJSON_Delete (listing.array);
  return rc == 0 ? STATUS_OK : report_failure (request, NULL, &err);
}

static int
prune (const struct request *request, struct compute_registry *registry)
{
  static const char *const titles[] = { "DEFINITION", "PROVIDER", "LAST USED", "DONE", "WHY", NULL };
  struct listing listing = { .array = request->json ? cJSON_CreateArray () : NULL };
  struct compute_call call = place_call (request);
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc;

  table_init (&listing.table, titles);
  call.user = &listing;
  call.progress = NULL;
  rc = compute_prune_captures (registry, request->older_than_ms, add_capture, &listing, &call, &err);
  if (rc == 0)
    rc = print_listing (request, &listing, &err);
  table_clear (&listing.table);
  cJSON_Delete (listing.array);
  if (rc != 0)
    return report_failure (request, NULL, &err);
  return listing.has_failed ? STATUS_FAILED : STATUS_OK;
}

static int
print_explanation (const struct request *request, const struct compute_prepared *about, struct compute_error *err)
{
  g_autofree char *line = NULL;
  cJSON *object;

  if (request->json)
    {
      object = cJSON_CreateObject ();
      environment_add_json (object, about);
      return json_print (object, err);
    }
  if ((about->flags & COMPUTE_PREPARED_REUSED) != 0)
    line = g_strdup_printf ("%s: hit\n", about->definition);
  else
    line = g_strdup_printf ("%s: miss: %s\n", about->definition, about->why);
  return output_write (1, line, strlen (line), err);
}

static int
explain_on (const struct request *request, struct compute_handle *handle, const struct compute_environment *environment)
{
  struct compute_config config = config_of_place (request);
  struct compute_prepared about = COMPUTE_PREPARED_INIT;
  struct compute_call call = place_call (request);
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc = compute_explain_capture (handle, environment, &config, &call, &about, &err);

  if (rc == 0)
    rc = print_explanation (request, &about, &err);
  return rc == 0 ? STATUS_OK : report_failure (request, place_provider_name (handle), &err);
}

static int
explain (const struct request *request, struct compute_registry *registry)
{
  struct compute_environment *environment = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = NULL;
  const char *on = request->on;
  int status;
  int rc = environment_need (request, &environment, &err);

  if (rc == 0 && on == NULL)
    on = compute_environment_backend (environment);
  if (rc == 0 && on == NULL)
    rc = place_unnamed (registry, &err);
  if (rc == 0)
    rc = compute_resolve (registry, on, &handle, &err);
  status = rc == 0 ? explain_on (request, handle, environment) : report_failure (request, on, &err);
  compute_close (handle);
  compute_environment_close (environment);
  return status;
}

int
captures_main (const struct request *request, struct compute_registry *registry)
{
  static const struct action actions[] = { { "list", list }, { "prune", prune }, { "explain", explain } };

  return actions_run (actions, G_N_ELEMENTS (actions), request, registry);
}
