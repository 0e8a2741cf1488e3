/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define CAPABILITIES (COMPUTE_CAP_EXECUTE | COMPUTE_CAP_FILES | COMPUTE_CAP_DETACHED)

COMPUTE_PROVIDER_DEFINE ("local", LOCAL_VERSION, "libcompute", "MIT", "", CAPABILITIES, 0);

static int
local_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  struct compute_provider_state *state = calloc (1, sizeof *state);

  if (state != NULL)
    state->runner_path = setting_dup (host, "runner.path", "");
  if (state == NULL || state->runner_path == NULL)
    {
      free (state);
      return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory to open local");
    }
  state->host = host;
  instances_open (&state->instances, &detached_ops, state);
  *ret_state = state;
  return 0;
}

static void
local_close (struct compute_provider_state *state)
{
  if (state == NULL)
    return;
  instances_close (&state->instances);
  free (state->runner_path);
  free (state);
}

/* A file that may be executed can still be the wrong program: only a runner that answers shows that commands can run.
 */
static int
local_is_available (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  const char *const argv[] = { state->runner_path, NULL };
  struct link *link;
  int result = check_available (state, err);

  (void) call;
  if (result != 0)
    return result;
  if (link_start (argv, 0, NULL, &link, err) == 0)
    {
      link_close (link);
      return 0;
    }
  if (err != NULL)
    err->code = COMPUTE_E_UNAVAILABLE;
  return COMPUTE_E_UNAVAILABLE;
}

static int
start_owned (const struct compute_provider_state *state, const struct compute_config *config, struct link **ret_link,
             struct compute_error *err)
{
  const char *const argv[] = { state->runner_path, "--with-parent", NULL };
  struct link *link;
  int result = link_start (argv, 0, NULL, &link, err);

  if (result != 0)
    return result;
  result = compute_runner_configure (link->runner, config, err);
  if (result == 0)
    *ret_link = link;
  else
    link_close (link);
  return result;
}

static int
start (struct compute_provider_state *state, const struct compute_config *config, struct compute_instance *about,
       struct compute_error *err)
{
  int detached = (config->flags & COMPUTE_CONFIG_DETACHED) != 0;
  struct link *link;
  int result = describe (ID_PREFIX, config, about, err);

  if (result == 0)
    result = detached ? detached_start (state, config, about, &link, err) : start_owned (state, config, &link, err);
  if (result != 0)
    return result;
  result = instances_add (&state->instances, about, link, err);
  if (result != 0 && detached)
    (void) detached_ops.shut_down (state, about->id, NULL, NULL);
  return result;
}

/* Without a workdir an instance works where this process does. */
static int
local_provision (struct compute_provider_state *state, const struct compute_config *config,
                 const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_config here = *config;
  struct compute_instance about;
  char workdir[PATH_MAX];
  int result = check_provision (config, err);

  (void) call;
  if (result == 0)
    result = check_available (state, err);
  if (result != 0)
    return result;
  if (here.workdir == NULL && (here.workdir = getcwd (workdir, sizeof workdir)) == NULL)
    return compute_error_set (err, COMPUTE_E_NOT_STARTED, errno, "the current folder is gone (%s); state a workdir",
                              strerror (errno));
  result = start (state, &here, &about, err);
  if (result == 0)
    give_instance (ret_instance, &about);
  return result;
}

static int
local_execute (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
               const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
               struct compute_error *err)
{
  int result = config != NULL ? check_user (config->user, err) : 0;

  return result != 0 ? result : instances_execute (&state->instances, instance, command, config, call, ret_result, err);
}

static const struct compute_provider local_provider = {
  COMPUTE_PROVIDER_HEADER,
  .name = "local",
  .version = LOCAL_VERSION,
  .description = "Runs commands on this machine with the rights of this process; does not isolate",
  .capabilities = CAPABILITIES,
  .open = local_open,
  .close = local_close,
  .is_available = local_is_available,
  .provision = local_provision,
  .execute = local_execute,
  .shutdown = slot_shutdown,
  .list_instances = slot_list_instances,
  .get_status = slot_get_status,
  .get_extension = slot_get_extension,
};

int
compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                       struct compute_error *err)
{
  (void) host;
  (void) err;
  *ret_provider = &local_provider;
  return 0;
}
