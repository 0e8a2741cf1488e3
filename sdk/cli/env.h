/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENV_H
#define CLI_ENV_H

#include "request.h"

/* --env: "NAME=VALUE", or "NAME" for the value it has in compute's own environment, so that a secret need not be on a
 * command line. One that is not set there is an error. */
int env_take (struct pairs *env, const char *text, struct compute_error *err);

/* --env-file, in docker's format: a line each as for --env, spaces before it ignored, '#' starts a comment line, values
 * taken as they are, quotes included. Errors name file and line and never show what the line holds. */
int env_take_file (struct pairs *env, const char *path, struct compute_error *err);

#endif
