/* SPDX-License-Identifier: MIT */
#ifndef CORE_DEFINITION_H
#define CORE_DEFINITION_H

#include "environment.h"

#include <cjson/cJSON.h>

/* What a definition that states no image is hashed with, and made from where there are captures. */
#define DEFINITION_IMAGE "python:3.11-slim"

/* Hexadecimal digits of a hash, with the NUL. */
#define DEFINITION_BYTES 13

/* What an environment and the caller's config come to. */
struct definition
{
  const struct compute_environment *environment;
  struct compute_config config; /* for provision; its texts are the environment's and the caller's */
  GArray *env;                  /* struct compute_pair, of config; sorted by name */
  GArray *mounts;               /* struct compute_mount, of config */
  char hash[DEFINITION_BYTES];  /* the definition hash: may be shown */
  char key[DEFINITION_BYTES];   /* the capture key: binds values of variables, never shown or logged */
};

/* config is whole and checked (config_take_for_provision) and, like the environment, has to outlive the definition. */
void definition_init (struct definition *definition, const struct compute_environment *environment,
                      const struct compute_config *config);
void definition_clear (struct definition *definition);

/* What the definition hash is of; the caller frees it. No value of a variable is in it. */
cJSON *definition_to_json (const struct definition *definition);

/* True when there is something that takes time and can be kept: packages or setup. */
gboolean definition_is_prepared (const struct definition *definition);

#endif
