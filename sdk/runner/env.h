/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_ENV_H
#define RUNNER_ENV_H

/* Environments as one block of text: "NAME=value" strings, each ended by NUL. */

#include "protocol.h"

#include <compute/error.h>

struct env
{
  struct writer text;
  uint32_t count;
};

/* Reads a list<str name, str value>, and appends to *to the environment that base (NULL: none) and the list make: by
 * name the last wins. Returns 0; COMPUTE_E_INVALID for a name that cannot be one, COMPUTE_E_NO_MEMORY. A malformed list
 * sets reader->failed and returns 0. */
int env_read (struct reader *reader, const struct env *base, struct env *to, struct compute_error *err);

/* The environment this process was started with. */
int env_own (struct env *to, struct compute_error *err);

#endif
