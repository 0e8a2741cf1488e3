/* SPDX-License-Identifier: MIT */

/* A provider to start from: compute-provider-nice.so runs commands on this machine at the lowest priority. All that is
 * particular about it is in start(), the command that leads to a runner; with "ssh host compute-runner" or "docker exec
 * -i container compute-runner" there, the same file runs commands elsewhere. Build it with make, or with meson. */

#include <compute/runner.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

COMPUTE_PROVIDER_DEFINE ("nice", "1.0.0", "Example", "MIT", "https://example.org", COMPUTE_CAP_EXECUTE, 0);

/* An instance. It stays until close, stopped or not, so that a call that uses it needs no lock. */
struct place
{
  struct place *next;
  struct compute_instance status; /* its state changes under the lock */
  struct compute_runner *runner;
  int64_t pid;
};

struct compute_provider_state
{
  const struct compute_host *host;
  pthread_mutex_t lock; /* of the list */
  struct place *places;
  unsigned made;
};

static int
nice_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  struct compute_provider_state *state = calloc (1, sizeof *state);

  if (state == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, errno, "no memory to open provider 'nice'");
  state->host = host;
  pthread_mutex_init (&state->lock, NULL);
  *ret_state = state;
  return 0;
}

static void
place_free (struct place *place)
{
  compute_runner_close (place->runner);
  if (place->pid > 0)
    compute_runner_reap (place->pid, 5000);
  free (place);
}

static void
nice_close (struct compute_provider_state *state)
{
  if (state == NULL)
    return;
  for (struct place *place = state->places, *next; place != NULL; place = next)
    {
      next = place->next;
      place_free (place);
    }
  pthread_mutex_destroy (&state->lock);
  free (state);
}

static int
nice_is_available (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  (void) state;
  (void) call;
  if (access ("/bin/sh", X_OK) != 0)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, errno, "there is no shell at '/bin/sh'");
  return 0;
}

/* Starts a runner, by the command that leads to one, and shakes hands with it. */
static int
start (struct compute_provider_state *state, const struct compute_config *config, struct place *place,
       struct compute_error *err)
{
  struct compute_runner_options options = { .size = sizeof options };
  char path[4096];
  uint64_t bytes;
  int rc = state->host->config_get (state->host->context, "runner.path", path, sizeof path, &bytes);

  if (rc != 0)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0, "no runner is installed");
  rc = compute_runner_spawn ((const char *const[]){ "nice", "-n", "19", path, NULL }, NULL, -1, &place->pid,
                             &options.read_fd, &options.write_fd, err);
  if (rc == 0)
    rc = compute_runner_open (&options, &place->runner, err);
  if (rc == 0)
    rc = compute_runner_configure (place->runner, config, err);
  return rc;
}

/* What this provider cannot honour it must not ignore. */
static int
check (const struct compute_config *config, struct compute_error *err)
{
  if ((config->flags & COMPUTE_CONFIG_DETACHED) != 0 || config->image != NULL || config->user != NULL
      || config->network != NULL || config->gpu != NULL || config->option_count > 0 || config->mount_count > 0
      || config->memory_bytes > 0 || config->cpu_millis > 0)
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0,
                              "provider 'nice' takes a workdir, an environment, a timeout and an output limit only");
  return 0;
}

static void
give_status (const struct place *place, struct compute_instance *ret_instance)
{
  uint32_t size = ret_instance->size;

  memcpy (ret_instance, &place->status, size < sizeof place->status ? size : sizeof place->status);
  ret_instance->size = size;
}

static int
nice_provision (struct compute_provider_state *state, const struct compute_config *config,
                const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct place *place;
  int rc = check (config, err);

  (void) call;
  if (rc != 0)
    return rc;
  place = calloc (1, sizeof *place);
  if (place == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, errno, "no memory for an instance");
  rc = start (state, config, place, err);
  if (rc != 0)
    {
      place_free (place);
      return rc;
    }
  place->status = (struct compute_instance){ .size = sizeof place->status,
                                             .state = COMPUTE_STATE_RUNNING,
                                             .owner = COMPUTE_OWNER_SELF,
                                             .owner_pid = getpid (),
                                             .created_ms = (int64_t) time (NULL) * 1000 };
  pthread_mutex_lock (&state->lock);
  snprintf (place->status.id, sizeof place->status.id, "nice-%d-%u", (int) getpid (), ++state->made);
  place->next = state->places;
  state->places = place;
  give_status (place, ret_instance);
  pthread_mutex_unlock (&state->lock);
  return 0;
}

static int
find (struct compute_provider_state *state, const char *instance, struct place **ret_place, uint32_t *ret_state,
      struct compute_error *err)
{
  struct place *place;

  pthread_mutex_lock (&state->lock);
  for (place = state->places; place != NULL && strcmp (place->status.id, instance) != 0;)
    place = place->next;
  if (place != NULL)
    *ret_state = place->status.state;
  pthread_mutex_unlock (&state->lock);
  if (place == NULL)
    return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no instance '%s'", instance);
  *ret_place = place;
  return 0;
}

static int
nice_execute (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
              const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
              struct compute_error *err)
{
  struct place *place;
  uint32_t place_state;
  int rc = find (state, instance, &place, &place_state, err);

  if (rc != 0)
    return rc;
  if (place_state != COMPUTE_STATE_RUNNING)
    return compute_error_set (err, COMPUTE_E_NOT_RUNNING, 0, "instance '%s' is stopped, not running.", instance);
  return compute_runner_execute (place->runner, command, config, call, ret_result, err);
}

static int
nice_shutdown (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
               struct compute_error *err)
{
  struct place *place;
  uint32_t place_state;
  int rc = find (state, instance, &place, &place_state, err);

  (void) call;
  if (rc != 0)
    return rc;
  pthread_mutex_lock (&state->lock);
  place_state = place->status.state;
  place->status.state = COMPUTE_STATE_STOPPED;
  pthread_mutex_unlock (&state->lock);
  if (place_state != COMPUTE_STATE_RUNNING)
    return 0;
  rc = compute_runner_shutdown (place->runner, err);
  return rc == COMPUTE_E_LOST ? 0 : rc; /* lost: it was gone already */
}

static int
nice_list_instances (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                     const struct compute_call *call, struct compute_error *err)
{
  struct compute_instance status = COMPUTE_INSTANCE_INIT;
  struct place *place;
  int rc = 0;

  (void) call;
  (void) err;
  pthread_mutex_lock (&state->lock);
  place = state->places;
  while (place != NULL && rc == 0)
    {
      give_status (place, &status);
      pthread_mutex_unlock (&state->lock); /* no lock is held in a callback */
      rc = emit (user, &status);
      pthread_mutex_lock (&state->lock);
      place = place->next;
    }
  pthread_mutex_unlock (&state->lock);
  return rc;
}

static int
nice_get_status (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                 struct compute_instance *ret_instance, struct compute_error *err)
{
  struct place *place;
  uint32_t place_state;
  int rc = find (state, instance, &place, &place_state, err);

  (void) call;
  if (rc != 0)
    return rc;
  pthread_mutex_lock (&state->lock);
  give_status (place, ret_instance);
  pthread_mutex_unlock (&state->lock);
  return 0;
}

static const struct compute_provider nice_provider = {
  COMPUTE_PROVIDER_HEADER,
  .name = "nice",
  .version = "1.0.0",
  .description = "this machine, at the lowest priority; no isolation",
  .capabilities = COMPUTE_CAP_EXECUTE,
  .open = nice_open,
  .close = nice_close,
  .is_available = nice_is_available,
  .provision = nice_provision,
  .execute = nice_execute,
  .shutdown = nice_shutdown,
  .list_instances = nice_list_instances,
  .get_status = nice_get_status,
};

int
compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                       struct compute_error *err)
{
  (void) host;
  (void) err;
  *ret_provider = &nice_provider;
  return 0;
}
