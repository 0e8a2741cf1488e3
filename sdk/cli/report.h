/* SPDX-License-Identifier: MIT */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "request.h"

/* Each tells one failure, once: as "compute: SUBCOMMAND: why" on stderr, or as a JSON object on stdout where that was
 * asked for. Returns what to exit with. provider may be NULL. */
int report_failure (const struct request *request, const char *provider, const struct compute_error *err);
int report_usage (const struct request *request, const struct compute_error *err);

/* What such a failure makes compute exit with. */
int report_status (const struct compute_error *err);

/* A line on stderr, in JSON mode too: "compute: ...". A note is left out when --quiet was given. */
void report_warning (const char *format, ...) G_GNUC_PRINTF (1, 2);
void report_note (const struct request *request, const char *format, ...) G_GNUC_PRINTF (2, 3);

#endif
