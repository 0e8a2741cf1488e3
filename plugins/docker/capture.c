/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <stdlib.h>

/*
 * compute.capture/1: an instance becomes an image by "docker commit". What our own start has put into the container's
 * configuration is put back to what its image says. The name of a capture is never told: it binds secrets.
 */

#define COMMIT_MS (10 * 60 * 1000)
#define SAYS "{{.Config.User}}\n{{.Config.WorkingDir}}\n{{range .Config.Env}}{{.}}\n{{end}}" /* struct says */

/* ---- What the image is to say ------------------------------------------------------------------------------------ */

/* What an image, or a container, says of itself, line by line. */
struct says
{
  char *user;
  char *workdir;
  char *env; /* a line for each variable */
};

/* The image from which the container was made. */
struct origin
{
  struct compute_image image;
  char *text; /* of the following; owned */
  struct says says;
  char *entrypoint; /* JSON */
  char *cmd;        /* JSON */
  char *env;        /* JSON */
};

static void
origin_free (struct origin *origin)
{
  free (origin->text);
}

static int
ask_one (struct compute_provider_state *state, const char *kind, const char *format, const char *name,
         const struct compute_call *call, struct answer *ret_answer, struct compute_error *err)
{
  const char *const args[] = { kind, "inspect", "--format", format, "--", name, NULL };
  int result = engine_ask (state, args, LOOK_MS, call, NULL, NULL, ret_answer, err);

  if (result == 0 && ret_answer->exit_code != 0)
    {
      result = engine_failed (ret_answer, "cannot look at the instance", err);
      answer_free (ret_answer);
    }
  return result;
}

/* Takes the text apart. */
static int
read_says (char *text, struct says *says)
{
  says->user = strsep (&text, "\n");
  says->workdir = strsep (&text, "\n");
  says->env = text;
  return text != NULL ? 0 : -1;
}

static int
read_origin (struct compute_provider_state *state, const char *image, const struct compute_call *call,
             struct origin *origin, struct compute_error *err)
{
  static const char format[] = "{{json .Config.Entrypoint}}\n{{json .Config.Cmd}}\n{{json .Config.Env}}\n" SAYS;
  struct answer answer;
  char *rest;
  int result = image_look (state, &image, 1, call, &origin->image, err);

  if (result == 0)
    result = ask_one (state, "image", format, image, call, &answer, err);
  if (result != 0)
    return result;
  origin->text = rest = answer.text;
  origin->entrypoint = strsep (&rest, "\n");
  origin->cmd = strsep (&rest, "\n");
  origin->env = strsep (&rest, "\n");
  if (read_says (rest, &origin->says) == 0)
    return 0;
  return compute_error_set (err, COMPUTE_E_ENGINE, 0, "the engine did not say what the image is made of");
}

/* True when one of the lines is just this one. */
static int
has_line (const char *lines, const char *line)
{
  size_t bytes = strlen (line);

  for (const char *at = lines; *at != '\0';)
    {
      size_t length = strcspn (at, "\n");

      if (length == bytes && memcmp (at, line, bytes) == 0)
        return 1;
      at += length + (at[length] == '\n');
    }
  return 0;
}

/* The name alone is to be blanked whatever it says; one that comes with a value, only when the image does not say it.
 */
static int
is_secret (const struct compute_capture_request *request, const struct origin *origin, const char *line)
{
  size_t name_bytes = strcspn (line, "=");

  for (uint64_t i = 0; i < request->secret_count; i++)
    {
      const struct compute_pair *secret = &request->secrets[i];

      if (strlen (secret->name) == name_bytes && memcmp (secret->name, line, name_bytes) == 0
          && (secret->value[0] == '\0' || !has_line (origin->says.env, line)))
        return 1;
    }
  return 0;
}

/* lines is what the container says of its variables. */
static void
add_blanks (struct words *words, const struct compute_capture_request *request, const struct origin *origin,
            char *lines)
{
  char *line;

  while ((line = strsep (&lines, "\n")) != NULL)
    if (line[0] != '\0' && is_secret (request, origin, line))
      {
        words_add (words, "--change");
        words_format (words, "ENV %.*s=\"\"", (int) strcspn (line, "="), line);
      }
}

static int
is_none (const char *json)
{
  return strcmp (json, "null") == 0 || strcmp (json, "[]") == 0;
}

/* What a change leaves empty, docker takes from the container, which has no entry of its own but the runner for its
 * command; beside an entry that is stated, even the empty one, it takes no command. */
static void
add_command (struct words *words, const struct origin *origin)
{
  if (!is_none (origin->entrypoint))
    {
      words_add (words, "--change");
      words_format (words, "ENTRYPOINT %s", origin->entrypoint);
    }
  else if (is_none (origin->cmd))
    {
      words_add (words, "--change");
      words_add (words, "ENTRYPOINT [\"\"]");
    }
  words_add (words, "--change");
  words_format (words, "CMD %s", is_none (origin->cmd) ? "[]" : origin->cmd);
}

/* Empty labels are those of no instance: none can be taken off. */
static void
add_changes (struct words *words, const struct origin *origin, const struct says *says)
{
  static const char *const labels[]
      = { "boot", "namespace", "pid", "start", "created", "detached", "host", "definition", "image", "workdir" };

  add_command (words, origin);
  if (strcmp (origin->says.user, says->user) != 0)
    {
      words_add (words, "--change");
      words_format (words, "USER %s", origin->says.user[0] != '\0' ? origin->says.user : "0");
    }
  if (strcmp (origin->says.workdir, says->workdir) != 0)
    {
      words_add (words, "--change");
      words_format (words, "WORKDIR %s", origin->says.workdir[0] != '\0' ? origin->says.workdir : "/");
    }
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
    {
      words_add (words, "--change");
      words_format (words, "LABEL compute.%s=\"\"", labels[i]);
    }
}

/* ---- The commit -------------------------------------------------------------------------------------------------- */

/* Makes an image without a name. answer has its id, on a line, and is to be freed. */
static int
commit (struct compute_provider_state *state, const char *instance, const struct compute_capture_request *request,
        const struct origin *origin, const struct says *says, const struct compute_call *call,
        struct answer *ret_answer, struct compute_error *err)
{
  struct words words = { 0 };
  int result;

  words_add (&words, "commit");
  add_changes (&words, origin, says);
  add_blanks (&words, request, origin, says->env);
  words_add (&words, "--");
  words_add (&words, instance);
  result = words_check (&words, err);
  if (result == 0)
    result = engine_ask (state, words.items, COMMIT_MS, call, NULL, NULL, ret_answer, err);
  words_free (&words);
  if (result == 0 && ret_answer->exit_code != 0)
    {
      result = image_failed (ret_answer, request->ref, "cannot capture the instance", err);
      answer_free (ret_answer);
    }
  if (result == 0)
    ret_answer->text[strcspn (ret_answer->text, "\n")] = '\0';
  return result;
}

/* The bytes of a JSON string, its quotes included. */
static size_t
string_bytes (const char *json)
{
  size_t bytes = 1;

  while (json[bytes] != '\0' && json[bytes] != '"')
    bytes += json[bytes] == '\\' && json[bytes + 1] != '\0' ? 2 : 1;
  return bytes + (json[bytes] == '"');
}

/* True when what is told of an image, as JSON, has a variable with a value other than its origin's. */
static int
tells_value (const char *json, const char *name, const struct origin *origin)
{
  size_t bytes = strlen (name);

  for (const char *at = json; (at = strchr (at, '"')) != NULL; at++)
    if (strncmp (at + 1, name, bytes) == 0 && at[1 + bytes] == '=' && at[2 + bytes] != '"'
        && memmem (origin->env, strlen (origin->env), at, string_bytes (at)) == NULL)
      return 1;
  return 0;
}

/* Some engines keep in an image all that its container was made with, and no change takes it out. */
static int
check_clean (struct compute_provider_state *state, const char *image, const struct compute_capture_request *request,
             const struct origin *origin, const struct compute_call *call, struct compute_error *err)
{
  struct answer answer;
  int result = ask_one (state, "image", "{{json .}}", image, call, &answer, err);

  if (result != 0)
    return result;
  for (uint64_t i = 0; i < request->secret_count && result == 0; i++)
    if (tells_value (answer.text, request->secrets[i].name, origin))
      result = compute_error_set (err, COMPUTE_E_DENIED, 0,
                                  "what the image says would hold the value of %.60s: give it in env alone",
                                  request->secrets[i].name);
  answer_free (&answer);
  return result;
}

static int
name (struct compute_provider_state *state, const char *image, const char *ref, const struct compute_call *call,
      struct compute_error *err)
{
  const char *const args[] = { "tag", "--", image, ref, NULL };
  struct answer answer;
  int result = engine_ask (state, args, LOOK_MS, call, NULL, NULL, &answer, err);

  if (result != 0)
    return result;
  if (answer.exit_code != 0)
    result = image_failed (&answer, ref, "cannot name the image", err);
  answer_free (&answer);
  return result;
}

/* The image gets its name last: what fails or is cancelled before leaves whatever has it now. */
static int
make_image (struct compute_provider_state *state, const char *instance, const struct compute_capture_request *request,
            const struct origin *origin, const struct says *says, const struct compute_call *call,
            struct compute_image *ret_image, struct compute_error *err)
{
  struct answer made;
  int result = commit (state, instance, request, origin, says, call, &made, err);

  if (result != 0)
    return result;
  result = check_clean (state, made.text, request, origin, call, err);
  if (result == 0)
    result = name (state, made.text, request->ref, call, err);
  if (result == 0)
    result = image_look (state, (const char *const[]){ made.text }, 1, call, ret_image, err);
  else
    (void) image_remove (state, made.text, NULL, NULL);
  answer_free (&made);
  return result;
}

/* The end of the first line, which is cut off. */
static char *
second_line (char *text)
{
  char *end = text + strcspn (text, "\n");

  if (*end == '\0')
    return end;
  *end = '\0';
  return end + 1;
}

/* What lies in a mount of somebody's own is not in the container, so it will not be in the image. The runner's is no
 * one's. */
static void
warn_of_mounts (struct compute_provider_state *state, char *mounts)
{
  char *target;

  while ((target = strsep (&mounts, "\t")) != NULL)
    if (target[0] != '\0' && strncmp (target, FOLDER_INSIDE, sizeof FOLDER_INSIDE - 1) != 0)
      host_log (state->host, COMPUTE_LOG_WARNING,
                "[docker_compute] what is in %s is not in the capture: it is a volume or a mount", target);
}

/* text has the container's image, what it mounts, and what it says. */
static int
capture_as (struct compute_provider_state *state, const char *instance, struct link *link,
            const struct compute_capture_request *request, char *text, const struct compute_call *call,
            struct compute_image *ret_base, struct compute_image *ret_image, struct compute_error *err)
{
  struct origin origin = { 0 };
  char *mounts = second_line (text);
  struct says says;
  int code = read_says (second_line (mounts), &says);

  if (code != 0)
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "the engine did not say what the instance is made of");
  code = read_origin (state, text, call, &origin, err);
  warn_of_mounts (state, mounts);
  if (code == 0)
    code = secrets_search (state, instance, link->runner, request, call, err);
  if (code == 0)
    code = make_image (state, instance, request, &origin, &says, call, ret_image, err);
  *ret_base = origin.image;
  origin_free (&origin);
  return code;
}

static int
check_request (const struct compute_capture_request *request, struct compute_error *err)
{
  if ((request->flags & ~COMPUTE_CAPTURE_REFUSE_SECRETS) != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "docker knows no flags 0x%x of a capture", request->flags);
  return image_check_name (request->ref, err);
}

static void
tell_capture (const struct compute_call *call)
{
  struct compute_progress progress = { .size = sizeof progress, .step = "capture" };

  if (call != NULL && call->progress != NULL)
    call->progress (call->user, &progress);
}

static int
capture (struct compute_provider_state *state, const char *instance, const struct compute_capture_request *request,
         const struct compute_call *call, struct compute_image *ret_base, struct compute_image *ret_image,
         struct compute_error *err)
{
  static const char format[] = "{{.Image}}\n{{range .Mounts}}{{.Destination}}\t{{end}}\n" SAYS;
  struct answer answer;
  struct link *link;
  int code = check_request (request, err);

  if (code == 0)
    code = instances_enter (&state->instances, instance, call, &link, err);
  if (code != 0)
    return code;
  tell_capture (call);
  code = ask_one (state, "container", format, instance, call, &answer, err);
  if (code == 0)
    {
      code = capture_as (state, instance, link, request, answer.text, call, ret_base, ret_image, err);
      answer_free (&answer);
    }
  instances_leave (&state->instances, link);
  return code;
}

const struct compute_capture docker_capture = {
  .size = sizeof (struct compute_capture),
  .capture = capture,
  .has = image_has,
  .remove = image_remove,
};
