/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <stdlib.h>
#include <unistd.h>

#define CAPABILITIES                                                                                                   \
  (COMPUTE_CAP_EXECUTE | COMPUTE_CAP_FILES | COMPUTE_CAP_DETACHED | COMPUTE_CAP_CAPTURE | COMPUTE_CAP_ISOLATION)
#define TURNS_MAX 16

COMPUTE_PROVIDER_DEFINE ("docker", DOCKER_VERSION, "libcompute", "MIT", "", CAPABILITIES, 0);

/* What an environment variable says, or else the default. */
static const char *
from_environment (const char *variable, const char *otherwise)
{
  const char *value = secure_getenv (variable);

  return value != NULL && *value != '\0' ? value : otherwise;
}

static int
read_turns (const char *text, unsigned *ret_turns, struct compute_error *err)
{
  long processors = sysconf (_SC_NPROCESSORS_ONLN);
  char *end;
  long turns = strtol (text, &end, 10);

  if (text[0] == '\0')
    turns = processors < 1 ? 2 : processors > TURNS_MAX / 2 ? TURNS_MAX : processors * 2;
  else if (*end != '\0' || turns < 1 || turns > TURNS_MAX)
    return compute_error_set (
        err, COMPUTE_E_INVALID, 0,
        "the number of calls of docker at once, 'docker.calls' or COMPUTE_DOCKER_CALLS, is from 1 "
        "to %d, not '%.20s'",
        TURNS_MAX, text);
  *ret_turns = (unsigned) turns;
  return 0;
}

static int
read_settings (struct compute_provider_state *state, const struct compute_host *host, struct compute_error *err)
{
  char *turns = setting_dup (host, "docker.calls", from_environment ("COMPUTE_DOCKER_CALLS", ""));
  int result;

  state->runner_path = setting_dup (host, "runner.path", "");
  state->program = setting_dup (host, "docker.command", from_environment ("COMPUTE_DOCKER", "docker"));
  if (turns == NULL || state->runner_path == NULL || state->program == NULL)
    result = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory to open docker");
  else
    result = read_turns (turns, &state->turns, err);
  free (turns);
  return result;
}

static void
free_state (struct compute_provider_state *state)
{
  free (state->program);
  free (state->runner_path);
  free (state);
}

static int
docker_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  struct compute_provider_state *state = calloc (1, sizeof *state);
  int result;

  if (state == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory to open docker");
  state->host = host;
  result = read_settings (state, host, err);
  if (result != 0)
    {
      free_state (state);
      return result;
    }
  pthread_mutex_init (&state->lock, NULL);
  patience_init (&state->free_turn);
  instances_open (&state->instances, &container_ops, state);
  *ret_state = state;
  return 0;
}

static void
docker_close (struct compute_provider_state *state)
{
  if (state == NULL)
    return;
  instances_close (&state->instances);
  pthread_cond_destroy (&state->free_turn);
  pthread_mutex_destroy (&state->lock);
  free_state (state);
}

static int
docker_is_available (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  int result = setting_check_runner (state->runner_path, err);

  return result == 0 ? engine_check (state, call, err) : result;
}

static int
docker_provision (struct compute_provider_state *state, const struct compute_config *config,
                  const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_config stated = *config;
  struct compute_instance about;
  struct link *link;
  int result = container_check (config, err);

  if (result == 0)
    result = setting_check_runner (state->runner_path, err);
  stated.image = config->image != NULL ? config->image : DEFAULT_IMAGE;
  stated.workdir = config->workdir != NULL ? config->workdir : DEFAULT_WORKDIR;
  if (result == 0)
    result = describe (ID_PREFIX, &stated, &about, err);
  if (result != 0)
    return result;
  cut_text (about.image, sizeof about.image, stated.image);
  result = container_start (state, &stated, call, &about, &link, err);
  if (result == 0)
    result = instances_add (&state->instances, &about, link, err);
  if (result == 0)
    give_instance (ret_instance, &about);
  return result;
}

static int
docker_execute (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
                const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
                struct compute_error *err)
{
  if (config != NULL && config->user != NULL)
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "docker runs commands as the instance's user, not as '%s'",
                              config->user);
  return instances_execute (&state->instances, instance, command, config, call, ret_result, err);
}

static const void *
docker_get_extension (const char *id)
{
  return strcmp (id, COMPUTE_CAPTURE_ID) == 0 ? &docker_capture : slot_get_extension (id);
}

static const struct compute_provider docker_provider = {
  COMPUTE_PROVIDER_HEADER,
  .name = "docker",
  .version = DOCKER_VERSION,
  .description = "Runs commands in containers of a Docker engine; isolates as far as the engine does",
  .capabilities = CAPABILITIES,
  .open = docker_open,
  .close = docker_close,
  .is_available = docker_is_available,
  .provision = docker_provision,
  .execute = docker_execute,
  .shutdown = slot_shutdown,
  .list_instances = slot_list_instances,
  .get_status = slot_get_status,
  .get_extension = docker_get_extension,
};

int
compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                       struct compute_error *err)
{
  (void) host;
  (void) err;
  *ret_provider = &docker_provider;
  return 0;
}
