/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

/* The start of a small file. Returns -1 when there is none. */
static int
read_start (const char *path, char *text, size_t room)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t count;

  if (fd < 0)
    return -1;
  count = read (fd, text, room - 1);
  close (fd);
  if (count <= 0)
    return -1;
  text[count] = '\0';
  return 0;
}

/* When a process started, in ticks since the boot; 0 when there is none. A zombie is none. */
static int64_t
start_time (int64_t pid)
{
  char path[64], text[1024], state;
  const char *end;
  int64_t ticks;

  snprintf (path, sizeof path, "/proc/%" PRId64 "/stat", pid);
  if (read_start (path, text, sizeof text) != 0 || (end = strrchr (text, ')')) == NULL)
    return 0;
  if (sscanf (end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNd64, &state,
              &ticks)
      != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : ticks;
}

/* Which boot of which machine, and which of its process tables: what a pid is a number in. */
static int
read_machine (struct proof *proof)
{
  ssize_t count = readlink ("/proc/self/ns/pid", proof->namespace, sizeof proof->namespace - 1);

  if (count <= 0 || read_start ("/proc/sys/kernel/random/boot_id", proof->boot, sizeof proof->boot) != 0)
    return -1;
  proof->namespace[count] = '\0';
  proof->boot[strcspn (proof->boot, "\n")] = '\0';
  return 0;
}

int
proof_take (int64_t pid, struct proof *ret_proof, struct compute_error *err)
{
  ret_proof->pid = pid;
  ret_proof->start_time = start_time (pid);
  if (ret_proof->start_time != 0 && read_machine (ret_proof) == 0)
    return 0;
  return compute_error_set (err, COMPUTE_E_SYSTEM, 0, "cannot read from /proc when process %" PRId64 " started", pid);
}

enum life
proof_check (const struct proof *proof)
{
  struct proof here;

  if (read_machine (&here) != 0)
    return LIFE_UNKNOWN;
  if (strcmp (here.boot, proof->boot) != 0)
    return LIFE_GONE;
  if (strcmp (here.namespace, proof->namespace) != 0)
    return LIFE_UNKNOWN;
  return start_time (proof->pid) == proof->start_time ? LIFE_ALIVE : LIFE_GONE;
}
