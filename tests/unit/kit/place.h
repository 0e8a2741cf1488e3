/* SPDX-License-Identifier: MIT */
#ifndef PLACE_H
#define PLACE_H

/* A real runner as a child, and what one command gave. */

#include <compute/runner.h>

#include <glib.h>

typedef struct
{
  struct compute_runner *runner;
  int64_t pid;
  char *workdir;
} Place;

Place *place_new (void);
Place *place_new_with_lease (guint lease_ms);
void place_free (Place *place); /* a dead runner, too */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Place, place_free)

/* Everything that came of one command. */
typedef struct
{
  int code; /* of the call */
  struct compute_error err;
  struct compute_result result;
  GString *out;
  GString *error_out;
  /* How the output was taken: */
  guint64 cancel_after;              /* output returns 1 from this many bytes on; 0: never */
  void (*on_output) (gpointer user); /* may be NULL */
  gpointer user;
  struct compute_call call; /* to be changed before the command */
} Run;

Run *run_new (void);
void run_free (Run *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Run, run_free)

void run_command (Run *run, Place *place, const struct compute_command *command, const struct compute_config *config);
void run_script (Run *run, Place *place, const char *script);

/* A script that must end with exit code 0. */
Run *run_well (Place *place, const char *script);

#define assert_exited(run, status)                                                                                     \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_assert_cmpstr ((run)->err.message, ==, "");                                                                      \
    g_assert_cmpint ((run)->code, ==, 0);                                                                              \
    g_assert_cmpuint ((run)->result.outcome, ==, COMPUTE_OUTCOME_EXITED);                                              \
    g_assert_cmpint ((run)->result.exit_code, ==, (status));                                                           \
  }                                                                                                                    \
  G_STMT_END

#define assert_out(run, text) g_assert_cmpmem ((run)->out->str, (run)->out->len, (text), strlen (text))

/* Polls until it holds; fails after ten seconds. */
#define wait_until(condition)                                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    gint64 wait_end = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;                                               \
                                                                                                                       \
    while (!(condition) && g_get_monotonic_time () < wait_end)                                                         \
      g_usleep (2000);                                                                                                 \
    g_assert_true (condition);                                                                                         \
  }                                                                                                                    \
  G_STMT_END

guint count_descriptors (void);

#endif
