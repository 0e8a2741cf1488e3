/* SPDX-License-Identifier: MIT */
#include "failures.h"
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"

/* What down and reap did. Only reap has IDs to tell in text: down's caller named them. */
struct work
{
  const struct request *request;
  struct compute_registry *registry;
  GPtrArray *ended; /* char * */
  struct failures failures;
};

static void
end_instance (struct work *work, struct compute_handle *handle, const char *id)
{
  struct compute_call call = place_call (work->request);
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (compute_shutdown (handle, id, &call, &err) == 0)
    g_ptr_array_add (work->ended, g_strdup (id));
  else
    failures_add (&work->failures, place_provider_name (handle), id, &err);
}

static void
end_named (struct work *work, const char *id)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;

  if (place_find (work->request, work->registry, id, &handle, NULL, &err) != 0)
    {
      failures_add (&work->failures, work->request->on, id, &err);
      return;
    }
  end_instance (work, handle, id);
  compute_close (handle);
}

/* Ends a provider's instances whose owner is proven dead, and never any other. */
static void
end_orphans (struct work *work, const char *name)
{
  g_autoptr (GArray) instances = g_array_new (FALSE, FALSE, sizeof (struct compute_instance));
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;

  if (place_list (work->request, work->registry, name, &handle, instances, &err) != 0)
    {
      failures_add (&work->failures, name, NULL, &err);
      return;
    }
  for (guint i = 0; i < instances->len && !failures_stop (&work->failures); i++)
    {
      const struct compute_instance *instance = &g_array_index (instances, struct compute_instance, i);

      if (instance->owner == COMPUTE_OWNER_GONE)
        end_instance (work, handle, instance->id);
    }
  compute_close (handle);
}

static void
work_init (struct work *work, const struct request *request, struct compute_registry *registry)
{
  work->request = request;
  work->registry = registry;
  work->ended = g_ptr_array_new_with_free_func (g_free);
  failures_init (&work->failures);
}

static int
print_json (const struct work *work, struct compute_error *err, int *ret_status)
{
  cJSON *object = cJSON_CreateObject ();
  cJSON *ended = cJSON_AddArrayToObject (object, "ended");

  for (guint i = 0; i < work->ended->len; i++)
    cJSON_AddItemToArray (ended, json_text (work->ended->pdata[i]));
  *ret_status = failures_report (work->request, &work->failures, object);
  return json_print (object, err);
}

static int
print_text (const struct work *work, struct compute_error *err, int *ret_status)
{
  bool tell = work->request->subcommand->operands == OPERANDS_NONE && !work->request->quiet;
  g_autoptr (GString) text = g_string_new (NULL);

  *ret_status = failures_report (work->request, &work->failures, NULL);
  for (guint i = 0; i < work->ended->len && tell; i++)
    g_string_append_printf (text, "%s\n", (char *) work->ended->pdata[i]);
  return output_write (1, text->str, text->len, err);
}

/* Prints what was done, clears it, and returns what to exit with. */
static int
work_finish (struct work *work)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  int status;
  int rc = work->request->json ? print_json (work, &err, &status) : print_text (work, &err, &status);

  if (rc != 0)
    status = report_failure (work->request, NULL, &err);
  g_ptr_array_unref (work->ended);
  failures_clear (&work->failures);
  return status;
}

int
down_main (const struct request *request, struct compute_registry *registry)
{
  struct work work;

  work_init (&work, request, registry);
  for (guint i = 0; i < request->operands->len && !failures_stop (&work.failures); i++)
    end_named (&work, request->operands->pdata[i]);
  return work_finish (&work);
}

int
reap_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GPtrArray) names = place_names (request, registry, &err);
  struct work work;

  if (names == NULL)
    return report_failure (request, NULL, &err);
  work_init (&work, request, registry);
  for (guint i = 0; i < names->len && !failures_stop (&work.failures); i++)
    end_orphans (&work, names->pdata[i]);
  return work_finish (&work);
}
