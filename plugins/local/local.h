/* SPDX-License-Identifier: MIT */
#ifndef LOCAL_H
#define LOCAL_H

/*
 * The local provider: commands run on this machine, with the rights of this process. An instance is a runner and what
 * it started. An owned one's runner is a child on a pipe and ends with this process; a detached one's is a daemon with
 * a socket in the run folder, there for every process of the user.
 */

#include <compute/runner.h>

#include <pthread.h>

/* A connection to a runner, shared by the calls that use it. */
struct link
{
  struct compute_runner *runner;
  int64_t child;  /* the runner, where it is our child and has not been waited for; else 0 */
  unsigned users; /* calls, and the instance while it runs; under the state's lock */
};

/* What this state knows of an instance; all under the state's lock. */
struct instance
{
  struct instance *next; /* newest first */
  struct link *link;     /* NULL once it has stopped */
  int was_shut_down;     /* remembered, but no more listed */
  struct compute_instance about;
};

struct compute_provider_state
{
  const struct compute_host *host;
  char *runner_path; /* "" when none is known */
  pthread_mutex_t lock;
  struct instance *instances;
};

/* check.c */

/* Refuses what this provider cannot honour. */
int check_provision (const struct compute_config *config, struct compute_error *err);
int check_user (const char *user, struct compute_error *err);

/* UNAVAILABLE with what keeps commands from running here: no runner, no shell. */
int check_available (const struct compute_provider_state *state, struct compute_error *err);

/* link.c */

/* Starts the runner with these words and configures it. child: it stays our child. */
int link_start (const char *const *argv, int child, const struct compute_config *config, struct link **ret_link,
                struct compute_error *err);

/* Closes the connection, and waits for a child to end all that it ran. */
void link_close (struct link *link);

/* Waits for a child, once, while others may still use the link. */
void link_reap (struct compute_provider_state *state, struct link *link);

/* instances.c */

/* Fills in an id and all that is known before the start. */
int describe (const struct compute_config *config, struct compute_instance *about, struct compute_error *err);

/* Copies as much as the caller's struct has room for. */
void give_instance (struct compute_instance *to, const struct compute_instance *from);

/* Remembers a new instance; takes the link. */
int instances_add (struct compute_provider_state *state, const struct compute_instance *about, struct link *link,
                   struct compute_error *err);

/* The link of a running instance, to be given back with instances_leave. Errors: NOT_FOUND, NOT_RUNNING. */
int instances_enter (struct compute_provider_state *state, const char *id, struct link **ret_link,
                     struct compute_error *err);
void instances_leave (struct compute_provider_state *state, struct link *link);

/* Marks it stopped. Returns its link, to be given back, or NULL when it had stopped before. Errors: NOT_FOUND. */
int instances_stop (struct compute_provider_state *state, const char *id, struct link **ret_link,
                    struct compute_error *err);

int instances_status (struct compute_provider_state *state, const char *id, struct compute_instance *ret_about,
                      struct compute_error *err);
int instances_list (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                    struct compute_error *err);

/* Ends them all. */
void instances_close (struct compute_provider_state *state);

#endif
