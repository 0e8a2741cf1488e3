/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "output.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"
#include "words.h"

static void
add_line (GString *text, const char *name, const char *value)
{
  g_autofree char *shown = value != NULL ? output_printable (value) : NULL;

  if (shown != NULL && shown[0] != '\0')
    g_string_append_printf (text, "%-11s %s\n", name, shown);
}

static int
print_text (const char *provider, const struct compute_instance *instance, struct compute_error *err)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *created = word_of_time (instance->created_ms);
  g_autofree char *pid = instance->owner_pid != 0 ? g_strdup_printf ("%" G_GINT64_FORMAT, instance->owner_pid) : NULL;

  add_line (text, "instance", instance->id);
  add_line (text, "provider", provider);
  add_line (text, "state", word_of_state (instance->state));
  add_line (text, "owner", word_of_owner (instance->owner));
  add_line (text, "owner pid", pid);
  add_line (text, "created", created);
  add_line (text, "definition", instance->definition);
  add_line (text, "host", instance->host);
  add_line (text, "image", instance->image);
  add_line (text, "workdir", instance->workdir);
  add_line (text, "detail", instance->detail);
  return output_write (1, text->str, text->len, err);
}

int
status_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  const char *provider;
  int status = STATUS_OK;
  int rc = place_find (request, registry, request->operands->pdata[0], &handle, &instance, &err);

  if (rc != 0)
    return report_failure (request, request->on, &err);
  provider = place_provider_name (handle);
  rc = request->json ? json_print (json_instance (provider, &instance), &err) : print_text (provider, &instance, &err);
  if (rc != 0)
    status = report_failure (request, provider, &err);
  compute_close (handle);
  return status;
}
