/* SPDX-License-Identifier: MIT */
#include "config.h"

struct compute_config
config_of_command (const struct request *request)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.workdir = request->workdir;
  config.env = (const struct compute_pair *) request->env.array->data;
  config.env_count = request->env.array->len;
  config.timeout_ms = request->timeout_ms;
  config.output_limit_bytes = request->output_limit_bytes;
  return config;
}

struct compute_config
config_of_place (const struct request *request)
{
  struct compute_config config = config_of_command (request);

  config.image = request->image;
  config.options = (const struct compute_pair *) request->options.array->data;
  config.option_count = request->options.array->len;
  return config;
}
