/* SPDX-License-Identifier: MIT */
#include "places.h"

#include "report.h"
#include "signals.h"

#include <string.h>
#include <unistd.h>

/* One line a step; the counting of bytes within a step is for programs with a screen. */
void
place_show_progress (const struct request *request, const struct compute_progress *progress)
{
  static char last[128];

  if (progress->step == NULL || strncmp (last, progress->step, sizeof last - 1) == 0)
    return;
  g_strlcpy (last, progress->step, sizeof last);
  report_note (request, "%s", progress->step);
}

static void
on_progress (void *user, const struct compute_progress *progress)
{
  place_show_progress (user, progress);
}

struct compute_call
place_call (const struct request *request)
{
  struct compute_call call = COMPUTE_CALL_INIT;

  call.cancel_fd = signals_fd ();
  call.user = (void *) request;
  call.progress = on_progress;
  return call;
}

static int
collect_name (void *user, const char *name)
{
  g_ptr_array_add (user, g_strdup (name));
  return 0;
}

GPtrArray *
place_names (const struct request *request, struct compute_registry *registry, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  if (request->on != NULL)
    g_ptr_array_add (names, g_strdup (request->on));
  else if (compute_list (registry, collect_name, names, err) != 0)
    return NULL;
  return g_steal_pointer (&names);
}

int
place_unnamed (struct compute_registry *registry, struct compute_error *err)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *list = NULL;

  if (compute_list (registry, collect_name, names, err) != 0)
    return err->code;
  g_ptr_array_add (names, NULL);
  list = g_strjoinv (", ", (char **) names->pdata);
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "no place was named; add --on PROVIDER (available: %s)",
                            list[0] != '\0' ? list : "none");
}

/* Puts the provider that an ID seems to come from ("local-3f2a") first: a hint, which saves asking slow ones. */
static void
move_likely_first (GPtrArray *names, const char *id)
{
  for (guint i = 1; i < names->len; i++)
    {
      size_t length = strlen (names->pdata[i]);

      if (strncmp (id, names->pdata[i], length) == 0 && id[length] == '-')
        {
          gpointer first = names->pdata[0];

          names->pdata[0] = names->pdata[i];
          names->pdata[i] = first;
        }
    }
}

static int
open_with (const struct request *request, struct compute_registry *registry, const char *name, const char *id,
           struct compute_handle **ret_handle, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_call call = place_call (request);
  struct compute_handle *handle;
  int rc = compute_resolve (registry, name, &handle, err);

  if (rc != 0)
    return rc;
  rc = compute_get_status (handle, id, &call, ret_instance, err);
  if (rc != 0)
    compute_close (handle);
  else
    *ret_handle = handle;
  return rc;
}

int
place_find (const struct request *request, struct compute_registry *registry, const char *id,
            struct compute_handle **ret_handle, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  g_autoptr (GPtrArray) names = place_names (request, registry, err);
  g_autoptr (GString) unasked = g_string_new (NULL);

  if (names == NULL)
    return err->code;
  move_likely_first (names, id);
  for (guint i = 0; i < names->len; i++)
    {
      struct compute_error why = COMPUTE_ERROR_INIT;
      int rc = open_with (request, registry, names->pdata[i], id, ret_handle, &instance, &why);

      if (rc == 0)
        {
          if (ret_instance != NULL)
            *ret_instance = instance;
          return 0;
        }
      if (request->on != NULL || rc == COMPUTE_E_CANCELLED)
        {
          *err = why;
          return rc;
        }
      if (rc != COMPUTE_E_NOT_FOUND && rc != COMPUTE_E_INVALID)
        g_string_append_printf (unasked, "; %s could not be asked: %s", (char *) names->pdata[i], why.message);
    }
  return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no instance '%s'%s", id, unasked->str);
}

static int
collect_instance (void *user, const struct compute_instance *given)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;

  memcpy (&instance, given, MIN (given->size, sizeof instance));
  g_array_append_val ((GArray *) user, instance);
  return 0;
}

int
place_list (const struct request *request, struct compute_registry *registry, const char *name,
            struct compute_handle **ret_handle, GArray *instances, struct compute_error *err)
{
  struct compute_call call = place_call (request);
  struct compute_handle *handle;
  int rc = compute_resolve (registry, name, &handle, err);

  if (rc != 0)
    return rc;
  rc = compute_list_instances (handle, collect_instance, instances, &call, err);
  if (rc != 0)
    compute_close (handle);
  else
    *ret_handle = handle;
  return rc;
}

const char *
place_provider_name (const struct compute_handle *handle)
{
  return compute_get_provider (handle)->name;
}
