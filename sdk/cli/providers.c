/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"
#include "table.h"

/* One provider as it is shown: asked whether it is available, or found broken on disk. */
struct entry
{
  char *name;
  char *version;
  char *description;
  uint64_t capabilities;
  struct compute_error err; /* code 0: available */
};

static void
entry_free (gpointer data)
{
  struct entry *entry = data;

  g_free (entry->name);
  g_free (entry->version);
  g_free (entry->description);
  g_free (entry);
}

static struct entry *
entry_add (GPtrArray *entries, const char *name)
{
  struct entry *entry = g_new0 (struct entry, 1);

  entry->name = g_strdup (name);
  entry->err = (struct compute_error) COMPUTE_ERROR_INIT;
  g_ptr_array_add (entries, entry);
  return entry;
}

static void
ask (const struct request *request, struct compute_registry *registry, struct entry *entry)
{
  struct compute_call call = place_call (request);
  const struct compute_provider *provider;
  struct compute_handle *handle;

  if (compute_resolve (registry, entry->name, &handle, &entry->err) != 0)
    return;
  provider = compute_get_provider (handle);
  entry->version = g_strdup (provider->version);
  entry->description = g_strdup (provider->description);
  entry->capabilities = provider->capabilities;
  (void) compute_is_available (handle, &call, &entry->err);
  compute_close (handle);
}

/* A file that cannot be loaded, unless another of its name can. */
static int
add_broken (void *user, const struct compute_candidate *candidate)
{
  GPtrArray *entries = user;
  struct entry *entry;

  if (candidate->state != COMPUTE_CANDIDATE_FAILED || candidate->name == NULL)
    return 0;
  for (guint i = 0; i < entries->len; i++)
    if (g_str_equal (((struct entry *) entries->pdata[i])->name, candidate->name))
      return 0;
  entry = entry_add (entries, candidate->name);
  entry->version = g_strdup (candidate->version);
  entry->capabilities = candidate->capabilities;
  (void) compute_error_set (&entry->err, COMPUTE_E_PLUGIN, 0, "%s: %s", candidate->path, candidate->message);
  return 0;
}

static cJSON *
json_capabilities (uint64_t capabilities)
{
  cJSON *words = cJSON_CreateArray ();

#define ADD_WORD(name, bit, word, id)                                                                                  \
  if (capabilities & COMPUTE_CAP_##name)                                                                               \
    cJSON_AddItemToArray (words, cJSON_CreateString (word));
  COMPUTE_CAPABILITY_MAP (ADD_WORD)
  return words;
}

static int
print_json (const GPtrArray *entries, struct compute_error *err)
{
  cJSON *object = cJSON_CreateObject ();
  cJSON *list = cJSON_AddArrayToObject (object, "providers");

  for (guint i = 0; i < entries->len; i++)
    {
      const struct entry *entry = entries->pdata[i];
      cJSON *item = cJSON_CreateObject ();

      cJSON_AddItemToObject (item, "name", json_text (entry->name));
      cJSON_AddItemToObject (item, "version", json_text (entry->version));
      cJSON_AddItemToObject (item, "description", json_text (entry->description));
      cJSON_AddItemToObject (item, "capabilities", json_capabilities (entry->capabilities));
      cJSON_AddBoolToObject (item, "available", entry->err.code == 0);
      cJSON_AddItemToObject (item, "error",
                             entry->err.code != 0 ? json_error (entry->name, &entry->err) : cJSON_CreateNull ());
      cJSON_AddItemToArray (list, item);
    }
  return json_print (object, err);
}

static int
print_table (const GPtrArray *entries, struct compute_error *err)
{
  static const char *const titles[] = { "NAME", "VERSION", "AVAILABLE", "DESCRIPTION", NULL };
  struct table table;
  int rc;

  table_init (&table, titles);
  for (guint i = 0; i < entries->len; i++)
    {
      const struct entry *entry = entries->pdata[i];
      const char *const row[] = { entry->name, entry->version, entry->err.code == 0 ? "yes" : "no",
                                  entry->err.code == 0 ? entry->description : entry->err.message };

      table_add_row (&table, row);
    }
  rc = table_print (&table, err);
  table_clear (&table);
  return rc;
}

/* Asks nobody: quick enough for completion. */
static int
print_names (const GPtrArray *names, struct compute_error *err)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s\n", (char *) names->pdata[i]);
  return output_write (1, text->str, text->len, err);
}

static int
print_all (const struct request *request, struct compute_registry *registry, const GPtrArray *names,
           struct compute_error *err)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (entry_free);

  for (guint i = 0; i < names->len; i++)
    {
      struct entry *entry = entry_add (entries, names->pdata[i]);

      ask (request, registry, entry);
      if (entry->err.code == COMPUTE_E_CANCELLED)
        {
          *err = entry->err;
          return err->code;
        }
    }
  if (compute_list_candidates (registry, 0, add_broken, entries, err) != 0)
    return err->code;
  return request->json ? print_json (entries, err) : print_table (entries, err);
}

int
providers_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GPtrArray) names = place_names (request, registry, &err);
  int rc;

  if (names == NULL)
    return report_failure (request, NULL, &err);
  rc = request->quiet && !request->json ? print_names (names, &err) : print_all (request, registry, names, &err);
  return rc != 0 ? report_failure (request, NULL, &err) : STATUS_OK;
}
