/* SPDX-License-Identifier: MIT */
#ifndef CORE_REGISTRY_H
#define CORE_REGISTRY_H

#include "search.h"
#include "services.h"

#include <glib.h>
#include <pthread.h> /* and not GMutex, whose library ThreadSanitizer cannot see into */

struct compute_registry
{
  uint32_t flags; /* COMPUTE_REGISTRY_* */
  struct services services;
  GPtrArray *search; /* struct place *, in search order */
  gint frozen;       /* atomic: from now on no file is looked at */

  pthread_mutex_t lock;   /* for what follows; never held in a provider's or a caller's code */
  GHashTable *registered; /* name -> const struct compute_provider * */
  GHashTable *resolved;   /* the same for what came from files */
};

/* The registered names, sorted. */
GPtrArray *registry_names (struct compute_registry *registry);

/* The registered table of that name, or NULL. */
const struct compute_provider *registry_lookup (struct compute_registry *registry, const char *name);

#endif
