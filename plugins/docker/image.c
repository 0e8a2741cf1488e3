/* SPDX-License-Identifier: MIT */
#include "docker.h"

#define PULL_MS (60 * 60 * 1000)

/* A pull, as far as its lines tell: each layer is announced, and later told to be there. */
struct pull
{
  const struct compute_call *call;
  char step[300];
  uint64_t layers;
  uint64_t there;
};

static int
ends_with (const char *text, const char *end)
{
  size_t bytes = strlen (text);

  return bytes >= strlen (end) && strcmp (text + bytes - strlen (end), end) == 0;
}

static void
note_line (void *user, const char *line)
{
  struct pull *pull = user;
  struct compute_progress progress = { .size = sizeof progress, .step = pull->step };

  pull->layers += ends_with (line, ": Pulling fs layer") || ends_with (line, ": Already exists");
  pull->there += ends_with (line, ": Pull complete") || ends_with (line, ": Already exists");
  progress.done = pull->there;
  progress.total = pull->layers;
  if (pull->call != NULL && pull->call->progress != NULL)
    pull->call->progress (pull->call->user, &progress);
}

int
image_pull (struct compute_provider_state *state, const char *image, const struct compute_call *call,
            struct compute_error *err)
{
  const char *const args[] = { "pull", "--", image, NULL };
  struct pull pull = { .call = call };
  struct answer answer;
  int result;

  snprintf (pull.step, sizeof pull.step, "pull %s", image);
  note_line (&pull, "");
  result = engine_ask (state, args, PULL_MS, call, note_line, &pull, &answer, err);
  if (result != 0)
    return result;
  if (answer.exit_code != 0)
    {
      snprintf (pull.step, sizeof pull.step, "cannot pull image '%s'", image);
      result = engine_failed (&answer, pull.step, err);
    }
  answer_free (&answer);
  return result;
}

int
image_is_missing (const char *said)
{
  return strstr (said, "No such image") != NULL || strstr (said, "no such image") != NULL
         || strstr (said, "image not known") != NULL;
}
