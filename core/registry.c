/* SPDX-License-Identifier: MIT */
#include "registry.h"
#include "call.h"
#include "handle.h"
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
  registry->search = search_new (&own, registry->services.library_folder);
  g_mutex_init (&registry->lock);
  registry->registered = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  *ret_registry = registry;
  return 0;
}

void
compute_registry_close (struct compute_registry *registry)
{
  if (registry == NULL)
    return;
  g_hash_table_unref (registry->registered);
  g_mutex_clear (&registry->lock);
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
  g_mutex_lock (&registry->lock);
  added = !g_hash_table_contains (registry->registered, folded);
  if (added)
    g_hash_table_insert (registry->registered, g_strdup (folded), (gpointer) provider);
  g_mutex_unlock (&registry->lock);
  if (!added)
    return compute_error_set (err, COMPUTE_E_BUSY, 0, "provider '%s' is registered already", folded);
  return 0;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The names that can be resolved, sorted, each once. */
static GPtrArray *
collect_names (struct compute_registry *registry)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *sorted = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer name;

  g_mutex_lock (&registry->lock);
  g_hash_table_iter_init (&iter, registry->registered);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_hash_table_add (names, g_strdup (name));
  g_mutex_unlock (&registry->lock);
  for (guint i = 0; i < registry->search->len; i++)
    {
      const struct place *place = registry->search->pdata[i];
      g_autoptr (GDir) folder = g_dir_open (place->path, 0, NULL);
      const char *file;

      while (folder != NULL && (file = g_dir_read_name (folder)) != NULL)
        if (g_str_has_prefix (file, "compute-provider-") && g_str_has_suffix (file, ".so"))
          g_hash_table_add (names, g_strndup (file + strlen ("compute-provider-"),
                                              strlen (file) - strlen ("compute-provider-") - strlen (".so")));
    }
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_ptr_array_add (sorted, g_strdup (name));
  g_ptr_array_sort (sorted, compare_names);
  return sorted;
}

int
compute_list (struct compute_registry *registry, compute_name_fn emit, void *user, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = collect_names (registry);

  (void) err;
  for (guint i = 0; i < names->len; i++)
    {
      int rc = emit (user, names->pdata[i]);

      if (rc != 0)
        return rc;
    }
  return 0;
}

#define SANDBOX_ADVICE "Falling back to local would run on the host something you asked to sandbox."

/* The names are shortened so that the last sentence, which is the point, stays whole. */
static int
unknown_provider (struct compute_registry *registry, const char *name, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = collect_names (registry);
  g_autoptr (GString) available = g_string_new (NULL);
  char shown[72];
  size_t room;

  text_for_people (shown, sizeof shown, name);
  room = sizeof err->message - sizeof "Unknown compute provider ''. Available: . " SANDBOX_ADVICE - strlen (shown);
  for (guint i = 0; i < names->len; i++)
    {
      const char *next = names->pdata[i];
      gboolean last = i + 1 == names->len;

      if (available->len + strlen (", ") + strlen (next) + (last ? 0 : strlen (", ...")) > room)
        {
          g_string_append (available, i == 0 ? "..." : ", ...");
          break;
        }
      g_string_append_printf (available, "%s%s", i == 0 ? "" : ", ", next);
    }
  return compute_error_set (err, COMPUTE_E_UNKNOWN_PROVIDER, 0,
                            "Unknown compute provider '%s'. Available: %s. " SANDBOX_ADVICE, shown,
                            names->len == 0 ? "none" : available->str);
}

/* The first file of that name in search order. */
static char *
find_file (struct compute_registry *registry, const char *name)
{
  g_autofree char *file = g_strdup_printf ("compute-provider-%s.so", name);

  for (guint i = 0; i < registry->search->len; i++)
    {
      const struct place *place = registry->search->pdata[i];
      g_autofree char *path = g_build_filename (place->path, file, NULL);

      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }
  return NULL;
}

int
compute_resolve (struct compute_registry *registry, const char *name, struct compute_handle **ret_handle,
                 struct compute_error *err)
{
  const struct compute_provider *provider = NULL;
  g_autofree char *path = NULL;
  char folded[NAME_BYTES];
  int rc;

  if (name == NULL || name[0] == '\0')
    {
      *ret_handle = NULL;
      return 0;
    }
  if (!name_fold (folded, name))
    return unknown_provider (registry, name, err);
  g_mutex_lock (&registry->lock);
  provider = g_hash_table_lookup (registry->registered, folded);
  g_mutex_unlock (&registry->lock);
  if (provider == NULL)
    {
      path = find_file (registry, folded);
      if (path == NULL)
        return unknown_provider (registry, name, err);
      rc = module_load (path, &registry->services.host, &provider, err);
      if (rc != 0)
        return rc;
    }
  return handle_open (provider, folded, &registry->services.host, ret_handle, err);
}
