/* SPDX-License-Identifier: MIT */
#include "registry.h"
#include "call.h"
#include "handle.h"
#include "listing.h"
#include "module.h"
#include "table.h"
#include "text.h"

#include <string.h>

int
compute_registry_open (const struct compute_registry_options *options, struct compute_registry **ret_registry,
                       struct compute_error *err)
{
  struct compute_registry_options own;
  struct compute_registry *registry;
  int rc = options_take (&own, options, err);

  if (rc != 0)
    return rc;
  registry = g_new0 (struct compute_registry, 1);
  registry->flags = own.flags;
  services_init (&registry->services, &own);
  registry->search = search_new (&own, registry->services.own_folder);
  pthread_mutex_init (&registry->lock, NULL);
  registry->registered = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  registry->resolved = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  *ret_registry = registry;
  return 0;
}

void
compute_registry_close (struct compute_registry *registry)
{
  if (registry == NULL)
    return;
  g_hash_table_unref (registry->registered);
  g_hash_table_unref (registry->resolved);
  pthread_mutex_destroy (&registry->lock);
  g_ptr_array_unref (registry->search);
  services_clear (&registry->services);
  g_free (registry);
}

int
compute_register (struct compute_registry *registry, const char *name, const struct compute_provider *provider,
                  struct compute_error *err)
{
  char folded[NAME_BYTES], shown[NAME_BYTES + 8];
  gboolean added;
  int rc;

  if (name == NULL || !name_fold (folded, name))
    return compute_error_set (err, COMPUTE_E_INVALID, 0,
                              "invalid provider name '%s': it must match [a-z0-9][a-z0-9._-]{0,63}",
                              text_for_people (shown, sizeof shown, name != NULL ? name : ""));
  rc = table_check (provider, folded, err);
  if (rc != 0)
    return rc;
  pthread_mutex_lock (&registry->lock);
  added = !g_hash_table_contains (registry->registered, folded);
  if (added)
    g_hash_table_insert (registry->registered, g_strdup (folded), (gpointer) provider);
  pthread_mutex_unlock (&registry->lock);
  if (!added)
    return compute_error_set (err, COMPUTE_E_BUSY, 0, "provider '%s' is registered already", folded);
  return 0;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Adds the names of a table; its keys are text. */
static void
add_names (GHashTable *names, GHashTable *table)
{
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, table);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_hash_table_add (names, g_strdup (name));
}

static GPtrArray *
sort_names (GHashTable *names)
{
  GPtrArray *sorted = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_ptr_array_add (sorted, g_strdup (name));
  g_ptr_array_sort (sorted, compare_names);
  return sorted;
}

GPtrArray *
registry_names (struct compute_registry *registry)
{
  GPtrArray *sorted;

  pthread_mutex_lock (&registry->lock);
  sorted = sort_names (registry->registered);
  pthread_mutex_unlock (&registry->lock);
  return sorted;
}

const struct compute_provider *
registry_lookup (struct compute_registry *registry, const char *name)
{
  const struct compute_provider *provider;

  pthread_mutex_lock (&registry->lock);
  provider = g_hash_table_lookup (registry->registered, name);
  pthread_mutex_unlock (&registry->lock);
  return provider;
}

static int
add_good_name (void *user, const struct compute_candidate *candidate)
{
  if (candidate->state == COMPUTE_CANDIDATE_OK)
    g_hash_table_add (user, g_strdup (candidate->name));
  return 0;
}

/* The names that can be resolved, sorted, each once. */
static GPtrArray *
collect_names (struct compute_registry *registry)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  pthread_mutex_lock (&registry->lock);
  add_names (names, registry->registered);
  if (g_atomic_int_get (&registry->frozen))
    add_names (names, registry->resolved);
  pthread_mutex_unlock (&registry->lock);
  list_candidates (registry, DEPTH_LIBRARIES, add_good_name, names);
  return sort_names (names);
}

int
compute_list (struct compute_registry *registry, compute_name_fn emit, void *user, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = collect_names (registry);
  int rc = 0;

  (void) err;
  for (guint i = 0; i < names->len && rc == 0; i++)
    rc = emit (user, names->pdata[i]);
  return rc;
}

#define SANDBOX_ADVICE "Falling back to local would run on the host something you asked to sandbox."

/* The names are shortened so that the last sentence, which is the point, stays whole. */
static int
unknown_provider (struct compute_registry *registry, const char *name, struct compute_error *err)
{
  const size_t rest = sizeof "Unknown compute provider ''. Available: . " SANDBOX_ADVICE;
  g_autoptr (GPtrArray) names = collect_names (registry);
  g_autoptr (GString) available = g_string_new (names->len == 0 ? "none" : NULL);
  char shown[72];
  size_t room;

  text_for_people (shown, sizeof shown, name);
  room = sizeof err->message - rest - strlen (shown);
  for (guint i = 0; i < names->len; i++)
    {
      const char *next = names->pdata[i], *comma = i == 0 ? "" : ", ";
      size_t more = i + 1 == names->len ? 0 : strlen (", ...");

      if (available->len + strlen (comma) + strlen (next) + more > room)
        {
          g_string_append_printf (available, "%s...", comma);
          break;
        }
      g_string_append_printf (available, "%s%s", comma, next);
    }
  return compute_error_set (err, COMPUTE_E_UNKNOWN_PROVIDER, 0,
                            "Unknown compute provider '%s'. Available: %s. " SANDBOX_ADVICE, shown, available->str);
}

/* ---- From a name to a provider ------------------------------------------------------------------------------------
 */

/* The search for one name. Nothing that is no good hides what comes after it. */
struct quest
{
  struct compute_registry *registry;
  const char *name;
  const struct compute_provider *provider;
  int rc;                   /* why the first file of that name is no good; 0: there was none */
  struct compute_error err; /* the same in words */
};

/* True when the search is over. */
static gboolean
try_candidate (struct quest *quest, struct candidate *candidate)
{
  const struct stages stages = { NULL, NULL };
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_error why = COMPUTE_ERROR_INIT;
  enum reason reason;
  int rc;

  if (strcmp (candidate->name, quest->name) != 0)
    return FALSE;
  rc = module_load (quest->registry, candidate, &stages, &reason, &quest->provider, &why);
  if (rc == 0)
    return TRUE;
  err = why;
  if (rc == COMPUTE_E_PLUGIN)
    module_error (candidate, reason, why.message, &err);
  services_log (&quest->registry->services, COMPUTE_LOG_WARNING, "%s", err.message);
  if (quest->rc == 0)
    {
      quest->rc = rc;
      quest->err = err;
    }
  return rc == COMPUTE_E_BUSY;
}

static void
search_files (struct quest *quest)
{
  struct inspection inspection = { .registry = quest->registry, .depth = DEPTH_FILE };
  struct search search;
  gboolean over = FALSE;

  search_begin (&search, quest->registry);
  while (!over && search_next (&search))
    for (guint i = 0; i < search.folder.names->len && !over; i++)
      {
        struct candidate *candidate = candidate_new (&inspection, &search.folder, search.folder.names->pdata[i]);

        over = try_candidate (quest, candidate);
        candidate_free (candidate);
      }
  search_end (&search);
  inspection_clear (&inspection);
}

/* folded is the name to look for, given the one to show. */
static int
find_provider (struct compute_registry *registry, const char *folded, const char *given,
               const struct compute_provider **ret_provider, struct compute_error *err)
{
  struct quest quest = { .registry = registry, .name = folded, .err = COMPUTE_ERROR_INIT };

  pthread_mutex_lock (&registry->lock);
  quest.provider = g_hash_table_lookup (registry->registered, folded);
  if (quest.provider == NULL && g_atomic_int_get (&registry->frozen))
    quest.provider = g_hash_table_lookup (registry->resolved, folded);
  pthread_mutex_unlock (&registry->lock);
  if (quest.provider == NULL)
    {
      search_files (&quest);
      if (quest.provider == NULL)
        return quest.rc != 0 ? compute_error_set (err, quest.rc, 0, "%s", quest.err.message)
                             : unknown_provider (registry, given, err);
      pthread_mutex_lock (&registry->lock);
      g_hash_table_insert (registry->resolved, g_strdup (folded), (gpointer) quest.provider);
      pthread_mutex_unlock (&registry->lock);
    }
  *ret_provider = quest.provider;
  return 0;
}

int
compute_resolve (struct compute_registry *registry, const char *name, struct compute_handle **ret_handle,
                 struct compute_error *err)
{
  const struct compute_provider *provider = NULL;
  char folded[NAME_BYTES];
  int rc;

  if (name == NULL || name[0] == '\0')
    {
      *ret_handle = NULL;
      return 0;
    }
  rc = name_fold (folded, name) ? find_provider (registry, folded, name, &provider, err)
                                : unknown_provider (registry, name, err);
  return rc != 0 ? rc : handle_open (provider, folded, &registry->services.host, ret_handle, err);
}

void
compute_freeze (struct compute_registry *registry)
{
  g_atomic_int_set (&registry->frozen, 1);
}
