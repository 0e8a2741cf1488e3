/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_MS 60000 /* from "docker run" to the runner's first word */
#define COPY_MS 60000
#define LEAVE_MS 15000     /* for the removal of what a failed start leaves */
#define LEAVE_SOON_MS 3000 /* the same, while somebody waits for the end of a cancelled one */

/* One start, of one attempt or more. */
struct start
{
  struct compute_provider_state *state;
  const struct compute_config *config;
  const struct compute_call *call;
  const char *id;
  int pulled; /* what was done about a failed attempt, once each */
  int copied;
  int workdir_is_volume;
  struct compute_error why; /* the last attempt failed */
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

static int
copy (struct compute_provider_state *state, const char *from, const char *id, const char *to, struct compute_error *err)
{
  struct words words = { 0 };
  int result;

  words_add (&words, "cp");
  words_add (&words, "--");
  words_add (&words, from);
  words_format (&words, "%s:%s", id, to);
  result = words_check (&words, err);
  if (result == 0)
    result = ask (state, words.items, err);
  words_free (&words);
  return result;
}

/* The file itself, not a link to it. */
static int
copy_runner (struct compute_provider_state *state, const char *id, struct compute_error *err)
{
  char *path = realpath (state->runner_path, NULL);
  int result = copy (state, path, id, RUNNER_INSIDE, err);

  free (path);
  return result;
}

/* For a user who may not make it: an empty folder that everybody in the container may write to. */
static int
make_workdir (struct compute_provider_state *state, const char *id, const char *workdir, struct compute_error *err)
{
  char folder[] = "/tmp/compute-workdir-XXXXXX";
  int result;

  if (mkdtemp (folder) == NULL)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot make '%s': %s", folder, strerror (errno));
  (void) chmod (folder, 01777);
  result = copy (state, folder, id, workdir, err);
  (void) rmdir (folder);
  return result;
}

/* ---- One attempt ------------------------------------------------------------------------------------------------- */

static int
begin (struct start *start, const struct compute_instance *about, struct link **ret_link)
{
  struct compute_provider_state *state = start->state;
  struct way way = { .is_far = is_far (state), .workdir_is_volume = start->workdir_is_volume };
  const char *const attach[] = { state->program, "start", "--attach", "--interactive", about->id, NULL };
  struct words words = { 0 };
  int result = container_words (&words, state, &way, start->config, about, &start->why);

  if (result == 0 && way.is_far)
    result = ask (state, words.items + 1, &start->why);
  if (result == 0 && way.is_far)
    result = copy_runner (state, about->id, &start->why);
  if (result == 0)
    result = engine_take_turn (state, start->call, &start->why);
  if (result == 0)
    {
      result = link_start (way.is_far ? attach : words.items, START_MS, start->call, ret_link, &start->why);
      engine_give_turn (state);
    }
  words_free (&words);
  return result;
}

/* The runner has not found its working directory, hence could not make it. */
static int
lacks_workdir (const struct start *start)
{
  return start->why.code == COMPUTE_E_NOT_STARTED && start->why.sys_errno == ENOENT;
}

static int
configure (struct start *start, struct link *link)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  int result = compute_runner_configure (link->runner, start->config, &start->why);

  if (result != 0 && lacks_workdir (start) && make_workdir (start->state, start->id, start->config->workdir, &err) == 0)
    result = compute_runner_configure (link->runner, start->config, &start->why);
  return result;
}

/* A runner that nobody has configured ends by itself, and the container with it. */
static int
attempt (struct start *start, const struct compute_instance *about, struct link **ret_link)
{
  struct link *link;
  int result = begin (start, about, &link);

  if (result != 0)
    return result;
  result = container_check_limits (start->state, start->config, start->id, start->call, &start->why);
  if (result == 0)
    result = configure (start, link);
  if (result != 0)
    {
      link_close (link);
      return result;
    }
  link->kill_child = (start->config->flags & COMPUTE_CONFIG_DETACHED) != 0; /* it would wait for the container */
  *ret_link = link;
  return 0;
}

/* True when a mount of the runner failed because the engine has no such file. The message may be cut. */
static int
runner_is_not_there (const struct start *start)
{
  static const char words[] = "bind source path does not exist: ";
  const char *at = strstr (start->why.message, words);
  size_t bytes = at != NULL ? strlen (at + sizeof words - 1) : 0;
  size_t path_bytes = strlen (start->state->runner_path);

  return at != NULL
         && strncmp (at + sizeof words - 1, start->state->runner_path, bytes < path_bytes ? bytes : path_bytes) == 0;
}

/* Whether the engine took part or not: after a failure, nobody knows. */
static void
leave_nothing (struct start *start)
{
  struct compute_error removal = COMPUTE_ERROR_INIT;
  struct compute_error first = start->why;
  uint32_t limit_ms = first.code == COMPUTE_E_CANCELLED ? LEAVE_SOON_MS : LEAVE_MS;

  if (container_remove (start->state, start->id, limit_ms, NULL, &removal) != 0)
    (void) compute_error_set (&start->why, first.code, first.sys_errno, "%.100s. %s", first.message, removal.message);
}

/* Nobody but this engine gives an image an id. */
static int
is_image_id (const char *image)
{
  return strncmp (image, "sha256:", 7) == 0;
}

/* Returns 0 to try again, or an error that tells why there is no container. */
static int
remedy (struct start *start, struct compute_error *err)
{
  if (image_is_missing (start->why.message) && !start->pulled && !is_image_id (start->config->image))
    {
      start->pulled = 1;
      return image_pull (start->state, start->config->image, start->call, err);
    }
  if ((start->why.code == COMPUTE_E_ENGINE || start->why.code == COMPUTE_E_SYSTEM)
      && engine_check (start->state, start->call, err) == COMPUTE_E_UNAVAILABLE)
    return COMPUTE_E_UNAVAILABLE;
  leave_nothing (start);
  if (runner_is_not_there (start) && !start->copied)
    {
      start->copied = 1;
      note_far (start->state);
      return 0;
    }
  if (lacks_workdir (start) && !start->workdir_is_volume && strchr (start->config->workdir, ',') == NULL)
    {
      start->workdir_is_volume = 1;
      return 0;
    }
  return compute_error_set (err, start->why.code, start->why.sys_errno, "%s", start->why.message);
}

int
container_start (struct compute_provider_state *state, const struct compute_config *config,
                 const struct compute_call *call, const struct compute_instance *about, struct link **ret_link,
                 struct compute_error *err)
{
  struct start start = { .state = state, .config = config, .call = call, .id = about->id, .why = COMPUTE_ERROR_INIT };

  while (attempt (&start, about, ret_link) != 0)
    {
      int result = remedy (&start, err);

      if (result != 0)
        return result;
    }
  return 0;
}
