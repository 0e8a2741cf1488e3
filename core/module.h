/* SPDX-License-Identifier: MIT */
#ifndef CORE_MODULE_H
#define CORE_MODULE_H

#include "candidate.h"

/* Follows a load; both may be unset. */
struct stages
{
  compute_stage_fn stage;
  void *user;
};

/**
 * module_load: loads a candidate's file and runs its init, once in a process however often it is asked for; it is never
 * unloaded. On failure *ret_reason is set, and *err says why, without the file and the reason's code.
 *
 * Threads: two threads that want the same file wait for each other, others do not.
 * Errors: PLUGIN; BUSY when a provider asks for one while it is being loaded itself.
 */
int module_load (struct compute_registry *registry, struct candidate *candidate, const struct stages *stages,
                 enum reason *ret_reason, const struct compute_provider **ret_provider, struct compute_error *err);

/* The whole error for a file that is no good: "provider 'x': E_NO_ENTRY: it does not export ... (/path)". */
int module_error (const struct candidate *candidate, enum reason reason, const char *why, struct compute_error *err);

#endif
