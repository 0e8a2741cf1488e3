/* SPDX-License-Identifier: MIT */
#ifndef CLI_PLACES_H
#define CLI_PLACES_H

#include "request.h"

/* What every call is given: cancelled by a signal, progress on stderr unless --quiet was given. */
struct compute_call place_call (const struct request *request);

/* What that does with progress, for a call with another user. */
void place_show_progress (const struct request *request, const struct compute_progress *progress);

/* The providers to ask, char *: the one of --on, otherwise all there are. NULL on failure. */
GPtrArray *place_names (const struct request *request, struct compute_registry *registry, struct compute_error *err);

/* Without --on, nothing runs anywhere: says what could have been named. Always fails. */
int place_unnamed (struct compute_registry *registry, struct compute_error *err);

/* Opens the provider that has the instance. One that cannot be asked spoils nothing when another has it, and is named
 * when none does. *ret_instance, which may be NULL, is filled too. */
int place_find (const struct request *request, struct compute_registry *registry, const char *id,
                struct compute_handle **ret_handle, struct compute_instance *ret_instance, struct compute_error *err);

/* Opens a provider and copies its instances into the array of struct compute_instance; the provider may be called again
 * right after it. */
int place_list (const struct request *request, struct compute_registry *registry, const char *name,
                struct compute_handle **ret_handle, GArray *instances, struct compute_error *err);

const char *place_provider_name (const struct compute_handle *handle);

#endif
