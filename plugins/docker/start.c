/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <stdlib.h>

#define START_MS 120000 /* from "docker run" to the runner's first word */
#define COPY_MS 60000
#define LEAVE_MS 15000     /* for the removal of what a failed start leaves */
#define LEAVE_SOON_MS 3000 /* the same, while somebody waits for the end of a cancelled one */

/* What can be done about a failed attempt, once each. */
struct remedies
{
  int pulled;
  int copied;
  int workdir_is_volume;
};

/* ---- Far engines: "docker create", the copy of the runner, "docker start" ---------------------------------------- */

static int
is_far (struct compute_provider_state *state)
{
  int result;

  pthread_mutex_lock (&state->lock);
  result = state->is_far;
  pthread_mutex_unlock (&state->lock);
  return result;
}

static void
note_far (struct compute_provider_state *state)
{
  pthread_mutex_lock (&state->lock);
  state->is_far = 1;
  pthread_mutex_unlock (&state->lock);
}

/* These calls are short, and a container whose making was given up half-way might be left. */
static int
ask (struct compute_provider_state *state, const char *const *args, struct compute_error *err)
{
  struct answer answer;
  int result = engine_ask (state, args, COPY_MS, NULL, NULL, NULL, &answer, err);

  if (result != 0)
    return result;
  if (answer.exit_code != 0)
    result = compute_error_set (err, COMPUTE_E_ENGINE, 0, "%s", answer.said);
  answer_free (&answer);
  return result;
}

/* The file itself, not a link to it. */
static int
copy_runner (struct compute_provider_state *state, const char *id, struct compute_error *err)
{
  char *path = realpath (state->runner_path, NULL);
  struct words copy = { 0 };
  int result;

  words_add (&copy, "cp");
  words_add (&copy, "--");
  words_add (&copy, path);
  words_format (&copy, "%s:" RUNNER_INSIDE, id);
  result = words_check (&copy, err);
  if (result == 0)
    result = ask (state, copy.items, err);
  words_free (&copy);
  free (path);
  return result;
}

/* ---- One attempt ------------------------------------------------------------------------------------------------- */

static int
begin (struct compute_provider_state *state, const struct compute_config *config, const struct compute_call *call,
       const struct compute_instance *about, const struct way *way, struct link **ret_link, struct compute_error *err)
{
  const char *const start[] = { state->program, "start", "--attach", "--interactive", about->id, NULL };
  struct words words = { 0 };
  int result = container_words (&words, state, way, config, about, err);

  if (result == 0 && way->is_far)
    result = ask (state, words.items + 1, err);
  if (result == 0 && way->is_far)
    result = copy_runner (state, about->id, err);
  if (result == 0)
    result = engine_take_turn (state, call, err);
  if (result == 0)
    {
      result = link_start (way->is_far ? start : words.items, START_MS, call, ret_link, err);
      engine_give_turn (state);
    }
  words_free (&words);
  return result;
}

/* A runner that nobody has configured ends by itself, and the container with it. */
static int
attempt (struct compute_provider_state *state, const struct compute_config *config, const struct compute_call *call,
         const struct compute_instance *about, const struct remedies *remedies, struct link **ret_link,
         struct compute_error *err)
{
  struct way way = { .is_far = is_far (state), .workdir_is_volume = remedies->workdir_is_volume };
  struct link *link;
  int result = begin (state, config, call, about, &way, &link, err);

  if (result != 0)
    return result;
  result = container_check_limits (state, config, about->id, call, err);
  if (result == 0)
    result = compute_runner_configure (link->runner, config, err);
  if (result != 0)
    {
      link_close (link);
      return result;
    }
  link->kill_child = (config->flags & COMPUTE_CONFIG_DETACHED) != 0; /* its client would wait for the container */
  *ret_link = link;
  return 0;
}

/* The runner has not found its working directory, hence could not make it. A volume's target has no comma. */
static int
lacks_workdir (const struct compute_config *config, const struct compute_error *why)
{
  return why->code == COMPUTE_E_NOT_STARTED && why->sys_errno == ENOENT && strchr (config->workdir, ',') == NULL;
}

/* True when a mount of the runner failed because the engine has no such file. The message may be cut. */
static int
runner_is_not_there (const struct compute_provider_state *state, const char *message)
{
  static const char words[] = "bind source path does not exist: ";
  const char *at = strstr (message, words);
  size_t bytes = at != NULL ? strlen (at + sizeof words - 1) : 0;
  size_t path_bytes = strlen (state->runner_path);

  return at != NULL
         && strncmp (at + sizeof words - 1, state->runner_path, bytes < path_bytes ? bytes : path_bytes) == 0;
}

/* Whether the engine took part or not: after a failure, nobody knows. */
static void
leave_nothing (struct compute_provider_state *state, const char *id, struct compute_error *why)
{
  struct compute_error removal = COMPUTE_ERROR_INIT;
  struct compute_error first = *why;
  uint32_t limit_ms = why->code == COMPUTE_E_CANCELLED ? LEAVE_SOON_MS : LEAVE_MS;

  if (container_remove (state, id, limit_ms, NULL, &removal) != 0)
    (void) compute_error_set (why, first.code, first.sys_errno, "%.100s. %s", first.message, removal.message);
}

/* Returns 0 to try again, or an error that tells why there is no container. */
static int
remedy (struct compute_provider_state *state, const struct compute_config *config, const struct compute_call *call,
        const char *id, struct remedies *remedies, struct compute_error *why, struct compute_error *err)
{
  if (image_is_missing (why->message) && !remedies->pulled)
    {
      remedies->pulled = 1;
      return image_pull (state, config->image, call, err);
    }
  if (why->code == COMPUTE_E_ENGINE && engine_check (state, call, err) == COMPUTE_E_UNAVAILABLE)
    return COMPUTE_E_UNAVAILABLE;
  leave_nothing (state, id, why);
  if (runner_is_not_there (state, why->message) && !remedies->copied)
    {
      remedies->copied = 1;
      note_far (state);
      return 0;
    }
  if (lacks_workdir (config, why) && !remedies->workdir_is_volume)
    {
      remedies->workdir_is_volume = 1;
      return 0;
    }
  return compute_error_set (err, why->code, why->sys_errno, "%s", why->message);
}

int
container_start (struct compute_provider_state *state, const struct compute_config *config,
                 const struct compute_call *call, const struct compute_instance *about, struct link **ret_link,
                 struct compute_error *err)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct remedies remedies = { 0 };

  while (attempt (state, config, call, about, &remedies, ret_link, &why) != 0)
    {
      int result = remedy (state, config, call, about->id, &remedies, &why, err);

      if (result != 0)
        return result;
    }
  return 0;
}
