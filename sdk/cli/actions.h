/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACTIONS_H
#define CLI_ACTIONS_H

#include "request.h"

/* What a subcommand of several actions is to do. */
struct action
{
  const char *name;
  int (*main) (const struct request *request, struct compute_registry *registry); /* returns what to exit with */
};

/* Runs the action that the first operand names; one that is none of these is a wrong call. */
int actions_run (const struct action *actions, size_t count, const struct request *request,
                 struct compute_registry *registry);

#endif
