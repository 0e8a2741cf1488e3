/* SPDX-License-Identifier: MIT */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include <cjson/cJSON.h>
#include <compute/compute.h>
#include <glib.h>

/**
 * record.h: the captures on record, HOME/.praisonai/environments/registry.json, which is shared with the PraisonAI
 * package for Python: a JSON object of capture keys, each with backend, ref, definition, created_at and last_used
 * (seconds since 1970). What else an entry or the file holds stays as it is. Writers take turns (flock on
 * registry.json.lock), and the file is always whole: it is replaced, never written.
 */

/* Gets a log line about what was found and set aside. */
typedef void (*record_log_fn) (void *context, const char *line);

/* Reads without waiting for anyone. A file that is not there is an empty record; so is a torn one, which the next
 * change sets aside. The caller deletes *ret_record. Errors: DENIED, SYSTEM, INVALID (too large). */
int record_read (cJSON **ret_record, struct compute_error *err);

/* What to do to the record; false: nothing after all, and nothing is written. */
typedef gboolean (*record_change_fn) (void *user, cJSON *record);

/* Changes the record as it is when it is this caller's turn. A torn or foreign file is set aside, and log hears of it.
 * Errors: as above; BUSY, when another program holds the turn for too long. */
int record_change (record_change_fn change, void *user, record_log_fn log, void *context, struct compute_error *err);

/* One process, and one thread of it, at a time has the turn of a key. */
struct key_lock
{
  int fd; /* -1: not held */
};

/* Waits for its turn until cancel_fd is readable (-1: no end), and calls on_wait once when there is a wait. Errors:
 * CANCELLED, DENIED, SYSTEM. */
int key_lock_take (struct key_lock *lock, const char *key, int cancel_fd, void (*on_wait) (void *user), void *user,
                   struct compute_error *err);

/* Takes it only when nobody has it: BUSY. */
int key_lock_try (struct key_lock *lock, const char *key, struct compute_error *err);
void key_lock_release (struct key_lock *lock);

/* Now, in seconds since 1970. */
double record_now (void);

#endif
