/* SPDX-License-Identifier: MIT */
/* reuse IMAGE: what the start from a capture costs, against a plain start of the same image, on the engine that
 * answers.
 */
#include "bench.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 15

/* The record of captures, and the environment, are in a folder of our own. */
static struct compute_environment *
make_environment (const char *image)
{
  char folder[] = "/tmp/compute-bench-XXXXXX", path[64];
  struct compute_environment *environment;
  struct compute_error err = COMPUTE_ERROR_INIT;
  FILE *file;

  if (mkdtemp (folder) == NULL || setenv ("HOME", folder, 1) != 0)
    exit (2);
  snprintf (path, sizeof path, "%s/environment.yaml", folder);
  file = fopen (path, "w");
  if (file == NULL || fprintf (file, "image: %s\nsetup: sleep 1\n", image) < 0 || fclose (file) != 0)
    exit (2);
  if (compute_environment_open (path, &environment, &err) != 0)
    {
      fprintf (stderr, "benchmark: %s\n", err.message);
      exit (2);
    }
  return environment;
}

static double
plain_us (struct place *place, const char *image)
{
  double start = bench_now_us ();

  place_provision (place, image);
  (void) place_execute_us (place, "true");
  start = bench_now_us () - start;
  place_shut_down (place);
  return start;
}

static double
prepared_us (struct place *place, const struct compute_environment *environment, uint32_t wanted)
{
  struct compute_prepared about = COMPUTE_PREPARED_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  double start = bench_now_us ();

  place->instance = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  if (compute_prepare (place->handle, environment, NULL, 0, NULL, &place->instance, &about, &err) != 0
      || about.flags != wanted)
    {
      fprintf (stderr, "benchmark: %s%s\n", err.message, about.why);
      exit (2);
    }
  (void) place_execute_us (place, "true");
  start = bench_now_us () - start;
  place_shut_down (place);
  return start;
}

int
main (int argc, char **argv)
{
  const char *image = argc > 1 ? argv[1] : "python:3.11-slim";
  struct compute_environment *environment = make_environment (image);
  static double plain[ROUNDS], reused[ROUNDS];
  struct place place;
  int slow;

  place_open (&place, "docker");
  printf ("first start, with its capture: %.0f ms\n",
          prepared_us (&place, environment, COMPUTE_PREPARED_CAPTURED) / 1e3);
  for (size_t i = 0; i < ROUNDS; i++)
    {
      plain[i] = plain_us (&place, image);
      reused[i] = prepared_us (&place, environment, COMPUTE_PREPARED_REUSED);
    }
  slow = bench_report ("start from a capture and first result, to a plain start", bench_median (reused, ROUNDS),
                       bench_median (plain, ROUNDS), 1.15);
  compute_environment_close (environment);
  place_close (&place);
  return slow;
}
