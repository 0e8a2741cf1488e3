/* SPDX-License-Identifier: MIT */
#ifndef CORE_LISTING_H
#define CORE_LISTING_H

#include "candidate.h"

/* Every candidate of the search, in search order; returns what emit ended it with. */
int list_candidates (struct compute_registry *registry, enum depth depth, compute_candidate_fn emit, void *user);

#endif
