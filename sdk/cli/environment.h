/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include "json.h"
#include "request.h"

/* The environment that the command line names, else the one found from the working directory upwards; NULL: there is
 * none, or none is wanted. The caller closes it. Errors: those of compute_environment_find and _open. */
int environment_open (const struct request *request, struct compute_environment **ret_environment,
                      struct compute_error *err);

/* The same, where there has to be one: NOT_FOUND. */
int environment_need (const struct request *request, struct compute_environment **ret_environment,
                      struct compute_error *err);

/* Makes an instance, as the environment says where there is one, and tells what came of its capture. */
int environment_provision (const struct request *request, struct compute_handle *handle,
                           const struct compute_environment *environment, const struct compute_config *config,
                           struct compute_instance *ret_instance, struct compute_prepared *ret_about,
                           struct compute_error *err);

/* Adds "environment" to an object; null where there was none. */
void environment_add_json (cJSON *object, const struct compute_prepared *about);

#endif
