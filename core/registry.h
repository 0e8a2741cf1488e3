/* SPDX-License-Identifier: MIT */
#ifndef CORE_REGISTRY_H
#define CORE_REGISTRY_H

#include "search.h"
#include "services.h"

#include <glib.h>

struct compute_registry
{
  uint32_t flags; /* COMPUTE_REGISTRY_* */
  struct services services;
  GPtrArray *search; /* struct place *, in search order; constant after open */
  gint frozen;

  GMutex lock;            /* for what follows; never held in a provider's or a caller's code */
  GHashTable *registered; /* name -> const struct compute_provider * */
};

#endif
