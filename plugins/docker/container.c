/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#define START_MS 120000 /* from "docker run" to the runner's first word */
#define LOOK_MS 30000

/* What is wanted of a container. */
struct wish
{
  struct compute_provider_state *state;
  const struct compute_config *config;
  const struct compute_call *call;
  const struct compute_instance *about;
  int workdir_is_volume;
};

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

/* ---- The start --------------------------------------------------------------------------------------------------- */

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

/* The runner makes the working directory, wherever it may: podman knows no "--workdir" that is not there yet. Where it
 * may not, in an image of another user or one that is read-only, a volume without a name makes it, and goes with the
 * container. */
static void
add_mounts (struct words *words, const struct wish *wish)
{
  const struct compute_config *config = wish->config;

  words_add (words, "--mount");
  words_format (words, "type=bind,source=%s,target=" RUNNER_INSIDE ",readonly", wish->state->runner_path);
  if (wish->workdir_is_volume)
    {
      words_add (words, "--mount");
      words_format (words, "type=volume,target=%s", config->workdir);
    }
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
static int
put_together (struct words *words, const struct wish *wish, struct compute_error *err)
{
  const struct compute_config *config = wish->config;
  static const char *const always[]
      = { "run", "--interactive", "--rm", "--pull=never", "--log-driver=none", "--entrypoint", RUNNER_INSIDE };
  int result;

  words_add (words, wish->state->program);
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    words_add (words, always[i]);
  result = add_labels (words, wish->about, err);
  if (result != 0)
    return result;
  words_format (words, "--name=%s", wish->about->id);
  add_mounts (words, wish);
  add_limits (words, config);
  for (uint64_t i = 0; i < config->option_count; i++)
    words_split (words, config->options[i].value);
  words_add (words, config->image);
  if (config->flags & COMPUTE_CONFIG_DETACHED)
    {
      words_add (words, "--listen");
      words_add (words, SOCKET_INSIDE);
    }
  return words_check (words, err);
}

static int
begin (const struct wish *wish, struct link **ret_link, struct compute_error *err)
{
  struct words words = { 0 };
  int result = put_together (&words, wish, err);

  if (result == 0)
    result = engine_take_turn (wish->state, wish->call, err);
  if (result == 0)
    {
      result = link_start (words.items, START_MS, ret_link, err);
      engine_give_turn (wish->state);
    }
  words_free (&words);
  return result;
}

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

/* Whether the engine has set what it was told to: some leave out what they cannot do, with a warning at most. */
static int
check_limit (const struct wish *wish, const char *what, const char *field, struct compute_error *err)
{
  const char *const args[] = { "container", "inspect", "--format", field, "--", wish->about->id, NULL };
  struct answer answer;
  int result = engine_ask (wish->state, args, LOOK_MS, wish->call, NULL, NULL, &answer, err);

  if (result != 0)
    return result;
  if (answer.exit_code != 0 || is_nothing (answer.text))
    result = compute_error_set (err, COMPUTE_E_UNSUPPORTED, 0, "this engine sets no limit of %s", what);
  answer_free (&answer);
  return result;
}

static int
check_limits (const struct wish *wish, struct compute_error *err)
{
  int result = 0;

  if (wish->config->memory_bytes > 0)
    result = check_limit (wish, "memory", "{{.HostConfig.Memory}}", err);
  if (result == 0 && wish->config->cpu_millis > 0)
    result = check_limit (wish, "processors", "{{.HostConfig.NanoCpus}}", err);
  if (result == 0 && wish->config->gpu != NULL)
    result = check_limit (wish, "GPUs", "{{.HostConfig.DeviceRequests}}", err);
  return result;
}

/* One try, which leaves nothing where it fails: then nobody has configured the runner, so that it ends by itself. */
static int
try_start (const struct wish *wish, struct link **ret_link, struct compute_error *err)
{
  struct link *link = NULL;
  int result = begin (wish, &link, err);

  if (result == 0)
    result = check_limits (wish, err);
  if (result == 0)
    result = compute_runner_configure (link->runner, wish->config, err);
  if (result == 0)
    {
      link->kill_child = (wish->config->flags & COMPUTE_CONFIG_DETACHED) != 0; /* it would wait for the container */
      *ret_link = link;
      return 0;
    }
  if (link != NULL)
    link_close (link);
  (void) container_ops.remove (wish->state, wish->about->id, NULL, NULL);
  return result;
}

/* The runner has not found its working directory, hence could not make it. */
static int
lacks_workdir (const struct wish *wish, int result, const struct compute_error *why)
{
  return result == COMPUTE_E_NOT_STARTED && why->sys_errno == ENOENT && strchr (wish->config->workdir, ',') == NULL;
}

int
container_start (struct compute_provider_state *state, const struct compute_config *config,
                 const struct compute_call *call, const struct compute_instance *about, struct link **ret_link,
                 struct compute_error *err)
{
  struct wish wish = { .state = state, .config = config, .call = call, .about = about };
  struct compute_error why = COMPUTE_ERROR_INIT;
  int result = try_start (&wish, ret_link, &why);

  if (lacks_workdir (&wish, result, &why))
    {
      wish.workdir_is_volume = 1;
      why = (struct compute_error) COMPUTE_ERROR_INIT;
      result = try_start (&wish, ret_link, &why);
    }
  return result == 0 ? 0 : compute_error_set (err, result, why.sys_errno, "%s", why.message);
}
