/* SPDX-License-Identifier: MIT */
#include "end.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc 2.36 has these as functions, musl 1.2.3 does not. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define DEPTH_UNKNOWN 0
#define DEPTH_STRANGER (-1)
#define HOPS_MAX 65536 /* no chain of parents is longer, but a torn picture of /proc could hold a circle */

struct process
{
  pid_t pid;
  pid_t parent;
  int zombie;
  int depth; /* 1: a child of ours */
};

struct picture
{
  struct process *processes;
  size_t count;
  size_t room;
};

/* Reads a process's parent and whether it is a zombie (which can still have living threads). Returns 0, or -1 when it
 * is gone or not to be seen. */
static int
look_at (int proc_fd, pid_t pid, struct process *ret_process)
{
  char text[1024];
  const char *fields;
  ssize_t count;
  char state;
  int parent;
  int fd;

  (void) snprintf (text, sizeof text, "%d/stat", (int) pid);
  fd = openat (proc_fd, text, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  count = read (fd, text, sizeof text - 1);
  (void) close (fd);
  if (count <= 0)
    return -1;
  text[count] = '\0';
  fields = strrchr (text, ')'); /* the name before it may hold anything, a ')' too */
  if (fields == NULL || sscanf (fields, ") %c %d", &state, &parent) != 2)
    return -1;
  *ret_process = (struct process){ .pid = pid, .parent = parent, .zombie = state == 'Z' || state == 'X' };
  return 0;
}

static int
add_process (struct picture *picture, const struct process *process)
{
  if (picture->count == picture->room)
    {
      size_t room = picture->room > 0 ? picture->room * 2 : 512;
      struct process *processes = realloc (picture->processes, room * sizeof *processes);

      if (processes == NULL)
        return -1;
      picture->processes = processes;
      picture->room = room;
    }
  picture->processes[picture->count++] = *process;
  return 0;
}

static int
compare_pid (const void *left, const void *right)
{
  pid_t a = ((const struct process *) left)->pid;
  pid_t b = ((const struct process *) right)->pid;

  return a < b ? -1 : a > b;
}

static int
compare_depth (const void *left, const void *right)
{
  return ((const struct process *) left)->depth - ((const struct process *) right)->depth;
}

/* Takes in every process, sorted by pid. Returns 0, or -1 when there is no picture to be had. */
static int
take_picture (DIR *proc, struct picture *picture)
{
  const struct dirent *entry;

  while ((entry = readdir (proc)) != NULL)
    {
      struct process process;

      if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
        continue;
      if (look_at (dirfd (proc), (pid_t) strtol (entry->d_name, NULL, 10), &process) == 0
          && add_process (picture, &process) != 0)
        return -1;
    }
  if (picture->count == 0)
    return -1;
  qsort (picture->processes, picture->count, sizeof *picture->processes, compare_pid);
  return 0;
}

static struct process *
find_parent (struct picture *picture, const struct process *process)
{
  struct process key = { .pid = process->parent };

  return bsearch (&key, picture->processes, picture->count, sizeof key, compare_pid);
}

/* Fills in how far below us a process stands, and all that stand between: each is walked over once or twice in all. */
static void
find_depth (struct picture *picture, struct process *process, int (*is_kept) (pid_t))
{
  pid_t self = getpid ();
  struct process *at = process;
  int hops = 0;
  int depth;

  while (at != NULL && at->depth == DEPTH_UNKNOWN && at->parent != self && hops < HOPS_MAX)
    {
      at = find_parent (picture, at);
      hops++;
    }
  if (at != NULL && at->depth == DEPTH_UNKNOWN && at->parent == self)
    at->depth = is_kept != NULL && is_kept (at->pid) ? DEPTH_STRANGER : 1;
  depth = at == NULL || at->depth <= 0 ? DEPTH_STRANGER : at->depth + hops;
  for (at = process; hops > 0; hops--, at = find_parent (picture, at))
    at->depth = depth == DEPTH_STRANGER ? DEPTH_STRANGER : depth--;
}

/* Whether a process that cannot change under our eyes (a pidfd holds it) descends from us at this moment. */
static int
descends (int proc_fd, pid_t pid)
{
  struct process process;

  for (int hops = 0; hops < HOPS_MAX; hops++, pid = process.parent)
    {
      if (look_at (proc_fd, pid, &process) != 0)
        return 0;
      if (process.parent == getpid ())
        return 1;
    }
  return 0;
}

static int
send_to (pid_t pid, int pidfd, int number)
{
  return pidfd < 0 ? kill (pid, number) : (int) syscall (SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

/* A stopped process acts on TERM only when it is let go on. */
static int
send_with_wake_up (pid_t pid, int pidfd, int number)
{
  int result = send_to (pid, pidfd, number);

  if (result == 0 && number == SIGTERM)
    (void) send_to (pid, pidfd, SIGCONT);
  return result;
}

/* Signals one of ours. A child's pid cannot be reused before we wait for it; any other is pinned by a pidfd and looked
 * at again. Without pidfds (before Linux 5.3) its turn comes when its parents have ended and it has become our child.
 */
static int
signal_one (int proc_fd, const struct process *process, int number)
{
  int result = -1;
  int saved = ESRCH;
  int pidfd;

  if (process->depth == 1)
    return send_with_wake_up (process->pid, -1, number);
  pidfd = (int) syscall (SYS_pidfd_open, process->pid, 0);
  if (pidfd < 0)
    return -1;
  if (descends (proc_fd, process->pid))
    {
      result = send_with_wake_up (process->pid, pidfd, number);
      saved = errno;
    }
  (void) close (pidfd);
  errno = saved;
  return result;
}

/* Signals all of the picture that are ours, parents first. */
static void
signal_picture (int proc_fd, struct picture *picture, int number, int (*is_kept) (pid_t), struct end_pass *pass)
{
  for (size_t i = 0; i < picture->count; i++)
    if (picture->processes[i].depth == DEPTH_UNKNOWN)
      find_depth (picture, &picture->processes[i], is_kept);
  qsort (picture->processes, picture->count, sizeof *picture->processes, compare_depth);
  for (size_t i = 0; i < picture->count; i++)
    {
      const struct process *process = &picture->processes[i];

      if (process->depth == DEPTH_STRANGER)
        continue;
      if (signal_one (proc_fd, process, number) == 0)
        pass->sent += !process->zombie;
      else if (errno == EPERM && !process->zombie)
        pass->denied++;
    }
}

struct end_pass
end_signal_all (int number, int (*is_kept) (pid_t child))
{
  struct end_pass pass = { 0, 0, 0 };
  struct picture picture = { NULL, 0, 0 };
  DIR *proc = opendir ("/proc");

  if (proc == NULL || take_picture (proc, &picture) != 0)
    pass.blind = 1;
  else
    signal_picture (dirfd (proc), &picture, number, is_kept, &pass);
  free (picture.processes);
  if (proc != NULL)
    (void) closedir (proc);
  return pass;
}
