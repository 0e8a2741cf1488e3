/* SPDX-License-Identifier: MIT */
#ifndef LOCAL_H
#define LOCAL_H

/*
 * The local provider: commands run on this machine, with the rights of this process. An instance is a runner and what
 * it started. An owned one's runner is a child on a pipe and ends with this process; a detached one's is a daemon with
 * a socket in the run folder, there for every process of the user.
 */

#include <provider/kit.h>

struct compute_provider_state
{
  struct instances instances; /* first, for the slots of the kit */
  const struct compute_host *host;
  char *runner_path; /* "" when none is known */
};

#define ID_PREFIX "local-"

/* ---- check.c ---- */

/* Refuses what this provider cannot honour. */
int check_provision (const struct compute_config *config, struct compute_error *err);
int check_user (const char *user, struct compute_error *err);

/* UNAVAILABLE with what keeps commands from running here: no runner, no shell. */
int check_available (const struct compute_provider_state *state, struct compute_error *err);

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

extern const struct instances_ops detached_ops;

#endif
