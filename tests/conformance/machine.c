/* SPDX-License-Identifier: MIT */
/* What only the machine as a whole can show: its clock is set, its memory runs out. */
#include "conformance.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- The clock is set --------------------------------------------------------------------------------------- */

/* A process of its own puts the clock right as soon as this end of its pipe closes, however this process ends. */
struct clock_guard
{
  pid_t pid;
  int fd;
};

static gint64
nanoseconds (clockid_t clock)
{
  struct timespec now;

  g_assert_cmpint (clock_gettime (clock, &now), ==, 0);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

static int
clock_move (gint64 real_ns)
{
  const struct timespec time = { real_ns / 1000000000, real_ns % 1000000000 };

  return clock_settime (CLOCK_REALTIME, &time);
}

static struct clock_guard
clock_guard_start (void)
{
  gint64 ahead = nanoseconds (CLOCK_REALTIME) - nanoseconds (CLOCK_MONOTONIC);
  struct clock_guard guard;
  int ends[2];
  char none;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  guard.pid = fork ();
  g_assert_cmpint (guard.pid, >=, 0);
  if (guard.pid == 0)
    {
      setsid (); /* what ends the test's group does not end this */
      close (ends[1]);
      while (read (ends[0], &none, 1) < 0 && errno == EINTR)
        continue;
      _exit (clock_move (ahead + nanoseconds (CLOCK_MONOTONIC)) != 0);
    }
  close (ends[0]);
  guard.fd = ends[1];
  return guard;
}

static void
clock_guard_end (struct clock_guard *guard)
{
  int status;

  close (guard->fd);
  g_assert_cmpint (waitpid (guard->pid, &status, 0), ==, guard->pid);
  g_assert_cmpint (status, ==, 0);
}

static void
clock_step (int hours)
{
  g_assert_cmpint (clock_move (nanoseconds (CLOCK_REALTIME) + hours * G_GINT64_CONSTANT (3600000000000)), ==, 0);
}

static gboolean
clock_can_be_set (void)
{
  if (clock_move (nanoseconds (CLOCK_REALTIME)) == 0)
    return TRUE;
  g_test_skip ("this user may not set the clock");
  return FALSE;
}

/* The command prints all the time, so that whoever compares clocks does it while the clock is wrong. */
#define CHATTY "i=0; while [ $i -lt %d ]; do echo $i; sleep 0.05; i=$((i+1)); done; echo ok"

/* The clock of this machine is wrong for well under a second in each of the two. */
void
test_case_T21_clock_is_set_forward (void)
{
  g_autofree char *script = g_strdup_printf (CHATTY, 12);
  struct clock_guard guard;

  if (!clock_can_be_set ())
    return;
  auto_place place = place_open (NULL);
  struct job *job = (guard = clock_guard_start (), job_start (&place, script, 30 * SECOND));

  job_wait_output (job, "1\n");
  clock_step (1);
  job_wait_output (job, "8\n");
  clock_guard_end (&guard);
  auto_run run = job_end (job);

  assert_exited (run, 0);
  assert_text (run.out->str, "ok\n");
  g_assert_cmpuint (run.result.duration_us, >=, 600 * 1000);
  g_assert_cmpuint (run.result.duration_us, <, 20 * G_USEC_PER_SEC);
}

void
test_case_T21_clock_is_set_back (void)
{
  g_autofree char *script = g_strdup_printf (CHATTY, 600);
  struct clock_guard guard;
  gboolean in_time;

  if (!clock_can_be_set ())
    return;
  auto_place place = place_open (NULL);
  struct job *job = (guard = clock_guard_start (), job_start (&place, script, 400));

  job_wait_output (job, "1\n");
  clock_step (-1);
  in_time = job_wait_done (job, 1500);
  clock_guard_end (&guard);
  auto_run run = job_end (job);

  assert_timed_out (run);
  g_assert_true (in_time);
  g_assert_cmpuint (run.result.duration_us, <, 20 * G_USEC_PER_SEC);
}

/* ---- Memory runs out ---------------------------------------------------------------------------------------- */

/* The folder of this process's memory control group, of either version; NULL where there is none. Free with g_free. */
static char *
memory_group_dir (void)
{
  g_autofree char *groups = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/self/cgroup", &groups, NULL, NULL))
    return NULL;
  lines = g_strsplit (groups, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      const char *version1 = strstr (*line, ":memory:");

      if (version1 != NULL)
        return g_strconcat ("/sys/fs/cgroup/memory", version1 + strlen (":memory:"), NULL);
    }
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, "0::"))
      return g_strconcat ("/sys/fs/cgroup", *line + strlen ("0::"), NULL);
  return NULL;
}

static gboolean
group_set (const char *group, const char *file, const char *value)
{
  g_autofree char *path = g_build_filename (group, file, NULL);
  int fd = open (path, O_WRONLY | O_CLOEXEC);
  gboolean done = fd >= 0 && write (fd, value, strlen (value)) == (ssize_t) strlen (value);

  if (fd >= 0)
    close (fd);
  return done;
}

static gboolean
group_enter (const char *group)
{
  g_autofree char *pid = g_strdup_printf ("%d", (int) getpid ());

  return group_set (group, "cgroup.procs", pid);
}

/* A group below this process's, with 64 MiB and no swap, which this process has entered. */
static gboolean
group_make (const char *parent, const char *group)
{
  const char *limit = "67108864";

  (void) group_set (parent, "cgroup.subtree_control", "+memory");
  if (mkdir (group, 0755) != 0)
    return FALSE;
  (void) group_set (group, "memory.swap.max", "0");
  if (!group_set (group, "memory.limit_in_bytes", limit) && !group_set (group, "memory.max", limit))
    return FALSE;
  (void) group_set (group, "memory.memsw.limit_in_bytes", limit);
  return group_enter (group);
}

/* Run out of memory, or killed by somebody: the same signal, two outcomes. */
void
test_outcome_out_of_memory (void)
{
  g_autofree char *parent = memory_group_dir ();
  g_autofree char *name = g_strdup_printf ("conformance-%d", (int) getpid ());
  g_autofree char *group = parent != NULL ? g_build_filename (parent, name, NULL) : NULL;

  if (parent == NULL || !group_make (parent, group))
    {
      if (group != NULL)
        rmdir (group);
      g_test_skip ("no memory control group of its own may be made here");
      return;
    }
  {
    auto_place place = place_open (NULL);
    auto_run killed = run_script (&place, "kill -9 $$", 60 * SECOND);
    auto_run greedy = run_script (&place, "x=0123456789abcdef; while :; do x=$x$x; done", 60 * SECOND);
    auto_run killed_later = run_script (&place, "kill -9 $$", 60 * SECOND);
    auto_run after = run_script (&place, "echo ok", 60 * SECOND);

    g_assert_true (group_enter (parent));
    assert_outcome (killed, SIGNALED, 137, 9);
    assert_outcome (greedy, OUT_OF_MEMORY, 137, 9);
    assert_outcome (killed_later, SIGNALED, 137, 9);
    assert_prints (after, "ok\n");
  }
  wait_until (rmdir (group) == 0, 5 * SECOND);
}
