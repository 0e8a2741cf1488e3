/* SPDX-License-Identifier: MIT */
#include "failures.h"
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"
#include "table.h"
#include "words.h"

/* The list in the form that was asked for; the other two stay empty. */
struct list
{
  cJSON *object; /* NULL: text */
  cJSON *instances;
  struct table table;
  GString *ids;
};

static void
list_add (struct list *list, const char *provider, const struct compute_instance *instance)
{
  g_autofree char *created = word_of_time (instance->created_ms);
  const char *const row[]
      = { instance->id,    provider,         word_of_state (instance->state), word_of_owner (instance->owner), created,
          instance->image, instance->workdir };

  if (list->object != NULL)
    {
      cJSON_AddItemToArray (list->instances, json_instance (provider, instance));
      return;
    }
  table_add_row (&list->table, row);
  g_string_append_printf (list->ids, "%s\n", instance->id);
}

static void
ask (const struct request *request, struct compute_registry *registry, const char *name, struct list *list,
     struct failures *failures)
{
  g_autoptr (GArray) instances = g_array_new (FALSE, FALSE, sizeof (struct compute_instance));
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;

  if (place_list (request, registry, name, &handle, instances, &err) != 0)
    {
      failures_add (failures, name, NULL, &err);
      return;
    }
  for (guint i = 0; i < instances->len; i++)
    list_add (list, place_provider_name (handle), &g_array_index (instances, struct compute_instance, i));
  compute_close (handle);
}

static int
list_print (const struct request *request, const struct list *list, struct compute_error *err)
{
  if (list->object != NULL)
    return json_print (list->object, err);
  return request->quiet ? output_write (1, list->ids->str, list->ids->len, err) : table_print (&list->table, err);
}

static void
list_init (struct list *list, const struct request *request)
{
  static const char *const titles[] = { "ID", "PROVIDER", "STATE", "OWNER", "CREATED", "IMAGE", "WORKDIR", NULL };

  list->object = request->json ? cJSON_CreateObject () : NULL;
  list->instances = request->json ? cJSON_AddArrayToObject (list->object, "instances") : NULL;
  list->ids = g_string_new (NULL);
  table_init (&list->table, titles);
}

int
ps_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GPtrArray) names = place_names (request, registry, &err);
  struct failures failures;
  struct list list;
  int status;

  if (names == NULL)
    return report_failure (request, NULL, &err);
  list_init (&list, request);
  failures_init (&failures);
  for (guint i = 0; i < names->len && !failures_stop (&failures); i++)
    ask (request, registry, names->pdata[i], &list, &failures);

  status = failures_report (request, &failures, list.object);
  if (list_print (request, &list, &err) != 0)
    status = report_failure (request, NULL, &err);
  failures_clear (&failures);
  table_clear (&list.table);
  g_string_free (list.ids, TRUE);
  return status;
}
