/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define RUNNER_END_MS (COMPUTE_GRACE_MS + 3000) /* what a runner that lost its host may take */

void
link_reap (struct link *link)
{
  if (link->child != 0)
    compute_runner_reap (link->child, link->kill_child ? 0 : RUNNER_END_MS);
  link->child = 0;
}

void
link_close (struct link *link)
{
  compute_runner_close (link->runner);
  link_reap (link);
  free (link);
}

int
link_open (const struct compute_runner_options *options, struct link **ret_link, struct compute_error *err)
{
  struct compute_runner *runner;
  struct link *link;
  int result = compute_runner_open (options, &runner, err);

  if (result != 0)
    return result;
  link = calloc (1, sizeof *link);
  if (link == NULL)
    {
      compute_runner_close (runner);
      return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for an instance");
    }
  link->runner = runner;
  *ret_link = link;
  return 0;
}

int
says_nothing (const char *line)
{
  return *line == '\0' || strstr (line, "level=warning") != NULL || strncmp (line, "WARNING: ", 9) == 0;
}

/* What the runner, or what leads to it, said before it gave up, one line of it; "" when nothing. */
static void
read_complaint (int fd, char *said, size_t room)
{
  char text[4096];
  ssize_t count = fd >= 0 ? pread (fd, text, sizeof text - 1, 0) : 0;
  char *rest = text, *line = text;

  text[count > 0 ? count : 0] = '\0';
  do
    line = strsep (&rest, "\n");
  while (rest != NULL && says_nothing (line));
  snprintf (said, room, "%s", line);
}

/* No command was sent yet, so whatever keeps a runner from answering is the engine's failure, but for what this
 * process itself has run out of. */
static int
no_runner (int code, const char *path, int said_fd, struct compute_error *err)
{
  char said[160];

  read_complaint (said_fd, said, sizeof said);
  if (said[0] != '\0')
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "%s", said);
  if (code != COMPUTE_E_SYSTEM && code != COMPUTE_E_NO_MEMORY)
    code = COMPUTE_E_ENGINE;
  if (err != NULL)
    err->code = code;
  return compute_error_prefix (err, code, "the runner '%s' does not work: ", path);
}

int
link_start (const char *const *argv, uint32_t hello_ms, struct link **ret_link, struct compute_error *err)
{
  struct compute_runner_options options = { .size = sizeof options, .hello_ms = hello_ms };
  int said_fd = memfd_create ("runner's stderr", MFD_CLOEXEC);
  struct link *link = NULL;
  int64_t pid;
  int result = compute_runner_spawn (argv, NULL, said_fd, &pid, &options.read_fd, &options.write_fd, err);

  if (result == 0)
    {
      result = link_open (&options, &link, err);
      if (result != 0)
        compute_runner_reap (pid, RUNNER_END_MS);
    }
  if (result != 0)
    result = no_runner (result, argv[0], said_fd, err);
  if (said_fd >= 0)
    close (said_fd);
  if (result != 0)
    return result;
  link->child = pid;
  *ret_link = link;
  return 0;
}
