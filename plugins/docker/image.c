/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <stdlib.h>

#define PULL_MS (60 * 60 * 1000)
#define REMOVE_MS 60000

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

/* ---- Names ------------------------------------------------------------------------------------------------------- */

int
image_check_name (const char *ref, struct compute_error *err)
{
  if (ref == NULL || ref[0] == '\0' || ref[0] == '-')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "that is no name of an image");
  return 0;
}

/* ENGINE, with what the docker program said but for the name. */
int
image_failed (struct answer *answer, const char *ref, const char *what, struct compute_error *err)
{
  const char *tag = strrchr (ref, ':');

  text_blank (answer->said, ref);
  if (tag != NULL)
    text_blank (answer->said, tag + 1);
  return engine_failed (answer, what, err);
}

/* ---- Images ------------------------------------------------------------------------------------------------------ */

/* Takes a line of what is asked for below apart. */
static int
read_image (char *line, struct compute_image *ret_image)
{
  char *rest = line;
  const char *id = strsep (&rest, "\t");
  const char *platform = strsep (&rest, "\t");

  if (platform == NULL || rest == NULL)
    return -1;
  ret_image->bytes = strtoull (rest, NULL, 10);
  cut_text (ret_image->id, sizeof ret_image->id, id);
  cut_text (ret_image->platform, sizeof ret_image->platform, platform);
  return 0;
}

/* A line for each image, as long as there are any. */
static int
read_images (char *text, uint64_t count, struct compute_image *ret_images)
{
  for (uint64_t i = 0; i < count; i++)
    {
      char *line = strsep (&text, "\n");

      if (line == NULL || read_image (line, &ret_images[i]) != 0)
        return -1;
    }
  return 0;
}

/* Looks for all of some images: NOT_FOUND when one is missing, whichever. */
int
image_look (struct compute_provider_state *state, const char *const *refs, uint64_t count,
            const struct compute_call *call, struct compute_image *ret_images, struct compute_error *err)
{
  struct words words = { 0 };
  struct answer answer;
  int result = 0;

  words_add (&words, "image");
  words_add (&words, "inspect");
  words_add (&words, "--format");
  words_add (&words, "{{.Id}}\t{{.Os}}/{{.Architecture}}\t{{.Size}}");
  words_add (&words, "--");
  for (uint64_t i = 0; i < count && result == 0; i++)
    {
      result = image_check_name (refs[i], err);
      words_add (&words, refs[i]);
    }
  if (result == 0)
    result = words_check (&words, err);
  if (result == 0)
    result = engine_ask (state, words.items, LOOK_MS, call, NULL, NULL, &answer, err);
  words_free (&words);
  if (result != 0)
    return result;
  if (answer.exit_code != 0 && image_is_missing (answer.said))
    result = compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "the engine has no such image");
  else if (answer.exit_code != 0 || read_images (answer.text, count, ret_images) != 0)
    result = image_failed (&answer, refs[0], "cannot look at the image", err);
  answer_free (&answer);
  return result;
}

/* Which of several is missing is not told: then each is looked for by itself. */
int
image_has (struct compute_provider_state *state, const char *const *refs, uint64_t count,
           const struct compute_call *call, struct compute_image *ret_images, struct compute_error *err)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  int result = image_look (state, refs, count, call, ret_images, &why);

  if (result != COMPUTE_E_NOT_FOUND)
    return result == 0 ? 0 : compute_error_set (err, result, why.sys_errno, "%s", why.message);
  for (uint64_t i = 0; i < count; i++)
    {
      ret_images[i] = (struct compute_image){ 0 };
      result = count > 1 ? image_look (state, &refs[i], 1, call, &ret_images[i], &why) : COMPUTE_E_NOT_FOUND;
      if (result != 0 && result != COMPUTE_E_NOT_FOUND)
        return compute_error_set (err, result, why.sys_errno, "%s", why.message);
    }
  return 0;
}

static int
is_in_use (const char *said)
{
  static const char *const words[] = { "is using its referenced image", "is being used by", "in use by" };

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr (said, words[i]) != NULL)
      return 1;
  return 0;
}

int
image_remove (struct compute_provider_state *state, const char *ref, const struct compute_call *call,
              struct compute_error *err)
{
  const char *const args[] = { "rmi", "--", ref, NULL };
  struct answer answer;
  int result = image_check_name (ref, err);

  if (result == 0)
    result = engine_ask (state, args, REMOVE_MS, call, NULL, NULL, &answer, err);
  if (result != 0)
    return result;
  if (answer.exit_code != 0 && is_in_use (answer.said))
    result = compute_error_set (err, COMPUTE_E_BUSY, 0, "a container uses it");
  else if (answer.exit_code != 0 && !image_is_missing (answer.said))
    result = image_failed (&answer, ref, "cannot remove the image", err);
  answer_free (&answer);
  return result;
}
