/* SPDX-License-Identifier: MIT */
#ifndef CORE_BOUND_H
#define CORE_BOUND_H

#include "definition.h"

#include <cjson/cJSON.h>

/**
 * bound.h: what a capture was made with and its key does not bind. It is recorded with the capture, and one that was
 * made with something else is not used.
 */

/* Writes what applies now into an entry of the record: before anything is built, so that an input which changes
 * meanwhile counts as changed. Errors: SYSTEM, DENIED, NOT_FOUND (an input that cannot be read). */
int bound_record (cJSON *entry, const struct definition *definition, struct compute_error *err);

/* Adds the image that the instance was made from, and the one that was made of it. */
void bound_record_images (cJSON *entry, const struct compute_image *base, const struct compute_image *image);

/* *ret_differs is the name of the first field in which an entry differs from what applies now, static; NULL: none. The
 * base image is not looked at. Errors: as above. */
int bound_compare (const cJSON *entry, const struct definition *definition, const char **ret_differs,
                   struct compute_error *err);

/* True when an image is the one that was made. */
gboolean bound_is_image (const cJSON *entry, const struct compute_image *image);

/* The same for the base image: true when the engine has another one under its name now. */
gboolean bound_base_moved (const cJSON *entry, const struct compute_image *base);

#endif
