/* SPDX-License-Identifier: MIT */
#ifndef CLI_FAILURES_H
#define CLI_FAILURES_H

#include "request.h"

#include <cjson/cJSON.h>

/* What went wrong while the rest of the work went on. */
struct failures
{
  GPtrArray *list; /* struct failure * */
};

void failures_init (struct failures *failures);
void failures_clear (struct failures *failures);

/* Copies all. instance NULL: the provider itself could not be asked. Either may be NULL, not both. */
void failures_add (struct failures *failures, const char *provider, const char *instance,
                   const struct compute_error *err);

/* True when a signal ended the work: ask no further. */
bool failures_stop (const struct failures *failures);

/* Tells all on stderr, or adds them to the object in JSON mode: "failed", and "error" for the first one that makes this
 * a failure. A provider that is not available is none when nobody asked for it by name. Returns what to exit with. */
int failures_report (const struct request *request, const struct failures *failures, cJSON *object);

#endif
