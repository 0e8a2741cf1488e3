/* SPDX-License-Identifier: MIT */
/* docker IMAGE: what the docker provider costs, on the engine that answers, which has the image. */
#include "bench.h"
#include "place.h"

#include <stdio.h>

#define TURNS 200
#define ROUNDS 9
#define EXECS 15

static struct place local, docker;

/* In turn with the floor and with what the engine itself takes for one command. */
static int
one_caller (void)
{
  const char *const exec[] = { "docker", "exec", docker.instance.id, "sh", "-c", "true", NULL };
  static double floor_us[TURNS], docker_us[TURNS], exec_us[EXECS];
  double floor, of_docker, ratio;

  for (size_t i = 0; i < TURNS; i++)
    {
      floor_us[i] = bench_spawn_us (bench_floor_argv);
      docker_us[i] = place_execute_us (&docker, "true");
    }
  for (size_t i = 0; i < EXECS; i++)
    exec_us[i] = bench_spawn_us (exec);
  floor = bench_median (floor_us, TURNS);
  of_docker = bench_median (docker_us, TURNS);
  ratio = bench_median (exec_us, EXECS) / of_docker;
  printf ("docker exec ID sh -c true: %.2f ms = %.0f x execute on docker, at least 30%s\n",
          bench_median (exec_us, EXECS) / 1e3, ratio, ratio < 30 ? ": TOO SLOW" : "");
  return bench_report ("execute on docker", of_docker, floor, 1.6) | (ratio < 30);
}

static int
first_result (const char *image)
{
  const char *const run[]
      = { "docker", "run", "-d", "--label", "compute.test=bench", image, "sleep", "infinity", NULL };
  static double run_us[ROUNDS], first_us[ROUNDS];
  struct place place = docker;

  for (size_t i = 0; i < ROUNDS; i++)
    {
      double start;

      run_us[i] = bench_spawn_us (run);
      start = bench_now_us ();
      place_provision (&place, image);
      (void) place_execute_us (&place, "true");
      first_us[i] = bench_now_us () - start;
      place_shut_down (&place);
    }
  return bench_report ("provision and first result, to docker run -d", bench_median (first_us, ROUNDS),
                       bench_median (run_us, ROUNDS), 1.3);
}

static int
many_callers (void)
{
  static double local_us[ROUNDS], docker_us[ROUNDS];

  for (size_t i = 0; i < ROUNDS; i++)
    {
      local_us[i] = place_callers_us (&local);
      docker_us[i] = place_callers_us (&docker);
    }
  return bench_report ("64 callers at once, per command, to local", bench_median (docker_us, ROUNDS),
                       bench_median (local_us, ROUNDS), 1 / 0.8);
}

static int
flood (void)
{
  static double local_us[ROUNDS], docker_us[ROUNDS];

  for (size_t i = 0; i < ROUNDS; i++)
    {
      local_us[i] = place_execute_us (&local, FLOOD);
      docker_us[i] = place_execute_us (&docker, FLOOD);
    }
  return bench_report ("1 GiB of output, 10 MiB kept, to local", bench_median (docker_us, ROUNDS),
                       bench_median (local_us, ROUNDS), 2);
}

int
main (int argc, char **argv)
{
  const char *image = argc > 1 ? argv[1] : NULL;
  int slow = 0;

  place_open (&local, "local");
  place_provision (&local, NULL);
  place_open (&docker, "docker");
  place_provision (&docker, image);
  slow |= one_caller ();
  slow |= many_callers ();
  slow |= flood ();
  slow |= first_result (docker.instance.image);
  place_close (&docker);
  place_close (&local);
  return slow;
}
