/* SPDX-License-Identifier: MIT */
#include "call.h"
#include "definition.h"

#include <string.h>

/* What of a file is no part of the definition hash. */
static void
add_rest (cJSON *object, const struct definition *definition)
{
  const struct compute_environment *environment = definition->environment;
  cJSON *refresh = cJSON_AddArrayToObject (object, "refresh");
  cJSON *mounts = cJSON_AddArrayToObject (object, "mounts");

  for (guint i = 0; i < environment->refresh->len; i++)
    cJSON_AddItemToArray (refresh, cJSON_CreateString (environment->refresh->pdata[i]));
  for (guint i = 0; i < definition->mounts->len; i++)
    {
      const struct compute_mount *mount = &g_array_index (definition->mounts, struct compute_mount, i);
      cJSON *shown = cJSON_CreateObject ();

      cJSON_AddStringToObject (shown, "source", mount->source);
      cJSON_AddStringToObject (shown, "target", mount->target);
      cJSON_AddBoolToObject (shown, "read_only", (mount->flags & COMPUTE_MOUNT_READ_ONLY) != 0);
      cJSON_AddItemToArray (mounts, shown);
    }
  if (definition->config.network != NULL)
    cJSON_AddStringToObject (object, "network", definition->config.network);
  else
    cJSON_AddNullToObject (object, "network");
  if (environment->backend != NULL)
    cJSON_AddStringToObject (object, "backend", environment->backend);
  else
    cJSON_AddNullToObject (object, "backend");
  cJSON_AddBoolToObject (object, "capture", environment->may_cost);
  cJSON_AddStringToObject (object, "definition_hash", definition->hash);
}

int
compute_environment_show (const struct compute_environment *environment, const struct compute_config *config,
                          compute_text_fn emit, void *user, struct compute_error *err)
{
  __attribute__ ((cleanup (own_config_clear))) struct own_config own = { .env = NULL };
  struct definition definition;
  cJSON *object;
  char *text;
  int rc = config_take_for_provision (&own, config, err);

  if (rc != 0)
    return rc;
  definition_init (&definition, environment, &own.config);
  object = definition_to_json (&definition);
  add_rest (object, &definition);
  text = cJSON_PrintUnformatted (object);
  rc = emit (user, text, strlen (text));
  cJSON_free (text);
  cJSON_Delete (object);
  definition_clear (&definition);
  return rc;
}
