/* SPDX-License-Identifier: MIT */

/* What a host may send: the bytes of an input are what comes over the pipe. All of the runner is real but what would
 * touch the machine: folders are not made, and commands run nowhere. A script's first letter says what its command
 * does. */

#include "clock.h"
#include "command.h"
#include "folder.h"
#include "instance.h"
#include "loop.h"
#include "oom.h"
#include "pool.h"
#include "runner.h"
#include "session.h"

#include <assert.h>
#include <compute/provider.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLICE 5000      /* of an input, so that frames come in parts */
#define OUTPUT 300000   /* of a command that writes a lot */
#define ROUNDS_MAX 2000 /* more for one input would be an endless loop */

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static int stopping;

/* ---- In place of what touches the machine -------------------------------------------------------------------------
 */

int
folder_make (char *path, struct compute_error *err)
{
  return strlen (path) % 5 == 4 ? compute_error_set (err, COMPUTE_E_NOT_STARTED, 0, "no folder '%s'", path) : 0;
}

uint64_t
oom_kills (void)
{
  return 0;
}

void
runner_stop (void)
{
  stopping = 1;
}

int
runner_is_stopping (void)
{
  return stopping;
}

/* ---- In place of the pool -----------------------------------------------------------------------------------------
 */

struct keeper
{
  struct command *command; /* NULL: answered */
  char what;               /* the first letter of the command's first word */
  int fds[3];
  uint32_t to_write;
  int cancelled;
  struct stream *streams[2];
  struct keeper *next;
};

static struct keeper *keepers;

int
pool_start (struct command *command, const struct order *order, const char *text, const int *fds,
            struct compute_error *err)
{
  struct keeper *keeper;
  const char *word = text + strlen (text) + 1;

  if (*word == 'f')
    return compute_error_set (err, COMPUTE_E_SYSTEM, 0, "no keeper");
  keeper = calloc (1, sizeof *keeper);
  assert (keeper != NULL);
  keeper->command = command;
  keeper->what = *word;
  keeper->to_write = *word == 'w' ? OUTPUT : 10;
  for (int i = 0; i < 3; i++)
    keeper->fds[i] = i < 2 || order->has_input ? fcntl (fds[i], F_DUPFD_CLOEXEC, 3) : -1;
  for (int i = 0; i < 2; i++)
    (void) fcntl (keeper->fds[i], F_SETFL, O_NONBLOCK);
  keeper->next = keepers;
  keepers = keeper;
  command->keeper = keeper;
  return 0;
}

void
pool_order (struct keeper *keeper, enum order_kind kind, uint32_t number)
{
  assert (keeper->command != NULL);
  assert (kind != ORDER_SIGNAL || (number >= 1 && number < NSIG));
  keeper->cancelled |= kind == ORDER_CANCEL;
}

void
pool_release (struct keeper *keeper, struct stream **streams)
{
  for (int i = 0; i < 2; i++)
    {
      stream_leave (streams[i]);
      keeper->streams[i] = streams[i];
      streams[i] = NULL;
    }
  keeper->command = NULL;
}

static void
free_keeper (struct keeper *keeper)
{
  struct keeper **at = &keepers;

  while (*at != keeper)
    at = &(*at)->next;
  *at = keeper->next;
  for (int i = 0; i < 3; i++)
    if (keeper->fds[i] >= 0)
      (void) close (keeper->fds[i]);
  for (int i = 0; i < 2; i++)
    if (keeper->streams[i] != NULL)
      stream_free (keeper->streams[i]);
  free (keeper);
}

static void
write_and_read (struct keeper *keeper)
{
  static char bytes[4096];
  ssize_t count;

  for (int i = 0; i < 2 && keeper->to_write > 0; i++)
    {
      count = write (keeper->fds[i], bytes, keeper->to_write < sizeof bytes ? keeper->to_write : sizeof bytes);
      keeper->to_write -= count > 0 ? (uint32_t) count : 0;
    }
  if (keeper->fds[2] >= 0 && keeper->what != 'n' && fcntl (keeper->fds[2], F_SETFL, O_NONBLOCK) == 0)
    (void) read (keeper->fds[2], bytes, sizeof bytes);
}

/* A little of a command's life. Ends it when it has written all, was cancelled, or force says so. */
static void
live (struct keeper *keeper, int force)
{
  struct report report = { .kind = REPORT_ENDED, .outcome = COMPUTE_OUTCOME_EXITED, .error = COMPUTE_ERROR_INIT };
  struct command *command = keeper->command;
  char what = keeper->what;

  write_and_read (keeper);
  if (command == NULL)
    {
      if (force)
        free_keeper (keeper);
      return;
    }
  if (command->ended || (!keeper->cancelled && !force && (keeper->to_write > 0 || keeper->what == 's')))
    return;
  report.outcome = keeper->cancelled ? COMPUTE_OUTCOME_CANCELLED : COMPUTE_OUTCOME_EXITED;
  if (what == 'e')
    (void) compute_error_set (&report.error, COMPUTE_E_NOT_STARTED, 0, "no shell");
  if (what == 'b') /* background children stay */
    {
      command_ended (command, &report);
      return;
    }
  command->keeper = NULL;
  free_keeper (keeper);
  report.flags = REPORT_IDLE;
  if (what == 'l')
    command_lost (command);
  else
    command_ended (command, &report);
}

static void
live_all (int force)
{
  struct keeper *next;

  for (struct keeper *keeper = keepers; keeper != NULL; keeper = next)
    {
      next = keeper->next;
      live (keeper, force);
    }
}

/* ---- The host -----------------------------------------------------------------------------------------------------
 */

static int host_fd;
static unsigned char heard[4 * FRAME_PAYLOAD_MAX];
static size_t heard_count;

/* What the runner says has to be frames, whatever it was told. */
static void
check_frames (void)
{
  struct frame frame;
  size_t at = 0;
  int result;

  while ((result = frame_parse (heard + at, heard_count - at, &frame)) > 0)
    {
      assert (frame.type >= FRAME_WELCOME && frame.type <= FRAME_PONG && frame.flags == 0);
      assert ((frame.type != FRAME_STDOUT && frame.type != FRAME_STDERR) || frame.length > 0);
      assert (frame.type != FRAME_EXIT || frame.length == 80);
      at += FRAME_HEADER_BYTES + frame.length;
    }
  assert (result == 0);
  heard_count -= at;
  memmove (heard, heard + at, heard_count);
}

static void
listen_to_runner (void)
{
  ssize_t count;

  while ((count = recv (host_fd, heard + heard_count, sizeof heard - heard_count, MSG_DONTWAIT)) > 0)
    {
      heard_count += (size_t) count;
      check_frames ();
    }
}

static void
wake (struct timer *timer)
{
  (void) timer; /* so that a round of the loop waits for nothing */
}

static struct timer tick = { .at_us = CLOCK_NEVER, .fire = wake };

static void
round_of_all (int force)
{
  tick.at_us = clock_us ();
  loop_round ();
  session_flush_all ();
  live_all (force);
  listen_to_runner ();
}

static void
open_once (void)
{
  static int opened;
  sigset_t none;

  if (opened)
    return;
  opened = 1;
  (void) clearenv (); /* the same here as anywhere */
  (void) setenv ("BASE", "1", 1);
  assert (loop_open (NULL) == 0);
  sigemptyset (&none);
  (void) sigprocmask (SIG_SETMASK, &none, NULL); /* libFuzzer has its own use for them */
  (void) signal (SIGPIPE, SIG_IGN);
  loop_timer (&tick);
}

static void
connect_host (void)
{
  int pair[2];
  int copy;

  assert (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  host_fd = pair[0];
  heard_count = 0;
  assert (fcntl (pair[1], F_SETFL, O_NONBLOCK) == 0);
  copy = fcntl (pair[1], F_DUPFD_CLOEXEC, 3);
  assert (session_open (pair[1], copy, NULL) == 0);
}

static void
say_all (const uint8_t *data, size_t size)
{
  while (size > 0 && session_count () > 0)
    {
      size_t slice = size < SLICE ? size : SLICE;
      ssize_t count = send (host_fd, data, slice, MSG_DONTWAIT | MSG_NOSIGNAL);

      data += count > 0 ? count : 0;
      size -= count > 0 ? (size_t) count : 0;
      round_of_all (0);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct compute_error error = COMPUTE_ERROR_INIT;
  int rounds = 0;

  open_once ();
  stopping = 0;
  assert (instance_open (&error) == 0);
  connect_host ();
  say_all (data, size);
  for (int i = 0; i < 10; i++)
    round_of_all (0);
  (void) shutdown (host_fd, SHUT_WR);
  while ((session_count () > 0 || command_count () > 0 || keepers != NULL) && rounds++ < ROUNDS_MAX)
    round_of_all (1);
  assert (rounds < ROUNDS_MAX);
  (void) close (host_fd);
  instance_close ();
  return 0;
}
