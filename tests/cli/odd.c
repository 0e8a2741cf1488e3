/* SPDX-License-Identifier: MIT */
/* A provider for what no healthy engine does on demand. ODD in the environment: "down" (not available), "broken" (its
 * engine fails). Otherwise it has an instance of each owner, and provision waits to be cancelled. execute's first word
 * chooses the result. ODD_LOG: a file that gets the IDs that were shut down. */
#include <compute/provider.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

COMPUTE_PROVIDER_DEFINE ("odd", "0.1", "libcompute", "MIT", "", COMPUTE_CAP_EXECUTE, 0);

static const struct
{
  const char *id;
  uint32_t owner;
} instances[] = {
  { "odd-detached", COMPUTE_OWNER_NONE },
  { "odd-alive", COMPUTE_OWNER_ALIVE },
  { "odd-gone", COMPUTE_OWNER_GONE },
  { "odd-unknown", COMPUTE_OWNER_UNKNOWN },
};
#define INSTANCE_COUNT (sizeof instances / sizeof instances[0])

static int
check_engine (struct compute_error *err)
{
  const char *odd = getenv ("ODD");

  if (odd != NULL && strcmp (odd, "down") == 0)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0, "no engine; start it");
  if (odd != NULL && strcmp (odd, "broken") == 0)
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "the engine said: \033[31mboo");
  return 0;
}

static int
odd_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  (void) host;
  (void) err;
  *ret_state = NULL;
  return 0;
}

static void
odd_close (struct compute_provider_state *state)
{
  (void) state;
}

static int
odd_is_available (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  (void) state;
  (void) call;
  return check_engine (err);
}

static void
tell (const struct compute_call *call, const char *step, uint64_t done)
{
  struct compute_progress progress = { sizeof progress, 0, step, done, 100 };

  if (call->progress != NULL)
    call->progress (call->user, &progress);
}

static int
odd_provision (struct compute_provider_state *state, const struct compute_config *config,
               const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct pollfd wait = { .fd = call->cancel_fd, .events = POLLIN };
  int rc = check_engine (err);

  (void) state;
  if (rc != 0)
    return rc;
  tell (call, "pull odd:1", 10);
  tell (call, "pull odd:1", 90);
  tell (call, "unpack", 0);
  if (config->option_count == 0)
    {
      while (poll (&wait, 1, -1) < 1)
        ;
      return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "the pull was given up");
    }
  snprintf (ret_instance->id, sizeof ret_instance->id, "%s", "odd-new");
  ret_instance->state = COMPUTE_STATE_RUNNING;
  return 0;
}

static int
odd_execute (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
             const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
             struct compute_error *err)
{
  const char *word = command->argc > 0 ? command->argv[0] : "";

  (void) state;
  (void) instance;
  (void) config;
  (void) call;
  ret_result->outcome = COMPUTE_OUTCOME_EXITED;
  ret_result->exit_code = 0;
  if (strcmp (word, "memory") == 0)
    {
      ret_result->outcome = COMPUTE_OUTCOME_OUT_OF_MEMORY;
      ret_result->exit_code = 137;
      ret_result->signal = 9;
    }
  else if (strcmp (word, "survivors") == 0)
    ret_result->flags = COMPUTE_RESULT_SURVIVORS;
  else if (strcmp (word, "stuck") == 0)
    for (;;)
      (void) poll (NULL, 0, -1);
  else if (strcmp (word, "lost") == 0)
    return compute_error_set (err, COMPUTE_E_LOST, 0, "the connection broke");
  return 0;
}

static int
odd_shutdown (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
              struct compute_error *err)
{
  const char *log = getenv ("ODD_LOG");
  int fd = log != NULL ? open (log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  int rc = check_engine (err);

  (void) state;
  (void) call;
  if (fd >= 0)
    {
      (void) !write (fd, instance, strlen (instance));
      (void) !write (fd, "\n", 1);
      close (fd);
    }
  if (rc == 0 && strcmp (instance, "odd-alive") == 0)
    return compute_error_set (err, COMPUTE_E_BUSY, 0, "'odd-alive' is in use");
  return rc;
}

static void
describe (size_t i, struct compute_instance *instance)
{
  snprintf (instance->id, sizeof instance->id, "%s", instances[i].id);
  snprintf (instance->workdir, sizeof instance->workdir, "%s", "/a\033[2Jb");
  instance->state = COMPUTE_STATE_RUNNING;
  instance->owner = instances[i].owner;
  instance->created_ms = 86400000;
}

static int
odd_list_instances (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                    const struct compute_call *call, struct compute_error *err)
{
  int rc = check_engine (err);

  (void) state;
  (void) call;
  for (size_t i = 0; rc == 0 && i < INSTANCE_COUNT; i++)
    {
      struct compute_instance instance = COMPUTE_INSTANCE_INIT;

      describe (i, &instance);
      rc = emit (user, &instance);
    }
  return rc;
}

static int
odd_get_status (struct compute_provider_state *state, const char *id, const struct compute_call *call,
                struct compute_instance *ret_instance, struct compute_error *err)
{
  int rc = check_engine (err);

  (void) state;
  (void) call;
  if (rc != 0)
    return rc;
  for (size_t i = 0; i < INSTANCE_COUNT; i++)
    if (strcmp (instances[i].id, id) == 0)
      {
        describe (i, ret_instance);
        return 0;
      }
  return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no instance '%s'", id);
}

static const struct compute_provider odd = {
  COMPUTE_PROVIDER_HEADER,
  .name = "odd",
  .version = "0.1",
  .description = "Does what no healthy engine does; runs nothing",
  .capabilities = COMPUTE_CAP_EXECUTE,
  .open = odd_open,
  .close = odd_close,
  .is_available = odd_is_available,
  .provision = odd_provision,
  .execute = odd_execute,
  .shutdown = odd_shutdown,
  .list_instances = odd_list_instances,
  .get_status = odd_get_status,
};

int
compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                       struct compute_error *err)
{
  (void) host;
  (void) err;
  *ret_provider = &odd;
  return 0;
}
