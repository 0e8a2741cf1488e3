/* SPDX-License-Identifier: MIT */
#ifndef CORE_SERVICES_H
#define CORE_SERVICES_H

#include <compute/compute.h>

/* What providers are given as struct compute_host: the host application's log and settings, and the core's own. */
struct services
{
  struct compute_host host;
  void *context; /* of the two below */
  void (*log) (void *context, uint32_t level, const char *line);
  int (*config_get) (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes);
  char *own_folder; /* where libcompute.so lies */
  char *runner_path;
};

void services_init (struct services *services, const struct compute_registry_options *options);
void services_clear (struct services *services);

/* One line to the host application; dropped where it has no log. */
void services_log (const struct services *services, uint32_t level, const char *format, ...) COMPUTE_PRINTF (3, 4);

#endif
