/* SPDX-License-Identifier: MIT */
#ifndef CLI_EXECUTE_H
#define CLI_EXECUTE_H

#include "request.h"

/* Runs the request's command in an instance and prints what there is to print. Returns what to exit with. config may be
 * NULL; so may prepared, how the instance was made. */
int execute_command (const struct request *request, struct compute_handle *handle, const char *instance,
                     const struct compute_config *config, const struct compute_prepared *prepared);

#endif
