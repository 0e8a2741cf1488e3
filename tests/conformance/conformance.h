/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

/**
 * The tests that every provider must pass, and what they share. COMPUTE_TEST_PROVIDER names the provider under test
 * ("local" where it is not set); cases.h lists the tests. A name such as T05 is the id of a fault that users of
 * comparable systems have met.
 */

#include <compute/compute.h>
#include <glib.h>
#include <pthread.h>
#include <sys/types.h>

#define SECOND 1000 /* of the milliseconds that timeouts are given in */
#define MEBI (1024 * 1024)

#define CASE(provider, group, name, seconds, how) void test_##group##_##name (void);
#include "cases.h"
#undef CASE

/* Fails the test, with the error's message, unless the call returned the wanted code. */
#define assert_code(call, wanted, error)                                                                               \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    int assert_code_got = (call);                                                                                      \
    if (assert_code_got != (wanted))                                                                                   \
      fail_code (__FILE__, __LINE__, #call, assert_code_got, (wanted), (error));                                       \
  }                                                                                                                    \
  G_STMT_END
void fail_code (const char *file, int line, const char *call, int got, int wanted,
                const struct compute_error *error) G_GNUC_NORETURN;

/* An error of that code whose message holds the text, which tells people what it is about. */
#define assert_error(call, wanted, error, text)                                                                        \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    assert_code (call, wanted, error);                                                                                 \
    assert_text ((error)->message, text);                                                                              \
  }                                                                                                                    \
  G_STMT_END
#define assert_text(whole, part)                                                                                       \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    if (strstr ((whole), (part)) == NULL)                                                                              \
      g_error ("%s:%d: '%s' does not hold '%s'", __FILE__, __LINE__, (whole), (part));                                 \
  }                                                                                                                    \
  G_STMT_END

/* ---- harness.c: the provider under test --------------------------------------------------------------------- */

const char *provider_name (void);
struct compute_registry *registry_get (void);
struct compute_handle *handle_open (void);

/* Everything that was logged so far. Free with g_free. */
char *log_text (void);

/* A folder of the host that goes with the test. */
const char *private_dir (void);

/* A number that no other process has on its command line: "sleep MARK" can be found by it. Free with g_free. */
char *mark_new (void);

/* Waits for what the condition says, at most so long. */
#define wait_until(condition, limit_ms)                                                                                \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    gint64 wait_end = g_get_monotonic_time () + (limit_ms) *G_GINT64_CONSTANT (1000);                                  \
    while (!(condition))                                                                                               \
      {                                                                                                                \
        if (g_get_monotonic_time () > wait_end)                                                                        \
          g_error ("%s:%d: not within %d ms: %s", __FILE__, __LINE__, (int) (limit_ms), #condition);                   \
        g_usleep (10000);                                                                                              \
      }                                                                                                                \
  }                                                                                                                    \
  G_STMT_END

/* ---- place.c: an instance, and commands in it
 * ------------------------------------------------------------------------ */

/* An instance with a workdir of its own, and the handle that made it. */
struct place
{
  struct compute_handle *handle;
  struct compute_instance instance;
  char *workdir;
};

/* What became of one command. */
struct run
{
  int code;
  struct compute_error error;
  struct compute_result result;
  GString *out;
  GString *err;
  gint64 wall_ms;
};

#define auto_place __attribute__ ((cleanup (place_close))) struct place
#define auto_run __attribute__ ((cleanup (run_clear))) struct run

/* config may be NULL, and its workdir too: then it is a fresh folder. */
struct place place_open (const struct compute_config *config);
/* The same in a handle that the caller closes; what provision returned. */
int place_provision (struct place *place, struct compute_handle *handle, const struct compute_config *config,
                     struct compute_error *err);
void place_close (struct place *place);
/* The path of a file in the workdir. Free with g_free. */
char *place_path (const struct place *place, const char *name);
/* Whether a process inside has the mark on its command line. */
gboolean place_runs (struct place *place, const char *mark);

struct run run_command (struct place *place, const struct compute_command *command,
                        const struct compute_config *config);
struct run run_script (struct place *place, const char *script, gint64 timeout_ms);
/* A script on a fresh instance, which is gone afterwards. */
struct run X (const char *script, gint64 timeout_ms);
void run_clear (struct run *run);
/* The two that collect: user is a struct run. */
int run_collect (void *user, uint32_t stream, const void *data, uint64_t bytes);
struct run run_new (void);

/* One row of the outcome table. */
#define assert_outcome(run, outcome_name, wanted_exit_code, wanted_signal)                                             \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    assert_code ((run).code, 0, &(run).error);                                                                         \
    g_assert_cmpstr (outcome_word ((run).result.outcome), ==, outcome_word (COMPUTE_OUTCOME_##outcome_name));          \
    g_assert_cmpint ((run).result.exit_code, ==, (wanted_exit_code));                                                  \
    g_assert_cmpint ((run).result.signal, ==, (wanted_signal));                                                        \
  }                                                                                                                    \
  G_STMT_END
#define assert_exited(run, wanted_exit_code) assert_outcome (run, EXITED, wanted_exit_code, 0)
#define assert_timed_out(run) assert_outcome (run, TIMED_OUT, -1, 0)
#define assert_cancelled(run) assert_outcome (run, CANCELLED, -1, 0)
const char *outcome_word (uint32_t outcome);

/* Exits with 0 and prints exactly that. */
#define assert_prints(run, text)                                                                                       \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    assert_exited (run, 0);                                                                                            \
    g_assert_cmpstr ((run).out->str, ==, (text));                                                                      \
  }                                                                                                                    \
  G_STMT_END

/* ---- job.c: a command in a thread
 * ------------------------------------------------------------------------------------ */

struct job
{
  struct place *place;
  struct compute_command command;
  struct compute_config config;
  int cancel_fd; /* an eventfd; job_cancel makes it readable */
  GThread *thread;
  pthread_mutex_t lock; /* of what follows; not GLib's, which ThreadSanitizer does not see */
  pthread_cond_t changed;
  gboolean done;
  gboolean held; /* the output callback does not return before job_release */
  struct run run;
};

struct job *job_start (struct place *place, const char *script, gint64 timeout_ms);
struct job *job_start_held (struct place *place, const char *script, gint64 timeout_ms);
/* Waits until the command has printed the text on its standard output. */
void job_wait_output (struct job *job, const char *text);
/* Waits for the end, not for ever; whether it came. */
gboolean job_wait_done (struct job *job, gint64 limit_ms);
void job_cancel (struct job *job);
void job_release (struct job *job);
/* Waits for the end, frees the job and gives its run to the caller. */
struct run job_end (struct job *job);

/* ---- process.c: processes of this machine
 * ---------------------------------------------------------------------------- */

/* Whether any process of this machine has the text in its command line. */
gboolean machine_runs (const char *text);
/* Every process below root, root left out. Free with g_array_unref; elements are pid_t. */
GArray *process_tree (pid_t root);
guint process_tree_size (pid_t root);
guint process_tree_zombies (pid_t root);
/* Runs and is no zombie. */
gboolean process_lives (pid_t pid);
gboolean processes_live (const GArray *pids);
char *process_name (pid_t pid);
guint process_descriptors (pid_t pid);
/* Largest resident memory so far, of a process and of all below it, in bytes. */
guint64 process_peak_memory (pid_t pid);
guint64 process_tree_peak_memory (pid_t root);
/* The process through which this host reaches its one instance. */
pid_t transport_pid (void);

/* As signal (), whose name is banned; calls are interrupted. */
void signal_set (int number, void (*handler) (int));

/* A host process of its own, which runs body. What body writes to its descriptor is read from *ret_fd. */
pid_t host_start (void (*body) (int fd, const void *data), const void *data, int *ret_fd);
/* Waits for its end, which has to be a good one. */
void host_wait (pid_t pid);
void host_kill (pid_t pid);
void read_whole (int fd, void *buffer, gsize bytes);
void write_whole (int fd, const void *buffer, gsize bytes);

#endif
