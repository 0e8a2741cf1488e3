/* SPDX-License-Identifier: MIT */
#include "client.h"

void
put_text (struct writer *message, const char *text)
{
  writer_string (message, text, strlen (text));
}

void
put_place (struct writer *message, const struct compute_config *config)
{
  put_text (message, config->workdir != NULL ? config->workdir : "");
  writer_u32 (message, (uint32_t) config->env_count);
  for (uint64_t i = 0; i < config->env_count; i++)
    {
      put_text (message, config->env[i].name);
      put_text (message, config->env[i].value);
    }
}

void
put_start (struct writer *message, enum start_kind kind, int input, uint32_t mode, const struct compute_config *config)
{
  writer_u8 (message, (uint8_t) kind);
  writer_u8 (message, input != 0);
  writer_u8 (message, (config->flags & COMPUTE_CONFIG_ENV_REPLACE) != 0);
  writer_u8 (message, 0);
  writer_u32 (message, mode);
  writer_u64 (message, (uint64_t) config->timeout_ms);
  writer_u64 (message, (uint64_t) config->output_limit_bytes);
  writer_u64 (message, OUTPUT_WINDOW);
  put_place (message, config);
}
