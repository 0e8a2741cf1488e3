/* SPDX-License-Identifier: MIT */
#include "docker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Looks for the values of secrets in the files that an instance has added or changed: "docker diff" names them, the
 * runner hands them over one after the other, and each is looked through in memory, the first LOOKED_AT bytes of it.
 */

#define SEARCH_MS (10 * 60 * 1000)
#define LOOKED_AT (64u * 1024 * 1024)

struct search
{
  struct compute_provider_state *state;
  const struct compute_capture_request *request;
  const struct compute_call *call;
  struct compute_runner *runner;
  char *room; /* LOOKED_AT bytes, shared with the file below */
  int fd;
  struct compute_error refused; /* the first one found, where that is an end */
};

static int
is_looked_for (const struct compute_pair *secret)
{
  return strlen (secret->value) >= SECRET_BYTES;
}

static int
is_anything_looked_for (const struct compute_capture_request *request)
{
  for (uint64_t i = 0; i < request->secret_count; i++)
    if (is_looked_for (&request->secrets[i]))
      return 1;
  return 0;
}

static void
tell (struct search *search, const char *path, const char *name)
{
  if ((search->request->flags & COMPUTE_CAPTURE_REFUSE_SECRETS) == 0)
    host_log (search->state->host, COMPUTE_LOG_WARNING,
              "[docker_compute] the value of %s is in %s, which the capture keeps", name, path);
  else if (search->refused.code == 0)
    (void) compute_error_set (&search->refused, COMPUTE_E_DENIED, 0, "the value of %.60s is in %.120s", name, path);
}

/* Takes the values out of a path, which may hold one itself. */
static void
blank_values (const struct search *search, char *path)
{
  for (uint64_t i = 0; i < search->request->secret_count; i++)
    if (is_looked_for (&search->request->secrets[i]))
      text_blank (path, search->request->secrets[i].value);
}

static void
look_through (struct search *search, const char *path, size_t bytes)
{
  const struct compute_capture_request *request = search->request;
  char *shown = strdup (path);

  if (shown != NULL)
    blank_values (search, shown);
  for (uint64_t i = 0; i < request->secret_count; i++)
    if (is_looked_for (&request->secrets[i])
        && memmem (search->room, bytes, request->secrets[i].value, strlen (request->secrets[i].value)) != NULL)
      tell (search, shown != NULL ? shown : "a file", request->secrets[i].name);
  free (shown);
}

/* What is no file, or cannot be read, or has gone, holds nothing that could be looked at. */
static void
look_at (struct search *search, const char *path)
{
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_error why = COMPUTE_ERROR_INIT;
  off_t end;

  if (search->call != NULL)
    call.cancel_fd = search->call->cancel_fd;
  (void) lseek (search->fd, 0, SEEK_SET);
  (void) compute_runner_get (search->runner, path, search->fd, &call, &info, &why);
  end = lseek (search->fd, 0, SEEK_CUR);
  if (end <= 0)
    return;
  look_through (search, path, (size_t) end);
  (void) fallocate (search->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
}

/* "A /path" or "C /path"; what is gone is told with a D. */
static void
take_line (void *user, const char *line)
{
  struct search *search = user;

  if ((line[0] == 'A' || line[0] == 'C') && line[1] == ' ' && search->refused.code == 0)
    look_at (search, line + 2);
}

/* A file that cannot grow beyond what is looked at: what comes of a larger one ends there. */
static int
open_room (struct search *search)
{
  search->fd = memfd_create ("compute-search", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (search->fd < 0 || ftruncate (search->fd, LOOKED_AT) != 0
      || fcntl (search->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)
    return -1;
  search->room = mmap (NULL, LOOKED_AT, PROT_READ, MAP_SHARED, search->fd, 0);
  return search->room != MAP_FAILED ? 0 : -1;
}

static void
close_room (struct search *search)
{
  if (search->room != NULL && search->room != MAP_FAILED)
    (void) munmap (search->room, LOOKED_AT);
  if (search->fd >= 0)
    close (search->fd);
}

static int
search_all (struct search *search, const char *instance, struct compute_error *err)
{
  const char *const args[] = { "diff", "--", instance, NULL };
  struct answer answer;
  int result = engine_ask (search->state, args, SEARCH_MS, search->call, take_line, search, &answer, err);

  if (result != 0)
    return result;
  if (answer.exit_code != 0)
    result = engine_failed (&answer, "cannot tell what has changed in the instance", err);
  answer_free (&answer);
  if (result == 0 && search->refused.code != 0)
    result = compute_error_set (err, search->refused.code, 0, "%s", search->refused.message);
  return result;
}

int
secrets_search (struct compute_provider_state *state, const char *instance, struct compute_runner *runner,
                const struct compute_capture_request *request, const struct compute_call *call,
                struct compute_error *err)
{
  struct search search
      = { .state = state, .request = request, .call = call, .runner = runner, .fd = -1, .refused = COMPUTE_ERROR_INIT };
  int result;

  if (!is_anything_looked_for (request))
    return 0;
  if (open_room (&search) != 0)
    result = compute_error_set (err, COMPUTE_E_SYSTEM, errno, "no room to look for secrets: %s", strerror (errno));
  else
    result = search_all (&search, instance, err);
  close_room (&search);
  return result;
}
