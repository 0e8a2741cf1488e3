/* SPDX-License-Identifier: MIT */
#include "keeper.h"

#include "clock.h"
#include "end.h"
#include "launch.h"

#include <compute/provider.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_EVERY_MS 20   /* between two rounds of KILL */
#define KILL_FOR_MS 5000   /* after which what still lives is a survivor */
#define KILL_IN_VAIN_MAX 5 /* rounds that could signal nobody, although somebody lives */

enum state
{
  IDLE,        /* no command */
  RUNNING,     /* its own process lives */
  TERMINATING, /* TERM was sent, the grace runs */
  KILLING,     /* KILL is sent again and again */
  LINGERING,   /* its own process has ended, background children live */
  STATES
};

enum event
{
  STARTED,
  MAIN_ENDED,
  ALL_GONE,
  DEADLINE,
  CANCEL,
  STOP,
  RUNNER_GONE,
  EVENTS
};

struct supervisor
{
  int socket_fd; /* -1: the runner is gone */
  enum state state;
  int64_t deadline_us; /* of the state; CLOCK_NEVER: none */

  pid_t main_pid; /* 0: it has ended and was waited for */
  int all_gone;
  int reported; /* ENDED was */
  struct launch launch;
  int64_t start_us;
  int64_t kill_until_us;
  int kills_in_vain;
  struct report report; /* of the command, as far as it is known */
  struct child_failure *failure;
};

/* ---- The table: what each event does in each state --------------------------------------------------------------- */

/* Tells the runner. The write ends of the command's output are closed only now: their hang-up must not wake the runner
 * before this does. */
static void
send_report (struct supervisor *self, uint32_t kind)
{
  self->report.kind = kind;
  self->report.flags &= ~REPORT_IDLE;
  self->report.flags |= self->all_gone ? REPORT_IDLE : 0;
  self->report.duration_us = (uint64_t) (clock_us () - self->start_us);
  if (self->socket_fd >= 0)
    (void) send (self->socket_fd, &self->report, sizeof self->report, MSG_NOSIGNAL);
  self->reported = 1;
  launch_free (&self->launch);
}

static enum state
on_started (struct supervisor *self)
{
  (void) self;
  return RUNNING;
}

static enum state
on_main_ended (struct supervisor *self)
{
  struct report *report = &self->report;

  launch_explain (&self->launch, self->failure, report->status, &report->error);
  report->outcome = report->error.code == 0 ? COMPUTE_OUTCOME_EXITED : COMPUTE_OUTCOME_NONE;
  self->deadline_us = CLOCK_NEVER;
  send_report (self, REPORT_ENDED);
  return LINGERING;
}

static enum state
begin_end (struct supervisor *self)
{
  self->deadline_us = clock_after_ms (COMPUTE_GRACE_MS);
  if (end_signal_all (SIGTERM, NULL).blind && self->main_pid > 0)
    (void) kill (-self->main_pid, SIGTERM);
  return TERMINATING;
}

static enum state
on_deadline_running (struct supervisor *self)
{
  self->report.outcome = COMPUTE_OUTCOME_TIMED_OUT;
  return begin_end (self);
}

static enum state
on_cancel_running (struct supervisor *self)
{
  self->report.outcome = COMPUTE_OUTCOME_CANCELLED;
  return begin_end (self);
}

/* Everything has ended, or has been given up. */
static void
finish (struct supervisor *self)
{
  self->deadline_us = CLOCK_NEVER;
  send_report (self, self->reported ? REPORT_GONE : REPORT_ENDED);
}

static enum state
on_all_gone (struct supervisor *self)
{
  finish (self);
  return IDLE;
}

/* The report of the command's end already said that nothing was left, unless children lived on. */
static enum state
on_all_gone_lingering (struct supervisor *self)
{
  if ((self->report.flags & REPORT_IDLE) == 0)
    finish (self);
  return IDLE;
}

/* What cannot be ended is told, never passed over in silence. */
static enum state
give_up (struct supervisor *self)
{
  self->report.flags |= REPORT_SURVIVORS;
  if (self->socket_fd < 0)
    _exit (1);
  finish (self);
  return LINGERING;
}

static enum state
kill_round (struct supervisor *self)
{
  struct end_pass pass = end_signal_all (SIGKILL, NULL);

  if (pass.blind && self->main_pid > 0)
    (void) kill (-self->main_pid, SIGKILL);
  self->kills_in_vain = pass.sent > 0 ? 0 : self->kills_in_vain + 1;
  if (self->kills_in_vain > KILL_IN_VAIN_MAX || clock_us () > self->kill_until_us)
    return give_up (self);
  self->deadline_us = clock_after_ms (KILL_EVERY_MS);
  return KILLING;
}

static enum state
on_grace_over (struct supervisor *self)
{
  self->kill_until_us = clock_after_ms (KILL_FOR_MS);
  self->kills_in_vain = 0;
  return kill_round (self);
}

static enum state
on_runner_gone_idle (struct supervisor *self)
{
  (void) self;
  _exit (0);
}

/* No entry: the event changes nothing. CANCEL is for a command; STOP also for what a command left behind. */
static enum state (*const table[STATES][EVENTS]) (struct supervisor *) = {
  [IDLE] = {
    [STARTED] = on_started,
    [RUNNER_GONE] = on_runner_gone_idle,
  },
  [RUNNING] = {
    [MAIN_ENDED] = on_main_ended,
    [DEADLINE] = on_deadline_running,
    [CANCEL] = on_cancel_running,
    [STOP] = on_cancel_running,
    [RUNNER_GONE] = on_cancel_running,
  },
  [TERMINATING] = {
    [ALL_GONE] = on_all_gone,
    [DEADLINE] = on_grace_over,
  },
  [KILLING] = {
    [ALL_GONE] = on_all_gone,
    [DEADLINE] = kill_round,
  },
  [LINGERING] = {
    [ALL_GONE] = on_all_gone_lingering,
    [STOP] = begin_end,
    [RUNNER_GONE] = begin_end,
  },
};

static void
happen (struct supervisor *self, enum event event)
{
  if (table[self->state][event] != NULL)
    self->state = table[self->state][event](self);
  if (self->state == IDLE && self->socket_fd < 0)
    _exit (0);
}

/* ---- Where events come from -------------------------------------------------------------------------------------- */

static void
start (struct supervisor *self)
{
  struct report *report = &self->report;

  *report = (struct report){ .error = COMPUTE_ERROR_INIT };
  self->reported = 0;
  self->all_gone = 0;
  self->start_us = clock_us ();
  self->main_pid = launch_start (&self->launch, self->failure, &report->error);
  if (self->main_pid < 0)
    {
      self->main_pid = 0;
      self->all_gone = 1;
      finish (self);
      return;
    }
  if (self->launch.order.timeout_ms > 0)
    self->deadline_us = clock_after_ms (self->launch.order.timeout_ms);
  happen (self, STARTED);
}

static void
obey (struct supervisor *self, const struct order *order)
{
  switch (order->kind)
    {
    case ORDER_SIGNAL:
      if (self->main_pid > 0 && kill (self->main_pid, (int) order->number) == 0)
        self->report.flags |= REPORT_SIGNALLED;
      break;
    case ORDER_CANCEL:
      happen (self, CANCEL);
      break;
    case ORDER_STOP:
      happen (self, STOP);
      break;
    default:
      break;
    }
}

/* The command's own descriptors and strings stay until it has been reported, so an order in between must not touch
 * them: only one that starts a command is received into self->launch. */
static void
take_order (struct supervisor *self)
{
  struct order order = { 0 };
  int received;

  if (self->state == IDLE)
    received = launch_receive (self->socket_fd, &self->launch);
  else
    received = (int) recv (self->socket_fd, &order, sizeof order, MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (received <= 0)
    {
      (void) close (self->socket_fd);
      self->socket_fd = -1;
      happen (self, RUNNER_GONE);
    }
  else if (self->state != IDLE)
    obey (self, &order);
  else if (self->launch.order.kind == ORDER_START)
    start (self);
}

static void
note_main_ended (struct supervisor *self, int status, const struct rusage *usage)
{
  struct report *report = &self->report;

  self->main_pid = 0;
  report->status = status;
  report->max_rss_bytes = (uint64_t) usage->ru_maxrss * 1024;
  report->user_us = (uint64_t) usage->ru_utime.tv_sec * 1000000 + (uint64_t) usage->ru_utime.tv_usec;
  report->sys_us = (uint64_t) usage->ru_stime.tv_sec * 1000000 + (uint64_t) usage->ru_stime.tv_usec;
}

/* Waits for all that have ended, then tells what that means; both at once, so that a command without background
 * children takes one report. */
static void
reap (struct supervisor *self)
{
  struct rusage usage;
  int main_ended = 0;
  int status;
  pid_t pid;

  while ((pid = wait4 (-1, &status, WNOHANG | __WALL, &usage)) > 0)
    if (pid == self->main_pid)
      {
        note_main_ended (self, status, &usage);
        main_ended = 1;
      }
  self->all_gone = pid < 0 && errno == ECHILD;
  if (main_ended)
    happen (self, MAIN_ENDED);
  if (self->all_gone)
    happen (self, ALL_GONE);
}

static void
wait_for_events (struct supervisor *self)
{
  struct pollfd poll_fd = { .fd = self->socket_fd, .events = POLLIN };
  struct timespec timeout;
  int64_t left = self->deadline_us == CLOCK_NEVER ? 0 : self->deadline_us - clock_us ();
  sigset_t mask;

  left = left < 0 ? 0 : left;
  timeout = (struct timespec){ .tv_sec = (time_t) (left / 1000000), .tv_nsec = (long) (left % 1000000) * 1000 };
  sigfillset (&mask);
  sigdelset (&mask, SIGCHLD);
  (void) ppoll (&poll_fd, 1, self->deadline_us == CLOCK_NEVER ? NULL : &timeout, &mask);
  if (self->state != IDLE)
    reap (self);
  if (poll_fd.revents != 0)
    take_order (self);
  if (self->deadline_us <= clock_us ())
    happen (self, DEADLINE);
}

static void
note_child (int number)
{
  (void) number; /* its arrival ends the wait */
}

_Noreturn void
keeper_run (int socket_fd)
{
  static struct supervisor self; /* all zeroes: IDLE */
  struct sigaction action = { .sa_handler = note_child };
  void *shared = mmap (NULL, sizeof *self.failure, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (shared == MAP_FAILED || prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    _exit (1);
  self.failure = shared;
  self.socket_fd = socket_fd;
  self.deadline_us = CLOCK_NEVER;
  (void) sigaction (SIGCHLD, &action, NULL);
  for (;;)
    wait_for_events (&self);
}
