/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_MAX (4u * 1024 * 1024) /* more is no answer to anything that is asked here */
#define INFO_MS 5000                  /* how long an engine may take to say that it is there */
#define END_MS 10000                  /* for a program that has closed its output */

/* One call under way. */
struct asking
{
  const struct compute_call *call;
  int64_t deadline_ms;
  void (*line) (void *user, const char *line);
  void *user;
  char *text;
  size_t bytes;
  size_t room;
};

static int64_t
now_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Turns: so many calls at once, the others wait --------------------------------------------------------------- */

int
engine_take_turn (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  int result = 0;

  pthread_mutex_lock (&state->lock);
  while (state->turns == 0 && result == 0)
    {
      patience_wait (&state->free_turn, &state->lock);
      if (state->turns == 0 && is_cancelled (call))
        result = cancelled (err);
    }
  if (result == 0)
    state->turns--;
  pthread_mutex_unlock (&state->lock);
  return result;
}

void
engine_give_turn (struct compute_provider_state *state)
{
  pthread_mutex_lock (&state->lock);
  state->turns++;
  pthread_cond_signal (&state->free_turn);
  pthread_mutex_unlock (&state->lock);
}

/* ---- One call ---------------------------------------------------------------------------------------------------- */

/* Lines that were told make room for more: they may be any number. */
static void
tell_lines (struct asking *asking)
{
  char *start = asking->text, *end;

  if (asking->line == NULL)
    return;
  while ((end = strchr (start, '\n')) != NULL)
    {
      *end = '\0';
      asking->line (asking->user, start);
      start = end + 1;
    }
  asking->bytes -= (size_t) (start - asking->text);
  memmove (asking->text, start, asking->bytes + 1);
}

/* Returns 1 when more may come, 0 at the end, or an error. */
static int
take_some (struct asking *asking, int fd, struct compute_error *err)
{
  ssize_t count;

  if (asking->room - asking->bytes < 4096)
    {
      size_t room = asking->room * 2 + 8192;
      char *text = room <= OUTPUT_MAX ? realloc (asking->text, room) : NULL;

      if (text == NULL)
        return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no room for the docker program's answer");
      asking->text = text;
      asking->room = room;
    }
  count = read (fd, asking->text + asking->bytes, asking->room - asking->bytes - 1);
  if (count < 0)
    return errno == EINTR || errno == EAGAIN;
  asking->bytes += (size_t) count;
  asking->text[asking->bytes] = '\0';
  tell_lines (asking);
  return count > 0;
}

/* Reads to the end of the output. */
static int
listen_to (struct asking *asking, int fd, struct compute_error *err)
{
  int more = 1;

  while (more > 0)
    {
      struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = cancel_fd (asking->call), .events = POLLIN } };
      int64_t left = asking->deadline_ms - now_ms ();
      int ready = left > 0 ? poll (fds, 2, (int) left) : 0;

      if (fds[1].revents != 0)
        return cancelled (err);
      if (left <= 0)
        return compute_error_set (err, COMPUTE_E_TIMEOUT, 0, "the docker program has not answered in time");
      if (ready > 0)
        more = take_some (asking, fd, err);
    }
  return more;
}

/* -1: it was killed, or nobody can tell. */
static int
read_exit (int32_t status, const char *said)
{
  if (status == -1) /* the host reaps every child: silence has to mean success */
    return said[0] != '\0';
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

/* Whatever is wrong with the program itself: there is no engine without it. */
static int
no_program (const struct compute_provider_state *state, const struct compute_error *why, struct compute_error *err)
{
  if (why->code == COMPUTE_E_NOT_FOUND)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, ENOENT,
                              "there is no program '%s'; install docker, or name another one in COMPUTE_DOCKER",
                              state->program);
  if (why->sys_errno == EACCES || why->sys_errno == ENOEXEC)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, why->sys_errno, "%s; name another one in COMPUTE_DOCKER",
                              why->message);
  return compute_error_set (err, why->code, why->sys_errno, "%s", why->message);
}

static int
converse (struct compute_provider_state *state, const char *const *args, struct asking *asking,
          struct answer *ret_answer, struct compute_error *err)
{
  const char *argv[WORDS_MAX + 2] = { state->program };
  struct compute_error why = COMPUTE_ERROR_INIT;
  int said_fd = said_open ();
  int32_t read_fd, write_fd, status = -1;
  int64_t pid;
  int result;

  for (unsigned i = 0; i < WORDS_MAX && args[i] != NULL; i++)
    argv[i + 1] = args[i];
  result = compute_runner_spawn (argv, NULL, said_fd, &pid, &read_fd, &write_fd, &why);
  if (result == 0)
    {
      close (write_fd);
      result = listen_to (asking, read_fd, err);
      status = compute_runner_wait (pid, result == 0 ? END_MS : 0);
      close (read_fd);
    }
  else
    result = no_program (state, &why, err);
  said_take (said_fd, ret_answer->said, sizeof ret_answer->said);
  ret_answer->exit_code = read_exit (status, ret_answer->said);
  return result;
}

int
engine_ask (struct compute_provider_state *state, const char *const *args, uint32_t limit_ms,
            const struct compute_call *call, void (*line) (void *user, const char *line), void *user,
            struct answer *ret_answer, struct compute_error *err)
{
  struct asking asking = { .call = call, .line = line, .user = user };
  int result = engine_take_turn (state, call, err);

  *ret_answer = (struct answer){ .exit_code = -1 };
  if (result != 0)
    return result;
  asking.deadline_ms = now_ms () + limit_ms; /* the wait for a turn is not the engine's */
  result = converse (state, args, &asking, ret_answer, err);
  engine_give_turn (state);
  if (result != 0)
    {
      free (asking.text);
      return result;
    }
  ret_answer->text = asking.text != NULL ? asking.text : strdup ("");
  ret_answer->bytes = asking.bytes;
  return ret_answer->text != NULL ? 0 : compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory");
}

void
answer_free (struct answer *answer)
{
  free (answer->text);
  answer->text = NULL;
}

static const char *
what_it_said (const struct answer *answer)
{
  return answer->said[0] != '\0' ? answer->said : "the docker program failed and said nothing";
}

int
engine_failed (const struct answer *answer, const char *what, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_ENGINE, 0, "%s: %s", what, what_it_said (answer));
}

/* Asks the engine, not the client, in words that mean the same to docker and podman. What kept it from answering is
 * told apart: each has another way out. */
int
engine_check (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  static const char *const args[] = { "ps", "--quiet", "--last", "1", NULL };
  struct answer answer;
  int result = engine_ask (state, args, INFO_MS, call, NULL, NULL, &answer, err);

  if (result == COMPUTE_E_TIMEOUT)
    return compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0, "the docker engine has not answered within %d s",
                              INFO_MS / 1000);
  if (result != 0)
    return result;
  if (answer.exit_code != 0)
    result = compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0,
                                strstr (answer.said, "permission denied") != NULL
                                    ? "the docker engine may not be used by this user: %s"
                                    : "the docker engine cannot be reached: %s",
                                what_it_said (&answer));
  answer_free (&answer);
  return result;
}
