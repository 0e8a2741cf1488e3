/* SPDX-License-Identifier: MIT */
/* programs COMPUTE PLUGIN_LS PROVIDER FOLDER: what starting the programs costs. PROVIDER is copied 1,000 times into
 * FOLDER, which is made, each copy under a name of its own in its note. */
#include "bench.h"

#include <compute/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROUNDS 101
#define PROVIDERS 1000

/* Medians of both, measured in turn. */
static int
compare_to_floor (const char *name, const char *const *argv, double limit)
{
  static double floor_us[ROUNDS], program_us[ROUNDS];

  for (size_t i = 0; i < ROUNDS; i++)
    {
      floor_us[i] = bench_spawn_us (bench_floor_argv);
      program_us[i] = bench_spawn_us (argv);
    }
  return bench_report (name, bench_median (program_us, ROUNDS), bench_median (floor_us, ROUNDS), limit);
}

static unsigned char *
read_provider (const char *path, size_t *ret_bytes)
{
  FILE *file = fopen (path, "rb");
  struct stat st;
  unsigned char *bytes;

  if (file == NULL || fstat (fileno (file), &st) != 0)
    return NULL;
  bytes = malloc ((size_t) st.st_size);
  *ret_bytes = bytes != NULL ? fread (bytes, 1, (size_t) st.st_size, file) : 0;
  fclose (file);
  return bytes;
}

static int
write_copy (const char *folder, const char *name, const unsigned char *bytes, size_t count)
{
  char path[4096];
  FILE *file;
  int rc;

  snprintf (path, sizeof path, "%s/compute-provider-%s.so", folder, name);
  file = fopen (path, "wb");
  if (file == NULL)
    return -1;
  rc = fwrite (bytes, 1, count, file) == count ? 0 : -1;
  return fclose (file) == 0 ? rc : -1;
}

static int
make_copies (const char *provider, const char *folder)
{
  size_t count;
  unsigned char *bytes = read_provider (provider, &count);
  struct compute_note *note = bytes != NULL ? memmem (bytes, count, COMPUTE_NOTE_MAGIC, 4) : NULL;
  int rc = note != NULL && (mkdir (folder, 0700) == 0 || errno == EEXIST) ? 0 : -1;

  for (int i = 0; rc == 0 && i < PROVIDERS; i++)
    {
      snprintf (note->name, sizeof note->name, "p%04d", i);
      rc = write_copy (folder, note->name, bytes, count);
    }
  free (bytes);
  return rc;
}

int
main (int argc, char **argv)
{
  int slow = 0;

  if (argc != 5 || make_copies (argv[3], argv[4]) != 0)
    {
      fprintf (stderr, "programs: no copies of '%s' in '%s'\n", argc == 5 ? argv[3] : "", argc == 5 ? argv[4] : "");
      return 2;
    }

  const char *const run[] = { argv[1], "run", "--on", "local", "-c", "true", NULL };
  const char *const list[] = { argv[2], "--path", argv[4], "--only", NULL };

  slow |= compare_to_floor ("compute run, the whole process", run, 4);
  slow |= compare_to_floor ("plugin-ls, 1,000 providers", list, 15);
  return slow;
}
