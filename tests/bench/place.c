/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLERS 64
#define CALLS 6 /* of each caller */

static void
check (int code, const struct compute_error *err)
{
  if (code == 0)
    return;
  fprintf (stderr, "benchmark: %s\n", err->message);
  exit (2);
}

void
place_open (struct place *place, const char *provider)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  check (compute_registry_open (NULL, &place->registry, &err), &err);
  check (compute_resolve (place->registry, provider, &place->handle, &err), &err);
}

void
place_provision (struct place *place, const char *image)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  config.image = image;
  place->instance = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  check (compute_provision (place->handle, &config, NULL, &place->instance, &err), &err);
}

void
place_shut_down (struct place *place)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  check (compute_shutdown (place->handle, place->instance.id, NULL, &err), &err);
}

void
place_close (struct place *place)
{
  compute_close (place->handle);
  compute_registry_close (place->registry);
}

static int
take_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  (void) user;
  (void) stream;
  (void) data;
  (void) bytes;
  return 0;
}

double
place_execute_us (struct place *place, const char *script)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  double start = bench_now_us ();

  command.script = script;
  call.output = take_output;
  check (compute_execute (place->handle, place->instance.id, &command, NULL, &call, &result, &err), &err);
  check (result.exit_code, &err);
  return bench_now_us () - start;
}

static void *
call_floor (void *user)
{
  (void) user;
  for (int i = 0; i < CALLS; i++)
    (void) bench_spawn_us (bench_floor_argv);
  return NULL;
}

static void *
call_execute (void *user)
{
  for (int i = 0; i < CALLS; i++)
    (void) place_execute_us (user, "true");
  return NULL;
}

double
place_callers_us (struct place *place)
{
  double start = bench_now_us ();
  pthread_t threads[CALLERS];

  for (size_t i = 0; i < CALLERS; i++)
    if (pthread_create (&threads[i], NULL, place != NULL ? call_execute : call_floor, place) != 0)
      exit (2);
  for (size_t i = 0; i < CALLERS; i++)
    pthread_join (threads[i], NULL);
  return (bench_now_us () - start) / (CALLERS * CALLS);
}
