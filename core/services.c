/* SPDX-License-Identifier: MIT */
#include "services.h"

#include <dlfcn.h>
#include <glib.h>
#include <stdlib.h>

static void
host_log (void *context, uint32_t level, const char *line)
{
  const struct services *services = context;

  if (services->log != NULL && line != NULL)
    services->log (services->context, level, line);
}

static int
give_setting (const char *value, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes)
{
  uint64_t bytes = strlen (value) + 1;

  if (ret_bytes != NULL)
    *ret_bytes = bytes;
  if (buffer == NULL || buffer_bytes < bytes)
    return COMPUTE_E_INVALID;
  memcpy (buffer, value, bytes);
  return 0;
}

/* The host application is asked first; what it does not know may be a setting of ours. */
static int
host_config_get (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes)
{
  const struct services *services = context;
  int rc = COMPUTE_E_NOT_FOUND;

  if (key == NULL)
    return COMPUTE_E_INVALID;
  if (services->config_get != NULL)
    rc = services->config_get (services->context, key, buffer, buffer_bytes, ret_bytes);
  if (rc == COMPUTE_E_NOT_FOUND && strcmp (key, "runner.path") == 0)
    rc = give_setting (services->runner_path, buffer, buffer_bytes, ret_bytes);
  return rc;
}

/* The folder of the file that this function was loaded from, links followed. */
static char *
find_library_folder (void)
{
  g_autofree char *folder = NULL;
  char *real;
  Dl_info info;

  if (dladdr ((void *) find_library_folder, &info) == 0 || info.dli_fname == NULL)
    return g_strdup ("/");
  real = realpath (info.dli_fname, NULL);
  folder = g_path_get_dirname (real != NULL ? real : info.dli_fname);
  free (real);
  return g_steal_pointer (&folder);
}

void
services_init (struct services *services, const struct compute_registry_options *options)
{
  *services = (struct services){
    .host = { .size = sizeof services->host,
              .abi_major = COMPUTE_ABI_MAJOR,
              .abi_minor = COMPUTE_ABI_MINOR,
              .context = services,
              .log = host_log,
              .config_get = host_config_get },
    .context = options->context,
    .log = options->log,
    .config_get = options->config_get,
    .own_folder = find_library_folder (),
  };
  services->runner_path = g_build_filename (services->own_folder, "compute", "compute-runner", NULL);
}

void
services_clear (struct services *services)
{
  g_free (services->own_folder);
  g_free (services->runner_path);
}

void
services_log (const struct services *services, uint32_t level, const char *format, ...)
{
  g_autofree char *line = NULL;
  va_list args;

  if (services->log == NULL)
    return;
  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  services->log (services->context, level, line);
}
