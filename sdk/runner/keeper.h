/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_KEEPER_H
#define RUNNER_KEEPER_H

/* A keeper is a process of its own that runs one command at a time and is the subreaper of all it starts, so that
 * "everything the command started" is exactly the keeper's descendants. The runner sends it orders and gets reports,
 * one packet each over a socket pair. Both ends are forks of one program, so the structs travel as they are. */

#include <compute/error.h>

enum order_kind
{
  ORDER_START = 1,
  ORDER_SIGNAL, /* number to the command's own process */
  ORDER_CANCEL, /* end the command; its background children of before live on if it has ended meanwhile */
  ORDER_STOP    /* end the command or what is left of it */
};

/* The longest text that goes inside a packet; a longer one goes in a memfd, passed as the last descriptor. */
#define ORDER_TEXT_MAX (64u * 1024)

/* ORDER_START carries the descriptors stdout, stderr, then stdin if has_input, then the text's if it is long. The text
 * is the workdir ("": stay), the words and the environment ("NAME=value"), each ended by NUL. */
struct order
{
  uint32_t kind;
  uint32_t number;
  uint32_t start_kind; /* enum start_kind */
  uint32_t mode;
  uint32_t has_input;
  uint32_t word_count;
  uint32_t env_count;
  uint32_t text_bytes;
  int64_t timeout_ms; /* 0: none */
};

/* ENDED: the command's own process, or all of it at a timeout or a cancel. GONE: after an ENDED with background
 * children, these have ended too. */
enum report_kind
{
  REPORT_ENDED = 1,
  REPORT_GONE
};

#define REPORT_IDLE 1u      /* nothing of the command is left; the keeper can take the next */
#define REPORT_SURVIVORS 2u /* something could not be ended */
#define REPORT_SIGNALLED 4u /* ORDER_SIGNAL was obeyed at least once */

struct report
{
  uint32_t kind;
  uint32_t flags;
  uint32_t outcome; /* EXITED (status tells more), TIMED_OUT, CANCELLED; NONE: it was not started, see error */
  int32_t status;   /* of wait() */
  struct compute_error error; /* code 0: none */
  uint64_t duration_us;
  uint64_t max_rss_bytes;
  uint64_t user_us;
  uint64_t sys_us;
};

/* The life of a keeper, in a child of the runner; socket_fd is its end of the pair. */
_Noreturn void keeper_run (int socket_fd);

#endif
