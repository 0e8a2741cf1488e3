/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_COMMAND_H
#define RUNNER_COMMAND_H

/* One START, from its frame to its EXIT. */

#include "input.h"
#include "keeper.h"
#include "stream.h"

struct session;
struct keeper;

struct command
{
  uint32_t id;
  struct session *session; /* NULL: its connection is closed, nobody wants to know */
  struct keeper *keeper;   /* NULL: nothing of the command is left */
  uint32_t kind;           /* enum start_kind */
  int64_t timeout_ms;
  int64_t output_limit_bytes;
  uint64_t window; /* how much more output the host takes */
  struct stream *streams[2];
  struct input input;
  uint64_t oom_kills; /* when it started */
  int ended;          /* report is there; what is in the pipes is still to be sent */
  struct report report;
  struct command *next;
};

/* Takes a START payload. Returns 0, also when the command could not be started (FAILED has been sent); or
 * COMPUTE_E_PROTOCOL when the payload is malformed. */
int command_start (struct session *session, uint32_t id, const unsigned char *payload, size_t count);

/* NULL: no such command of this connection. */
struct command *command_find (const struct session *session, uint32_t id);

/* STDIN and WINDOW frames. Return 0, or -1 when the host broke a rule. */
int command_input (struct command *command, const unsigned char *bytes, size_t count);
int command_open_window (struct command *command, uint64_t bytes);

/* For its keeper, if it has not ended. */
void command_order (struct command *command, enum order_kind kind, uint32_t number);

/* The connection's outbox has room again. */
void command_resume_all (struct session *session);

/* The connection is closed: ends what runs for it. */
void command_abandon_all (struct session *session);

/* How many are still to be answered, of all connections. */
int command_count (void);

/* From a stream: sends EXIT when all is read. May free the command. */
void command_go_on (struct command *command);

/* From the pool: the keeper's ENDED; the keeper's death. */
void command_ended (struct command *command, const struct report *report);
void command_lost (struct command *command);

#endif
