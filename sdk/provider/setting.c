/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <stdlib.h>
#include <unistd.h>

char *
setting_dup (const struct compute_host *host, const char *key, const char *fallback)
{
  uint64_t bytes = 0;
  char *value;

  if (host->config_get == NULL || host->config_get (host->context, key, NULL, 0, &bytes) == COMPUTE_E_NOT_FOUND)
    return strdup (fallback);
  value = calloc (1, bytes + 1);
  if (value != NULL)
    (void) host->config_get (host->context, key, value, bytes, &bytes);
  return value;
}

int
setting_check_runner (const char *path, struct compute_error *err)
{
  if (path[0] == '\0')
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0,
                              "the runner was not found; set 'runner.path' to the program compute-runner");
  if (access (path, X_OK) != 0)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, errno, "the runner '%s' cannot be started: %s", path,
                              strerror (errno));
  return 0;
}
