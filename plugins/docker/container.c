/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

/* ---- What can be honoured ---------------------------------------------------------------------------------------- */

static int
unsupported (const char *what, const char *value, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "docker cannot honour %s '%s'", what, value);
}

static int
check_mounts (const struct compute_config *config, struct compute_error *err)
{
  for (uint64_t i = 0; i < config->mount_count; i++)
    if (strchr (config->mounts[i].source, ',') != NULL || strchr (config->mounts[i].target, ',') != NULL)
      return unsupported ("a comma in mount", config->mounts[i].source, err);
  return 0;
}

int
container_check (const struct compute_config *config, struct compute_error *err)
{
  for (uint64_t i = 0; i < config->option_count; i++)
    if (strcmp (config->options[i].name, "docker.args") != 0)
      return compute_error_set (err, COMPUTE_E_INVALID, 0, "docker knows no option '%.100s'; there is 'docker.args'",
                                config->options[i].name);
  if (config->network != NULL && strcmp (config->network, "unrestricted") != 0 && strcmp (config->network, "none") != 0)
    return unsupported ("network policy", config->network, err);
  if (config->image != NULL && (config->image[0] == '-' || config->image[0] == '\0'))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "'%s' is no name of an image", config->image);
  if (config->workdir != NULL && (config->workdir[0] != '/' || strlen (config->workdir) >= PATH_MAX))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the working directory is not absolute, or too long: '%.100s'",
                              config->workdir);
  return check_mounts (config, err);
}

/* ---- The words --------------------------------------------------------------------------------------------------- */

/* Labels are read again line by line. */
static void
add_label (struct words *words, const char *name, const char *value)
{
  char clean[300];

  cut_text (clean, sizeof clean, value);
  for (char *at = clean; *at != '\0'; at++)
    if ((unsigned char) *at < ' ')
      *at = '?';
  words_add (words, "--label");
  words_format (words, "compute.%s=%s", name, clean);
}

/* They are on the container before it starts: whoever finds it knows whose it is. */
static int
add_labels (struct words *words, const struct compute_instance *about, struct compute_error *err)
{
  struct proof proof;
  char number[32];
  int result = proof_take (getpid (), &proof, err);

  if (result != 0)
    return result;
  add_label (words, "boot", proof.boot);
  add_label (words, "namespace", proof.namespace);
  snprintf (number, sizeof number, "%" PRId64, proof.pid);
  add_label (words, "pid", number);
  snprintf (number, sizeof number, "%" PRId64, proof.start_time);
  add_label (words, "start", number);
  snprintf (number, sizeof number, "%" PRId64, about->created_ms);
  add_label (words, "created", number);
  add_label (words, "detached", about->flags & COMPUTE_CONFIG_DETACHED ? "yes" : "no");
  add_label (words, "host", about->host);
  add_label (words, "definition", about->definition);
  add_label (words, "image", about->image);
  add_label (words, "workdir", about->workdir);
  return 0;
}

/* Where an engine does not see our files, the runner is copied into a volume: that ends with the container, and no
 * image ever holds it either. */
static void
add_runner (struct words *words, const struct compute_provider_state *state, int is_far)
{
  words_add (words, "--mount");
  if (is_far)
    words_add (words, "type=volume,target=" FOLDER_INSIDE);
  else
    words_format (words, "type=bind,source=%s,target=" RUNNER_INSIDE ",readonly", state->runner_path);
}

/* The runner makes the working directory, wherever it may: podman knows no "--workdir" that is not there yet. Where
 * neither it nor a copy can, as in a container that is read-only, a volume without a name makes it, and goes with the
 * container. */
static void
add_workdir (struct words *words, const struct compute_config *config)
{
  words_add (words, "--mount");
  words_format (words, "type=volume,target=%s", config->workdir);
}

static void
add_mounts (struct words *words, const struct compute_config *config)
{
  for (uint64_t i = 0; i < config->mount_count; i++)
    {
      const struct compute_mount *mount = &config->mounts[i];

      words_add (words, "--mount");
      words_format (words, "type=bind,source=%s,target=%s%s", mount->source, mount->target,
                    mount->flags & COMPUTE_MOUNT_READ_ONLY ? ",readonly" : "");
    }
}

static void
add_limits (struct words *words, const struct compute_config *config)
{
  if (config->network != NULL && strcmp (config->network, "none") == 0)
    words_add (words, "--network=none");
  if (config->memory_bytes > 0)
    {
      words_format (words, "--memory=%" PRIu64, config->memory_bytes);
      words_format (words, "--memory-swap=%" PRIu64, config->memory_bytes);
    }
  if (config->cpu_millis > 0)
    words_format (words, "--cpus=%" PRIu64 ".%03" PRIu64, config->cpu_millis / 1000, config->cpu_millis % 1000);
  if (config->gpu != NULL)
    words_format (words, "--gpus=%s", config->gpu);
  if (config->user != NULL)
    words_format (words, "--user=%s", config->user);
}

/* The environment is not among the words: it goes to the runner by the pipe, where no list of processes shows it. */
int
container_words (struct words *words, const struct compute_provider_state *state, const struct way *way,
                 const struct compute_config *config, const struct compute_instance *about, struct compute_error *err)
{
  static const char *const always[] = { "--interactive", "--rm", "--pull=never", "--log-driver=none" };
  int result;

  words_add (words, state->program);
  words_add (words, way->is_far ? "create" : "run");
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    words_add (words, always[i]);
  result = add_labels (words, about, err);
  if (result != 0)
    return result;
  words_format (words, "--name=%s", about->id);
  add_runner (words, state, way->is_far);
  if (way->workdir_is_volume)
    add_workdir (words, config);
  add_mounts (words, config);
  add_limits (words, config);
  for (uint64_t i = 0; i < config->option_count; i++)
    words_add (words, config->options[i].value); /* an argument stays one argument */
  /* The runner is the command, not the entry: a commit can put a command back to what the image says, and no entry. */
  words_add (words, "--entrypoint");
  words_add (words, "");
  words_add (words, config->image);
  words_add (words, RUNNER_INSIDE);
  if (config->flags & COMPUTE_CONFIG_DETACHED)
    {
      words_add (words, "--listen");
      words_add (words, SOCKET_INSIDE);
    }
  return words_check (words, err);
}

/* ---- What was honoured ------------------------------------------------------------------------------------------- */

static int
is_nothing (const char *value)
{
  static const char *const words[] = { "", "0", "[]", "<nil>", "<no value>" };
  size_t bytes = strcspn (value, "\n");

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen (words[i]) == bytes && memcmp (value, words[i], bytes) == 0)
      return 1;
  return 0;
}

/* Some engines leave out what they cannot do, with a warning at most; some do not even have the field. */
static int
check_limit (struct compute_provider_state *state, const char *field, const char *what, const char *id,
             const struct compute_call *call, struct compute_error *err)
{
  const char *const args[] = { "container", "inspect", "--format", field, "--", id, NULL };
  struct answer answer;
  int result = engine_ask (state, args, LOOK_MS, call, NULL, NULL, &answer, err);

  if (result != 0)
    return result;
  if (answer.exit_code != 0 && strstr (answer.said, "executing \"") == NULL)
    result = engine_failed (&answer, "cannot look at the limits of the instance", err);
  else if (answer.exit_code != 0 || is_nothing (answer.text))
    result = compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "this engine cannot honour %s", what);
  answer_free (&answer);
  return result;
}

int
container_check_limits (struct compute_provider_state *state, const struct compute_config *config, const char *id,
                        const struct compute_call *call, struct compute_error *err)
{
  int result = 0;

  if (config->memory_bytes > 0)
    result = check_limit (state, "{{.HostConfig.Memory}}", "a limit of memory", id, call, err);
  if (result == 0 && config->cpu_millis > 0)
    result = check_limit (state, "{{.HostConfig.NanoCpus}}", "a limit of processors", id, call, err);
  if (result == 0 && config->gpu != NULL)
    result = check_limit (state, "{{.HostConfig.DeviceRequests}}", "a request for GPUs", id, call, err);
  return result;
}
