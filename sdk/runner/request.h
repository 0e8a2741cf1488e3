/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_REQUEST_H
#define RUNNER_REQUEST_H

/* A START as the host sent it, checked, with what the instance gives filled in. */

#include "protocol.h"

#include <compute/error.h>

struct request
{
  uint8_t kind; /* enum start_kind */
  uint8_t has_input;
  uint32_t mode;
  int64_t timeout_ms;         /* 0: none */
  int64_t output_limit_bytes; /* 0: none */
  uint64_t window;
  uint32_t word_count;
  uint32_t env_count;
  struct writer text; /* workdir, words, environment, each ended by NUL, as an order wants them */
};

/* Returns 0; COMPUTE_E_PROTOCOL when the payload is malformed; INVALID, NO_MEMORY. request_free is due in any case. */
int request_read (const unsigned char *payload, size_t count, struct request *request, struct compute_error *err);
void request_free (struct request *request);

int request_is_file (const struct request *request);

#endif
