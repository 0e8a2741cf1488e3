/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include "clock.h"
#include "command.h"
#include "descriptors.h"
#include "end.h"
#include "loop.h"
#include "stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDLE_MAX 64        /* keepers that wait for work; more end at once */
#define IDLE_FOR_MS 5000   /* after which all but one end */
#define SPARE_AFTER_MS 10  /* of a command; a shorter one gives its own keeper back and needs no second */
#define SLACK_MS 8000      /* to end a command and report it: the grace, the kills, and some */
#define ORPHAN_EVERY_MS 20 /* between two rounds of KILL for what a killed keeper left */
#define ORPHAN_ROUNDS_MAX 250

enum use
{
  KEEPER_IDLE,
  KEEPER_BUSY,      /* its command's process lives, or is being ended with all that is its own */
  KEEPER_LINGERING, /* background children live */
  KEEPER_LOST       /* it was killed; its command waits until the orphans are gone */
};

struct keeper
{
  pid_t pid; /* 0: it has died */
  struct watch watch;
  enum use use;
  int gave_up;             /* what lingers cannot be ended */
  uint32_t owed;           /* ORDER_CANCEL or ORDER_STOP, when the socket had no room for it; 0: none */
  struct timer patience;   /* when it should have reported long ago */
  struct command *command; /* until it is answered */
  struct stream *streams;  /* of answered commands */
  int64_t idle_since_us;
  struct keeper *next;
};

static struct keeper *keepers; /* the idle ones last used come first */
static struct timer trim_timer;
static struct timer spare_timer;
static struct timer orphan_timer;
static int orphan_rounds;

/* ---- Making and ending keepers ----------------------------------------------------------------------------------- */

static void keeper_ready (struct watch *watch, uint32_t events);

/* It was stopped, or hangs in a file system that does not answer: so that a limit still holds, it is killed, which ends
 * its command too. */
static void
lose_patience (struct timer *timer)
{
  (void) kill (LOOP_OBJECT (struct keeper, patience, timer)->pid, SIGKILL);
}

static struct keeper *
fork_keeper (void)
{
  struct keeper *keeper = calloc (1, sizeof *keeper);
  int pair[2];

  if (keeper == NULL || socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    {
      free (keeper);
      return NULL;
    }
  keeper->watch = (struct watch){ .fd = pair[0], .ready = keeper_ready };
  keeper->patience = (struct timer){ .at_us = CLOCK_NEVER, .fire = lose_patience };
  keeper->pid = fork ();
  if (keeper->pid == 0)
    {
      descriptors_close_from (3, pair[1]);
      keeper_run (pair[1]);
    }
  (void) close (pair[1]);
  if (keeper->pid < 0 || loop_watch (&keeper->watch, EPOLLIN) != 0)
    {
      loop_close (&keeper->watch);
      free (keeper);
      return NULL;
    }
  loop_timer (&keeper->patience);
  keeper->next = keepers;
  keepers = keeper;
  return keeper;
}

static void
free_streams (struct keeper *keeper)
{
  struct stream *next;

  for (struct stream *stream = keeper->streams; stream != NULL; stream = next)
    {
      next = stream->next;
      stream_free (stream);
    }
  keeper->streams = NULL;
}

static void
unlink_keeper (const struct keeper *keeper)
{
  struct keeper **at = &keepers;

  while (*at != keeper)
    at = &(*at)->next;
  *at = keeper->next;
}

/* Forgets a keeper; one that lives ends when its socket is closed. */
static void
discard (struct keeper *keeper)
{
  unlink_keeper (keeper);
  free_streams (keeper);
  loop_close (&keeper->watch);
  loop_forget (&keeper->patience);
  free (keeper);
}

static struct keeper *
find_idle (void)
{
  struct keeper *keeper = keepers;

  while (keeper != NULL && keeper->use != KEEPER_IDLE)
    keeper = keeper->next;
  return keeper;
}

/* Ends the idle keepers that have not been needed for a while, or are too many; one stays. */
static void
trim (struct timer *timer)
{
  int64_t now = clock_us ();
  struct keeper *next;
  int idle = 0;

  for (struct keeper *keeper = keepers; keeper != NULL; keeper = next)
    {
      next = keeper->next;
      if (keeper->use != KEEPER_IDLE || idle++ == 0)
        continue;
      if (idle > IDLE_MAX || keeper->idle_since_us + IDLE_FOR_MS * 1000 <= now)
        discard (keeper);
      else
        timer->at_us = clock_after_ms (IDLE_FOR_MS);
    }
}

/* Nothing is left of its command: it comes to the front, so that those in use stay few. */
static void
become_idle (struct keeper *keeper)
{
  unlink_keeper (keeper);
  keeper->next = keepers;
  keepers = keeper;
  if (keeper->command != NULL)
    keeper->command->keeper = NULL;
  keeper->command = NULL;
  free_streams (keeper);
  keeper->use = KEEPER_IDLE;
  keeper->gave_up = 0;
  keeper->owed = 0;
  keeper->idle_since_us = clock_us ();
  if (trim_timer.at_us == CLOCK_NEVER)
    trim_timer.at_us = clock_after_ms (IDLE_FOR_MS);
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static void
take_report (struct keeper *keeper, const struct report *report)
{
  struct command *command = keeper->command;

  keeper->patience.at_us = CLOCK_NEVER;
  if (report->flags & REPORT_IDLE)
    become_idle (keeper);
  else
    {
      keeper->use = KEEPER_LINGERING;
      keeper->gave_up = (report->flags & REPORT_SURVIVORS) != 0;
    }
  if (report->kind == REPORT_ENDED)
    command_ended (command, report);
}

/* Returns 0, or -1 when no more will come. */
static int
take_reports (struct keeper *keeper)
{
  struct report report;
  ssize_t count;

  while ((count = recv (keeper->watch.fd, &report, sizeof report, MSG_DONTWAIT)) == (ssize_t) sizeof report)
    take_report (keeper, &report);
  return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* A signal that finds no room is lost among so many others; what ends a command goes as soon as there is some. */
static void
send_order (struct keeper *keeper, uint32_t kind, uint32_t number)
{
  const struct order order = { .kind = kind, .number = number };
  int full = send (keeper->watch.fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EAGAIN;

  if (kind == ORDER_SIGNAL)
    return;
  keeper->owed = full ? kind : 0;
  (void) loop_watch (&keeper->watch, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* The end of the socket alone says little: only when the keeper has been waited for are its orphans ours. */
static void
keeper_ready (struct watch *watch, uint32_t events)
{
  struct keeper *keeper = LOOP_OBJECT (struct keeper, watch, watch);

  (void) events;
  if (take_reports (keeper) != 0)
    (void) loop_watch (watch, 0);
  else if (keeper->owed != 0)
    send_order (keeper, keeper->owed, 0);
  else
    (void) loop_watch (watch, EPOLLIN);
}

/* ---- Killed keepers ---------------------------------------------------------------------------------------------- */

static int
is_keeper (pid_t pid)
{
  const struct keeper *keeper = keepers;

  while (keeper != NULL && keeper->pid != pid)
    keeper = keeper->next;
  return keeper != NULL;
}

/* The children of a killed keeper have become ours. Whose they were cannot be told any more, so all are ended, and then
 * the commands are answered that lost their keeper. */
static void
end_orphans (struct timer *timer)
{
  struct end_pass pass = end_signal_all (SIGKILL, is_keeper);
  struct keeper *next;

  pool_reap ();
  if (pass.sent > 0 && ++orphan_rounds < ORPHAN_ROUNDS_MAX)
    {
      timer->at_us = clock_after_ms (ORPHAN_EVERY_MS);
      return;
    }
  orphan_rounds = 0;
  for (struct keeper *keeper = keepers; keeper != NULL; keeper = next)
    {
      next = keeper->next;
      if (keeper->use != KEEPER_LOST)
        continue;
      command_lost (keeper->command);
      discard (keeper);
    }
}

static void
keeper_died (struct keeper *keeper)
{
  (void) take_reports (keeper);
  keeper->pid = 0;
  keeper->patience.at_us = CLOCK_NEVER;
  loop_close (&keeper->watch);
  if (keeper->use == KEEPER_IDLE)
    {
      discard (keeper);
      return;
    }
  orphan_timer.at_us = clock_us ();
  if (keeper->command != NULL)
    keeper->command->keeper = NULL;
  if (keeper->use == KEEPER_BUSY)
    keeper->use = KEEPER_LOST;
  else
    discard (keeper);
}

void
pool_reap (void)
{
  pid_t pid;

  while ((pid = waitpid (-1, NULL, WNOHANG | __WALL)) > 0)
    for (struct keeper *keeper = keepers; keeper != NULL; keeper = keeper->next)
      if (keeper->pid == pid)
        {
          keeper_died (keeper);
          break;
        }
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

/* The descriptors of an order, for one packet. */
struct cargo
{
  int fds[4];
  int count;
  int text_fd; /* -1: the text goes in the packet */
};

static int
hold_text (const char *text, size_t bytes)
{
  int fd = memfd_create ("command", MFD_CLOEXEC);

  while (fd >= 0 && bytes > 0)
    {
      ssize_t count = write (fd, text, bytes);

      if (count < 0)
        {
          (void) close (fd);
          return -1;
        }
      text += count;
      bytes -= (size_t) count;
    }
  return fd;
}

static int
send_start (const struct keeper *keeper, const struct order *order, const char *text, const struct cargo *cargo)
{
  union
  {
    char bytes[CMSG_SPACE (sizeof cargo->fds)];
    struct cmsghdr head;
  } control = { { 0 } };
  size_t fd_bytes = (size_t) cargo->count * sizeof (int);
  struct iovec parts[]
      = { { (void *) order, sizeof *order }, { (void *) text, cargo->text_fd < 0 ? order->text_bytes : 0 } };
  struct msghdr message
      = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE (fd_bytes) };

  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN (fd_bytes);
  memcpy (CMSG_DATA (&control.head), cargo->fds, fd_bytes);
  return sendmsg (keeper->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* A keeper that was killed unnoticed refuses; then it is the next one's turn. */
static int
give_to_keeper (struct command *command, const struct order *order, const char *text, const struct cargo *cargo)
{
  struct keeper *keeper;

  while ((keeper = find_idle ()) != NULL || (keeper = fork_keeper ()) != NULL)
    {
      if (send_start (keeper, order, text, cargo) == 0)
        {
          keeper->use = KEEPER_BUSY;
          keeper->command = command;
          if (order->timeout_ms > 0 && order->timeout_ms < INT64_MAX - SLACK_MS)
            keeper->patience.at_us = clock_after_ms (order->timeout_ms + SLACK_MS);
          command->keeper = keeper;
          return 0;
        }
      if (errno != EPIPE && errno != ECONNRESET)
        return -1;
      discard (keeper);
    }
  return -1;
}

int
pool_start (struct command *command, const struct order *order, const char *text, const int *fds,
            struct compute_error *err)
{
  struct cargo cargo = { { fds[0], fds[1] }, 2, -1 };
  int result;

  if (order->has_input)
    cargo.fds[cargo.count++] = fds[2];
  if (order->text_bytes > ORDER_TEXT_MAX)
    {
      cargo.text_fd = hold_text (text, order->text_bytes);
      if (cargo.text_fd < 0)
        return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot hold the command's text: %s", strerror (errno));
      cargo.fds[cargo.count++] = cargo.text_fd;
    }
  result = give_to_keeper (command, order, text, &cargo);
  if (result != 0)
    result = compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot start a keeper for the command: %s",
                                strerror (errno));
  if (cargo.text_fd >= 0)
    (void) close (cargo.text_fd);
  return result;
}

void
pool_order (struct keeper *keeper, enum order_kind kind, uint32_t number)
{
  int64_t patience = clock_after_ms (SLACK_MS);

  if (kind != ORDER_SIGNAL && patience < keeper->patience.at_us)
    keeper->patience.at_us = patience;
  send_order (keeper, kind, number);
}

void
pool_release (struct keeper *keeper, struct stream **streams)
{
  keeper->command = NULL;
  for (int i = 0; i < 2; i++)
    {
      stream_leave (streams[i]);
      streams[i]->next = keeper->streams;
      keeper->streams = streams[i];
      streams[i] = NULL;
    }
}

static void
make_spare (struct timer *timer)
{
  (void) timer;
  if (find_idle () == NULL)
    (void) fork_keeper ();
}

void
pool_prepare (void)
{
  if (keepers == NULL)
    (void) fork_keeper ();
  else if (spare_timer.at_us == CLOCK_NEVER && find_idle () == NULL)
    spare_timer.at_us = clock_after_ms (SPARE_AFTER_MS);
}

void
pool_open (void)
{
  trim_timer = (struct timer){ .at_us = CLOCK_NEVER, .fire = trim };
  orphan_timer = (struct timer){ .at_us = CLOCK_NEVER, .fire = end_orphans };
  spare_timer = (struct timer){ .at_us = CLOCK_NEVER, .fire = make_spare };
  loop_timer (&spare_timer);
  loop_timer (&trim_timer);
  loop_timer (&orphan_timer);
}

void
pool_stop (void)
{
  for (struct keeper *keeper = keepers; keeper != NULL; keeper = keeper->next)
    if (keeper->use == KEEPER_BUSY || keeper->use == KEEPER_LINGERING)
      {
        keeper->gave_up = 0;
        pool_order (keeper, ORDER_STOP, 0);
      }
}

int
pool_is_quiet (void)
{
  for (const struct keeper *keeper = keepers; keeper != NULL; keeper = keeper->next)
    if (keeper->use != KEEPER_IDLE && !keeper->gave_up)
      return 0;
  return orphan_timer.at_us == CLOCK_NEVER;
}

uint32_t
pool_close (void)
{
  struct end_pass pass = { 0 };
  int dirty = 0;

  for (const struct keeper *keeper = keepers; keeper != NULL; keeper = keeper->next)
    {
      dirty |= keeper->use != KEEPER_IDLE;
      if (keeper->pid > 0)
        (void) kill (keeper->pid, SIGKILL);
    }
  if (dirty)
    {
      pool_wait ();
      pass = end_signal_all (SIGKILL, NULL);
    }
  return pass.sent + pass.denied;
}

void
pool_wait (void)
{
  for (struct keeper *keeper = keepers; keeper != NULL; keeper = keeper->next)
    if (keeper->pid > 0)
      {
        (void) waitpid (keeper->pid, NULL, 0);
        keeper->pid = 0;
      }
}
