/* SPDX-License-Identifier: MIT */
#ifndef CORE_STEPS_H
#define CORE_STEPS_H

#include "definition.h"

/**
 * steps.h: what makes an instance ready. Each step is told to call->progress when it begins and, with its time, when it
 * has ended; what it prints goes to call->output. Errors: PREPARE_FAILED, with the step, how it ended and its last
 * words, in which no value of a variable is left; CANCELLED; those of compute_execute.
 */

/* Packages, then setup. */
int steps_prepare (struct compute_handle *handle, const char *instance, const struct definition *definition,
                   const struct compute_call *call, struct compute_error *err);

/* What an instance made from a capture still needs. */
int steps_refresh (struct compute_handle *handle, const char *instance, const struct definition *definition,
                   const struct compute_call *call, struct compute_error *err);

#endif
