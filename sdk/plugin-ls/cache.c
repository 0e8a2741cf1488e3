/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include "display.h"
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAILURE_SECONDS 3600
#define SUCCESS_SECONDS (30 * 24 * 3600)
#define FILE_BYTES_MAX (64 * 1024 * 1024)

struct cache
{
  char *path;
  char *context;
  int64_t now_s;
  GHashTable *entries; /* display_json of a real path -> cJSON { identity, time, report } */
  bool changed;
};

char *
cache_default_path (void)
{
  const char *folder = getenv ("XDG_CACHE_HOME");
  const char *home = getenv ("HOME");

  if (getauxval (AT_SECURE) != 0)
    return NULL;
  if (folder != NULL && folder[0] == '/')
    return g_build_filename (folder, "compute", "probe.json", NULL);
  if (home != NULL && home[0] == '/')
    return g_build_filename (home, ".cache", "compute", "probe.json", NULL);
  return NULL;
}

/* A regular file of our own, of a sensible size; anything else is no cache. */
static char *
read_own_file (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  char *text = NULL;
  ssize_t got = 0;

  if (fd < 0)
    return NULL;
  if (fstat (fd, &info) == 0 && S_ISREG (info.st_mode) && info.st_uid == geteuid () && info.st_size <= FILE_BYTES_MAX)
    {
      text = g_malloc ((size_t) info.st_size + 1);
      got = read (fd, text, (size_t) info.st_size);
      text[got > 0 ? got : 0] = '\0';
    }
  close (fd);
  return text;
}

static bool
is_fresh (const cJSON *entry, int64_t now_s)
{
  const cJSON *report = cJSON_GetObjectItemCaseSensitive (entry, "report");
  double age = (double) now_s - cJSON_GetNumberValue (cJSON_GetObjectItemCaseSensitive (entry, "time"));
  const char *result = probe_text (report, "result");

  if (result == NULL || probe_text (entry, "identity") == NULL)
    return false;
  return age >= 0 && age < (strcmp (result, "ok") == 0 ? SUCCESS_SECONDS : FAILURE_SECONDS);
}

static void
load (struct cache *cache)
{
  g_autofree char *text = read_own_file (cache->path);
  cJSON *document = text != NULL ? cJSON_Parse (text) : NULL;
  cJSON *files = cJSON_GetObjectItemCaseSensitive (document, "files");

  if (cJSON_IsObject (files) && g_strcmp0 (probe_text (document, "context"), cache->context) == 0)
    while (files->child != NULL)
      {
        cJSON *entry = cJSON_DetachItemViaPointer (files, files->child);
        char *key = g_strdup (entry->string);

        if (is_fresh (entry, cache->now_s))
          g_hash_table_replace (cache->entries, key, entry);
        else
          {
            g_free (key);
            cJSON_Delete (entry);
          }
      }
  cJSON_Delete (document);
}

struct cache *
cache_open (char *path, const char *context, int64_t now_s)
{
  struct cache *cache = g_new0 (struct cache, 1);

  cache->path = path;
  cache->context = g_strdup (context);
  cache->now_s = now_s;
  cache->entries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) cJSON_Delete);
  load (cache);
  return cache;
}

void
cache_close (struct cache *cache)
{
  if (cache == NULL)
    return;
  g_hash_table_unref (cache->entries);
  g_free (cache->context);
  g_free (cache->path);
  g_free (cache);
}

char *
cache_identity (const struct compute_candidate *candidate)
{
  struct stat info;

  /* The change time too: some installers set one modification time for every file. */
  if (candidate->realpath == NULL || stat (candidate->realpath, &info) != 0)
    return NULL;
  return g_strdup_printf ("%llu:%llu:%lld:%lld.%09ld:%lld.%09ld:%s", (unsigned long long) info.st_dev,
                          (unsigned long long) info.st_ino, (long long) info.st_size, (long long) info.st_mtim.tv_sec,
                          info.st_mtim.tv_nsec, (long long) info.st_ctim.tv_sec, info.st_ctim.tv_nsec,
                          candidate->build_id != NULL ? candidate->build_id : "");
}

const cJSON *
cache_find (struct cache *cache, const char *realpath, const char *identity, int64_t *ret_age_s)
{
  g_autofree char *key = display_json (realpath);
  const cJSON *entry = g_hash_table_lookup (cache->entries, key);

  if (entry == NULL || strcmp (probe_text (entry, "identity"), identity) != 0)
    return NULL;
  *ret_age_s = cache->now_s - (int64_t) cJSON_GetNumberValue (cJSON_GetObjectItemCaseSensitive (entry, "time"));
  return cJSON_GetObjectItemCaseSensitive (entry, "report");
}

static bool
is_worth_keeping (const cJSON *report)
{
  static const char *const passing[]
      = { "E_MISSING_DEP", "E_UNDEFINED_SYMBOL", "E_SYMBOL_VERSION", "E_DLOPEN", "E_INIT_TIMEOUT", NULL };
  const char *reason = probe_text (report, "reason");

  return reason == NULL || !g_strv_contains (passing, reason);
}

void
cache_keep (struct cache *cache, const char *realpath, const char *identity, const cJSON *report)
{
  char *key = display_json (realpath);
  cJSON *entry;

  cache->changed = true;
  if (!is_worth_keeping (report))
    {
      g_hash_table_remove (cache->entries, key);
      g_free (key);
      return;
    }
  entry = cJSON_CreateObject ();
  cJSON_AddStringToObject (entry, "identity", identity);
  cJSON_AddNumberToObject (entry, "time", (double) cache->now_s);
  cJSON_AddItemToObject (entry, "report", cJSON_Duplicate (report, true));
  g_hash_table_replace (cache->entries, key, entry);
}

/* The document refers to the entries; it does not own them. */
static char *
print (struct cache *cache)
{
  cJSON *document = cJSON_CreateObject ();
  cJSON *files;
  GHashTableIter iter;
  gpointer key, entry;
  char *text;

  cJSON_AddStringToObject (document, "context", cache->context);
  files = cJSON_AddObjectToObject (document, "files");
  g_hash_table_iter_init (&iter, cache->entries);
  while (g_hash_table_iter_next (&iter, &key, &entry))
    cJSON_AddItemReferenceToObject (files, key, entry);
  text = cJSON_PrintUnformatted (document);
  cJSON_Delete (document);
  return text;
}

int
cache_save (struct cache *cache, struct compute_error *err)
{
  g_autofree char *folder = g_path_get_dirname (cache->path);
  g_autoptr (GError) error = NULL;
  char *text;
  bool written;

  if (!cache->changed)
    return 0;
  if (g_mkdir_with_parents (folder, 0700) != 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot make folder '%s': %s", folder, g_strerror (errno));
  text = print (cache);
  written = g_file_set_contents_full (cache->path, text, -1,
                                      G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600, &error);
  cJSON_free (text);
  if (!written)
    return compute_error_set (err, COMPUTE_E_SYSTEM, 0, "%s", error->message);
  return 0;
}
