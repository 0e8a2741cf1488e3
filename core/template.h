/* SPDX-License-Identifier: MIT */
#ifndef CORE_TEMPLATE_H
#define CORE_TEMPLATE_H

/* A tool's command: a shell script in which {{NAME}} stands for an argument. */

#include <compute/error.h>
#include <cjson/cJSON.h>
#include <glib.h>

struct template;

/* INVALID when a placeholder stands where quotes would not protect it, with its place. */
int template_new (const char *script, struct template **ret_template, struct compute_error *err);

/* Adds the script with its arguments, each one word or a part of one, whatever its bytes: in one pass, so what looks
 * like a placeholder in a value stays as it is. A string is taken as it is, anything else as JSON text; null is
 * missing. INVALID, with nothing added: an argument is missing that may not be; is a string that starts with "-" where
 * its command would take it for an option; is a number that JSON readers do not agree on. */
int template_fill (const struct template *template, const cJSON *arguments, GString *into, struct compute_error *err);

/* The name of an argument that it takes, to be freed; NULL behind the last. One may come more than once. */
char *template_dup_argument (const struct template *template, size_t index);

/* Accepts NULL. */
void template_free (struct template *template);

#endif
