/* SPDX-License-Identifier: MIT */
#include "kit.h"

void
host_log (const struct compute_host *host, uint32_t level, const char *format, ...)
{
  char line[512];
  va_list args;

  if (host->log == NULL)
    return;
  va_start (args, format);
  vsnprintf (line, sizeof line, format, args);
  va_end (args);
  host->log (host->context, level, line);
}
