/* SPDX-License-Identifier: MIT */
#ifndef CORE_TOOL_SCHEMA_H
#define CORE_TOOL_SCHEMA_H

/* What arguments a tool takes: the part of JSON Schema that is checked here. The rest is the model's to heed. */

#include "document.h"

#include <stdbool.h>

/* Reads a tool's parameters as a JSON Schema, to be freed with cJSON_Delete: type is object, and is added where it is
 * left out; properties is a map of schemas, each with a type that there is or none; required lists some of them.
 * Whatever else there is stays as it stands. */
int tool_schema_read (const struct document *document, const struct node *parameters, cJSON **ret_schema,
                      struct compute_error *err);

/* False only when properties are stated and that is none of them. */
bool tool_schema_takes (const cJSON *schema, const char *argument);

/* The names of the properties, "a, b", to be freed. */
char *tool_schema_list (const cJSON *schema);

/* INVALID: an argument that is required is missing, as null is; one is not among the properties, unless the schema has
 * additionalProperties; one is of another type than its property's, or not in its enum. */
int tool_schema_check (const cJSON *schema, const cJSON *arguments, struct compute_error *err);

#endif
