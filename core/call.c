/* SPDX-License-Identifier: MIT */
#include "call.h"
#include "text.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

/* The size member comes first in every struct of the contract. */
static uint32_t
size_of (const void *object)
{
  uint32_t size;

  memcpy (&size, object, sizeof size);
  return size;
}

static int
size_check (const void *object, const char *what, struct compute_error *err)
{
  if (size_of (object) < 2 * sizeof (uint32_t))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the %s's size is %u; start from its _INIT value", what,
                              size_of (object));
  return 0;
}

/* Overwrites the defaults in *to with the whole members that given has. */
static int
take (void *to, const void *given, size_t our_bytes, const char *what, struct compute_error *err)
{
  uint32_t ours = (uint32_t) our_bytes;
  int rc = size_check (given, what, err);

  if (rc != 0)
    return rc;
  memcpy (to, given, MIN (size_of (given), our_bytes) & ~(sizeof (void *) - 1));
  memcpy (to, &ours, sizeof ours);
  return 0;
}

int
result_check (const void *ret, const char *what, struct compute_error *err)
{
  if (ret == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no place for the %s was given", what);
  return size_check (ret, what, err);
}

void
result_give (void *to, const void *from, size_t our_bytes)
{
  const size_t skip = sizeof (uint32_t);

  memcpy ((char *) to + skip, (const char *) from + skip, MIN (size_of (to), our_bytes) - skip);
}

static int
check_flags (uint32_t flags, uint32_t known, const char *what, struct compute_error *err)
{
  if ((flags & ~known) != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the %s has unknown flags 0x%x", what, flags & ~known);
  return 0;
}

int
options_take (struct compute_registry_options *ret, const struct compute_registry_options *given,
              struct compute_error *err)
{
  const uint32_t known
      = COMPUTE_REGISTRY_ONLY_PATHS | COMPUTE_REGISTRY_ALLOW_OVERRIDE | COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT;
  int rc;

  *ret = (struct compute_registry_options) COMPUTE_REGISTRY_OPTIONS_INIT;
  if (given == NULL)
    return 0;
  rc = take (ret, given, sizeof *ret, "registry options", err);
  if (rc == 0)
    rc = check_flags (ret->flags, known, "registry options", err);
  if (rc != 0)
    return rc;
  if (ret->paths == NULL && ret->path_count != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%" PRIu64 " paths at no address", ret->path_count);
  for (uint64_t i = 0; i < ret->path_count; i++)
    if (ret->paths[i] == NULL)
      return compute_error_set (err, COMPUTE_E_INVALID, 0, "path %" PRIu64 " of %" PRIu64 " is missing", i + 1,
                                ret->path_count);
  return 0;
}

int
call_take (struct compute_call *ret, const struct compute_call *given, struct compute_error *err)
{
  *ret = (struct compute_call) COMPUTE_CALL_INIT;
  if (given == NULL)
    return 0;
  if (take (ret, given, sizeof *ret, "call", err) != 0)
    return COMPUTE_E_INVALID;
  if (ret->cancel_fd <= 0)
    ret->cancel_fd = -1;
  return 0;
}

static int
check_script (struct compute_command *command, struct compute_error *err)
{
  uint64_t length = command->script_bytes != 0 ? command->script_bytes : strlen (command->script);
  const char *nul = memchr (command->script, '\0', length);

  if (nul != NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command has a NUL byte at offset %zu",
                              (size_t) (nul - command->script));
  if (strspn (command->script, " \t\r\n\v\f") >= length)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command is empty");
  command->script_bytes = length;
  return 0;
}

static int
check_argv (const struct compute_command *command, struct compute_error *err)
{
  for (uint64_t i = 0; i < command->argc; i++)
    if (command->argv[i] == NULL)
      return compute_error_set (err, COMPUTE_E_INVALID, 0, "argument %" PRIu64 " of %" PRIu64 " is missing", i,
                                command->argc);
  if (command->argc == 0 || command->argv[0][0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command is empty");
  return 0;
}

static int
check_input (const struct compute_command *command, struct compute_error *err)
{
  if ((command->flags & COMPUTE_COMMAND_STDIN_FD) != 0)
    {
      if (command->stdin_data != NULL || command->stdin_bytes != 0)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command has two inputs, bytes and a descriptor");
      if (command->stdin_fd < 0)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command's input is descriptor %d", command->stdin_fd);
    }
  else if (command->stdin_data == NULL && command->stdin_bytes != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command's input is %" PRIu64 " bytes at no address",
                              command->stdin_bytes);
  return 0;
}

int
command_take (struct compute_command *ret, const struct compute_command *given, struct compute_error *err)
{
  int rc;

  *ret = (struct compute_command) COMPUTE_COMMAND_INIT;
  if (given == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no command was given");
  rc = take (ret, given, sizeof *ret, "command", err);
  if (rc == 0)
    rc = check_flags (ret->flags, COMPUTE_COMMAND_STDIN_FD, "command", err);
  if (rc != 0)
    return rc;
  if (ret->script != NULL && ret->argv != NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command has both a script and arguments");
  if (ret->script == NULL && ret->argv == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command has neither a script nor arguments");
  rc = ret->script != NULL ? check_script (ret, err) : check_argv (ret, err);
  return rc != 0 ? rc : check_input (ret, err);
}

/* An environment name is what the kernel and every shell's "env" can carry: not empty, without '='. */
static int
check_env (const struct compute_pair *pair, struct compute_error *err)
{
  char shown[64];

  if (pair->name == NULL || pair->name[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "an environment variable has no name");
  text_for_people (shown, sizeof shown, pair->name);
  if (strchr (pair->name, '=') != NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "invalid environment name '%s': it contains '='", shown);
  if (pair->value == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "environment variable '%s' has no value", shown);
  return 0;
}

/* Gives own->config an env of its own, checked, in which a later value has replaced an earlier one. */
static int
take_env (struct own_config *own, struct compute_error *err)
{
  struct compute_config *config = &own->config;
  g_autoptr (GHashTable) places = NULL; /* name -> its pair in own->env */
  uint64_t count = 0;

  if (config->env_count == 0)
    return 0;
  if (config->env == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%" PRIu64 " environment variables at no address",
                              config->env_count);
  own->env = g_try_new (struct compute_pair, config->env_count);
  if (own->env == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for %" PRIu64 " environment variables",
                              config->env_count);
  places = g_hash_table_new (g_str_hash, g_str_equal);
  for (uint64_t i = 0; i < config->env_count; i++)
    {
      const struct compute_pair *pair = &config->env[i];
      struct compute_pair *place;

      if (check_env (pair, err) != 0)
        return COMPUTE_E_INVALID;
      place = g_hash_table_lookup (places, pair->name);
      if (place == NULL)
        place = &own->env[count++];
      *place = *pair;
      g_hash_table_insert (places, (gpointer) place->name, place);
    }
  config->env = own->env;
  config->env_count = count;
  return 0;
}

static int
check_limits (const struct compute_config *config, struct compute_error *err)
{
  if (config->timeout_ms < 0 && config->timeout_ms != COMPUTE_UNSET)
    return compute_error_set (err, COMPUTE_E_INVALID, 0,
                              "the timeout is %" PRId64 " ms; it must be 0 (no limit) or more", config->timeout_ms);
  if (config->output_limit_bytes < 0 && config->output_limit_bytes != COMPUTE_UNSET)
    return compute_error_set (err, COMPUTE_E_INVALID, 0,
                              "the output limit is %" PRId64 " bytes; it must be 0 (no limit) or more",
                              config->output_limit_bytes);
  return 0;
}

static int
check_absolute (const char *path, const char *what, struct compute_error *err)
{
  char shown[128];

  if (path == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the %s is missing", what);
  if (path[0] != '/')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the %s '%s' is not an absolute path", what,
                              text_for_people (shown, sizeof shown, path));
  return 0;
}

static int
check_mounts (const struct compute_config *config, struct compute_error *err)
{
  if (config->mounts == NULL && config->mount_count != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%" PRIu64 " mounts at no address", config->mount_count);
  for (uint64_t i = 0; i < config->mount_count; i++)
    {
      int rc = check_absolute (config->mounts[i].source, "source of a mount", err);

      if (rc == 0)
        rc = check_absolute (config->mounts[i].target, "target of a mount", err);
      if (rc == 0)
        rc = check_flags (config->mounts[i].flags, COMPUTE_MOUNT_READ_ONLY, "mount", err);
      if (rc != 0)
        return rc;
    }
  return 0;
}

static int
check_options (const struct compute_config *config, struct compute_error *err)
{
  if (config->options == NULL && config->option_count != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%" PRIu64 " options at no address", config->option_count);
  for (uint64_t i = 0; i < config->option_count; i++)
    if (config->options[i].name == NULL || config->options[i].name[0] == '\0' || config->options[i].value == NULL)
      return compute_error_set (err, COMPUTE_E_INVALID, 0, "an option has no name or no value");
  return 0;
}

/* The checks that both calls share. */
static int
config_take (struct own_config *ret, const struct compute_config *given, struct compute_error *err)
{
  int rc;

  *ret = (struct own_config){ .config = COMPUTE_CONFIG_INIT };
  if (given == NULL)
    return 0;
  rc = take (&ret->config, given, sizeof ret->config, "config", err);
  if (rc == 0)
    rc = check_flags (ret->config.flags, COMPUTE_CONFIG_DETACHED | COMPUTE_CONFIG_ENV_REPLACE, "config", err);
  if (rc == 0)
    rc = check_limits (&ret->config, err);
  if (rc == 0 && ret->config.workdir != NULL)
    rc = check_absolute (ret->config.workdir, "working directory", err);
  return rc != 0 ? rc : take_env (ret, err);
}

int
config_take_for_provision (struct own_config *ret, const struct compute_config *given, struct compute_error *err)
{
  int rc = config_take (ret, given, err);

  if (rc == 0)
    rc = check_mounts (&ret->config, err);
  return rc != 0 ? rc : check_options (&ret->config, err);
}

int
config_take_for_execute (struct own_config *ret, const struct compute_config *given, struct compute_error *err)
{
  const struct compute_config *config = &ret->config;
  int rc = config_take (ret, given, err);
  const char *refused;

  if (rc != 0)
    return rc;
  refused = config->image != NULL                            ? "image"
            : config->network != NULL                        ? "network"
            : config->gpu != NULL                            ? "gpu"
            : config->definition != NULL                     ? "definition"
            : config->option_count != 0                      ? "options"
            : config->mount_count != 0                       ? "mounts"
            : config->memory_bytes != 0                      ? "memory_bytes"
            : config->cpu_millis != 0                        ? "cpu_millis"
            : (config->flags & COMPUTE_CONFIG_DETACHED) != 0 ? "detached"
                                                             : NULL;
  if (refused != NULL)
    return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "execute takes no '%s'; give it to provision", refused);
  return 0;
}

void
own_config_clear (struct own_config *own)
{
  g_free (own->env);
  own->env = NULL;
}
