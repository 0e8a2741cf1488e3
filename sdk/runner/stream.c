/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include "clock.h"
#include "command.h"
#include "drop.h"
#include "protocol.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DISCARD_MAX (1024u * 1024)
#define STEPS_MAX 4         /* in one go, for the sake of the others */
#define FLOOD (256u * 1024) /* so much since it was last slow */
#define LARGE_PIPE (1024 * 1024)
#define VISIT_EVERY_US 300
#define VISIT_WORTH (16u * 1024) /* less at a visit is slow */

enum step
{
  STEP_MORE,  /* something was read, there may be more */
  STEP_EMPTY, /* nothing is there now */
  STEP_WAIT,  /* the window is used up, or the outbox is full */
  STEP_END    /* nobody has the other end any more */
};

static uint64_t
smaller (uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* Less than was asked for means that the pipe is empty now, while the command lives; afterwards, every byte counts. */
static enum step
account (struct stream *stream, ssize_t count, uint64_t want)
{
  if (count == 0)
    return STEP_END;
  if (count < 0)
    return errno == EAGAIN || errno == EINTR ? STEP_EMPTY : STEP_END;
  stream->total += (uint64_t) count;
  stream->burst += (uint64_t) count;
  if (stream->left == UINT64_MAX)
    return (uint64_t) count < want ? STEP_EMPTY : STEP_MORE;
  stream->left -= (uint64_t) count;
  return STEP_MORE;
}

static enum step
discard_some (struct stream *stream)
{
  uint64_t want = smaller (stream->left, DISCARD_MAX);

  return account (stream, drop_bytes (stream->watch.fd, want), want);
}

static enum step
send_some (struct stream *stream)
{
  struct command *command = stream->command;
  uint64_t want = smaller (smaller (stream->left, stream->limit_left), FRAME_PAYLOAD_MAX);
  unsigned char *to;
  ssize_t count;
  enum step step;

  want = smaller (want, command->window);
  to = want > 0 ? outbox_space (&command->session->outbox) : NULL;
  if (to == NULL)
    return STEP_WAIT;
  count = read (stream->watch.fd, to, want);
  step = account (stream, count, want);
  if (count <= 0)
    return step;
  outbox_commit (&command->session->outbox, stream->frame_type, command->id, (size_t) count);
  command->window -= (uint64_t) count;
  stream->limit_left -= (uint64_t) count;
  return step;
}

static enum step
take_step (struct stream *stream)
{
  if (stream_is_done (stream))
    return STEP_WAIT;
  if (stream->command == NULL || stream->command->session == NULL || stream->limit_left == 0)
    return discard_some (stream);
  return send_some (stream);
}

/* ---- Those that produce a lot ------------------------------------------------------------------------------------ */

/* A stream in flood is given a large pipe and visited by the clock: to be woken by each small write would cost the
 * writer more than the writing. Not for everyone: a user's pipes share a budget. */

static struct stream *floods;
static void visit_floods (struct timer *timer);
static struct timer flood_timer = { .at_us = CLOCK_NEVER, .fire = visit_floods };

static void
begin_flood (struct stream *stream)
{
  static int known;

  if (!known)
    loop_timer (&flood_timer);
  known = 1;
  stream->floods = 1;
  stream->next_flood = floods;
  floods = stream;
  (void) fcntl (stream->watch.fd, F_SETPIPE_SZ, LARGE_PIPE);
  (void) loop_watch (&stream->watch, 0);
  if (flood_timer.at_us == CLOCK_NEVER)
    flood_timer.at_us = clock_us () + VISIT_EVERY_US;
}

static void
end_flood (struct stream *stream)
{
  struct stream **at = &floods;

  stream->burst = 0;
  if (!stream->floods)
    return;
  while (*at != stream)
    at = &(*at)->next_flood;
  *at = stream->next_flood;
  stream->floods = 0;
}

/* Reads what may be read, and sees to it that the stream is called again. */
static void
go_on (struct stream *stream)
{
  enum step step = STEP_MORE;

  for (int i = 0; step == STEP_MORE && i < STEPS_MAX; i++)
    step = take_step (stream);
  if (step == STEP_END || (step == STEP_EMPTY && stream->left != UINT64_MAX))
    stream->left = 0;
  if (step == STEP_WAIT || stream_is_done (stream))
    {
      end_flood (stream);
      (void) loop_watch (&stream->watch, 0);
    }
  else if (stream->burst >= FLOOD && !stream->floods)
    begin_flood (stream);
  else if (!stream->floods)
    (void) loop_watch (&stream->watch, EPOLLIN);
  if (step == STEP_END)
    loop_close (&stream->watch);
}

static void
visit (struct stream *stream)
{
  uint64_t before = stream->total;

  go_on (stream);
  if (stream->floods && stream->total - before < VISIT_WORTH) /* it has become slow, and is waited for again */
    {
      end_flood (stream);
      (void) loop_watch (&stream->watch, EPOLLIN);
    }
  if (stream->command != NULL)
    command_go_on (stream->command);
}

/* A visit may end any stream, so the search begins anew after each. */
static void
visit_floods (struct timer *timer)
{
  static unsigned round;
  struct stream *stream = floods;

  round++;
  while (stream != NULL)
    if (stream->visited != round)
      {
        stream->visited = round;
        visit (stream);
        stream = floods;
      }
    else
      stream = stream->next_flood;
  if (floods != NULL)
    timer->at_us = clock_us () + VISIT_EVERY_US;
}

static void
stream_ready (struct watch *watch, uint32_t events)
{
  struct stream *stream = LOOP_OBJECT (struct stream, watch, watch);

  (void) events;
  go_on (stream);
  if (stream->command != NULL)
    command_go_on (stream->command);
}

/* ---- Its life ---------------------------------------------------------------------------------------------------- */

void
stream_resume (struct stream *stream)
{
  if (stream->watch.events == 0 && !stream->floods && !stream_is_done (stream))
    go_on (stream);
}

void
stream_end (struct stream *stream)
{
  int count = 0;

  if (stream_is_done (stream))
    return;
  stream->left = ioctl (stream->watch.fd, FIONREAD, &count) == 0 && count > 0 ? (uint64_t) count : 0;
  go_on (stream);
}

int
stream_is_done (const struct stream *stream)
{
  return stream->left == 0;
}

void
stream_leave (struct stream *stream)
{
  stream->command = NULL;
  if (stream->watch.fd < 0)
    return;
  stream->left = UINT64_MAX;
  (void) loop_watch (&stream->watch, EPOLLIN);
}

void
stream_free (struct stream *stream)
{
  end_flood (stream);
  loop_close (&stream->watch);
  free (stream);
}

struct stream *
stream_new (struct command *command, uint8_t frame_type, int read_fd, uint64_t limit_bytes)
{
  struct stream *stream = calloc (1, sizeof *stream);

  if (stream == NULL)
    return NULL;
  stream->watch.ready = stream_ready;
  stream->watch.fd = read_fd;
  stream->command = command;
  stream->frame_type = frame_type;
  stream->limit_left = limit_bytes > 0 ? limit_bytes : UINT64_MAX;
  stream->left = UINT64_MAX;
  if (loop_watch (&stream->watch, EPOLLIN) == 0)
    return stream;
  free (stream);
  return NULL;
}
