/* SPDX-License-Identifier: MIT */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "request.h"

#include <cjson/cJSON.h>

/* Where a command's output goes: through to ours as it comes, or kept for the JSON object. */
struct sink
{
  bool keep;
  GByteArray *kept[3];         /* by COMPUTE_STDOUT, COMPUTE_STDERR */
  struct compute_error failed; /* why the output could not be written */
};

void sink_init (struct sink *sink, bool keep);
void sink_clear (struct sink *sink);
int sink_take (struct sink *sink, uint32_t stream, const void *data, uint64_t bytes);

/* How a command ended, with the output that was kept. */
cJSON *result_json (const struct compute_result *result, const struct sink *sink, const char *provider,
                    const char *instance);

/* Tells on stderr what the exit status alone does not. */
void result_note (const struct request *request, const struct compute_result *result);
void result_note_survivors (const struct compute_result *result);

/* What compute exits with after such a command. */
int result_status (const struct compute_result *result);

#endif
