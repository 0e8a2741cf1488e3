/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_PROVIDER_KIT_H
#define COMPUTE_PROVIDER_KIT_H

/*
 * What the providers here have in common, over the runner's client kit: what is said of an instance, connections to
 * runners, the table of instances of one open provider with the slots that it answers, settings, waits that a caller
 * can give up, and proofs of who an instance belongs to.
 */

#include <compute/runner.h>

#include <pthread.h>

/* ---- about.c: what is said of an instance ---- */

/* Fills in a new id, which starts with prefix, and all that is known before the start; config has a workdir. */
int describe (const char *prefix, const struct compute_config *config, struct compute_instance *about,
              struct compute_error *err);
int is_instance_id (const char *prefix, const char *id);
void cut_text (char *to, size_t room, const char *from);

/* Copies as much as the caller's struct has room for. */
void give_instance (struct compute_instance *to, const struct compute_instance *from);
int no_instance (const char *id, struct compute_error *err);
int not_running (const char *id, struct compute_error *err);

/* ---- patience.c: waiting for as long as the caller does ---- */

int cancel_fd (const struct compute_call *call); /* -1: none */
int is_cancelled (const struct compute_call *call);
int cancelled (struct compute_error *err); /* CANCELLED */

void patience_init (pthread_cond_t *changed);

/* Waits for the condition, which patience_init has made, but not long: whoever waits looks at is_cancelled in between.
 */
void patience_wait (pthread_cond_t *changed, pthread_mutex_t *lock);

/* ---- said.c: what a child says on its standard error, which goes to a file in memory: a pipe would have to be read
 * ---- */

int said_open (void); /* -1: none, which is no error */

/* Takes the last line that tells something: what went wrong comes last. Closes fd; room: at least 1. */
void said_take (int fd, char *text, size_t room);

/* ---- link.c ---- */

/* A connection to a runner, shared by the calls that use it. */
struct link
{
  struct compute_runner *runner;
  int64_t child;  /* what was started for it and has not been waited for; 0: nothing */
  int kill_child; /* it would not end with the connection */
  unsigned users; /* calls, and the instance while it runs; under the state's lock */
};

/* Starts the runner, or what leads to one, with these words; hello_ms: how long that may take (0: as runner.h). Errors:
 * ENGINE, with what the runner said on its standard error; CANCELLED; SYSTEM, NO_MEMORY. Whatever was started has ended
 * then. */
int link_start (const char *const *argv, uint32_t hello_ms, const struct compute_call *call, struct link **ret_link,
                struct compute_error *err);

/* Takes the descriptors. */
int link_open (const struct compute_runner_options *options, struct link **ret_link, struct compute_error *err);

/* Waits until the child has ended. */
void link_reap (struct link *link);
void link_close (struct link *link);

/* ---- instances.c: what one open provider knows ---- */

struct instance
{
  struct instance *next; /* newest first */
  struct link *link;     /* NULL once it has stopped */
  int was_shut_down;     /* remembered, but no more listed */
  struct compute_instance about;
};

/* How a provider reaches what is not in the table, or what only its engine knows. context is the provider's state. */
struct instances_ops
{
  /* Connects to a detached instance. Errors: NOT_FOUND, NOT_RUNNING, ENGINE. */
  int (*open) (void *context, const char *id, const struct compute_call *call, struct compute_instance *ret_about,
               struct link **ret_link, struct compute_error *err);
  int (*shut_down) (void *context, const char *id, const struct compute_call *call,
                    struct compute_error *err); /* a detached one */
  int (*status) (void *context, const char *id, const struct compute_call *call, struct compute_instance *ret_about,
                 struct compute_error *err);
  int (*list) (void *context, compute_instance_fn emit, void *user, const struct compute_call *call,
               struct compute_error *err);

  /* Removes what an owned instance, whose runner has ended, leaves in the engine; NULL: nothing is left. With it,
   * status and list tell of owned instances too: the engine knows better than the table. */
  int (*remove) (void *context, const char *id, const struct compute_call *call, struct compute_error *err);
};

struct instances
{
  const struct instances_ops *ops;
  void *context;
  pthread_mutex_t lock;
  struct instance *first;
  struct opening *openings; /* connections to detached instances under way */
  uint64_t opening_count;   /* of all that ever began */
  pthread_cond_t opened;    /* one of them has ended */
};

void instances_open (struct instances *table, const struct instances_ops *ops, void *context);

/* Remembers a new instance; takes the link. */
int instances_add (struct instances *table, const struct compute_instance *about, struct link *link,
                   struct compute_error *err);

/* The link of a running instance, to be given back with instances_leave. Errors: NOT_FOUND, NOT_RUNNING. */
int instances_enter (struct instances *table, const char *id, const struct compute_call *call, struct link **ret_link,
                     struct compute_error *err);
void instances_leave (struct instances *table, struct link *link);

int instances_shut_down (struct instances *table, const char *id, const struct compute_call *call,
                         struct compute_error *err);
int instances_status (struct instances *table, const char *id, const struct compute_call *call,
                      struct compute_instance *ret_about, struct compute_error *err);
int instances_list (struct instances *table, compute_instance_fn emit, void *user, const struct compute_call *call,
                    struct compute_error *err);

/* True when the table holds the instance and leaves it to status and list to tell of it. */
int instances_leave_telling (struct instances *table, const char *id);

/* Ends the owned ones. */
void instances_close (struct instances *table);

/* execute of provider.h, over the link of an instance. */
int instances_execute (struct instances *table, const char *id, const struct compute_command *command,
                       const struct compute_config *config, const struct compute_call *call,
                       struct compute_result *ret_result, struct compute_error *err);

/* ---- slots.c: what stands in a provider's table as it is. The provider's state has to start with its table of
 * instances. ---- */

int slot_shutdown (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                   struct compute_error *err);
int slot_list_instances (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                         const struct compute_call *call, struct compute_error *err);
int slot_get_status (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                     struct compute_instance *ret_instance, struct compute_error *err);

/* COMPUTE_FILES_ID. */
const void *slot_get_extension (const char *id);

/* ---- log.c ---- */

/* One line to the host application, cut where it is over 511 bytes; dropped where it has no log. */
COMPUTE_PRINTF (3, 4) void host_log (const struct compute_host *host, uint32_t level, const char *format, ...);

/* ---- setting.c ---- */

/* A setting's value, the caller's to free; a copy of fallback where there is none; NULL without memory. */
char *setting_dup (const struct compute_host *host, const char *key, const char *fallback);

/* UNAVAILABLE when path, the setting "runner.path", is no program. */
int setting_check_runner (const char *path, struct compute_error *err);

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

#endif
