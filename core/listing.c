/* SPDX-License-Identifier: MIT */
#include "listing.h"
#include "module.h"
#include "registry.h"

#include <string.h>

/* ---- Who wins ---------------------------------------------------------------------------------------------------- */

/* The first good one of its name. */
struct winner
{
  char *path;
  uint64_t dev, ino;
  struct candidate *candidate; /* while its folder is looked at, else NULL */
};

/* The first candidate that wants a library of some name, and where it finds it. */
struct user
{
  char *candidate;
  const struct library *library;
};

struct contest
{
  GHashTable *winners; /* name -> struct winner */
  GHashTable *users;   /* library's name -> struct user */
};

static void
winner_free (gpointer data)
{
  struct winner *winner = data;

  g_free (winner->path);
  g_free (winner);
}

static void
user_free (gpointer data)
{
  struct user *user = data;

  g_free (user->candidate);
  g_free (user);
}

static void
add_winner (struct contest *contest, const char *name, const char *path, struct candidate *candidate)
{
  struct winner *winner = g_new0 (struct winner, 1);

  winner->path = g_strdup (path);
  winner->candidate = candidate;
  if (candidate != NULL)
    {
      winner->dev = candidate->view.dev;
      winner->ino = candidate->view.ino;
    }
  g_hash_table_insert (contest->winners, g_strdup (name), winner);
}

static char *
describe_duplicate (const char *name, const char *path)
{
  char shown[256];

  return g_strdup_printf ("'%s' is the name of '%s' too", name, text_for_people (shown, sizeof shown, path));
}

/* Compares a good candidate with the winner of its name. */
static void
compete (struct contest *contest, struct candidate *candidate)
{
  struct winner *winner = g_hash_table_lookup (contest->winners, candidate->name);
  gboolean same_file;

  if (winner == NULL)
    {
      add_winner (contest, candidate->name, candidate->path, candidate);
      return;
    }
  same_file = winner->dev == candidate->view.dev && winner->ino == candidate->view.ino;
  candidate->view.shadowed_by = winner->path;
  if (winner->candidate == NULL || same_file)
    {
      candidate_set (candidate, COMPUTE_CANDIDATE_SHADOWED, REASON_NONE, NULL);
      return;
    }
  candidate_set (candidate, COMPUTE_CANDIDATE_FAILED, REASON_DUPLICATE,
                 describe_duplicate (candidate->name, winner->path));
  if (winner->candidate->message == NULL)
    candidate_set (winner->candidate, COMPUTE_CANDIDATE_OK, REASON_DUPLICATE,
                   describe_duplicate (candidate->name, candidate->path));
}

/* Two providers with a library of the same name, each with its own: the process has room for the first alone. */
static void
compare_libraries (struct contest *contest, struct candidate *candidate)
{
  for (guint i = 0; candidate->wants != NULL && i < candidate->needed->len; i++)
    {
      struct compute_needed *needed = &g_array_index (candidate->needed, struct compute_needed, i);
      const struct library *library = wants_find (candidate->wants, needed->name);
      struct user *user = g_hash_table_lookup (contest->users, needed->name);

      if (library == NULL || library->loaded)
        continue;
      if (user == NULL)
        {
          user = g_new (struct user, 1);
          *user = (struct user){ g_strdup (candidate->path), library };
          g_hash_table_insert (contest->users, g_strdup (needed->name), user);
        }
      else if (user->library->dev != library->dev || user->library->ino != library->ino)
        needed->provided_by = user->candidate;
    }
}

/* ---- Folder by folder ---------------------------------------------------------------------------------------------
 */

static void
add_registered (struct compute_registry *registry, struct contest *contest)
{
  g_autoptr (GPtrArray) names = registry_names (registry);

  for (guint i = 0; i < names->len; i++)
    add_winner (contest, names->pdata[i], "(registered)", NULL);
}

/* The candidates of one folder, judged by those of the folders before it as well. */
static GPtrArray *
list_folder (struct inspection *inspection, struct contest *contest, const struct folder *folder)
{
  GPtrArray *candidates = g_ptr_array_new_with_free_func (candidate_free);

  for (guint i = 0; i < folder->names->len; i++)
    {
      struct candidate *candidate = candidate_new (inspection, folder, folder->names->pdata[i]);

      g_ptr_array_add (candidates, candidate);
      if (candidate->view.state != COMPUTE_CANDIDATE_OK)
        continue;
      compete (contest, candidate);
      if (candidate->view.state == COMPUTE_CANDIDATE_OK)
        compare_libraries (contest, candidate);
    }
  for (guint i = 0; i < candidates->len; i++)
    {
      struct candidate *candidate = candidates->pdata[i];
      struct winner *winner = g_hash_table_lookup (contest->winners, candidate->name);

      if (winner != NULL)
        winner->candidate = NULL;
    }
  return candidates;
}

int
list_candidates (struct compute_registry *registry, enum depth depth, compute_candidate_fn emit, void *user)
{
  struct inspection inspection = { .registry = registry, .depth = depth };
  struct contest contest = { g_hash_table_new_full (g_str_hash, g_str_equal, g_free, winner_free),
                             g_hash_table_new_full (g_str_hash, g_str_equal, g_free, user_free) };
  struct search search;
  int rc = 0;

  add_registered (registry, &contest);
  search_begin (&search, registry);
  while (rc == 0 && search_next (&search))
    {
      g_autoptr (GPtrArray) candidates = list_folder (&inspection, &contest, &search.folder);

      for (guint i = 0; i < candidates->len && rc == 0; i++)
        rc = emit (user, &((struct candidate *) candidates->pdata[i])->view);
    }
  search_end (&search);
  g_hash_table_unref (contest.winners);
  g_hash_table_unref (contest.users);
  inspection_clear (&inspection);
  return rc;
}

/* ---- The public functions -----------------------------------------------------------------------------------------
 */

static int
check_flags (uint32_t flags, struct compute_error *err)
{
  if ((flags & ~COMPUTE_INSPECT_DEPS) != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown flags 0x%x", flags & ~COMPUTE_INSPECT_DEPS);
  return 0;
}

static enum depth
depth_of (uint32_t flags)
{
  return (flags & COMPUTE_INSPECT_DEPS) != 0 ? DEPTH_SYMBOLS : DEPTH_LIBRARIES;
}

int
compute_list_folders (struct compute_registry *registry, compute_folder_fn emit, void *user, struct compute_error *err)
{
  struct search search;
  int rc = 0;

  (void) err;
  search_begin (&search, registry);
  while (rc == 0 && search_next (&search))
    rc = emit (user, &search.folder.view);
  search_end (&search);
  return rc;
}

static int
emit_registered (struct compute_registry *registry, compute_candidate_fn emit, void *user)
{
  g_autoptr (GPtrArray) names = registry_names (registry);
  int rc = 0;

  for (guint i = 0; i < names->len && rc == 0; i++)
    {
      const struct compute_provider *provider = registry_lookup (registry, names->pdata[i]);
      const struct compute_candidate view = {
        .size = sizeof view,
        .state = COMPUTE_CANDIDATE_OK,
        .source = COMPUTE_SOURCE_REGISTERED,
        .name = names->pdata[i],
        .abi_major = provider->abi_major,
        .abi_minor_built = provider->abi_minor,
        .capabilities = provider->capabilities,
        .version = provider->version,
      };

      rc = emit (user, &view);
    }
  return rc;
}

int
compute_list_candidates (struct compute_registry *registry, uint32_t flags, compute_candidate_fn emit, void *user,
                         struct compute_error *err)
{
  int rc = check_flags (flags, err);

  if (rc == 0)
    rc = emit_registered (registry, emit, user);
  return rc != 0 ? rc : list_candidates (registry, depth_of (flags), emit, user);
}

int
compute_inspect_file (struct compute_registry *registry, const char *path, uint32_t flags, compute_check_fn check,
                      compute_candidate_fn emit, void *user, struct compute_error *err)
{
  struct inspection inspection = { .registry = registry, .depth = depth_of (flags), .check = check, .user = user };
  struct candidate *candidate;
  int rc = check_flags (flags, err);

  if (rc != 0)
    return rc;
  if (path == NULL || path[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no file was given");
  candidate = candidate_new (&inspection, NULL, path);
  rc = inspection.stopped;
  if (rc == 0 && emit != NULL)
    rc = emit (user, &candidate->view);
  candidate_free (candidate);
  inspection_clear (&inspection);
  return rc;
}

int
compute_load_file (struct compute_registry *registry, const char *path, compute_stage_fn stage, void *user,
                   const char **ret_reason, const struct compute_provider **ret_provider, struct compute_error *err)
{
  struct inspection inspection = { .registry = registry, .depth = DEPTH_FILE };
  const struct stages stages = { stage, user };
  struct candidate *candidate;
  enum reason reason;
  int rc;

  if (path == NULL || path[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no file was given");
  if (stage != NULL)
    stage (user, "check");
  candidate = candidate_new (&inspection, NULL, path);
  rc = module_load (registry, candidate, &stages, &reason, ret_provider, err);
  if (rc != 0 && ret_reason != NULL)
    *ret_reason = reason_code (reason);
  candidate_free (candidate);
  inspection_clear (&inspection);
  return rc;
}
