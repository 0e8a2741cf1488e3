/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <stdlib.h>

#define RUNNER_END_MS (COMPUTE_GRACE_MS + 3000) /* what a runner that lost its host may take */

void
link_close (struct link *link)
{
  compute_runner_close (link->runner);
  if (link->child != 0)
    compute_runner_reap (link->child, RUNNER_END_MS);
  free (link);
}

void
link_reap (struct compute_provider_state *state, struct link *link)
{
  int64_t child;

  pthread_mutex_lock (&state->lock);
  child = link->child;
  link->child = 0;
  pthread_mutex_unlock (&state->lock);
  if (child != 0)
    compute_runner_reap (child, RUNNER_END_MS);
}

/* Everything that keeps a runner from answering is the engine's failure here: no command was sent yet. */
static int
no_runner (int code, const char *path, struct compute_error *err)
{
  if (code == COMPUTE_E_NOT_FOUND || code == COMPUTE_E_LOST || code == COMPUTE_E_PROTOCOL || code == COMPUTE_E_TIMEOUT)
    code = COMPUTE_E_ENGINE;
  if (err != NULL)
    err->code = code;
  return compute_error_prefix (err, code, "the runner '%s' does not work: ", path);
}

int
link_start (const char *const *argv, int child, const struct compute_config *config, struct link **ret_link,
            struct compute_error *err)
{
  struct compute_runner_options options = { .size = sizeof options };
  struct link *link = calloc (1, sizeof *link);
  int64_t pid;
  int result;

  if (link == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for an instance");
  result = compute_runner_spawn (argv, NULL, -1, &pid, &options.read_fd, &options.write_fd, err);
  if (result != 0)
    {
      free (link);
      return no_runner (result, argv[0], err);
    }
  link->child = pid;
  result = compute_runner_open (&options, &link->runner, err);
  result = result == 0 ? compute_runner_configure (link->runner, config, err) : no_runner (result, argv[0], err);
  if (result != 0)
    {
      link_close (link);
      return result;
    }
  if (!child)
    {
      link->child = 0;
      compute_runner_reap (pid, RUNNER_END_MS);
    }
  *ret_link = link;
  return 0;
}
