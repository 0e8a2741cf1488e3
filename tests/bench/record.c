/* SPDX-License-Identifier: MIT */
/* What a change of the record of captures costs with 10,000 of them, against the replacement of a file of that size. */
#include "record.h"

#include "bench.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ENTRIES 10000
#define ROUNDS 31
#define LIMIT_MS 50

static void
ignore (void *context, const char *line)
{
  (void) context;
  (void) line;
}

static gboolean
fill (void *user, cJSON *record)
{
  (void) user;
  for (int i = 0; i < ENTRIES; i++)
    {
      char key[16];
      cJSON *entry = cJSON_CreateObject ();

      snprintf (key, sizeof key, "%012x", i * 7919);
      cJSON_AddStringToObject (entry, "backend", "docker");
      cJSON_AddStringToObject (entry, "ref", "praisonai-env:0123456789ab");
      cJSON_AddStringToObject (entry, "definition", "0123456789ab");
      cJSON_AddNumberToObject (entry, "created_at", record_now ());
      cJSON_AddNumberToObject (entry, "last_used", record_now ());
      cJSON_AddItemToObject (record, key, entry);
    }
  return TRUE;
}

static gboolean
touch (void *user, cJSON *record)
{
  cJSON *entry = cJSON_GetObjectItemCaseSensitive (record, user);

  cJSON_SetNumberValue (cJSON_GetObjectItemCaseSensitive (entry, "last_used"), record_now ());
  return TRUE;
}

static double
change_us (record_change_fn change, void *user)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  double start = bench_now_us ();

  if (record_change (change, user, ignore, NULL, &err) != 0)
    {
      fprintf (stderr, "benchmark: %s\n", err.message);
      exit (2);
    }
  return bench_now_us () - start;
}

/* The same bytes, written, on disk, in the place of others. */
static double
replace_us (const char *path, const char *text, size_t bytes)
{
  g_autofree char *fresh = g_strconcat (path, ".floor", NULL);
  double start = bench_now_us ();
  int fd = open (fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  if (fd < 0 || write (fd, text, bytes) != (ssize_t) bytes || fsync (fd) != 0 || close (fd) != 0
      || rename (fresh, path) != 0)
    exit (2);
  return bench_now_us () - start;
}

int
main (void)
{
  g_autofree char *home = g_dir_make_tmp ("compute-bench-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (home, ".praisonai/environments/registry.json", NULL);
  g_autofree char *text = NULL;
  static double floor_us[ROUNDS], touch_us[ROUNDS];
  char key[] = "000000000000";
  double touched;
  gsize bytes;

  g_setenv ("HOME", home, TRUE);
  (void) change_us (fill, NULL);
  if (!g_file_get_contents (path, &text, &bytes, NULL))
    exit (2);
  for (int i = 0; i < ROUNDS; i++)
    {
      touch_us[i] = change_us (touch, key);
      floor_us[i] = replace_us (path, text, bytes);
    }
  touched = bench_median (touch_us, ROUNDS);
  printf ("touch among %d captures: %.1f ms = %.1f x the replacement of the file, at most %d ms%s\n", ENTRIES,
          touched / 1e3, touched / bench_median (floor_us, ROUNDS), LIMIT_MS,
          touched > LIMIT_MS * 1e3 ? ": TOO SLOW" : "");
  return touched > LIMIT_MS * 1e3;
}
