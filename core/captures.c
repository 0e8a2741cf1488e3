/* SPDX-License-Identifier: MIT */
#include "call.h"
#include "handle.h"
#include "record.h"

#include <string.h>

/**
 * captures.c: what is on record, and how it goes. An entry leaves the record only after its image has left the engine.
 */

static const char *
member_text (const cJSON *entry, const char *name)
{
  return cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (entry, name));
}

static int64_t
member_ms (const cJSON *entry, const char *name)
{
  const cJSON *seconds = cJSON_GetObjectItemCaseSensitive (entry, name);

  return cJSON_IsNumber (seconds) && seconds->valuedouble > 0 && seconds->valuedouble < 1e12
             ? (int64_t) (seconds->valuedouble * 1000)
             : 0;
}

static struct compute_capture_entry
describe (const cJSON *entry)
{
  return (struct compute_capture_entry){
    .size = sizeof (struct compute_capture_entry),
    .key = entry->string,
    .backend = member_text (entry, "backend"),
    .ref = member_text (entry, "ref"),
    .definition = member_text (entry, "definition"),
    .created_ms = member_ms (entry, "created_at"),
    .last_used_ms = member_ms (entry, "last_used"),
  };
}

/* An entry of a kind that we know; others stay where they are. */
static gboolean
is_entry (const cJSON *entry)
{
  return cJSON_IsObject (entry) && member_text (entry, "backend") != NULL && member_text (entry, "ref") != NULL;
}

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(const cJSON *const *) a)->string, (*(const cJSON *const *) b)->string);
}

/* The entries of a record, which they belong to. */
static GPtrArray *
sorted_entries (const cJSON *record)
{
  GPtrArray *entries = g_ptr_array_new ();
  const cJSON *entry;

  cJSON_ArrayForEach (entry, record) if (is_entry (entry)) g_ptr_array_add (entries, (gpointer) entry);
  g_ptr_array_sort (entries, compare_entries);
  return entries;
}

int
compute_list_captures (struct compute_registry *registry, compute_capture_fn emit, void *user,
                       struct compute_error *err)
{
  g_autoptr (GPtrArray) entries = NULL;
  cJSON *record;
  int rc = record_read (&record, err);

  (void) registry;
  if (rc != 0)
    return rc;
  entries = sorted_entries (record);
  for (guint i = 0; rc == 0 && i < entries->len; i++)
    {
      struct compute_capture_entry about = describe (entries->pdata[i]);

      rc = emit (user, &about);
    }
  cJSON_Delete (record);
  return rc;
}

/* ---- Pruning ----------------------------------------------------------------------------------------------------- */

struct pruning
{
  struct compute_registry *registry;
  GHashTable *handles; /* provider -> its handle */
  const struct compute_call *call;
};

/* An entry that nobody has used since it was looked at. */
struct removal
{
  const char *key;
  int64_t last_used_ms;
};

static gboolean
remove_entry (void *user, cJSON *record)
{
  const struct removal *removal = user;
  const cJSON *entry = cJSON_GetObjectItemCaseSensitive (record, removal->key);

  if (entry == NULL || member_ms (entry, "last_used") != removal->last_used_ms)
    return FALSE;
  cJSON_DeleteItemFromObjectCaseSensitive (record, removal->key);
  return TRUE;
}

static int
open_backend (struct pruning *pruning, const char *backend, struct compute_handle **ret_handle,
              struct compute_error *err)
{
  int rc;

  *ret_handle = g_hash_table_lookup (pruning->handles, backend);
  if (*ret_handle != NULL)
    return 0;
  rc = compute_resolve (pruning->registry, backend, ret_handle, err);
  if (rc == 0 && *ret_handle == NULL)
    rc = compute_error_set (err, COMPUTE_E_UNKNOWN_PROVIDER, 0, "the record names no provider");
  if (rc == 0)
    g_hash_table_insert (pruning->handles, g_strdup (backend), *ret_handle);
  return rc;
}

static int
remove_capture (struct pruning *pruning, const struct compute_capture_entry *about, struct compute_error *err)
{
  struct removal removal = { about->key, about->last_used_ms };
  struct compute_handle *handle;
  int rc = open_backend (pruning, about->backend, &handle, err);

  if (rc != 0)
    return rc;
  if (handle_captures (handle) == NULL)
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "%s keeps no captures", about->backend);
  rc = handle_remove (handle, about->ref, pruning->call, err);
  return rc == 0 ? record_change (remove_entry, &removal, handle_warn, handle, err) : rc;
}

/* One that is old enough. */
static void
prune (struct pruning *pruning, struct compute_capture_entry *about, struct compute_error *why)
{
  struct key_lock lock = { -1 };
  int rc = key_lock_try (&lock, about->key, why);

  if (rc == 0)
    rc = remove_capture (pruning, about, why);
  key_lock_release (&lock);
  about->pruned = rc == 0 ? COMPUTE_PRUNE_REMOVED : rc == COMPUTE_E_BUSY ? COMPUTE_PRUNE_KEPT : COMPUTE_PRUNE_FAILED;
  about->why = rc != 0 ? why->message : NULL;
}

static void
close_handle (gpointer handle)
{
  compute_close (handle);
}

static int
prune_all (struct pruning *pruning, const GPtrArray *entries, int64_t before_ms, compute_capture_fn emit, void *user)
{
  int rc = 0;

  for (guint i = 0; rc == 0 && i < entries->len; i++)
    {
      struct compute_capture_entry about = describe (entries->pdata[i]);
      struct compute_error why = COMPUTE_ERROR_INIT;

      if (about.last_used_ms > before_ms)
        continue;
      prune (pruning, &about, &why);
      if (why.code == COMPUTE_E_CANCELLED)
        return COMPUTE_E_CANCELLED;
      rc = emit (user, &about);
    }
  return rc;
}

int
compute_prune_captures (struct compute_registry *registry, int64_t age_ms, compute_capture_fn emit, void *user,
                        const struct compute_call *call, struct compute_error *err)
{
  g_autoptr (GPtrArray) entries = NULL;
  struct pruning pruning = { .registry = registry };
  struct compute_call own;
  cJSON *record;
  int rc = call_take (&own, call, err);

  if (rc == 0 && age_ms < 0)
    rc = compute_error_set (err, COMPUTE_E_INVALID, 0, "the age is negative");
  if (rc == 0)
    rc = record_read (&record, err);
  if (rc != 0)
    return rc;
  pruning.call = &own;
  pruning.handles = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, close_handle);
  entries = sorted_entries (record);
  rc = prune_all (&pruning, entries, (int64_t) (record_now () * 1000) - age_ms, emit, user);
  if (rc == COMPUTE_E_CANCELLED)
    (void) compute_error_set (err, rc, 0, "cancelled by the caller");
  g_hash_table_unref (pruning.handles);
  cJSON_Delete (record);
  return rc;
}
