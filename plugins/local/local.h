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

struct compute_provider_state
{
  const struct compute_host *host;
  char *runner_path; /* "" when none is known */
  pthread_mutex_t lock;
  struct instance *instances;
};

/* ---- local.c ---- */

COMPUTE_PRINTF (3, 4)
void local_log (const struct compute_provider_state *state, uint32_t level, const char *format, ...);

/* ---- check.c ---- */

/* Refuses what this provider cannot honour. */
int check_provision (const struct compute_config *config, struct compute_error *err);
int check_user (const char *user, struct compute_error *err);

/* UNAVAILABLE with what keeps commands from running here: no runner, no shell. */
int check_available (const struct compute_provider_state *state, struct compute_error *err);

/* ---- about.c: what is said of an instance ---- */

/* Fills in a new id and all that is known before the start; config has a workdir. */
int describe (const struct compute_config *config, struct compute_instance *about, struct compute_error *err);
int is_instance_id (const char *id);
void cut_text (char *to, size_t room, const char *from);

/* Copies as much as the caller's struct has room for. */
void give_instance (struct compute_instance *to, const struct compute_instance *from);
int no_instance (const char *id, struct compute_error *err);
int not_running (const char *id, struct compute_error *err);

/* ---- link.c ---- */

/* A connection to a runner, shared by the calls that use it. */
struct link
{
  struct compute_runner *runner;
  int64_t child;  /* what was started for it and has not been waited for; 0: nothing */
  unsigned users; /* calls, and the instance while it runs; under the state's lock */
};

/* Starts the runner with these words. Errors: ENGINE, with what the runner said on its standard error; SYSTEM,
 * NO_MEMORY. */
int link_start (const char *const *argv, struct link **ret_link, struct compute_error *err);

/* Takes the descriptors. */
int link_open (const struct compute_runner_options *options, struct link **ret_link, struct compute_error *err);

/* Waits until the child has ended. */
void link_reap (struct link *link);
void link_close (struct link *link);

/* ---- instances.c: what this state knows ---- */

struct instance
{
  struct instance *next; /* newest first */
  struct link *link;     /* NULL once it has stopped */
  int was_shut_down;     /* remembered, but no more listed */
  struct compute_instance about;
};

/* Remembers a new instance; takes the link. */
int instances_add (struct compute_provider_state *state, const struct compute_instance *about, struct link *link,
                   struct compute_error *err);

/* The link of a running instance, to be given back with instances_leave. Errors: NOT_FOUND, NOT_RUNNING. */
int instances_enter (struct compute_provider_state *state, const char *id, struct link **ret_link,
                     struct compute_error *err);
void instances_leave (struct compute_provider_state *state, struct link *link);

int instances_shut_down (struct compute_provider_state *state, const char *id, struct compute_error *err);
int instances_status (struct compute_provider_state *state, const char *id, struct compute_instance *ret_about,
                      struct compute_error *err);
int instances_list (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                    struct compute_error *err);

/* Ends the owned ones. */
void instances_close (struct compute_provider_state *state);

/* ---- folder.c: $XDG_RUNTIME_DIR/compute/local/ID or /tmp/compute-UID/local/ID, for nobody but the user ---- */

#define INSTANCE_ID_BYTES 64u
#define SOCKET_FILE "socket"
#define RECORD_FILE "record"
#define RECORD_FILE_NEW "record.new"

struct folder
{
  int fd;
  char path[1024];
};

/* The folder of all instances. Errors: NOT_FOUND (not without make), DENIED (not ours alone), SYSTEM. */
int folder_open_all (int make, struct folder *ret_folder, struct compute_error *err);

/* The folder of one instance; make: it must be new. */
int folder_open (const char *id, int make, struct folder *ret_folder, struct compute_error *err);
void folder_close (struct folder *folder);

/* Closes it and removes all that is ours in it. */
void folder_remove (struct folder *folder);

/* ---- proof.c: whether a process is still the same one ---- */

struct proof
{
  char boot[64];
  char namespace[64]; /* of pids */
  int64_t pid;
  int64_t start_time; /* in ticks since the boot */
};

enum life
{
  LIFE_ALIVE,
  LIFE_GONE,   /* proven */
  LIFE_UNKNOWN /* another pid namespace, or no /proc */
};

int proof_take (int64_t pid, struct proof *ret_proof, struct compute_error *err);
enum life proof_check (const struct proof *proof);

/* ---- record.c: what other processes read of a detached instance ---- */

struct record
{
  struct proof proof; /* of the daemon */
  struct compute_instance about;
};

int record_write (const struct folder *folder, const struct record *record, struct compute_error *err);

/* Fills the proof and the parts of about that never change. Errors: NOT_FOUND, SYSTEM (broken). */
int record_read (const struct folder *folder, const char *id, struct record *ret_record, struct compute_error *err);

/* ---- detached.c ---- */

int detached_start (const struct compute_provider_state *state, const struct compute_config *config,
                    const struct compute_instance *about, struct link **ret_link, struct compute_error *err);

/* Connects to it. Errors: NOT_FOUND, NOT_RUNNING, ENGINE. */
int detached_open (const char *id, struct compute_instance *ret_about, struct link **ret_link,
                   struct compute_error *err);
int detached_shutdown (const char *id, struct compute_error *err);
int detached_status (const char *id, struct compute_instance *ret_about, struct compute_error *err);
int detached_list (const struct compute_provider_state *state, compute_instance_fn emit, void *user,
                   struct compute_error *err);

#endif
