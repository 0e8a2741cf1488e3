/* SPDX-License-Identifier: MIT */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include "request.h"

/* Each runs one subcommand, prints its result and its failure, and returns what to exit with. */
int run_main (const struct request *request, struct compute_registry *registry);
int up_main (const struct request *request, struct compute_registry *registry);
int exec_main (const struct request *request, struct compute_registry *registry);
int ps_main (const struct request *request, struct compute_registry *registry);
int status_main (const struct request *request, struct compute_registry *registry);
int down_main (const struct request *request, struct compute_registry *registry);
int reap_main (const struct request *request, struct compute_registry *registry);
int cp_main (const struct request *request, struct compute_registry *registry);
int providers_main (const struct request *request, struct compute_registry *registry);
int env_main (const struct request *request, struct compute_registry *registry);
int captures_main (const struct request *request, struct compute_registry *registry);
int tool_main (const struct request *request, struct compute_registry *registry);

#endif
