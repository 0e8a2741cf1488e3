/* SPDX-License-Identifier: MIT */
#include "stub.h"

#include <glib.h>

struct stub stub;

struct compute_provider_state
{
  int nothing;
};
static struct compute_provider_state state;

void
stub_reset (void)
{
  stub = (struct stub){ .err = COMPUTE_ERROR_INIT, .result = COMPUTE_RESULT_INIT, .instance = COMPUTE_INSTANCE_INIT };
  stub.result.outcome = COMPUTE_OUTCOME_EXITED;
  stub.result.exit_code = 3;
  g_strlcpy (stub.instance.id, "stub-1", sizeof stub.instance.id);
  stub.instance.state = COMPUTE_STATE_RUNNING;
}

static int
answer (struct compute_error *err)
{
  g_assert_nonnull (err);
  g_assert_cmpuint (err->size, ==, sizeof *err);
  if (stub.returns != 0)
    *err = stub.err;
  return stub.returns;
}

static void
keep_call (const struct compute_call *call)
{
  g_assert_cmpuint (call->size, ==, sizeof *call);
  stub.call = *call;
}

static void
keep_config (const struct compute_config *config)
{
  g_assert_cmpuint (config->size, ==, sizeof *config);
  stub.config = *config;
  for (uint64_t i = 0; i < MIN (config->env_count, G_N_ELEMENTS (stub.env)); i++)
    stub.env[i] = config->env[i];
}

/* What is written past ret->size would be found by valgrind and AddressSanitizer. */
static void
give (void *ret, const void *from, uint32_t bytes)
{
  uint32_t room = *(uint32_t *) ret;

  memcpy ((char *) ret + sizeof room, (const char *) from + sizeof room, MIN (room, bytes) - sizeof room);
}

static int
stub_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  int rc = answer (err);

  g_assert_cmpuint (host->size, ==, sizeof *host);
  stub.opened++;
  stub.host = host;
  if (rc == 0)
    *ret_state = &state;
  return rc;
}

static void
stub_close (struct compute_provider_state *given)
{
  g_assert_true (given == &state);
  stub.closed++;
}

static int
stub_is_available (struct compute_provider_state *given, const struct compute_call *call, struct compute_error *err)
{
  g_assert_true (given == &state);
  keep_call (call);
  return answer (err);
}

static int
stub_provision (struct compute_provider_state *given, const struct compute_config *config,
                const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  g_assert_true (given == &state);
  keep_config (config);
  keep_call (call);
  give (ret_instance, &stub.instance, sizeof stub.instance);
  return answer (err);
}

static int
stub_execute (struct compute_provider_state *given, const char *instance, const struct compute_command *command,
              const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
              struct compute_error *err)
{
  g_assert_true (given == &state);
  g_assert_cmpuint (command->size, ==, sizeof *command);
  g_strlcpy (stub.last_instance, instance, sizeof stub.last_instance);
  stub.command = *command;
  keep_config (config);
  keep_call (call);
  give (ret_result, &stub.result, sizeof stub.result);
  return answer (err);
}

static int
stub_shutdown (struct compute_provider_state *given, const char *instance, const struct compute_call *call,
               struct compute_error *err)
{
  g_assert_true (given == &state);
  g_strlcpy (stub.last_instance, instance, sizeof stub.last_instance);
  keep_call (call);
  return answer (err);
}

static int
stub_list_instances (struct compute_provider_state *given, compute_instance_fn emit, void *user,
                     const struct compute_call *call, struct compute_error *err)
{
  g_assert_true (given == &state);
  keep_call (call);
  for (uint32_t i = 0; i < stub.list_count; i++)
    {
      int rc = emit (user, &stub.instance);

      if (rc != 0)
        return rc;
    }
  return answer (err);
}

static int
stub_get_status (struct compute_provider_state *given, const char *instance, const struct compute_call *call,
                 struct compute_instance *ret_instance, struct compute_error *err)
{
  g_assert_true (given == &state);
  g_strlcpy (stub.last_instance, instance, sizeof stub.last_instance);
  keep_call (call);
  give (ret_instance, &stub.instance, sizeof stub.instance);
  return answer (err);
}

static int
stub_put (struct compute_provider_state *given, const char *instance, const char *path, uint32_t mode,
          int32_t source_fd, const struct compute_call *call, struct compute_error *err)
{
  g_assert_true (given == &state);
  g_assert_cmpstr (path, ==, "/file");
  g_assert_cmpuint (mode, ==, 0644);
  g_assert_cmpint (source_fd, ==, 0);
  g_strlcpy (stub.last_instance, instance, sizeof stub.last_instance);
  keep_call (call);
  return answer (err);
}

/* As of an older header: get is not in it. */
static const struct compute_files files = { .size = offsetof (struct compute_files, get), .put = stub_put };

static const void *
stub_get_extension (const char *id)
{
  return strcmp (id, COMPUTE_FILES_ID) == 0 ? &files : NULL;
}

const struct compute_provider stub_provider = {
  COMPUTE_PROVIDER_HEADER,
  .name = "stub",
  .version = "1.0",
  .description = "a host application's own",
  .capabilities = COMPUTE_CAP_EXECUTE | COMPUTE_CAP_FILES,
  .open = stub_open,
  .close = stub_close,
  .is_available = stub_is_available,
  .provision = stub_provision,
  .execute = stub_execute,
  .shutdown = stub_shutdown,
  .list_instances = stub_list_instances,
  .get_status = stub_get_status,
  .get_extension = stub_get_extension,
};
