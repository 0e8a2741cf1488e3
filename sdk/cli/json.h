/* SPDX-License-Identifier: MIT */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <cjson/cJSON.h>
#include <compute/compute.h>
#include <glib.h>
#include <stdbool.h>

/* Text of any origin: what is no UTF-8 becomes U+FFFD. NULL and "" give null. */
cJSON *json_text (const char *text);

/* Adds name with the bytes as text, NUL as \u0000 and what is no UTF-8 as U+FFFD, and nameBase64 with the bytes
 * themselves where the text cannot be trusted to carry them. */
void json_add_bytes (cJSON *object, const char *name, const GByteArray *bytes);

/* {"code","message","provider"} */
cJSON *json_error (const char *provider, const struct compute_error *err);

/* {"error":{...}} */
cJSON *json_failure (const char *provider, const struct compute_error *err);

/* What is known of an instance, as ps and status print it. */
cJSON *json_instance (const char *provider, const struct compute_instance *instance);

/* Prints the object on a line of its own and frees it. */
int json_print (cJSON *take_object, struct compute_error *err);

#endif
