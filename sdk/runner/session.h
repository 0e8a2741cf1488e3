/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_SESSION_H
#define RUNNER_SESSION_H

/* One connection of a host. */

#include "loop.h"
#include "outbox.h"
#include "protocol.h"

#include <compute/error.h>

struct session
{
  struct watch in;
  struct watch out; /* waits only while the outbox cannot be written */
  struct outbox outbox;
  size_t in_count;       /* of inbox */
  struct writer message; /* CONFIGURE or START put together from MORE frames */
  uint8_t message_type;  /* 0: none is under way */
  uint32_t message_id;
  int greeted;
  int64_t lease_ms; /* 0: none */
  struct timer lease;
  int wants_bye; /* SHUTDOWN came */
  int broken;    /* to be closed at the end of the round */
  void (*closed) (void);
  struct session *next;
  unsigned char inbox[2 * (FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX)];
};

/* Takes both descriptors (which must differ). closed is told when the connection has ended, whoever ended it. Returns
 * 0, or -1 with errno; the descriptors are closed then too. */
int session_open (int in_fd, int out_fd, void (*closed) (void));

/* Takes the payload. */
void session_frame (struct session *session, uint8_t type, uint32_t id, struct writer *payload);
void session_fail (struct session *session, uint32_t id, const struct compute_error *error);

int session_count (void);

/* The end of each round of the loop: writes what has come together, closes what is broken. */
void session_flush_all (void);

/* The runner's end, which closes and frees what is left: BYE to those who asked for it. */
void session_bye_all (uint32_t survivors);

#endif
