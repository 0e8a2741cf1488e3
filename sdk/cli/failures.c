/* SPDX-License-Identifier: MIT */
#include "failures.h"

#include "json.h"
#include "report.h"

struct failure
{
  char *provider;
  char *instance;
  struct compute_error err;
};

static void
failure_free (gpointer data)
{
  struct failure *failure = data;

  g_free (failure->provider);
  g_free (failure->instance);
  g_free (failure);
}

void
failures_init (struct failures *failures)
{
  failures->list = g_ptr_array_new_with_free_func (failure_free);
}

void
failures_clear (struct failures *failures)
{
  g_ptr_array_unref (failures->list);
}

void
failures_add (struct failures *failures, const char *provider, const char *instance, const struct compute_error *err)
{
  struct failure *failure = g_new0 (struct failure, 1);

  failure->provider = g_strdup (provider);
  failure->instance = g_strdup (instance);
  failure->err = *err;
  if (instance == NULL)
    (void) compute_error_prefix (&failure->err, err->code, "%s could not be asked: ", provider);
  g_ptr_array_add (failures->list, failure);
}

bool
failures_stop (const struct failures *failures)
{
  guint count = failures->list->len;

  return count > 0 && ((struct failure *) failures->list->pdata[count - 1])->err.code == COMPUTE_E_CANCELLED;
}

static bool
counts (const struct request *request, const struct failure *failure)
{
  return failure->instance != NULL || request->on != NULL || failure->err.code != COMPUTE_E_UNAVAILABLE;
}

/* Adds "failed", and "error" for the first failure that counts. */
static int
add_to (cJSON *object, const struct request *request, const struct failures *failures)
{
  cJSON *list = cJSON_AddArrayToObject (object, "failed");
  int status = STATUS_OK;

  for (guint i = 0; i < failures->list->len; i++)
    {
      const struct failure *failure = failures->list->pdata[i];
      cJSON *entry = json_error (failure->provider, &failure->err);

      cJSON_AddItemToObject (entry, "instance", json_text (failure->instance));
      cJSON_AddItemToArray (list, entry);
      if (status == STATUS_OK && counts (request, failure))
        {
          cJSON_AddItemToObject (object, "error", json_error (failure->provider, &failure->err));
          status = report_status (&failure->err);
        }
    }
  return status;
}

int
failures_report (const struct request *request, const struct failures *failures, cJSON *object)
{
  int status = STATUS_OK;

  if (object != NULL)
    return add_to (object, request, failures);
  for (guint i = 0; i < failures->list->len; i++)
    {
      const struct failure *failure = failures->list->pdata[i];

      if (counts (request, failure))
        status = report_failure (request, failure->provider, &failure->err);
      else
        report_note (request, "%s: %s", request->subcommand->name, failure->err.message);
    }
  return status;
}
