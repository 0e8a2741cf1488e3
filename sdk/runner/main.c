/* SPDX-License-Identifier: MIT */
/* The runner: runs commands for a host that speaks frames to it; see PROTOCOL.md. */

#include "bridge.h"
#include "child.h"
#include "clock.h"
#include "command.h"
#include "descriptors.h"
#include "init.h"
#include "instance.h"
#include "listen.h"
#include "loop.h"
#include "oom.h"
#include "parent.h"
#include "pool.h"
#include "runner.h"
#include "session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME "compute-runner"
#define STOP_MAX_MS 10000 /* after which the end waits for nothing any more */
#define FILES_MAX 8192    /* descriptors are wanted for many commands at once; more would make old kernels slow */

struct options
{
  const char *socket_path; /* NULL: one connection, on standard input and output */
  const char *bridge_path; /* of another runner's socket; NULL: be a runner */
  int with_parent;
};

static int stopping;
static struct timer stop_timer;

/* ---- The end ----------------------------------------------------------------------------------------------------- */

int
runner_is_stopping (void)
{
  return stopping;
}

static void
stop_waiting (struct timer *timer)
{
  (void) timer;
  stopping = 2;
}

void
runner_stop (void)
{
  if (stopping)
    return;
  stopping = 1;
  stop_timer.at_us = clock_after_ms (STOP_MAX_MS);
  pool_stop ();
}

static int
is_over (void)
{
  return stopping > 1 || (stopping && pool_is_quiet () && command_count () == 0);
}

/* A listening runner outlives its connections, but not its start: unless it was configured, whoever started it died
 * half-way, and nobody knows of it. */
static void
visitor_left (void)
{
  if (session_count () == 0 && !instance.configured)
    runner_stop ();
}

static void
signalled (int number)
{
  if (number == SIGCHLD)
    pool_reap ();
  else
    runner_stop ();
}

/* ---- The start --------------------------------------------------------------------------------------------------- */

static int
say_help (void)
{
  return puts ("Usage: " NAME " [--with-parent | --listen SOCKET | --connect SOCKET]\n"
               "Runs commands for a host program that speaks its protocol, by default on standard input and\n"
               "output. People do not use it by hand.\n"
               "\n"
               "  --with-parent    end also when the process that started it dies\n"
               "  --listen SOCKET  stay when the first connection ends, and serve others on SOCKET\n"
               "  --connect SOCKET carry standard input and output to a runner that listens on SOCKET\n"
               "  --version        print the version\n"
               "  --help           print this")
         < 0;
}

/* Returns -1 to go on, or what to exit with. */
static int
read_options (char **argv, struct options *options)
{
  for (argv++; *argv != NULL; argv++)
    if (strcmp (*argv, "--version") == 0)
      return puts (NAME " " VERSION) < 0;
    else if (strcmp (*argv, "--help") == 0)
      return say_help ();
    else if (strcmp (*argv, "--with-parent") == 0)
      options->with_parent = 1;
    else if (strcmp (*argv, "--listen") == 0 && argv[1] != NULL)
      options->socket_path = *++argv;
    else if (strcmp (*argv, "--connect") == 0 && argv[1] != NULL)
      options->bridge_path = *++argv;
    else
      {
        (void) fprintf (stderr, NAME ": unknown or incomplete option '%s': see --help\n", *argv);
        return 2;
      }
  if (options->with_parent + (options->socket_path != NULL) + (options->bridge_path != NULL) > 1)
    {
      (void) fprintf (stderr, NAME ": --with-parent, --listen and --connect exclude each other\n");
      return 2;
    }
  return -1;
}

static int
die (const char *what)
{
  (void) fprintf (stderr, NAME ": %s: %s\n", what, strerror (errno));
  return 1;
}

static int
die_about_socket (const char *what, const char *path)
{
  (void) fprintf (stderr, NAME ": cannot %s '%s': %s\n", what, path, strerror (errno));
  return 1;
}

/* Whatever the starter did to signals must not reach commands; the C library's own are among them. */
static void
default_signals (void)
{
  static const char zeroes[64]; /* the kernel's struct sigaction for SIG_DFL */

  for (int number = 1; number < _NSIG; number++)
    (void) syscall (SYS_rt_sigaction, number, zeroes, NULL, _NSIG / 8);
}

static void
raise_file_limit (void)
{
  struct rlimit raised;

  (void) getrlimit (RLIMIT_NOFILE, &child_nofile);
  raised = child_nofile;
  if (raised.rlim_cur < FILES_MAX)
    raised.rlim_cur = raised.rlim_max < FILES_MAX ? raised.rlim_max : FILES_MAX;
  (void) setrlimit (RLIMIT_NOFILE, &raised);
}

/* Moves the protocol away from where commands have their standard streams. */
static int
take_protocol (int *ret_in_fd, int *ret_out_fd)
{
  *ret_in_fd = fcntl (0, F_DUPFD_CLOEXEC, 3);
  *ret_out_fd = fcntl (1, F_DUPFD_CLOEXEC, 3);
  if (*ret_in_fd < 0 || *ret_out_fd < 0)
    return -1;
  if (fcntl (*ret_in_fd, F_SETFL, fcntl (*ret_in_fd, F_GETFL) | O_NONBLOCK) != 0)
    return -1;
  return fcntl (*ret_out_fd, F_SETFL, fcntl (*ret_out_fd, F_GETFL) | O_NONBLOCK);
}

/* Nothing is printed from here on, and nothing that a library prints gets into the protocol. */
static int
leave_null (void)
{
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);

  if (null_fd < 0)
    return die ("/dev/null");
  for (int fd = 0; fd <= 2; fd++)
    (void) dup2 (null_fd, fd);
  if (null_fd > 2)
    (void) close (null_fd);
  return 0;
}

/* Leaves the starter with a child that has ended. Returns in the process that stays. */
static int
become_daemon (void)
{
  pid_t pid = fork ();

  if (pid < 0)
    {
      listen_close ();
      return die ("cannot stay");
    }
  if (pid > 0)
    _exit (0);
  return 0;
}

/* From the options to a loop with its first session. Returns 0, or what to exit with. */
static int
start (const struct options *options)
{
  struct compute_error error = COMPUTE_ERROR_INIT;
  pid_t parent = getppid ();
  int is_first; /* a container's own process: nobody is left behind who would wait */
  int in_fd;
  int out_fd;

  default_signals ();
  raise_file_limit ();
  descriptors_close_from (3, -1);
  is_first = init_if_first ();
  if (options->socket_path != NULL && listen_open (options->socket_path) != 0)
    return die_about_socket ("listen on", options->socket_path);
  if (options->socket_path != NULL && !is_first && become_daemon () != 0)
    return 1;
  (void) setsid (); /* away from a terminal's Ctrl-C, which is the host's to act on */
  stop_timer = (struct timer){ .at_us = CLOCK_NEVER, .fire = stop_waiting };
  loop_timer (&stop_timer);
  pool_open ();
  oom_open ();
  if (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || loop_open (signalled) != 0 || instance_open (&error) != 0)
    return die ("cannot start");
  if (options->with_parent && parent_watch (parent, runner_stop) != 0)
    return die ("--with-parent: the parent cannot be watched");
  if (options->socket_path != NULL && listen_begin (visitor_left) != 0)
    return die_about_socket ("listen on", options->socket_path);
  if (take_protocol (&in_fd, &out_fd) != 0
      || session_open (in_fd, out_fd, options->socket_path != NULL ? visitor_left : runner_stop) != 0)
    return die ("standard input and output must be pipes or sockets");
  return leave_null ();
}

int
main (int argc, char **argv)
{
  struct options options = { NULL, NULL, 0 };
  int status = read_options (argv, &options);

  (void) argc;
  if (status >= 0)
    return status;
  if (options.bridge_path != NULL)
    return bridge_run (options.bridge_path) == 0 ? 0 : die_about_socket ("connect to", options.bridge_path);
  status = start (&options);
  while (status == 0 && !is_over ())
    {
      loop_round ();
      session_flush_all ();
      if (!stopping && instance.configured)
        pool_prepare ();
    }
  listen_close ();
  session_bye_all (pool_close ());
  pool_wait ();
  return status;
}
