/* SPDX-License-Identifier: MIT */
#include "conformance.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls visit with each process of this machine until it returns TRUE; whether it did. */
static gboolean
each_process (gboolean (*visit) (pid_t pid, void *user), void *user)
{
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (proc)) != NULL)
    if (g_ascii_isdigit (name[0]) && visit ((pid_t) g_ascii_strtoll (name, NULL, 10), user))
      return TRUE;
  return FALSE;
}

/* A file of /proc/PID; "" when the process is gone. */
static char *
proc_file (pid_t pid, const char *name, gsize *ret_bytes)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", (int) pid, name);
  char *content;

  if (g_file_get_contents (path, &content, ret_bytes, NULL))
    return content;
  if (ret_bytes != NULL)
    *ret_bytes = 0;
  return g_strdup ("");
}

static gboolean
has_text (pid_t pid, void *user)
{
  const char *text = user;
  gsize bytes;
  g_autofree char *command_line = proc_file (pid, "cmdline", &bytes);

  return pid != getpid () && memmem (command_line, bytes, text, strlen (text)) != NULL;
}

gboolean
machine_runs (const char *text)
{
  return each_process (has_text, (void *) text);
}

/* The state and the parent's pid, which follow the name in its brackets; '\0' when the process is gone. */
static char
process_state (pid_t pid, pid_t *ret_parent)
{
  g_autofree char *stat = proc_file (pid, "stat", NULL);
  const char *after_name = strrchr (stat, ')');

  *ret_parent = 0;
  if (after_name == NULL)
    return '\0';
  *ret_parent = (pid_t) g_ascii_strtoll (after_name + 4, NULL, 10);
  return after_name[2];
}

struct children
{
  pid_t parent;
  GArray *found;
};

static gboolean
add_child (pid_t pid, void *user)
{
  struct children *children = user;
  pid_t parent;

  if (process_state (pid, &parent) != '\0' && parent == children->parent)
    g_array_append_val (children->found, pid);
  return FALSE;
}

GArray *
process_tree (pid_t root)
{
  struct children children = { root, g_array_new (FALSE, FALSE, sizeof (pid_t)) };

  each_process (add_child, &children);
  for (guint i = 0; i < children.found->len; i++)
    {
      children.parent = g_array_index (children.found, pid_t, i);
      each_process (add_child, &children);
    }
  return children.found;
}

guint
process_tree_size (pid_t root)
{
  g_autoptr (GArray) tree = process_tree (root);

  return tree->len;
}

guint
process_tree_zombies (pid_t root)
{
  g_autoptr (GArray) tree = process_tree (root);
  guint count = 0;
  pid_t parent;

  for (guint i = 0; i < tree->len; i++)
    if (process_state (g_array_index (tree, pid_t, i), &parent) == 'Z')
      count++;
  return count;
}

gboolean
process_lives (pid_t pid)
{
  pid_t parent;
  char state = process_state (pid, &parent);

  return state != '\0' && state != 'Z' && state != 'X';
}

gboolean
processes_live (const GArray *pids)
{
  for (guint i = 0; i < pids->len; i++)
    if (process_lives (g_array_index (pids, pid_t, i)))
      return TRUE;
  return FALSE;
}

char *
process_name (pid_t pid)
{
  return g_strchomp (proc_file (pid, "comm", NULL));
}

guint
process_descriptors (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/fd", (int) pid);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint count = 0;

  g_assert_nonnull (dir);
  while (g_dir_read_name (dir) != NULL)
    count++;
  return pid == getpid () ? count - 1 : count; /* without the one that reads the folder */
}

guint64
process_peak_memory (pid_t pid)
{
  g_autofree char *status = proc_file (pid, "status", NULL);
  const char *peak = strstr (status, "VmHWM:");

  return peak != NULL ? g_ascii_strtoull (peak + strlen ("VmHWM:"), NULL, 10) * 1024 : 0;
}

guint64
process_tree_peak_memory (pid_t root)
{
  g_autoptr (GArray) tree = process_tree (root);
  guint64 sum = process_peak_memory (root);

  for (guint i = 0; i < tree->len; i++)
    sum += process_peak_memory (g_array_index (tree, pid_t, i));
  return sum;
}

pid_t
transport_pid (void)
{
  struct children children = { getpid (), g_array_new (FALSE, FALSE, sizeof (pid_t)) };
  pid_t pid;

  each_process (add_child, &children);
  g_assert_cmpuint (children.found->len, ==, 1);
  pid = g_array_index (children.found, pid_t, 0);
  g_array_unref (children.found);
  return pid;
}

void
signal_set (int number, void (*handler) (int))
{
  struct sigaction action = { .sa_handler = handler };

  g_assert_cmpint (sigaction (number, &action, NULL), ==, 0);
}

pid_t
host_start (void (*body) (int fd, const void *data), const void *data, int *ret_fd)
{
  int ends[2];
  pid_t pid;

  g_assert_cmpint (pipe (ends), ==, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      close (ends[0]);
      body (ends[1], data);
      _exit (0);
    }
  close (ends[1]);
  *ret_fd = ends[0];
  return pid;
}

void
host_wait (pid_t pid)
{
  int status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

void
host_kill (pid_t pid)
{
  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
}

void
read_whole (int fd, void *buffer, gsize bytes)
{
  for (gsize done = 0; done < bytes;)
    {
      ssize_t got = read (fd, (char *) buffer + done, bytes - done);

      if (got <= 0)
        g_error ("only %zu of %zu bytes came", done, bytes);
      done += (gsize) got;
    }
}

void
write_whole (int fd, const void *buffer, gsize bytes)
{
  for (gsize done = 0; done < bytes;)
    {
      ssize_t put = write (fd, (const char *) buffer + done, bytes - done);

      g_assert_cmpint (put, >, 0);
      done += (gsize) put;
    }
}
