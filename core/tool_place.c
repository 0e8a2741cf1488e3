/* SPDX-License-Identifier: MIT */
#include "tool_place.h"

#include "call.h"
#include "config_copy.h"
#include "text.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define NAME_SHOWN 20     /* bytes of a provider's name in a message */
#define MAKING_LOOK_MS 50 /* between looks whether a caller that waits has given up */

struct compute_place
{
  struct compute_handle *handle; /* NULL: no provider */
  gboolean owns_handle;
  struct compute_config *config;

  pthread_mutex_t lock;                          /* of what follows */
  const struct compute_environment *environment; /* NULL: config alone */
  uint32_t prepare_flags;
  pthread_cond_t made; /* is_making has ended */
  gboolean is_making;  /* one caller makes the instance, the others wait */
  GHashTable *tools;   /* name -> struct tool * */
  char instance[64];   /* "": none */
  gboolean has_died;   /* the last one */
};

GHashTable *
tools_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) tool_release);
}

/* ---- Making places ----------------------------------------------------------------------------------------------- */

/* Waits go by the clock that nobody sets. */
static void
init_made (pthread_cond_t *made)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (made, &attributes);
  pthread_condattr_destroy (&attributes);
}

int
compute_place_adopt (struct compute_handle *handle, const struct compute_config *config,
                     struct compute_place **ret_place, struct compute_error *err)
{
  struct own_config own;
  struct compute_place *place;
  int result = config_take_for_provision (&own, config, err);

  if (result == 0)
    {
      place = g_new0 (struct compute_place, 1);
      place->handle = handle;
      place->config = config_copy (&own.config);
      place->tools = tools_new ();
      pthread_mutex_init (&place->lock, NULL);
      init_made (&place->made);
      *ret_place = place;
    }
  own_config_clear (&own);
  return result;
}

/* A place that cannot run what it is asked to would tempt its host to run it elsewhere. */
static int
check_available (struct compute_handle *handle, const char *name, struct compute_error *err)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  int result = compute_is_available (handle, NULL, &why);
  char shown[NAME_SHOWN + 60];
  size_t room
      = sizeof shown - MIN (strlen (name), NAME_SHOWN); /* the end of the message counts more than the reason's */

  if (result == 0)
    return 0;
  return compute_error_set (
      err, COMPUTE_E_UNAVAILABLE, why.sys_errno,
      "toolsRunOn='%." G_STRINGIFY (
          NAME_SHOWN) "s' but that provider is not available here (%s). Tools would silently run on "
                      "the host instead, which is the opposite of what asking for a sandbox means.",
      name, text_for_people (shown, room, why.message));
}

int
compute_place_open (struct compute_registry *registry, const char *provider, const struct compute_config *config,
                    struct compute_place **ret_place, struct compute_error *err)
{
  struct compute_handle *handle = NULL;
  int result = compute_resolve (registry, provider, &handle, err);

  if (result == 0 && handle != NULL)
    result = check_available (handle, compute_get_provider (handle)->name, err);
  if (result == 0)
    result = compute_place_adopt (handle, config, ret_place, err);
  if (result != 0)
    compute_close (handle);
  else
    (*ret_place)->owns_handle = TRUE;
  return result;
}

void
compute_place_close (struct compute_place *place)
{
  if (place == NULL)
    return;
  if (place->owns_handle)
    compute_close (place->handle);
  else if ((place->config->flags & COMPUTE_CONFIG_DETACHED) == 0)
    (void) compute_place_shutdown (place, NULL, NULL);
  g_hash_table_unref (place->tools);
  config_free (place->config);
  pthread_cond_destroy (&place->made);
  pthread_mutex_destroy (&place->lock);
  g_free (place);
}

int
compute_place_set_environment (struct compute_place *place, const struct compute_environment *environment,
                               uint32_t flags, struct compute_error *err)
{
  if ((flags & ~COMPUTE_PREPARE_REFUSE_SECRETS) != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown flags 0x%x", flags);
  if (environment != NULL && place->handle == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "an environment needs a provider, and this place has none");
  pthread_mutex_lock (&place->lock);
  place->environment = environment;
  place->prepare_flags = flags;
  pthread_mutex_unlock (&place->lock);
  return 0;
}

const char *
place_name (const struct compute_place *place)
{
  return place->handle != NULL ? compute_get_provider (place->handle)->name : "the host";
}

struct compute_handle *
place_handle (const struct compute_place *place)
{
  return place->handle;
}

/* ---- Tools ------------------------------------------------------------------------------------------------------- */

static void
tool_clear (gpointer data)
{
  struct tool *tool = data;

  template_free (tool->template);
  g_free (tool->command);
  g_free (tool->description);
  cJSON_Delete (tool->schema);
  cJSON_free (tool->parameters);
}

int
tool_new (const char *command, int64_t timeout_ms, struct tool **ret_tool, struct compute_error *err)
{
  struct template *template;
  struct tool *tool;
  int result = template_new (command, &template, err);

  if (result != 0)
    return result;
  tool = g_atomic_rc_box_new0 (struct tool);
  tool->template = template;
  tool->command = g_strdup (command);
  tool->timeout_ms = timeout_ms;
  *ret_tool = tool;
  return 0;
}

void
tool_release (struct tool *tool)
{
  g_atomic_rc_box_release_full (tool, tool_clear);
}

int
place_check_commands (const struct compute_place *place, struct compute_error *err)
{
  if (place->handle != NULL)
    return 0;
  return compute_error_set (err, COMPUTE_E_INVALID, 0,
                            "a tool with a command needs a provider to run on, and this place has none");
}

void
place_declare (struct compute_place *place, GHashTable *tools)
{
  GHashTableIter iter;
  gpointer name, tool;

  pthread_mutex_lock (&place->lock);
  g_hash_table_iter_init (&iter, tools);
  while (g_hash_table_iter_next (&iter, &name, &tool))
    g_hash_table_replace (place->tools, g_strdup (name), g_atomic_rc_box_acquire (tool));
  pthread_mutex_unlock (&place->lock);
}

int
compute_place_set_command (struct compute_place *place, const char *tool, const char *command, int64_t timeout_ms,
                           struct compute_error *err)
{
  struct tool *made = NULL;
  int result = 0;

  if (tool == NULL || tool[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the tool has no name");
  if (timeout_ms < 0 && timeout_ms != COMPUTE_UNSET)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the timeout is negative");
  if (command != NULL)
    {
      result = place_check_commands (place, err);
      if (result == 0)
        result = tool_new (command, timeout_ms, &made, err);
      if (result != 0)
        return result;
    }
  pthread_mutex_lock (&place->lock);
  if (made != NULL)
    g_hash_table_replace (place->tools, g_strdup (tool), made);
  else
    g_hash_table_remove (place->tools, tool);
  pthread_mutex_unlock (&place->lock);
  return 0;
}

struct tool *
place_hold_tool (struct compute_place *place, const char *name)
{
  struct tool *tool;

  pthread_mutex_lock (&place->lock);
  tool = g_hash_table_lookup (place->tools, name);
  if (tool != NULL)
    g_atomic_rc_box_acquire (tool);
  pthread_mutex_unlock (&place->lock);
  return tool;
}

/* Holds all that there are. */
static GHashTable *
hold_tools (struct compute_place *place)
{
  GHashTable *held = tools_new ();
  GHashTableIter iter;
  gpointer name, tool;

  pthread_mutex_lock (&place->lock);
  g_hash_table_iter_init (&iter, place->tools);
  while (g_hash_table_iter_next (&iter, &name, &tool))
    g_hash_table_insert (held, g_strdup (name), g_atomic_rc_box_acquire (tool));
  pthread_mutex_unlock (&place->lock);
  return held;
}

int
compute_list_tools (struct compute_place *place, compute_tool_fn emit, void *user, struct compute_error *err)
{
  g_autoptr (GHashTable) tools = hold_tools (place);
  g_autoptr (GList) names = g_list_sort (g_hash_table_get_keys (tools), (GCompareFunc) strcmp);
  int result = 0;

  (void) err; /* emit's own failure is all that can go wrong */
  for (const GList *name = names; result == 0 && name != NULL; name = name->next)
    {
      const struct tool *tool = g_hash_table_lookup (tools, name->data);
      struct compute_tool_info info = {
        sizeof info, 0, name->data, tool->description, tool->parameters, tool->command, tool->timeout_ms,
      };

      result = emit (user, &info);
    }
  return result;
}

/* ---- The instance ------------------------------------------------------------------------------------------------ */

static gboolean
is_cancelled (const struct compute_call *call)
{
  struct pollfd poll_fd = { .fd = call->cancel_fd > 0 ? call->cancel_fd : -1, .events = POLLIN };

  return poll_fd.fd >= 0 && poll (&poll_fd, 1, 0) > 0;
}

/* Waits until there is an instance or this caller is the one to make it. Under lock. */
static int
wait_for_turn (struct compute_place *place, const struct compute_call *call, struct compute_error *err)
{
  while (place->is_making && place->instance[0] == '\0')
    {
      struct timespec soon;

      clock_gettime (CLOCK_MONOTONIC, &soon);
      soon.tv_nsec += MAKING_LOOK_MS * 1000000L;
      soon.tv_sec += soon.tv_nsec / 1000000000L;
      soon.tv_nsec %= 1000000000L;
      (void) pthread_cond_timedwait (&place->made, &place->lock, &soon);
      if (is_cancelled (call))
        return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "cancelled by the caller");
    }
  place->is_making = place->instance[0] == '\0';
  return 0;
}

static int
provision (struct compute_place *place, const struct compute_call *call, struct compute_instance *ret_instance,
           struct compute_error *err)
{
  const struct compute_environment *environment;
  uint32_t flags;

  pthread_mutex_lock (&place->lock);
  environment = place->environment;
  flags = place->prepare_flags;
  pthread_mutex_unlock (&place->lock);
  if (environment == NULL)
    return compute_provision (place->handle, place->config, call, ret_instance, err);
  return compute_prepare (place->handle, environment, place->config, flags, call, ret_instance, NULL, err);
}

/* By the caller whose turn it is. */
static int
make_instance (struct compute_place *place, const struct compute_call *call, char id[64], uint32_t *ret_flags,
               struct compute_error *err)
{
  struct compute_instance made = COMPUTE_INSTANCE_INIT;
  int result = provision (place, call, &made, err);

  pthread_mutex_lock (&place->lock);
  if (result == 0)
    {
      memcpy (id, made.id, sizeof made.id);
      memcpy (place->instance, made.id, sizeof made.id);
      *ret_flags = COMPUTE_TOOL_PROVISIONED | (place->has_died ? COMPUTE_TOOL_INSTANCE_LOST : 0);
      place->has_died = FALSE;
    }
  place->is_making = FALSE;
  pthread_cond_broadcast (&place->made);
  pthread_mutex_unlock (&place->lock);
  return result;
}

int
place_enter (struct compute_place *place, const struct compute_call *call, char id[64], uint32_t *ret_flags,
             struct compute_error *err)
{
  int result;

  *ret_flags = 0;
  pthread_mutex_lock (&place->lock);
  result = wait_for_turn (place, call, err);
  memcpy (id, place->instance, sizeof place->instance);
  pthread_mutex_unlock (&place->lock);
  return result == 0 && id[0] == '\0' ? make_instance (place, call, id, ret_flags, err) : result;
}

void
place_note_death (struct compute_place *place, const char *id)
{
  pthread_mutex_lock (&place->lock);
  if (strcmp (place->instance, id) == 0)
    {
      place->instance[0] = '\0';
      place->has_died = TRUE;
    }
  pthread_mutex_unlock (&place->lock);
}

int
compute_place_shutdown (struct compute_place *place, const struct compute_call *call, struct compute_error *err)
{
  char id[64];
  int result;

  pthread_mutex_lock (&place->lock);
  memcpy (id, place->instance, sizeof place->instance);
  pthread_mutex_unlock (&place->lock);
  if (id[0] == '\0')
    return 0;
  result = compute_shutdown (place->handle, id, call, err);
  if (result != 0)
    return result;
  pthread_mutex_lock (&place->lock);
  if (strcmp (place->instance, id) == 0)
    place->instance[0] = '\0';
  pthread_mutex_unlock (&place->lock);
  return 0;
}
