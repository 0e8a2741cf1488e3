/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <stdlib.h>

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

/* No command was sent yet, so whatever keeps a runner from answering is the engine's failure, but for what this
 * process itself has run out of. */
static int
no_runner (int code, const char *path, const char *said, struct compute_error *err)
{
  if (code == COMPUTE_E_CANCELLED)
    return code;
  if (said[0] != '\0' && code != COMPUTE_E_TIMEOUT)
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "%s", said);
  if (code != COMPUTE_E_SYSTEM && code != COMPUTE_E_NO_MEMORY)
    code = COMPUTE_E_ENGINE;
  if (err != NULL)
    err->code = code;
  return compute_error_prefix (err, code, "the runner '%s' does not work: ", path);
}

int
link_start (const char *const *argv, uint32_t hello_ms, const struct compute_call *call, struct link **ret_link,
            struct compute_error *err)
{
  struct compute_runner_options options = { .size = sizeof options, .hello_ms = hello_ms };
  struct link *link = NULL;
  int said_fd = said_open ();
  char said[400];
  int64_t pid;
  int result = compute_runner_spawn (argv, NULL, said_fd, &pid, &options.read_fd, &options.write_fd, err);

  if (result == 0)
    {
      options.cancel_fd = call != NULL ? call->cancel_fd : -1;
      result = link_open (&options, &link, err);
      if (result != 0)
        compute_runner_reap (pid, RUNNER_END_MS);
    }
  said_take (said_fd, said, sizeof said);
  if (result != 0)
    return no_runner (result, argv[0], said, err);
  link->child = pid;
  *ret_link = link;
  return 0;
}
