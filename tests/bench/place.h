/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_PLACE_H
#define TESTS_BENCH_PLACE_H

/* An instance of a provider, in this process. Whatever fails ends the benchmark. */

#include <compute/compute.h>

#define FLOOD "head -c 1G /dev/zero"

struct place
{
  struct compute_registry *registry;
  struct compute_handle *handle;
  struct compute_instance instance;
};

void place_open (struct place *place, const char *provider);
void place_provision (struct place *place, const char *image); /* NULL: the provider's default */
void place_shut_down (struct place *place);
void place_close (struct place *place);

/* Microseconds that a script takes, which has to exit with 0. Its output is dropped. */
double place_execute_us (struct place *place, const char *script);

/* Microseconds per command while many callers run "true" at once; place NULL: the floor. */
double place_callers_us (struct place *place);

#endif
