/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "environment.h"
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

/* What a place is made by: one provider, and perhaps an environment. */
struct place
{
  struct compute_environment *environment;
  struct compute_handle *handle;
  struct compute_instance instance;
  struct compute_prepared about;
};

static void
close_place (struct place *place)
{
  compute_close (place->handle);
  compute_environment_close (place->environment);
}

/* Opens the provider that --on names, or the environment does, and makes an instance there. On failure it is told
 * already. Close the place in any case. */
static int
make_place (const struct request *request, struct compute_registry *registry, const struct compute_config *config,
            struct place *place)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  const char *on = request->on;

  *place = (struct place){ NULL, NULL, COMPUTE_INSTANCE_INIT, COMPUTE_PREPARED_INIT };
  if (environment_open (request, &place->environment, &err) != 0)
    return report_failure (request, on, &err);
  if (on == NULL && place->environment != NULL)
    on = compute_environment_backend (place->environment);
  if (on == NULL)
    {
      (void) place_unnamed (registry, &err);
      return report_usage (request, &err);
    }
  if (compute_resolve (registry, on, &place->handle, &err) != 0)
    return report_failure (request, on, &err);
  if (environment_provision (request, place->handle, place->environment, config, &place->instance, &place->about, &err)
      != 0)
    return report_failure (request, place_provider_name (place->handle), &err);
  return STATUS_OK;
}

int
run_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_config config = config_of_place (request);
  struct place place;
  int status = make_place (request, registry, &config, &place);

  if (status == STATUS_OK)
    {
      status = execute_command (request, place.handle, place.instance.id, NULL, &place.about);
      end_instance (place.handle, place.instance.id);
    }
  close_place (&place);
  return status;
}

int
exec_main (const struct request *request, struct compute_registry *registry)
{
  const char *id = request->operands->pdata[0];
  struct compute_config config = config_of_command (request);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  int status;

  if (place_find (request, registry, id, &handle, NULL, &err) != 0)
    return report_failure (request, request->on, &err);
  status = execute_command (request, handle, id, &config, NULL);
  compute_close (handle);
  return status;
}

static int
print_instance (const struct request *request, const struct place *place, struct compute_error *err)
{
  g_autofree char *line = g_strconcat (place->instance.id, "\n", NULL);
  cJSON *object;

  if (!request->json)
    return output_write (1, line, strlen (line), err);
  object = json_instance (place_provider_name (place->handle), &place->instance);
  environment_add_json (object, &place->about);
  return json_print (object, err);
}

int
up_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_config config = config_of_place (request);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place place;
  int status;

  config.flags = COMPUTE_CONFIG_DETACHED;
  status = make_place (request, registry, &config, &place);
  if (status == STATUS_OK && print_instance (request, &place, &err) != 0)
    {
      status = report_failure (request, place_provider_name (place.handle), &err);
      end_instance (place.handle, place.instance.id); /* nobody knows its ID */
    }
  close_place (&place);
  return status;
}
