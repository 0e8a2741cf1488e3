/* SPDX-License-Identifier: MIT */
#include "session.h"

#include "clock.h"
#include "command.h"
#include "instance.h"
#include "runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LAST_WORDS_MS 1000 /* how long the runner's end waits for a host to read */

static struct session *sessions;

void
session_frame (struct session *session, uint8_t type, uint32_t id, struct writer *payload)
{
  session->outbox.failed |= payload->failed;
  outbox_frame (&session->outbox, type, id, payload->bytes, payload->count);
  writer_free (payload);
}

void
session_fail (struct session *session, uint32_t id, const struct compute_error *error)
{
  unsigned char array[64];
  struct writer payload = WRITER_ON (array);

  writer_u32 (&payload, (uint32_t) error->code);
  writer_u32 (&payload, (uint32_t) error->sys_errno);
  writer_string (&payload, error->message, strlen (error->message));
  session_frame (session, FRAME_FAILED, id, &payload);
}

static void
close_session (struct session *session)
{
  struct session **at = &sessions;
  void (*closed) (void) = session->closed;

  while (*at != session)
    at = &(*at)->next;
  *at = session->next;
  command_abandon_all (session);
  loop_close (&session->in);
  loop_close (&session->out);
  loop_forget (&session->lease);
  outbox_free (&session->outbox);
  writer_free (&session->message);
  free (session);
  if (closed != NULL)
    closed ();
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

/* The host broke a rule: says which, and ends the connection. Returns -1. */
static int
broken (struct session *session, const char *rule)
{
  struct compute_error error = COMPUTE_ERROR_INIT;

  (void) compute_error_set (&error, COMPUTE_E_PROTOCOL, 0, "%s", rule);
  session_fail (session, 0, &error);
  session->broken = 1;
  return -1;
}

static void
welcome (struct session *session)
{
  unsigned char array[64];
  struct writer payload = WRITER_ON (array);

  writer_bytes (&payload, PROTOCOL_MAGIC, 4);
  writer_u32 (&payload, PROTOCOL_VERSION);
  writer_u32 (&payload, (uint32_t) getpid ());
  writer_u8 (&payload, access ("/bin/sh", X_OK) == 0);
  writer_u8 (&payload, instance.configured != 0);
  writer_u8 (&payload, 0);
  writer_u8 (&payload, 0);
  session_frame (session, FRAME_WELCOME, 0, &payload);
}

static int
on_hello (struct session *session, const struct frame *frame)
{
  uint32_t version;
  struct reader reader;

  reader_init (&reader, frame->payload, frame->length);
  if (session->greeted || frame->length != 12 || memcmp (frame->payload, PROTOCOL_MAGIC, 4) != 0)
    return broken (session, session->greeted ? "HELLO came a second time" : "malformed HELLO");
  (void) reader_u32 (&reader);
  version = reader_u32 (&reader);
  session->lease_ms = reader_u32 (&reader);
  session->greeted = 1;
  welcome (session);
  session->broken = version != PROTOCOL_VERSION;
  return session->broken ? -1 : 0;
}

static int
on_configure (struct session *session, const unsigned char *payload, size_t count)
{
  struct compute_error error = COMPUTE_ERROR_INIT;
  struct writer none = { 0 };
  int result = instance_configure (payload, count, &error);

  if (result == COMPUTE_E_PROTOCOL)
    return broken (session, error.message);
  if (result != 0)
    session_fail (session, 0, &error);
  else
    session_frame (session, FRAME_CONFIGURED, 0, &none);
  return 0;
}

static int
on_message (struct session *session, uint8_t type, uint32_t id, const unsigned char *payload, size_t count)
{
  if (type == FRAME_CONFIGURE)
    return id == 0 ? on_configure (session, payload, count) : broken (session, "CONFIGURE with an id");
  if (id == 0 || command_find (session, id) != NULL)
    return broken (session, id == 0 ? "START without an id" : "START with an id that is in use");
  return command_start (session, id, payload, count) == 0 ? 0 : broken (session, "malformed START");
}

/* A CONFIGURE or START, or a part of one. */
static int
on_message_part (struct session *session, const struct frame *frame)
{
  struct writer *message = &session->message;
  int result;

  if (session->message_type == 0 && (frame->flags & FRAME_MORE) == 0)
    return on_message (session, frame->type, frame->id, frame->payload, frame->length);
  if (session->message_type != 0 && (frame->type != session->message_type || frame->id != session->message_id))
    return broken (session, "another CONFIGURE or START between the parts of one");
  if (message->count + frame->length > FRAME_MESSAGE_MAX)
    return broken (session, "a CONFIGURE or START of more than 64 MiB");
  session->message_type = frame->type;
  session->message_id = frame->id;
  writer_bytes (message, frame->payload, frame->length);
  if (message->failed)
    return broken (session, "no memory for a CONFIGURE or START of this size");
  if (frame->flags & FRAME_MORE)
    return 0;
  session->message_type = 0;
  result = on_message (session, frame->type, frame->id, message->bytes, message->count);
  writer_free (message);
  return result;
}

/* A frame about a command; one that has ended meanwhile is no fault of the host's. */
static int
on_command_frame (struct session *session, const struct frame *frame)
{
  struct command *command = command_find (session, frame->id);
  struct reader reader;
  uint64_t number = 0;

  reader_init (&reader, frame->payload, frame->length);
  if (frame->type == FRAME_WINDOW)
    number = reader_u64 (&reader);
  else if (frame->type == FRAME_SIGNAL)
    number = reader_u32 (&reader);
  if (frame->type != FRAME_STDIN && !reader_done (&reader))
    return broken (session, "a frame's payload has the wrong size");
  if (frame->type == FRAME_SIGNAL && (number < 1 || number >= NSIG))
    return broken (session, "SIGNAL with a number that is no signal");
  if (command == NULL)
    return 0;
  switch (frame->type)
    {
    case FRAME_STDIN:
      return command_input (command, frame->payload, frame->length) == 0
                 ? 0
                 : broken (session, "STDIN past its window or end");
    case FRAME_STDIN_END:
      return input_end (&command->input) == 0 ? 0 : broken (session, "STDIN_END twice");
    case FRAME_WINDOW:
      return command_open_window (command, number) == 0 ? 0 : broken (session, "WINDOW past 2^64");
    case FRAME_SIGNAL:
      command_order (command, ORDER_SIGNAL, (uint32_t) number);
      return 0;
    default:
      command_order (command, ORDER_CANCEL, 0);
      return 0;
    }
}

static int
on_frame (struct session *session, const struct frame *frame)
{
  struct writer none = { 0 };

  if (!session->greeted && frame->type != FRAME_HELLO)
    return broken (session, "the first frame is not HELLO");
  if ((frame->flags & FRAME_MORE) != 0 && frame->type != FRAME_CONFIGURE && frame->type != FRAME_START)
    return broken (session, "MORE on a frame that cannot have it");
  switch (frame->type)
    {
    case FRAME_HELLO:
      return on_hello (session, frame);
    case FRAME_CONFIGURE:
    case FRAME_START:
      return on_message_part (session, frame);
    case FRAME_STDIN:
    case FRAME_STDIN_END:
    case FRAME_WINDOW:
    case FRAME_SIGNAL:
    case FRAME_CANCEL:
      return on_command_frame (session, frame);
    case FRAME_PING:
      session_frame (session, FRAME_PONG, 0, &none);
      return frame->length == 0 ? 0 : broken (session, "PING with a payload");
    case FRAME_SHUTDOWN:
      session->wants_bye = 1;
      runner_stop ();
      return frame->length == 0 ? 0 : broken (session, "SHUTDOWN with a payload");
    default:
      return broken (session, "a frame of unknown type");
    }
}

/* ---- Reading and writing ----------------------------------------------------------------------------------------- */

/* Obeys every whole frame in the inbox and keeps the rest. Returns 0, or -1 when the connection is to end. */
static int
take_frames (struct session *session)
{
  struct frame frame;
  size_t at = 0;
  int result;

  while ((result = frame_parse (session->inbox + at, session->in_count - at, &frame)) > 0)
    {
      if (on_frame (session, &frame) != 0)
        return -1;
      if (session->lease_ms > 0)
        session->lease.at_us = clock_after_ms (session->lease_ms);
      at += FRAME_HEADER_BYTES + frame.length;
    }
  if (result < 0)
    return broken (session, "a frame with a malformed header");
  session->in_count -= at;
  memmove (session->inbox, session->inbox + at, session->in_count);
  return 0;
}

static void
session_readable (struct watch *watch, uint32_t events)
{
  struct session *session = LOOP_OBJECT (struct session, in, watch);
  ssize_t count = read (watch->fd, session->inbox + session->in_count, sizeof session->inbox - session->in_count);

  (void) events;
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (count <= 0)
    close_session (session);
  else
    {
      session->in_count += (size_t) count;
      if (take_frames (session) != 0)
        (void) loop_watch (&session->in, 0);
    }
}

static void
session_writable (struct watch *watch, uint32_t events)
{
  (void) watch; /* the end of the round flushes */
  (void) events;
}

/* No sign of life from the host for as long as it had promised one. */
static void
lease_over (struct timer *timer)
{
  close_session (LOOP_OBJECT (struct session, lease, timer));
}

int
session_open (int in_fd, int out_fd, void (*closed) (void))
{
  struct session *session = calloc (1, sizeof *session);
  int saved;

  if (session == NULL)
    {
      (void) close (in_fd);
      (void) close (out_fd);
      return -1;
    }
  session->in = (struct watch){ .fd = in_fd, .ready = session_readable };
  session->out = (struct watch){ .fd = out_fd, .ready = session_writable };
  session->lease = (struct timer){ .at_us = CLOCK_NEVER, .fire = lease_over };
  session->closed = closed;
  session->next = sessions;
  sessions = session;
  loop_timer (&session->lease);
  if (loop_watch (&session->in, EPOLLIN) == 0)
    return 0;
  saved = errno;
  session->closed = NULL;
  close_session (session);
  errno = saved;
  return -1;
}

/* Output that had to wait for room is read after the write, and goes out as soon as the host takes more. */
static void
flush (struct session *session)
{
  struct outbox *outbox = &session->outbox;

  if (outbox_flush (outbox, session->out.fd) != 0 || outbox->failed || session->broken)
    {
      close_session (session);
      return;
    }
  if (outbox->starved)
    {
      outbox->starved = 0;
      command_resume_all (session);
    }
  (void) loop_watch (&session->out, outbox->count > 0 ? EPOLLOUT : 0);
}

void
session_flush_all (void)
{
  struct session *next;

  for (struct session *session = sessions; session != NULL; session = next)
    {
      next = session->next;
      if (session->outbox.count > 0 || session->outbox.failed || session->broken)
        flush (session);
    }
}

int
session_count (void)
{
  int count = 0;

  for (const struct session *session = sessions; session != NULL; session = session->next)
    count++;
  return count;
}

void
session_bye_all (uint32_t survivors)
{
  for (struct session *session = sessions; session != NULL; session = session->next)
    {
      unsigned char array[64];
      struct writer payload = WRITER_ON (array);
      struct pollfd poll_fd = { .fd = session->out.fd, .events = POLLOUT };

      writer_u32 (&payload, survivors);
      if (session->wants_bye)
        session_frame (session, FRAME_BYE, 0, &payload);
      while (outbox_flush (&session->outbox, session->out.fd) == 0 && session->outbox.count > 0
             && poll (&poll_fd, 1, LAST_WORDS_MS) > 0)
        ;
    }
}
