/* SPDX-License-Identifier: MIT */
/* execute: what a command on local costs. Hosts are processes of their own, this program started with their size in
 * MiB, so that a small and a large one can be measured in turn. */
#include "bench.h"
#include "place.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define TURNS 400
#define ROUNDS 9
#define LARGE_MIB "2048"
#define FLOOD_MIB_MAX 64

/* ---- In a host -----------------------------------------------------------------------------------------------------
 */

/* A number of /proc/PID/status. */
static long
read_status (const char *pid, const char *key)
{
  char path[300], line[256];
  long value = -1;
  FILE *file;

  snprintf (path, sizeof path, "/proc/%s/status", pid);
  file = fopen (path, "r");
  while (file != NULL && value < 0 && fgets (line, sizeof line, file) != NULL)
    if (strncmp (line, key, strlen (key)) == 0)
      value = strtol (line + strlen (key), NULL, 10);
  if (file != NULL)
    fclose (file);
  return value;
}

/* Peak memory of this process, its child the runner, and the runner's children, in KiB. */
static double
peak_kib (void)
{
  DIR *proc = opendir ("/proc");
  double sum = 0;

  for (struct dirent *entry; (entry = readdir (proc)) != NULL;)
    {
      long self = getpid (), pid = strtol (entry->d_name, NULL, 10), parent;
      char text[24];

      if (pid <= 0)
        continue;
      parent = read_status (entry->d_name, "PPid:");
      snprintf (text, sizeof text, "%ld", parent);
      if (pid == self || parent == self || (parent > 1 && read_status (text, "PPid:") == self))
        sum += (double) read_status (entry->d_name, "VmHWM:");
    }
  closedir (proc);
  return sum;
}

/* Answers each line of input: a command with the microseconds it took, "memory" with the peak so far in KiB. */
static int
serve (const char *mib)
{
  size_t bytes = (size_t) strtoul (mib, NULL, 10) * 1024 * 1024;
  char *memory = malloc (bytes + 1), line[128];
  struct place place;

  memset (memory, 1, bytes + 1);
  place_open (&place, "local");
  place_provision (&place, NULL);
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      line[strcspn (line, "\n")] = '\0';
      printf ("%f\n", strcmp (line, "memory") == 0 ? peak_kib () : place_execute_us (&place, line));
      fflush (stdout);
    }
  place_close (&place);
  free (memory);
  return 0;
}

/* ---- From outside --------------------------------------------------------------------------------------------------
 */

struct host
{
  pid_t pid;
  FILE *ask;
  FILE *answer;
};

static double
ask (struct host *host, const char *line)
{
  double value;

  fprintf (host->ask, "%s\n", line);
  fflush (host->ask);
  if (fscanf (host->answer, "%lf", &value) != 1)
    exit (2);
  return value;
}

static void
start_host (struct host *host, const char *mib)
{
  char *argv[] = { (char *) "execute", (char *) mib, NULL };
  posix_spawn_file_actions_t actions;
  int in[2], out[2];

  if (pipe2 (in, O_CLOEXEC) != 0 || pipe2 (out, O_CLOEXEC) != 0)
    exit (2);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, in[0], 0);
  posix_spawn_file_actions_adddup2 (&actions, out[1], 1);
  if (posix_spawn (&host->pid, "/proc/self/exe", &actions, NULL, argv, environ) != 0)
    exit (2);
  posix_spawn_file_actions_destroy (&actions);
  close (in[0]);
  close (out[1]);
  host->ask = fdopen (in[1], "w");
  host->answer = fdopen (out[0], "r");
  (void) ask (host, "true");
}

static void
end_host (struct host *host)
{
  fclose (host->ask);
  fclose (host->answer);
  waitpid (host->pid, NULL, 0);
}

static int
one_caller (void)
{
  static double floor_us[TURNS], small_us[TURNS], large_us[TURNS];
  struct host small, large;
  double floor, of_small;
  int slow;

  start_host (&small, "0");
  start_host (&large, LARGE_MIB);
  for (size_t i = 0; i < TURNS; i++)
    {
      floor_us[i] = bench_spawn_us (bench_floor_argv);
      small_us[i] = ask (&small, "true");
      large_us[i] = ask (&large, "true");
    }
  end_host (&small);
  end_host (&large);
  floor = bench_median (floor_us, TURNS);
  of_small = bench_median (small_us, TURNS);
  slow = bench_report ("execute on local", of_small, floor, 1.3);
  return slow
         | bench_report ("execute on local, host of 2 GiB to idle host", bench_median (large_us, TURNS), of_small, 1.1);
}

static int
many_callers (void)
{
  static double floor_us[ROUNDS], execute_us[ROUNDS];
  struct place place;

  place_open (&place, "local");
  place_provision (&place, NULL);
  (void) place_callers_us (&place);
  for (size_t i = 0; i < ROUNDS; i++)
    {
      floor_us[i] = place_callers_us (NULL);
      execute_us[i] = place_callers_us (&place);
    }
  place_close (&place);
  return bench_report ("64 callers at once, per command", bench_median (execute_us, ROUNDS),
                       bench_median (floor_us, ROUNDS), 1 / 0.8);
}

static int
flood (void)
{
  static const char *const to_null[] = { "sh", "-c", FLOOD " >/dev/null", NULL };
  static double floor_us[ROUNDS], execute_us[ROUNDS];
  struct host host;
  double mib;

  start_host (&host, "0");
  for (size_t i = 0; i < ROUNDS; i++)
    {
      floor_us[i] = bench_spawn_us (to_null);
      execute_us[i] = ask (&host, FLOOD);
    }
  mib = ask (&host, "memory") / 1024;
  end_host (&host);
  printf ("1 GiB of output, peak memory of host and runner: %.1f MiB, at most %d%s\n", mib, FLOOD_MIB_MAX,
          mib > FLOOD_MIB_MAX ? ": TOO MUCH" : "");
  return (mib > FLOOD_MIB_MAX)
         | bench_report ("1 GiB of output, 10 MiB kept, to /dev/null", bench_median (execute_us, ROUNDS),
                         bench_median (floor_us, ROUNDS), 1.5);
}

int
main (int argc, char **argv)
{
  int slow = 0;

  if (argc > 1)
    return serve (argv[1]);
  slow |= one_caller ();
  slow |= many_callers ();
  slow |= flood ();
  return slow;
}
