/* SPDX-License-Identifier: MIT */
#ifndef DOCKER_H
#define DOCKER_H

/*
 * The docker provider: an instance is a container whose first process is the runner. The docker program is the control
 * plane, so many calls at once and each with a deadline; commands go over the pipe to the runner. An owned instance is
 * one attached "docker run": its pipe ends with this process, and so does the container. A detached one listens inside,
 * and whoever uses it comes by "docker exec".
 */

#include <provider/kit.h>

#define ID_PREFIX "docker-"
#define DEFAULT_IMAGE "python:3.11-slim"
#define DEFAULT_WORKDIR "/workspace"
#define FOLDER_INSIDE "/dev/.compute" /* on the container's own tmpfs: no image ever holds it */
#define RUNNER_INSIDE "/dev/.compute/runner"
#define SOCKET_INSIDE "/dev/shm/.compute-socket"
#define WORDS_MAX 256u
#define LOOK_MS 30000 /* for a question to the engine */

struct compute_provider_state
{
  struct instances instances; /* first, for the slots of the kit */
  const struct compute_host *host;
  char *runner_path; /* "" when none is known */
  char *program;     /* docker, or what stands for it */

  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t free_turn;
  unsigned turns; /* calls of the docker program that may begin now */
  int is_far;     /* the engine does not see our files: each container gets a copy of the runner */
};

/* ---- words.c: argument lists ---- */

struct words
{
  const char *items[WORDS_MAX + 1]; /* NULL ends it */
  unsigned count;
  unsigned owned_count;
  char *owned[WORDS_MAX];
  int failed; /* no memory, or too many */
};

void words_add (struct words *words, const char *word);
COMPUTE_PRINTF (2, 3) void words_format (struct words *words, const char *format, ...);

/* Takes a word out of a text. */
void text_blank (char *text, const char *word);

int words_check (const struct words *words, struct compute_error *err);
void words_free (struct words *words);

/* ---- engine.c: calls of the docker program ---- */

/* So many calls of the engine at once, the others wait: CANCELLED when the caller gives up meanwhile. */
int engine_take_turn (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err);
void engine_give_turn (struct compute_provider_state *state);

struct answer
{
  char *text; /* stdout, NUL-terminated */
  size_t bytes;
  char said[512]; /* the last line of stderr */
  int exit_code;  /* -1: it was killed, or nobody can tell */
};

/* Runs "docker ARG..." and takes its output, as the answer's text or, where there is a line, a line at a time as it
 * comes. Returns 0 with an answer to be freed, whatever its exit code. Errors: UNAVAILABLE (no such program), TIMEOUT,
 * CANCELLED, SYSTEM, NO_MEMORY. */
int engine_ask (struct compute_provider_state *state, const char *const *args, uint32_t limit_ms,
                const struct compute_call *call, void (*line) (void *user, const char *line), void *user,
                struct answer *ret_answer, struct compute_error *err);
void answer_free (struct answer *answer);

/* ENGINE, with what the docker program said. */
int engine_failed (const struct answer *answer, const char *what, struct compute_error *err);

/* UNAVAILABLE with the reason, or 0. */
int engine_check (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err);

/* ---- image.c ---- */

/* True when the docker program says that the engine does not have an image. */
int image_is_missing (const char *said);

/* With progress. */
int image_pull (struct compute_provider_state *state, const char *image, const struct compute_call *call,
                struct compute_error *err);

/* INVALID, when it is no name of an image. */
int image_check_name (const char *ref, struct compute_error *err);

/* ENGINE, with what the docker program said but for the name. */
int image_failed (struct answer *answer, const char *ref, const char *what, struct compute_error *err);

/* Looks for all of some images: NOT_FOUND when one is missing, whichever. */
int image_look (struct compute_provider_state *state, const char *const *refs, uint64_t count,
                const struct compute_call *call, struct compute_image *ret_images, struct compute_error *err);

/* As in provider.h. */
int image_has (struct compute_provider_state *state, const char *const *refs, uint64_t count,
               const struct compute_call *call, struct compute_image *ret_images, struct compute_error *err);
int image_remove (struct compute_provider_state *state, const char *ref, const struct compute_call *call,
                  struct compute_error *err);

/* ---- container.c ---- */

/* How a container is made: what failed attempts have taught. */
struct way
{
  int is_far;            /* the engine does not see our files */
  int workdir_is_volume; /* the runner may not make it */
};

/* Refuses what this provider cannot honour. */
int container_check (const struct compute_config *config, struct compute_error *err);

/* Puts together what "docker run" or, for an engine that is far, "docker create" is to be called with. */
int container_words (struct words *words, const struct compute_provider_state *state, const struct way *way,
                     const struct compute_config *config, const struct compute_instance *about,
                     struct compute_error *err);

/* UNSUPPORTED when the engine has not set what it was told to. */
int container_check_limits (struct compute_provider_state *state, const struct compute_config *config, const char *id,
                            const struct compute_call *call, struct compute_error *err);

/* ---- start.c ---- */

/* Starts the container of about, with a link to its runner, configured; pulls its image when the engine does not have
 * it. A failed start leaves no container, or says so. */
int container_start (struct compute_provider_state *state, const struct compute_config *config,
                     const struct compute_call *call, const struct compute_instance *about, struct link **ret_link,
                     struct compute_error *err);

/* ---- lookup.c ---- */

/* With its anonymous volumes. One that is gone already is no error. The error says that it may still run. */
int container_remove (struct compute_provider_state *state, const char *id, uint32_t limit_ms,
                      const struct compute_call *call, struct compute_error *err);

/* What the engine knows of our containers, whoever made them. */
extern const struct instances_ops container_ops;

/* ---- capture.c ---- */

extern const struct compute_capture docker_capture;

/* ---- secrets.c ---- */

#define SECRET_BYTES 8 /* a shorter value would be found everywhere */

/* Looks for the values of a request's secrets in the files of an instance; each file with one is logged, or ends the
 * search with DENIED where the request says so. */
int secrets_search (struct compute_provider_state *state, const char *instance, struct compute_runner *runner,
                    const struct compute_capture_request *request, const struct compute_call *call,
                    struct compute_error *err);

#endif
