/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* What the engine knows of our containers: their states, and our labels. Containers without those are nobody of ours.
 */

#define REMOVE_MS 60000
#define CONNECT_MS 30000
#define FIELDS 13
#define RESTARTED "its container was restarted, and what it was made with is lost"
#define BATCH (WORDS_MAX - 16) /* so many instances go with one call of "inspect" */

/* The order of the fields. */
enum field
{
  FIELD_NAME,
  FIELD_STATE,
  FIELD_ENDED,
  FIELD_BOOT,
  FIELD_NAMESPACE,
  FIELD_PID,
  FIELD_START,
  FIELD_CREATED,
  FIELD_DETACHED,
  FIELD_HOST,
  FIELD_DEFINITION,
  FIELD_IMAGE,
  FIELD_WORKDIR
};

/* Templates of "inspect" mean the same to docker and podman; those of "ps" do not. */
#define LABEL(name) "\t{{index .Config.Labels \"compute." name "\"}}"
static const char format[] = "{{.Name}}\t{{.State.Status}}\t{{.State.FinishedAt}}" LABEL ("boot") LABEL ("namespace")
    LABEL ("pid") LABEL ("start") LABEL ("created") LABEL ("detached") LABEL ("host") LABEL ("definition")
        LABEL ("image") LABEL ("workdir");

static int
split (char *line, char **fields)
{
  int count = 0;

  for (char *rest = line; rest != NULL && count < FIELDS;)
    fields[count++] = strsep (&rest, "\t");
  return count == FIELDS && fields[FIELD_BOOT][0] != '\0' ? 0 : -1;
}

/* One that has ended before and runs again was restarted by somebody: its runner was told nothing, and answers nobody
 * who knew it. */
static void
read_state (char **fields, struct compute_instance *about)
{
  const char *word = fields[FIELD_STATE];
  int runs = strcmp (word, "running") == 0;

  about->state = runs                           ? COMPUTE_STATE_RUNNING
                 : strcmp (word, "paused") == 0 ? COMPUTE_STATE_PAUSED
                                                : COMPUTE_STATE_STOPPED;
  if (!runs)
    snprintf (about->detail, sizeof about->detail, "its container is %s", word);
  else if (strncmp (fields[FIELD_ENDED], "0001-", 5) != 0)
    {
      about->state = COMPUTE_STATE_ERROR;
      cut_text (about->detail, sizeof about->detail, RESTARTED);
    }
}

static uint32_t
find_owner (char **fields, int64_t pid)
{
  struct proof proof = { .pid = pid, .start_time = strtoll (fields[FIELD_START], NULL, 10) };

  if (strcmp (fields[FIELD_DETACHED], "yes") == 0)
    return COMPUTE_OWNER_NONE;
  cut_text (proof.boot, sizeof proof.boot, fields[FIELD_BOOT]);
  cut_text (proof.namespace, sizeof proof.namespace, fields[FIELD_NAMESPACE]);
  switch (proof_check (&proof))
    {
    case LIFE_ALIVE:
      return pid == getpid () ? COMPUTE_OWNER_SELF : COMPUTE_OWNER_ALIVE;
    case LIFE_GONE:
      return COMPUTE_OWNER_GONE;
    default:
      return COMPUTE_OWNER_UNKNOWN;
    }
}

/* Takes a line apart. Returns 0, or -1 when it is none of ours. */
static int
read_line (char *line, struct compute_instance *about)
{
  char *fields[FIELDS];
  int64_t pid;

  if (split (line, fields) != 0)
    return -1;
  pid = strtoll (fields[FIELD_PID], NULL, 10);
  *about = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  cut_text (about->id, sizeof about->id, fields[FIELD_NAME] + (fields[FIELD_NAME][0] == '/'));
  read_state (fields, about);
  about->owner = find_owner (fields, pid);
  about->flags = about->owner == COMPUTE_OWNER_NONE ? COMPUTE_CONFIG_DETACHED : 0;
  about->owner_pid = about->owner == COMPUTE_OWNER_NONE ? 0 : pid;
  about->created_ms = strtoll (fields[FIELD_CREATED], NULL, 10);
  cut_text (about->host, sizeof about->host, fields[FIELD_HOST]);
  cut_text (about->definition, sizeof about->definition, fields[FIELD_DEFINITION]);
  cut_text (about->image, sizeof about->image, fields[FIELD_IMAGE]);
  cut_text (about->workdir, sizeof about->workdir, fields[FIELD_WORKDIR]);
  return 0;
}

/* The engine's own words for it, and docker's and podman's. "No such" alone would also be a host or a file on the way
 * to an engine. */
static int
is_gone (const struct answer *answer)
{
  static const char *const words[]
      = { "No such container", "no such container", "no container with name or ID", "is already in progress" };

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr (answer->said, words[i]) != NULL)
      return 1;
  return 0;
}

static int
status (void *context, const char *id, const struct compute_call *call, struct compute_instance *ret_about,
        struct compute_error *err)
{
  const char *const args[] = { "container", "inspect", "--format", format, "--", id, NULL };
  struct answer answer;
  int result;

  if (!is_instance_id (ID_PREFIX, id))
    return no_instance (id, err);
  result = engine_ask (context, args, LOOK_MS, call, NULL, NULL, &answer, err);
  if (result != 0)
    return result;
  answer.text[strcspn (answer.text, "\n")] = '\0';
  if (answer.exit_code != 0)
    result = is_gone (&answer) ? no_instance (id, err) : engine_failed (&answer, "cannot look at the instance", err);
  else if (read_line (answer.text, ret_about) != 0)
    result = no_instance (id, err);
  answer_free (&answer);
  return result;
}

/* What somebody else owns is theirs alone, unless nobody is left whose it could be. */
static int
is_listed (struct compute_provider_state *state, const struct compute_instance *about)
{
  if (about->owner == COMPUTE_OWNER_ALIVE || !is_instance_id (ID_PREFIX, about->id))
    return 0;
  return about->owner != COMPUTE_OWNER_SELF || instances_leave_telling (&state->instances, about->id);
}

/* Tells of the containers with these ids; of one that is gone meanwhile there is nothing to tell. */
static int
tell (struct compute_provider_state *state, const struct words *words, compute_instance_fn emit, void *user,
      const struct compute_call *call, struct compute_error *err)
{
  struct compute_instance about;
  struct answer answer;
  int result = engine_ask (state, words->items, LOOK_MS, call, NULL, NULL, &answer, err);

  if (result != 0)
    return result;
  if (answer.exit_code != 0 && !is_gone (&answer))
    result = engine_failed (&answer, "cannot list instances", err);
  for (char *rest = answer.text, *line; result == 0 && (line = strsep (&rest, "\n")) != NULL;)
    if (read_line (line, &about) == 0 && is_listed (state, &about))
      result = emit (user, &about);
  answer_free (&answer);
  return result;
}

/* ids is a line each. */
static int
tell_all (struct compute_provider_state *state, char *ids, compute_instance_fn emit, void *user,
          const struct compute_call *call, struct compute_error *err)
{
  static const char *const always[] = { "container", "inspect", "--format", format, "--" };
  const size_t always_count = sizeof always / sizeof *always;
  const char *id;
  int result = 0;

  while (result == 0 && ids != NULL)
    {
      struct words words = { 0 };

      for (size_t i = 0; i < always_count; i++)
        words_add (&words, always[i]);
      while (words.count < BATCH && (id = strsep (&ids, "\n")) != NULL)
        if (*id != '\0')
          words_add (&words, id);
      if (words.count > always_count)
        result = tell (state, &words, emit, user, call, err);
    }
  return result;
}

static int
list (void *context, compute_instance_fn emit, void *user, const struct compute_call *call, struct compute_error *err)
{
  static const char *const args[] = { "ps", "--all", "--quiet", "--no-trunc", "--filter", "label=compute.boot", NULL };
  struct answer answer;
  struct compute_error why = COMPUTE_ERROR_INIT;
  int result = engine_ask (context, args, LOOK_MS, call, NULL, NULL, &answer, &why);

  if (result == COMPUTE_E_UNAVAILABLE)
    return 0; /* without the program there is nothing of ours */
  if (result != 0)
    return compute_error_set (err, result, why.sys_errno, "%s", why.message);
  result = answer.exit_code != 0 ? engine_failed (&answer, "cannot list instances", err)
                                 : tell_all (context, answer.text, emit, user, call, err);
  answer_free (&answer);
  return result;
}

int
container_remove (struct compute_provider_state *state, const char *id, uint32_t limit_ms,
                  const struct compute_call *call, struct compute_error *err)
{
  const char *const args[] = { "rm", "--force", "--volumes", "--", id, NULL };
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct answer answer;
  int result = engine_ask (state, args, limit_ms, call, NULL, NULL, &answer, &why);

  if (result != 0)
    return compute_error_set (err, result, why.sys_errno, "Could not remove container %s: %s. It may still be running.",
                              id, why.message);
  if (answer.exit_code != 0 && !is_gone (&answer))
    result = compute_error_set (err, COMPUTE_E_ENGINE, 0, "Could not remove container %s: %s. It may still be running.",
                                id, answer.said);
  answer_free (&answer);
  return result;
}

static int
remove_it (void *context, const char *id, const struct compute_call *call, struct compute_error *err)
{
  return container_remove (context, id, REMOVE_MS, call, err);
}

static int
shut_down (void *context, const char *id, const struct compute_call *call, struct compute_error *err)
{
  struct compute_instance about;
  int result = status (context, id, call, &about, err);

  return result == 0 ? remove_it (context, id, call, err) : result;
}

static int
is_paused (const char *id, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_NOT_RUNNING, 0, "instance '%s' is paused, not running.", id);
}

static int
connect_to (void *context, const char *id, const struct compute_call *call, struct compute_instance *ret_about,
            struct link **ret_link, struct compute_error *err)
{
  struct compute_provider_state *state = context;
  const char *const argv[]
      = { state->program, "exec", "--interactive", id, RUNNER_INSIDE, "--connect", SOCKET_INSIDE, NULL };
  int result = status (context, id, call, ret_about, err);

  if (result != 0)
    return result;
  if (ret_about->state == COMPUTE_STATE_PAUSED)
    return is_paused (id, err);
  if (ret_about->state == COMPUTE_STATE_ERROR)
    return compute_error_set (err, COMPUTE_E_NOT_RUNNING, 0, "instance '%s' cannot be used: " RESTARTED, id);
  if (ret_about->state != COMPUTE_STATE_RUNNING)
    return not_running (id, err);
  if ((ret_about->flags & COMPUTE_CONFIG_DETACHED) == 0)
    return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "instance '%s' belongs to process %" PRId64 " alone", id,
                              ret_about->owner_pid);
  result = engine_take_turn (state, call, err);
  if (result != 0)
    return result;
  result = link_start (argv, CONNECT_MS, call, ret_link, err);
  engine_give_turn (state);
  return result;
}

const struct instances_ops container_ops
    = { .open = connect_to, .shut_down = shut_down, .status = status, .list = list, .remove = remove_it };
