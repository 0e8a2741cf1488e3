/* SPDX-License-Identifier: MIT */
#include "listing.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Keeping what the callbacks lend ---------------------------------------------------------------------------- */

static void
row_free (gpointer data)
{
  struct row *row = data;

  cJSON_Delete (row->probe);
  if (row->shadows != NULL)
    g_ptr_array_unref (row->shadows);
  g_free (row);
}

void
listing_init (struct listing *listing)
{
  *listing = (struct listing){
    .rows = g_ptr_array_new_with_free_func (row_free),
    .folders = g_ptr_array_new_with_free_func (g_free),
    .checks = g_ptr_array_new_with_free_func (g_free),
    .missing = g_ptr_array_new (),
    .strings = g_string_chunk_new (4096),
    .arrays = g_ptr_array_new_with_free_func (g_free),
  };
  core_info_init (&listing->core);
}

void
listing_clear (struct listing *listing)
{
  g_ptr_array_unref (listing->rows);
  g_ptr_array_unref (listing->folders);
  g_ptr_array_unref (listing->checks);
  g_ptr_array_unref (listing->missing);
  g_ptr_array_unref (listing->arrays);
  g_string_chunk_free (listing->strings);
  core_info_clear (&listing->core);
}

static void
keep_text (struct listing *listing, const char **text)
{
  if (*text != NULL)
    *text = g_string_chunk_insert (listing->strings, *text);
}

static void *
keep_array (struct listing *listing, const void *array, uint64_t count, size_t element_bytes)
{
  void *copy = g_memdup2 (array, count * element_bytes);

  if (copy != NULL)
    g_ptr_array_add (listing->arrays, copy);
  return copy;
}

static void
keep_candidate_texts (struct listing *listing, struct compute_candidate *candidate)
{
  const char **const texts[]
      = { &candidate->name,     &candidate->reason,  &candidate->message, &candidate->hint,     &candidate->path,
          &candidate->realpath, &candidate->version, &candidate->vendor,  &candidate->build_id, &candidate->shadowed_by,
          &candidate->license,  &candidate->url,     &candidate->soname,  &candidate->runpath };

  for (size_t i = 0; i < G_N_ELEMENTS (texts); i++)
    keep_text (listing, texts[i]);
}

static void
keep_candidate_arrays (struct listing *listing, struct compute_candidate *candidate)
{
  struct compute_needed *needed
      = keep_array (listing, candidate->needed, candidate->needed_count, sizeof *candidate->needed);
  const char **exports = keep_array (listing, candidate->exports, candidate->export_count, sizeof *candidate->exports);
  const char **undefined
      = keep_array (listing, candidate->undefined, candidate->undefined_count, sizeof *candidate->undefined);

  for (uint64_t i = 0; i < candidate->needed_count; i++)
    {
      keep_text (listing, &needed[i].name);
      keep_text (listing, &needed[i].path);
      keep_text (listing, &needed[i].provided_by);
    }
  for (uint64_t i = 0; i < candidate->export_count; i++)
    keep_text (listing, &exports[i]);
  for (uint64_t i = 0; i < candidate->undefined_count; i++)
    keep_text (listing, &undefined[i]);
  candidate->needed = needed;
  candidate->exports = exports;
  candidate->undefined = undefined;
}

static int
keep_candidate (void *user, const struct compute_candidate *candidate)
{
  struct listing *listing = user;
  struct row *row = g_new0 (struct row, 1);

  memcpy (&row->candidate, candidate, MIN (candidate->size, sizeof row->candidate));
  keep_candidate_texts (listing, &row->candidate);
  keep_candidate_arrays (listing, &row->candidate);
  g_ptr_array_add (listing->rows, row);
  return 0;
}

static int
keep_folder (void *user, const struct compute_folder *folder)
{
  struct listing *listing = user;
  struct compute_folder *copy = g_new0 (struct compute_folder, 1);

  memcpy (copy, folder, MIN (folder->size, sizeof *copy));
  keep_text (listing, &copy->path);
  keep_text (listing, &copy->why);
  g_ptr_array_add (listing->folders, copy);
  return 0;
}

static int
keep_check (void *user, const struct compute_check *check)
{
  struct listing *listing = user;
  struct compute_check *copy = g_new0 (struct compute_check, 1);

  memcpy (copy, check, MIN (check->size, sizeof *copy));
  keep_text (listing, &copy->what);
  keep_text (listing, &copy->found);
  keep_text (listing, &copy->reason);
  g_ptr_array_add (listing->checks, copy);
  return 0;
}

/* ---- Collecting ------------------------------------------------------------------------------------------------- */

int
listing_add_folders (struct listing *listing, struct compute_registry *registry, struct compute_error *err)
{
  return compute_list_folders (registry, keep_folder, listing, err);
}

/* The rows of one name. Those of other names stay for now: they may shadow or be shadowed. */
static void
mark_named (struct listing *listing, const char *name)
{
  bool found = false, usable = false;

  for (guint i = 0; i < listing->rows->len; i++)
    {
      struct row *row = listing->rows->pdata[i];

      if (row->candidate.name == NULL || g_ascii_strcasecmp (row->candidate.name, name) != 0)
        continue;
      row->named = found = true;
      usable = usable || row->candidate.state == COMPUTE_CANDIDATE_OK;
    }
  if (!found)
    g_ptr_array_add (listing->missing, (gpointer) name);
  else if (!usable)
    listing->unusable = true;
}

static void
drop_unnamed (struct listing *listing)
{
  for (guint i = listing->rows->len; i > 0; i--)
    if (!((struct row *) listing->rows->pdata[i - 1])->named)
      g_ptr_array_remove_index (listing->rows, i - 1);
}

static void
link_shadows (struct listing *listing)
{
  g_autoptr (GHashTable) by_path = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < listing->rows->len; i++)
    {
      struct row *row = listing->rows->pdata[i];

      if (row->candidate.path != NULL)
        g_hash_table_insert (by_path, (gpointer) row->candidate.path, row);
    }
  for (guint i = 0; i < listing->rows->len; i++)
    {
      struct row *row = listing->rows->pdata[i];
      const char *by = row->candidate.shadowed_by;
      struct row *winner = by != NULL ? g_hash_table_lookup (by_path, by) : NULL;

      if (winner == NULL)
        continue;
      if (winner->shadows == NULL)
        winner->shadows = g_ptr_array_new ();
      g_ptr_array_add (winner->shadows, (gpointer) row->candidate.path);
    }
}

int
listing_add_file (struct listing *listing, struct compute_registry *registry, const char *path, uint32_t flags,
                  struct compute_error *err)
{
  struct stat info;
  struct row *row;
  int code;

  if (lstat (path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR))
    {
      g_ptr_array_add (listing->missing, (gpointer) path);
      return 0;
    }
  code = compute_inspect_file (registry, path, flags, keep_check, keep_candidate, listing, err);
  if (code != 0)
    return code;
  row = listing->rows->pdata[listing->rows->len - 1];
  row->named = true;
  if (row->candidate.state != COMPUTE_CANDIDATE_OK && row->candidate.state != COMPUTE_CANDIDATE_SHADOWED)
    listing->unusable = true;
  return 0;
}

int
listing_add_candidates (struct listing *listing, struct compute_registry *registry, char *const *names, uint32_t flags,
                        struct compute_error *err)
{
  int code = 0;
  bool search = names[0] == NULL;

  for (int i = 0; names[i] != NULL; i++)
    search = search || strchr (names[i], '/') == NULL;
  if (search)
    code = compute_list_candidates (registry, flags, keep_candidate, listing, err);
  link_shadows (listing);
  for (int i = 0; names[i] != NULL; i++)
    if (strchr (names[i], '/') == NULL)
      mark_named (listing, names[i]);
  if (names[0] != NULL)
    drop_unnamed (listing);
  for (int i = 0; names[i] != NULL && code == 0; i++)
    if (strchr (names[i], '/') != NULL)
      code = listing_add_file (listing, registry, names[i], flags, err);
  return code;
}

/* ---- Judging ---------------------------------------------------------------------------------------------------- */

bool
row_is_shown (const struct row *row, bool all)
{
  return all || row->named || row->candidate.state == COMPUTE_CANDIDATE_OK
         || row->candidate.state == COMPUTE_CANDIDATE_FAILED;
}

/* A broken note says nothing. */
bool
row_knows_abi (const struct row *row)
{
  return row->candidate.has_note && g_strcmp0 (row->candidate.reason, "E_BAD_NOTE") != 0;
}

int
listing_count (const struct listing *listing, uint32_t state)
{
  int count = 0;

  for (guint i = 0; i < listing->rows->len; i++)
    count += ((const struct row *) listing->rows->pdata[i])->candidate.state == state;
  return count;
}

enum status
listing_status (const struct listing *listing)
{
  if (listing->missing->len > 0)
    return STATUS_NOT_FOUND;
  if (listing->unusable || listing_count (listing, COMPUTE_CANDIDATE_FAILED) > 0)
    return STATUS_FAILED;
  return listing_count (listing, COMPUTE_CANDIDATE_OK) > 0 ? STATUS_OK : STATUS_NONE;
}

bool
folder_is_ignored (const struct compute_folder *folder)
{
  bool searched = folder->state == COMPUTE_FOLDER_OK || folder->state == COMPUTE_FOLDER_FILE
                  || (folder->state == COMPUTE_FOLDER_UNTRUSTED && geteuid () != 0);

  return folder->loud && !searched;
}
