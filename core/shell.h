/* SPDX-License-Identifier: MIT */
#ifndef CORE_SHELL_H
#define CORE_SHELL_H

/* Where in a shell script a text in single quotes is one word, or a part of one, for every sh. The scanner takes what
 * is certain and refuses the rest: a quote that it misplaced would let a value become a command. */

#include <compute/error.h>
#include <stdbool.h>
#include <stddef.h>

/* A placeholder: {{NAME}}, or {{NAME?}} for one that may be missing. What else stands in braces is the script's own. */
struct placeholder
{
  size_t offset; /* of its first brace */
  size_t bytes;  /* with its braces */
  const char *name;
  size_t name_bytes;
  bool is_optional;
  bool may_be_option; /* a value that starts with - would be an option: it may start a word that no -- protects */
};

typedef void (*placeholder_fn) (void *user, const struct placeholder *placeholder);

/* Returns 0 when each placeholder stands where single quotes protect it; found is told of each, in order, while that is
 * so. INVALID: the message shows the place, why they do not, and what to write instead. */
int shell_check (const char *script, placeholder_fn found, void *user, struct compute_error *err);

#endif
