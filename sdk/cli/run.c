/* SPDX-License-Identifier: MIT */
#include "execute.h"
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"

#include <string.h>

/* Ends an instance that nobody is to use again, whatever signal came. The command's status stands. */
static void
end_instance (struct compute_handle *handle, const char *instance)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (compute_shutdown (handle, instance, NULL, &err) != 0)
    report_warning ("instance %s was not ended: %s", instance, err.message);
}

/* Opens --on's provider and makes an instance there. On failure it is told already. */
static int
make_place (const struct request *request, struct compute_registry *registry, const struct compute_config *config,
            struct compute_handle **ret_handle, struct compute_instance *ret_instance)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_call call = place_call (request);
  struct compute_handle *handle;

  if (request->on == NULL)
    {
      (void) place_unnamed (registry, &err);
      return report_usage (request, &err);
    }
  if (compute_resolve (registry, request->on, &handle, &err) != 0)
    return report_failure (request, request->on, &err);
  if (compute_provision (handle, config, &call, ret_instance, &err) != 0)
    {
      int status = report_failure (request, place_provider_name (handle), &err);

      compute_close (handle);
      return status;
    }
  *ret_handle = handle;
  return STATUS_OK;
}

int
run_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_config config = place_config (request);
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_handle *handle;
  int status = make_place (request, registry, &config, &handle, &instance);

  if (status != STATUS_OK)
    return status;
  status = execute_command (request, handle, instance.id, NULL);
  end_instance (handle, instance.id);
  compute_close (handle);
  return status;
}

int
exec_main (const struct request *request, struct compute_registry *registry)
{
  const char *id = request->operands->pdata[0];
  struct compute_config config = place_command_config (request);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  int status;

  if (place_find (request, registry, id, &handle, NULL, &err) != 0)
    return report_failure (request, request->on, &err);
  status = execute_command (request, handle, id, &config);
  compute_close (handle);
  return status;
}

static int
print_instance (const struct request *request, const char *provider, const struct compute_instance *instance,
                struct compute_error *err)
{
  g_autofree char *line = g_strconcat (instance->id, "\n", NULL);

  return request->json ? json_print (json_instance (provider, instance), err)
                       : output_write (1, line, strlen (line), err);
}

int
up_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_config config = place_config (request);
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  int status;

  config.flags = COMPUTE_CONFIG_DETACHED;
  status = make_place (request, registry, &config, &handle, &instance);
  if (status != STATUS_OK)
    return status;
  if (print_instance (request, place_provider_name (handle), &instance, &err) != 0)
    {
      status = report_failure (request, place_provider_name (handle), &err);
      end_instance (handle, instance.id); /* nobody knows its ID */
    }
  compute_close (handle);
  return status;
}
