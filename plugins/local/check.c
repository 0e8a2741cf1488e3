/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#define SHELL "/bin/sh"

/* True when user, a name or a number, is who this process runs as. */
static int
is_current_user (const char *user)
{
  char buffer[4096], number[32];
  struct passwd entry, *found = NULL;

  snprintf (number, sizeof number, "%u", (unsigned) geteuid ());
  if (strcmp (user, number) == 0)
    return 1;
  return getpwuid_r (geteuid (), &entry, buffer, sizeof buffer, &found) == 0 && found != NULL
         && strcmp (user, found->pw_name) == 0;
}

int
check_user (const char *user, struct compute_error *err)
{
  if (user == NULL || is_current_user (user))
    return 0;
  return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "local cannot run commands as user '%s', only as its own",
                            user);
}

static int
unsupported (const char *what, const char *value, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "local has no %s ('%s'): it does not isolate", what, value);
}

int
check_provision (const struct compute_config *config, struct compute_error *err)
{
  if (config->option_count > 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "local knows no option '%s'", config->options[0].name);
  if (config->image != NULL)
    return unsupported ("images", config->image, err);
  if (config->network != NULL && strcmp (config->network, "unrestricted") != 0)
    return unsupported ("network policy", config->network, err);
  if (config->gpu != NULL)
    return unsupported ("gpu of its own", config->gpu, err);
  if (config->mount_count > 0)
    return unsupported ("mounts", config->mounts[0].target, err);
  if (config->memory_bytes > 0)
    return unsupported ("limit of", "memory", err);
  if (config->cpu_millis > 0)
    return unsupported ("limit of", "cpu", err);
  return check_user (config->user, err);
}

int
check_available (const struct compute_provider_state *state, struct compute_error *err)
{
  int result = setting_check_runner (state->runner_path, err);

  if (result != 0)
    return result;
  if (access (SHELL, X_OK) != 0)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, errno, "no shell can be started: '%s': %s", SHELL,
                              strerror (errno));
  return 0;
}
