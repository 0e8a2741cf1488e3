/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct call *
new_call (void)
{
  struct call *call = calloc (1, sizeof *call);

  if (call == NULL)
    return NULL;
  call->wake_fd = fd_above_stdio (eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (call->wake_fd < 0)
    {
      free (call);
      return NULL;
    }
  return call;
}

static void
call_free (struct call *call)
{
  writer_free (&call->frames);
  close (call->wake_fd);
  free (call);
}

/* Under lock. */
static struct call *
take_idle (struct compute_runner *runner)
{
  struct call *call = runner->idle;

  if (call != NULL)
    {
      runner->idle = call->next;
      runner->idle_count--;
    }
  return call;
}

/* Under lock. A number that no frame under way can be about: the one that was used longest ago. */
static uint32_t
new_id (struct compute_runner *runner)
{
  for (;;)
    {
      uint32_t id = ++runner->last_id;
      const struct call *other = runner->calls[id % BUCKETS];

      while (other != NULL && other->id != id)
        other = other->next;
      if (id != 0 && other == NULL)
        return id;
    }
}

/* Under lock. */
static void
insert (struct compute_runner *runner, struct call *call, int control)
{
  if (control)
    {
      call->id = 0;
      runner->control = call;
      return;
    }
  call->id = new_id (runner);
  call->next = runner->calls[call->id % BUCKETS];
  runner->calls[call->id % BUCKETS] = call;
}

int
call_open (struct compute_runner *runner, int control, struct call **ret_call, struct compute_error *err)
{
  struct call *call;
  int broken;

  pthread_mutex_lock (&runner->lock);
  call = take_idle (runner);
  pthread_mutex_unlock (&runner->lock);
  if (call == NULL && (call = new_call ()) == NULL)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot wait for the runner: %s", strerror (errno));
  call->caller = NULL;
  call->changed = 0;
  call->window = OUTPUT_WINDOW;
  call->input_window = 0;
  pthread_mutex_lock (&runner->lock);
  broken = runner->broken;
  insert (runner, call, control);
  pthread_mutex_unlock (&runner->lock);
  if (broken == 0)
    {
      *ret_call = call;
      return 0;
    }
  call_close (runner, call);
  return call_lost (runner, COMPUTE_E_LOST, "nothing was sent", err);
}

void
call_forget (struct compute_runner *runner, struct call *call)
{
  struct call **at = &runner->calls[call->id % BUCKETS];

  if (runner->control == call)
    runner->control = NULL;
  while (*at != NULL && *at != call)
    at = &(*at)->next;
  if (*at == call)
    *at = call->next;
}

void
call_close (struct compute_runner *runner, struct call *call)
{
  int keep;

  if (call->frames.room > QUEUE_KEPT_BYTES)
    writer_free (&call->frames);
  call->frames.count = 0;
  call->frames.failed = 0;
  pthread_mutex_lock (&runner->lock);
  call_forget (runner, call);
  keep = runner->idle_count < IDLE_MAX;
  if (keep)
    {
      call->next = runner->idle;
      runner->idle = call;
      runner->idle_count++;
    }
  pthread_mutex_unlock (&runner->lock);
  if (!keep)
    call_free (call);
}

void
calls_free (struct compute_runner *runner)
{
  struct call *call;

  while ((call = take_idle (runner)) != NULL)
    call_free (call);
}

void
call_wake (struct call *call)
{
  static const uint64_t one = 1;

  if (!call->asleep || call->woken)
    return;
  call->woken = 1;
  (void) !write (call->wake_fd, &one, sizeof one);
}

/* Under lock. */
static void
fall_asleep (struct compute_runner *runner, struct call *call)
{
  call->asleep = 1;
  call->woken = 0;
  call->prev_asleep = NULL;
  call->next_asleep = runner->asleep;
  if (runner->asleep != NULL)
    runner->asleep->prev_asleep = call;
  runner->asleep = call;
}

/* Under lock. */
static void
wake_up (struct compute_runner *runner, struct call *call)
{
  uint64_t count;

  if (call->woken)
    (void) !read (call->wake_fd, &count, sizeof count);
  call->asleep = 0;
  if (call->next_asleep != NULL)
    call->next_asleep->prev_asleep = call->prev_asleep;
  if (call->prev_asleep != NULL)
    call->prev_asleep->next_asleep = call->next_asleep;
  else
    runner->asleep = call->next_asleep;
}

/* Under lock. Nobody leads: has one of the sleepers do it, best one that has nothing else to do. */
static void
hand_on (struct compute_runner *runner)
{
  struct call *next = runner->asleep;

  if (runner->leader != NULL || next == NULL)
    return;
  for (struct call *call = next; call != NULL; call = call->next_asleep)
    if (!call->woken)
      next = call;
  call_wake (next);
}

/* The leader alone counts the silence, and only while it looks: a slow consumer is no silent runner. */
static void
mind_silence (struct compute_runner *runner)
{
  int64_t now = now_ms ();
  int ask = 0;

  pthread_mutex_lock (&runner->lock);
  if (runner->asked_ms == 0)
    {
      runner->asked_ms = now;
      ask = 1;
    }
  else if (now - runner->asked_ms >= SILENCE_MAX_MS - SILENCE_MS)
    break_connection (runner, COMPUTE_E_LOST, "the runner has not answered for %d s", SILENCE_MAX_MS / 1000);
  pthread_mutex_unlock (&runner->lock);
  if (ask)
    (void) send_frame (runner, FRAME_PING, 0, NULL, 0);
}

static int
time_left (int64_t deadline_ms, int most)
{
  int64_t left;

  if (deadline_ms == 0)
    return most;
  left = deadline_ms - now_ms ();
  return left <= 0 ? 0 : most >= 0 && left > most ? most : left > INT32_MAX ? INT32_MAX : (int) left;
}

/* One poll, as the leader where there is none. Called and left under lock. Returns the number of ready descriptors of
 * the caller's, or -1 when deadline_ms has come. */
static int
sleep_once (struct compute_runner *runner, struct call *call, struct pollfd *fds, unsigned fd_count,
            int64_t deadline_ms)
{
  struct pollfd all[4] = { { .fd = call->wake_fd, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
  int lead = runner->leader == NULL;
  int ready, mine = 0;

  if (lead)
    {
      runner->leader = call;
      all[1].fd = runner->read_fd;
    }
  for (unsigned i = 0; i < fd_count; i++)
    all[2 + i] = fds[i];
  fall_asleep (runner, call);
  pthread_mutex_unlock (&runner->lock);
  ready = poll (all, 2 + fd_count, time_left (deadline_ms, lead ? SILENCE_MS : -1));
  if (lead && ready == 0)
    mind_silence (runner);
  pthread_mutex_lock (&runner->lock);
  wake_up (runner, call);
  if (lead)
    {
      if (ready > 0 && all[1].revents != 0)
        receive (runner);
      runner->leader = NULL;
    }
  for (unsigned i = 0; i < fd_count; i++)
    {
      fds[i].revents = ready > 0 ? all[2 + i].revents : 0;
      mine += fds[i].revents != 0;
    }
  return mine > 0 ? mine : deadline_ms != 0 && now_ms () >= deadline_ms ? -1 : 0;
}

int
call_wait (struct compute_runner *runner, struct call *call, struct pollfd *fds, unsigned fd_count, int64_t deadline_ms,
           struct arrival *arrival)
{
  struct writer empty = arrival->frames;
  int result = 0;

  empty.count = 0;
  for (unsigned i = 0; i < fd_count; i++)
    fds[i].revents = 0;
  pthread_mutex_lock (&runner->lock);
  while (call->frames.count == 0 && !call->changed && runner->broken == 0)
    if (sleep_once (runner, call, fds, fd_count, deadline_ms) != 0)
      break;
  if (call->frames.count == 0)
    result = runner->broken;
  arrival->frames = call->frames;
  call->frames = empty;
  arrival->input_window = call->input_window;
  call->input_window = 0;
  call->changed = 0;
  hand_on (runner);
  pthread_mutex_unlock (&runner->lock);
  return result;
}

int
call_lost (struct compute_runner *runner, int code, const char *what, struct compute_error *err)
{
  char why[sizeof runner->why];

  pthread_mutex_lock (&runner->lock);
  memcpy (why, runner->why, sizeof why);
  pthread_mutex_unlock (&runner->lock);
  return compute_error_set (err, code, 0, "%s; %s", why[0] != '\0' ? why : "the runner has gone", what);
}
