/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_INSTANCE_H
#define RUNNER_INSTANCE_H

/* What CONFIGURE sets, once, for every command of every connection. */

#include "env.h"

struct instance
{
  int configured;
  int64_t timeout_ms;         /* 0: none */
  int64_t output_limit_bytes; /* 0: none */
  char *workdir;              /* "": where the runner was started */
  struct env env;
};

extern struct instance instance;

/* Defaults and the runner's own environment. */
int instance_open (struct compute_error *err);
void instance_close (void);

/* Takes a CONFIGURE payload. Returns 0, or the code of *err: INVALID, NOT_STARTED (the workdir), NO_MEMORY; PROTOCOL
 * when it is malformed or comes a second time. */
int instance_configure (const unsigned char *payload, size_t count, struct compute_error *err);

/* The value that applies: what a command states, or the instance's, or INVALID if it is negative. */
int instance_limit (const char *name, int64_t stated, int64_t inherited, int64_t *ret_value, struct compute_error *err);

#endif
