/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_CLIENT_H
#define COMPUTE_CLIENT_H

/*
 * The inside of the client kit. No thread of its own reads the pipe: of the calls that wait, one is the leader, reads
 * for all and puts each frame into the queue of the call it is for; when its own turn comes it leaves and wakes another
 * call to lead. So one lone caller pays no context switch at all.
 *
 * Two locks, never held together: lock for what is known about calls, write_lock for whole frames on the pipe.
 * Callbacks of the caller run under neither, and never while leading.
 */

#include <compute/runner.h>
#include "../protocol.h"

#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

#define OUTPUT_WINDOW (1024u * 1024)     /* sent ahead of the consumer, per command */
#define OUTPUT_WINDOW_STEP (256u * 1024) /* given back at a time */
#define RECEIVE_BYTES (128u * 1024)      /* at least one whole frame */
#define QUEUE_KEPT_BYTES (64u * 1024)    /* an idle record keeps no larger queue */
#define BUCKETS 64u
#define IDLE_MAX 64u                      /* records, each with a descriptor, kept for later calls */
#define HELLO_MS 10000                    /* default of hello_ms */
#define SILENCE_MS 10000                  /* a silent runner is asked for a sign of life after this */
#define SILENCE_MAX_MS 60000              /* and given up after this */
#define WRITE_STUCK_MS 10000              /* a runner that takes no input for so long is given up */
#define END_MS (COMPUTE_GRACE_MS + 10000) /* from CANCEL or SHUTDOWN to the answer */

/* One answer that is waited for. Everything but id is under the connection's lock. */
struct call
{
  uint32_t id;                       /* 0: about the connection */
  const struct compute_call *caller; /* once START was sent: what compute_runner_signal knows it by */
  struct call *next;                 /* in its bucket, or among the idle */
  struct call *prev_asleep, *next_asleep;
  int wake_fd; /* an eventfd, written to only while asleep */
  int asleep;
  int woken;
  int changed;          /* input_window has grown */
  struct writer frames; /* whole frames that came for it */
  uint64_t window;      /* of output, still open */
  uint64_t input_window;
};

struct compute_runner
{
  int read_fd;
  int write_fd; /* may equal read_fd */
  int write_is_socket;
  uint32_t lease_ms;
  int64_t pid; /* set before anyone else knows the connection */

  pthread_mutex_t write_lock;
  int64_t written_ms; /* under write_lock: when something was last sent */

  pthread_mutex_t control_lock; /* one question about the connection at a time */

  pthread_mutex_t lock; /* all below */
  struct call *calls[BUCKETS];
  struct call *control; /* the call with id 0, where there is one */
  struct call *leader;
  struct call *asleep; /* those in poll, the leader included */
  struct call *idle;
  uint32_t idle_count;
  uint32_t last_id;
  int64_t asked_ms; /* when a sign of life was asked for; 0: not */
  int64_t heard_ms; /* when something last came */
  int broken;       /* 0, or the code for calls under way */
  char why[160];
  unsigned char *in; /* RECEIVE_BYTES; used by whoever reads */
  size_t in_count;

  pthread_t pinger;
  pthread_cond_t pinger_stop; /* with lock */
  int pinger_runs;
  int closing;
};

/* descriptor.c */
int64_t now_ms (void); /* of the monotonic clock */

/* Closes a descriptor that may be -1; keeps errno. */
void close_fd (int fd);

/* The same descriptor, moved away from 0, 1 and 2; closes fd when that fails. Takes -1 too. */
int fd_above_stdio (int fd);

/* write(2) that never raises SIGPIPE in the process. */
ssize_t write_quietly (int fd, int is_socket, const void *bytes, size_t count);

/* send.c */

/* Sends whole frames. Returns 0, or -1 when the runner does not take them any more. */
int send_bytes (struct compute_runner *runner, const void *bytes, size_t count);
int send_frame (struct compute_runner *runner, uint8_t type, uint32_t id, const void *payload, uint32_t count);
int send_window (struct compute_runner *runner, uint32_t id, uint64_t bytes);

/* Adds a message to frames, cut into as many frames as it needs. */
void put_message (struct writer *frames, uint8_t type, uint32_t id, const struct writer *message);

/* receive.c; all under lock */

/* Reads what is there and hands it out. */
void receive (struct compute_runner *runner);

/* Declares the connection dead, once, with the code that calls under way get. */
COMPUTE_PRINTF (3, 4) void break_connection (struct compute_runner *runner, int code, const char *format, ...);

/* call.c */

/* A record that the connection knows; control: the one with id 0. LOST when the connection is dead already. */
int call_open (struct compute_runner *runner, int control, struct call **ret_call, struct compute_error *err);
void call_close (struct compute_runner *runner, struct call *call);
void call_wake (struct call *call);                                  /* under lock */
void call_forget (struct compute_runner *runner, struct call *call); /* under lock: no frame may come for it any more */

void calls_free (struct compute_runner *runner); /* the idle ones, at the end */

/* What call_wait found. */
struct arrival
{
  struct writer frames;  /* whole frames; freed or handed to the next wait by the caller */
  uint64_t input_window; /* taken out of the call's */
};

/**
 * Waits until frames or input window came for the call, one of the descriptors is ready (revents tells) or deadline_ms
 * has come (0: none). Returns 0; or the code of a connection that is dead, once all that had come was handed out.
 */
int call_wait (struct compute_runner *runner, struct call *call, struct pollfd *fds, unsigned fd_count,
               int64_t deadline_ms, struct arrival *arrival);

/* The error for a dead connection: what it was, and whether the command had been sent. */
int call_lost (struct compute_runner *runner, int code, const char *what, struct compute_error *err);

/* pinger.c */
int pinger_start (struct compute_runner *runner, struct compute_error *err);
void pinger_end (struct compute_runner *runner);

/* text.c */

/* Copies what a runner wrote for people: valid UTF-8 without control characters, cut to room with its NUL. */
void copy_text (char *to, size_t room, const char *from, size_t count);

/* start.c */
void put_text (struct writer *message, const char *text);

/* What CONFIGURE and START share: workdir and environment. */
void put_place (struct writer *message, const struct compute_config *config);

/* All of START but its words. */
void put_start (struct writer *message, enum start_kind kind, int input, uint32_t mode,
                const struct compute_config *config);

/* control.c */

/* A question about the connection. */
struct control
{
  uint8_t answer;    /* its frame type */
  uint32_t limit_ms; /* 0: none but the runner's silence */
  const char *what;  /* what a missing answer means */
  int cancel_fd;     /* 0 or negative: none */
};

/* Asks, one question at a time; FAILED becomes its error. The answer lies in arrival->frames, the caller's to free. */
int control_ask (struct compute_runner *runner, const struct writer *question, const struct control *control,
                 struct arrival *arrival, struct frame *ret_answer, struct compute_error *err);

/* run.c */

/* A command, a put or a get, from START to its last frame. */
struct run
{
  struct compute_runner *runner;
  struct call *call;
  int cancel_fd;        /* -1: none, or seen */
  struct writer frames; /* put together, to be sent */

  const unsigned char *input; /* what is left of it in memory; with input_fd -1 */
  uint64_t input_bytes;
  int input_fd;
  int input_open; /* its end has not been sent */
  uint64_t input_window;
  unsigned char *input_buffer; /* a frame of what was read from input_fd */
  int input_errno;             /* why it could not be read */

  int (*output) (void *user, uint32_t stream, const void *data, uint64_t bytes); /* NULL: dropped */
  void *user;
  uint64_t received[2];
  uint64_t owed; /* of the output window */

  int cancelled;
  int64_t deadline_ms; /* of the answer to CANCEL; 0: none */
  struct compute_result result;
};

/* Sends START and sees the command to its end. Returns 0 with run->result filled, or an error. */
int run_start (struct run *run, const struct compute_call *caller, const struct writer *message,
               struct compute_error *err);

/* The error that a FAILED frame says. */
int failure_error (const struct frame *frame, struct compute_error *err);

#endif
