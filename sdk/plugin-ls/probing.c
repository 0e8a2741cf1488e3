/* SPDX-License-Identifier: MIT */
#include "probing.h"

#include "cache.h"
#include "display.h"
#include "probe.h"
#include "words.h"

#include <time.h>

/* What loading has shown replaces what the file alone says. */
static void
apply_probe (struct listing *listing, struct row *row)
{
  struct compute_candidate *candidate = &row->candidate;
  const cJSON *provider = cJSON_GetObjectItemCaseSensitive (row->probe, "provider");

  if (probe_text (row->probe, "reason") != NULL)
    {
      candidate->state = COMPUTE_CANDIDATE_FAILED;
      candidate->reason = probe_text (row->probe, "reason");
      candidate->message = probe_text (row->probe, "message");
      candidate->hint = reason_hint (candidate->reason);
      listing->unusable = listing->unusable || row->named;
    }
  else if (!candidate->has_note && provider != NULL)
    {
      candidate->name = probe_text (provider, "name");
      candidate->version = probe_text (provider, "version");
      candidate->capabilities
          = (uint64_t) cJSON_GetNumberValue (cJSON_GetObjectItemCaseSensitive (provider, "capabilities"));
    }
}

/* --why shows the load as its last check. */
static void
add_check (struct listing *listing, const struct row *row)
{
  struct compute_check *check = g_new0 (struct compute_check, 1);
  g_autofree char *took
      = g_strdup_printf ("loaded in %g ms", cJSON_GetNumberValue (cJSON_GetObjectItemCaseSensitive (row->probe, "ms")));

  check->size = sizeof *check;
  check->what = "load";
  check->reason = probe_text (row->probe, "reason");
  check->passed = check->reason == NULL;
  check->found = check->passed ? g_string_chunk_insert (listing->strings, took) : probe_text (row->probe, "message");
  g_ptr_array_add (listing->checks, check);
}

static int
probe_row (struct row *row, const char *helper, int64_t timeout_ms, struct cache *cache, struct compute_error *err)
{
  g_autofree char *identity = cache != NULL ? cache_identity (&row->candidate) : NULL;
  const cJSON *kept = NULL;
  int code;

  row->probe_age_s = -1;
  if (identity != NULL)
    kept = cache_find (cache, row->candidate.realpath, identity, &row->probe_age_s);
  if (kept != NULL)
    {
      row->probe = cJSON_Duplicate (kept, true);
      return 0;
    }
  code = probe_file (helper, row->candidate.path, timeout_ms, &row->probe, err);
  if (code == 0 && identity != NULL)
    cache_keep (cache, row->candidate.realpath, identity, row->probe);
  return code;
}

/* The core as a file, its ABI, the C library: NULL if the file cannot be told, and nothing is kept then. */
static char *
cache_context (const struct core_info *core)
{
  const struct compute_candidate file = { .realpath = core->path };
  g_autofree char *identity = cache_identity (&file);

  if (identity == NULL)
    return NULL;
  return g_strdup_printf ("%s %s abi %s %s", core->version, identity, core->abi, core->libc);
}

static struct cache *
open_cache (const struct listing *listing, const struct options *options)
{
  char *path = options->no_cache ? NULL : cache_default_path ();
  g_autofree char *context = cache_context (&listing->core);

  if (path != NULL && context != NULL)
    return cache_open (path, context, time (NULL));
  g_free (path);
  return NULL;
}

int
probe_rows (struct listing *listing, const struct options *options, struct compute_error *err)
{
  struct compute_error keeping = COMPUTE_ERROR_INIT;
  struct cache *cache = open_cache (listing, options);
  g_autofree char *folder = g_path_get_dirname (listing->core.path);
  g_autofree char *helper = g_build_filename (folder, "compute", "compute-provider-probe", NULL);
  int code = 0;

  for (guint i = 0; i < listing->rows->len; i++)
    {
      struct row *row = listing->rows->pdata[i];

      if (row->candidate.state != COMPUTE_CANDIDATE_OK || row->candidate.path == NULL)
        continue;
      code = probe_row (row, helper, options->timeout_ms, cache, err);
      if (code != 0)
        break;
      apply_probe (listing, row);
      if (options->mode == MODE_WHY)
        add_check (listing, row);
    }
  if (cache != NULL && cache_save (cache, &keeping) != 0)
    complain ("the results of --probe are not kept: %s", keeping.message);
  cache_close (cache);
  return code;
}
