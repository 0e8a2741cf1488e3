/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

const char *const bench_floor_argv[] = { "sh", "-c", "true", NULL };

static void
die (const char *what)
{
  perror (what);
  exit (2);
}

double
bench_now_us (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static void
read_both (int out, int err)
{
  struct pollfd polls[] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
  char buffer[65536];

  while (polls[0].fd >= 0 || polls[1].fd >= 0)
    {
      if (poll (polls, 2, -1) < 0)
        die ("poll");
      for (int i = 0; i < 2; i++)
        if (polls[i].revents != 0 && read (polls[i].fd, buffer, sizeof buffer) <= 0)
          {
            close (polls[i].fd);
            polls[i].fd = -1;
          }
    }
}

double
bench_spawn_us (const char *const *argv)
{
  double start = bench_now_us ();
  posix_spawn_file_actions_t actions;
  int out[2], err[2], status;
  pid_t pid;

  if (pipe2 (out, O_CLOEXEC) != 0 || pipe2 (err, O_CLOEXEC) != 0)
    die ("pipe2");
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, out[1], 1);
  posix_spawn_file_actions_adddup2 (&actions, err[1], 2);
  if (posix_spawnp (&pid, argv[0], &actions, NULL, (char *const *) argv, environ) != 0)
    die (argv[0]);
  posix_spawn_file_actions_destroy (&actions);
  close (out[1]);
  close (err[1]);
  read_both (out[0], err[0]);
  if (waitpid (pid, &status, 0) != pid || status != 0)
    die (argv[0]);
  return bench_now_us () - start;
}

static int
compare (const void *a, const void *b)
{
  double left = *(const double *) a, right = *(const double *) b;

  return (left > right) - (left < right);
}

double
bench_median (double *samples, size_t count)
{
  qsort (samples, count, sizeof *samples, compare);
  return samples[count / 2];
}

int
bench_report (const char *name, double value_us, double floor_us, double limit)
{
  double ratio = value_us / floor_us;

  printf ("%s: %.2f ms = %.2f x floor (%.2f ms), at most %.2f%s\n", name, value_us / 1e3, ratio, floor_us / 1e3, limit,
          ratio > limit ? ": TOO SLOW" : "");
  return ratio > limit;
}
