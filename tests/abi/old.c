/* SPDX-License-Identifier: MIT */

/* A provider that was compiled with the frozen headers of version 1.0, which later cores must go on taking. It has no
 * engine: each command "prints" its own script. */

#include <compute/provider.h>

COMPUTE_PROVIDER_DEFINE ("old", "1.0.0", "tests", "MIT", "https://example.org", COMPUTE_CAP_EXECUTE, 0);

static const struct compute_instance only = { .size = sizeof only, .state = COMPUTE_STATE_RUNNING, .id = "old-1" };

static int
old_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  (void) err;
  *ret_state = (struct compute_provider_state *) (uintptr_t) host; /* opaque to the core, and never NULL */
  return 0;
}

static void
old_close (struct compute_provider_state *state)
{
  (void) state;
}

static int
old_is_available (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  (void) state;
  (void) call;
  return compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0, "old engines are never there");
}

/* Writes only what this side and the caller both know. */
static void
give_instance (struct compute_instance *ret_instance)
{
  uint32_t size = ret_instance->size;

  memcpy (ret_instance, &only, size < sizeof only ? size : sizeof only);
  ret_instance->size = size;
}

static int
old_provision (struct compute_provider_state *state, const struct compute_config *config,
               const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  (void) state;
  (void) call;
  if (config->size < sizeof *config)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "a core older than the provider");
  give_instance (ret_instance);
  return 0;
}

static int
old_execute (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
             const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
             struct compute_error *err)
{
  struct compute_result result = COMPUTE_RESULT_INIT;
  uint32_t size = ret_result->size;

  (void) state;
  (void) instance;
  (void) config;
  (void) err;
  result.stdout_bytes = strlen (command->script);
  if (call->output (call->user, COMPUTE_STDOUT, command->script, result.stdout_bytes) != 0)
    result.outcome = COMPUTE_OUTCOME_CANCELLED;
  else
    {
      result.outcome = COMPUTE_OUTCOME_EXITED;
      result.exit_code = 0;
    }
  memcpy (ret_result, &result, size < sizeof result ? size : sizeof result);
  ret_result->size = size;
  return 0;
}

static int
old_shutdown (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
              struct compute_error *err)
{
  (void) state;
  (void) instance;
  (void) call;
  (void) err;
  return 0;
}

static int
old_list_instances (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                    const struct compute_call *call, struct compute_error *err)
{
  (void) state;
  (void) call;
  (void) err;
  return emit (user, &only);
}

static int
old_get_status (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                struct compute_instance *ret_instance, struct compute_error *err)
{
  (void) state;
  (void) instance;
  (void) call;
  (void) err;
  give_instance (ret_instance);
  return 0;
}

static const struct compute_provider old_provider = {
  COMPUTE_PROVIDER_HEADER,
  .name = "old",
  .version = "1.0.0",
  .description = "runs nothing",
  .capabilities = COMPUTE_CAP_EXECUTE,
  .open = old_open,
  .close = old_close,
  .is_available = old_is_available,
  .provision = old_provision,
  .execute = old_execute,
  .shutdown = old_shutdown,
  .list_instances = old_list_instances,
  .get_status = old_get_status,
};

int
compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                       struct compute_error *err)
{
  if (host->abi_major != 1)
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "made for ABI 1");
  *ret_provider = &old_provider;
  return 0;
}
