/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_STUB_H
#define TESTS_UNIT_CORE_STUB_H

#include <compute/compute.h>

/* A host application's own provider. It keeps what it was given, and gives what it is told to. */
struct stub
{
  int returns;              /* every slot's result */
  struct compute_error err; /* given with a result other than 0 */
  struct compute_result result;
  struct compute_instance instance;
  uint32_t list_count; /* list_instances emits instance so often */

  int opened, closed;
  const struct compute_host *host;
  char last_instance[64];
  struct compute_command command;
  struct compute_config config;
  struct compute_pair env[8]; /* of config */
  struct compute_call call;
};
extern struct stub stub;
extern const struct compute_provider stub_provider;

void stub_reset (void);

#endif
