/* SPDX-License-Identifier: MIT */
#include "handle.h"
#include "call.h"
#include "table.h"

#include <glib.h>
#include <string.h>

/**
 * handle.c: one wrapper for each slot. It checks what the caller gives, brings structs to one size in both directions,
 * and makes an ordinary error of whatever else a provider returns. No lock is held in a provider's code.
 */

struct compute_handle
{
  const struct compute_provider *provider;
  struct compute_provider_state *state;
  const struct compute_host *host; /* NULL: the caller opened the state itself */
  char *name;
  gboolean owns_state;
};

/* Turns what a slot returned into a result: a provider's own error is copied to *err, and anything that is no code of
 * ours is the engine's failure. */
static int
finish (const char *provider, const char *slot, int rc, const struct compute_error *from, struct compute_error *err)
{
  if (rc == 0)
    return 0;
  if (rc > 0)
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "provider '%s' returned %d from %s, which is no error code",
                              provider, rc, slot);
  if (from->message[0] == '\0')
    return compute_error_set (err, rc, from->sys_errno, "%s: %s", slot, compute_error_text (rc));
  return compute_error_set (err, rc, from->sys_errno, "%.*s", (int) sizeof from->message - 1, from->message);
}

static struct compute_handle *
handle_new (const struct compute_provider *provider, struct compute_provider_state *state, const char *name)
{
  struct compute_handle *handle = g_new0 (struct compute_handle, 1);

  handle->provider = provider;
  handle->state = state;
  handle->name = g_strdup (name);
  return handle;
}

int
handle_open (const struct compute_provider *provider, const char *name, const struct compute_host *host,
             struct compute_handle **ret_handle, struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_provider_state *state = NULL;
  int rc = finish (name, "open", provider->open (host, &state, &local), &local, err);

  if (rc != 0)
    return rc;
  *ret_handle = handle_new (provider, state, name);
  (*ret_handle)->host = host;
  (*ret_handle)->owns_state = TRUE;
  return 0;
}

int
compute_adopt (const struct compute_provider *provider, struct compute_provider_state *state,
               struct compute_handle **ret_handle, struct compute_error *err)
{
  const char *name = provider != NULL && COMPUTE_HAS (provider, name) ? provider->name : "?";
  int rc = table_check (provider, name, err);

  if (rc == 0)
    *ret_handle = handle_new (provider, state, name);
  return rc;
}

void
compute_close (struct compute_handle *handle)
{
  if (handle == NULL)
    return;
  if (handle->owns_state)
    handle->provider->close (handle->state);
  g_free (handle->name);
  g_free (handle);
}

const struct compute_provider *
compute_get_provider (const struct compute_handle *handle)
{
  return handle != NULL ? handle->provider : NULL;
}

void
handle_log (const struct compute_handle *handle, uint32_t level, const char *format, ...)
{
  g_autofree char *line = NULL;
  va_list args;

  if (handle->host == NULL || !COMPUTE_HAS (handle->host, log))
    return;
  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  handle->host->log (handle->host->context, level, line);
}

void
handle_warn (void *handle, const char *line)
{
  handle_log (handle, COMPUTE_LOG_WARNING, "%s", line);
}

/* compute_resolve gives NULL where no provider was asked for. */
static int
check_handle (const struct compute_handle *handle, struct compute_error *err)
{
  if (handle == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no provider was asked for; name one");
  return 0;
}

static int
check_instance_id (const char *instance, struct compute_error *err)
{
  if (instance == NULL || instance[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the instance id is empty");
  return 0;
}

/* Text that a provider left unterminated ends at its last byte. */
static void
terminate_texts (struct compute_instance *instance)
{
  instance->id[sizeof instance->id - 1] = '\0';
  instance->definition[sizeof instance->definition - 1] = '\0';
  instance->host[sizeof instance->host - 1] = '\0';
  instance->image[sizeof instance->image - 1] = '\0';
  instance->workdir[sizeof instance->workdir - 1] = '\0';
  instance->detail[sizeof instance->detail - 1] = '\0';
}

int
compute_is_available (struct compute_handle *handle, const struct compute_call *call, struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc != 0)
    return rc;
  rc = handle->provider->is_available (handle->state, &own_call, &local);
  return finish (handle->name, "is_available", rc, &local, err);
}

int
compute_provision (struct compute_handle *handle, const struct compute_config *config, const struct compute_call *call,
                   struct compute_instance *ret_instance, struct compute_error *err)
{
  __attribute__ ((cleanup (own_config_clear))) struct own_config own = { .env = NULL };
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = result_check (ret_instance, "instance", err);
  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc == 0)
    rc = config_take_for_provision (&own, config, err);
  if (rc != 0)
    return rc;
  rc = handle->provider->provision (handle->state, &own.config, &own_call, &instance, &local);
  rc = finish (handle->name, "provision", rc, &local, err);
  if (rc != 0)
    return rc;
  terminate_texts (&instance);
  if (instance.id[0] == '\0')
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "provider '%s' made an instance without an id", handle->name);
  result_give (ret_instance, &instance, sizeof instance);
  return 0;
}

int
compute_execute (struct compute_handle *handle, const char *instance, const struct compute_command *command,
                 const struct compute_config *config, const struct compute_call *call,
                 struct compute_result *ret_result, struct compute_error *err)
{
  __attribute__ ((cleanup (own_config_clear))) struct own_config own = { .env = NULL };
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_command own_command;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = result_check (ret_result, "result", err);
  if (rc == 0)
    rc = check_instance_id (instance, err);
  if (rc == 0)
    rc = command_take (&own_command, command, err);
  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc == 0)
    rc = config_take_for_execute (&own, config, err);
  if (rc != 0)
    return rc;
  rc = handle->provider->execute (handle->state, instance, &own_command, &own.config, &own_call, &result, &local);
  rc = finish (handle->name, "execute", rc, &local, err);
  if (rc != 0)
    return rc;
  if (result.outcome == COMPUTE_OUTCOME_NONE)
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "provider '%s' did not say how the command ended",
                              handle->name);
  result_give (ret_result, &result, sizeof result);
  return 0;
}

int
compute_shutdown (struct compute_handle *handle, const char *instance, const struct compute_call *call,
                  struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = check_instance_id (instance, err);
  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc != 0)
    return rc;
  rc = handle->provider->shutdown (handle->state, instance, &own_call, &local);
  return finish (handle->name, "shutdown", rc, &local, err);
}

/* Stands between a provider's list and the caller's callback. */
struct list_relay
{
  compute_instance_fn emit;
  void *user;
  int stopped; /* what emit returned to end the list */
};

static int
relay_instance (void *user, const struct compute_instance *given)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct list_relay *relay = user;

  if (relay->stopped != 0)
    return relay->stopped;
  memcpy (&instance, given, MIN (given->size, sizeof instance));
  instance.size = sizeof instance;
  terminate_texts (&instance);
  relay->stopped = relay->emit (relay->user, &instance);
  return relay->stopped;
}

int
compute_list_instances (struct compute_handle *handle, compute_instance_fn emit, void *user,
                        const struct compute_call *call, struct compute_error *err)
{
  struct list_relay relay = { emit, user, 0 };
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc != 0)
    return rc;
  rc = handle->provider->list_instances (handle->state, relay_instance, &relay, &own_call, &local);
  return relay.stopped != 0 ? relay.stopped : finish (handle->name, "list_instances", rc, &local, err);
}

int
compute_get_status (struct compute_handle *handle, const char *instance, const struct compute_call *call,
                    struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_instance found = COMPUTE_INSTANCE_INIT;
  struct compute_error local = COMPUTE_ERROR_INIT;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = result_check (ret_instance, "instance", err);
  if (rc == 0)
    rc = check_instance_id (instance, err);
  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc != 0)
    return rc;
  rc = handle->provider->get_status (handle->state, instance, &own_call, &found, &local);
  rc = finish (handle->name, "get_status", rc, &local, err);
  if (rc != 0)
    return rc;
  terminate_texts (&found);
  result_give (ret_instance, &found, sizeof found);
  return 0;
}

/* ---- compute.files/1 ------------------------------------------------------------------------------------------- */

static const struct compute_files *
get_files (const struct compute_handle *handle)
{
  return COMPUTE_HAS (handle->provider, get_extension) ? handle->provider->get_extension (COMPUTE_FILES_ID) : NULL;
}

static int
check_transfer (const char *instance, const char *path, int32_t fd, struct compute_error *err)
{
  if (path == NULL || path[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the path inside the instance is empty");
  if (fd < 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the file on this side is descriptor %d", fd);
  return check_instance_id (instance, err);
}

int
compute_put (struct compute_handle *handle, const char *instance, const char *path, uint32_t mode, int32_t source_fd,
             const struct compute_call *call, struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;
  const struct compute_files *files;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = check_transfer (instance, path, source_fd, err);
  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc != 0)
    return rc;
  if (mode > 07777)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the mode 0%o is more than permission bits", mode);
  files = get_files (handle);
  if (files == NULL || !COMPUTE_HAS (files, put))
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "provider '%s' cannot put files", handle->name);
  rc = files->put (handle->state, instance, path, mode, source_fd, &own_call, &local);
  return finish (handle->name, "put", rc, &local, err);
}

int
compute_get (struct compute_handle *handle, const char *instance, const char *path, int32_t target_fd,
             const struct compute_call *call, struct compute_file_info *ret_info, struct compute_error *err)
{
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error local = COMPUTE_ERROR_INIT;
  const struct compute_files *files;
  struct compute_call own_call;
  int rc = check_handle (handle, err);

  if (rc == 0)
    rc = result_check (ret_info, "file's size and mode", err);
  if (rc == 0)
    rc = check_transfer (instance, path, target_fd, err);
  if (rc == 0)
    rc = call_take (&own_call, call, err);
  if (rc != 0)
    return rc;
  files = get_files (handle);
  if (files == NULL || !COMPUTE_HAS (files, get))
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "provider '%s' cannot get files", handle->name);
  rc = files->get (handle->state, instance, path, target_fd, &own_call, &info, &local);
  rc = finish (handle->name, "get", rc, &local, err);
  if (rc == 0)
    result_give (ret_info, &info, sizeof info);
  return rc;
}

/* ---- compute.capture/1 ----------------------------------------------------------------------------------------- */

const struct compute_capture *
handle_captures (const struct compute_handle *handle)
{
  const struct compute_provider *provider = handle->provider;
  const struct compute_capture *captures
      = COMPUTE_HAS (provider, get_extension) ? provider->get_extension (COMPUTE_CAPTURE_ID) : NULL;

  if (captures == NULL || !COMPUTE_HAS (captures, capture) || !COMPUTE_HAS (captures, has)
      || !COMPUTE_HAS (captures, remove))
    return NULL;
  return captures;
}

static void
terminate_image (struct compute_image *image)
{
  image->id[sizeof image->id - 1] = '\0';
  image->platform[sizeof image->platform - 1] = '\0';
}

int
handle_capture (struct compute_handle *handle, const char *instance, const struct compute_capture_request *request,
                const struct compute_call *call, struct compute_image *ret_base, struct compute_image *ret_image,
                struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;
  int rc = handle_captures (handle)->capture (handle->state, instance, request, call, ret_base, ret_image, &local);

  terminate_image (ret_base);
  terminate_image (ret_image);
  return finish (handle->name, "capture", rc, &local, err);
}

int
handle_has (struct compute_handle *handle, const char *const *refs, uint64_t count, const struct compute_call *call,
            struct compute_image *ret_images, struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;
  int rc = handle_captures (handle)->has (handle->state, refs, count, call, ret_images, &local);

  for (uint64_t i = 0; i < count; i++)
    terminate_image (&ret_images[i]);
  return finish (handle->name, "has", rc, &local, err);
}

int
handle_remove (struct compute_handle *handle, const char *ref, const struct compute_call *call,
               struct compute_error *err)
{
  struct compute_error local = COMPUTE_ERROR_INIT;

  return finish (handle->name, "remove", handle_captures (handle)->remove (handle->state, ref, call, &local), &local,
                 err);
}
