/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include "output.h"
#include "places.h"
#include "report.h"

#include <limits.h>

int
environment_open (const struct request *request, struct compute_environment **ret_environment,
                  struct compute_error *err)
{
  const char *path = request->environment;
  char found[PATH_MAX];

  *ret_environment = NULL;
  if (path == NULL && request->no_environment)
    return 0;
  if (path == NULL)
    {
      int rc = compute_environment_find (NULL, found, sizeof found, err);

      if (rc == COMPUTE_E_NOT_FOUND)
        {
          *err = (struct compute_error) COMPUTE_ERROR_INIT;
          return 0;
        }
      if (rc != 0)
        return rc;
      path = found;
    }
  return compute_environment_open (path, ret_environment, err);
}

int
environment_need (const struct request *request, struct compute_environment **ret_environment,
                  struct compute_error *err)
{
  int rc = environment_open (request, ret_environment, err);

  if (rc == 0 && *ret_environment == NULL)
    rc = compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no %s in this folder or above", COMPUTE_ENVIRONMENT_FILE);
  return rc;
}

/* What a step prints is for people, and never mixes with what the command prints on stdout. */
static int
show_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  (void) user;
  (void) stream;
  return output_write (2, data, bytes, NULL);
}

static void
note_capture (const struct request *request, const struct compute_prepared *about)
{
  if ((about->flags & COMPUTE_PREPARED_REUSED) != 0)
    report_note (request, "reused the capture of environment %s", about->definition);
  if ((about->flags & COMPUTE_PREPARED_CAPTURED) != 0)
    report_note (request, "captured environment %s (%s)", about->definition, about->why);
}

int
environment_provision (const struct request *request, struct compute_handle *handle,
                       const struct compute_environment *environment, const struct compute_config *config,
                       struct compute_instance *ret_instance, struct compute_prepared *ret_about,
                       struct compute_error *err)
{
  struct compute_call call = place_call (request);
  int rc;

  if (environment == NULL)
    return compute_provision (handle, config, &call, ret_instance, err);
  if (!request->quiet && !request->json)
    call.output = show_output;
  rc = compute_prepare (handle, environment, config, request->refuse_secrets ? COMPUTE_PREPARE_REFUSE_SECRETS : 0,
                        &call, ret_instance, ret_about, err);
  if (rc == 0 && !request->json)
    note_capture (request, ret_about);
  return rc;
}

void
environment_add_json (cJSON *object, const struct compute_prepared *about)
{
  cJSON *environment;

  if (about == NULL || about->definition[0] == '\0')
    {
      cJSON_AddNullToObject (object, "environment");
      return;
    }
  environment = cJSON_AddObjectToObject (object, "environment");
  cJSON_AddStringToObject (environment, "definition", about->definition);
  cJSON_AddBoolToObject (environment, "reused", about->flags & COMPUTE_PREPARED_REUSED);
  cJSON_AddBoolToObject (environment, "captured", about->flags & COMPUTE_PREPARED_CAPTURED);
  cJSON_AddItemToObject (environment, "why", json_text (about->why));
}
