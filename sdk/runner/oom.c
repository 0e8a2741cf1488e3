/* SPDX-License-Identifier: MIT */
#include "oom.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (3 * PATH_MAX)

static int counter_fd = -1;

static int
has_word (const char *list, const char *word)
{
  size_t bytes = strlen (word);

  for (; *list != '\0'; list += strcspn (list, ",") + (list[strcspn (list, ",")] == ','))
    if (strncmp (list, word, bytes) == 0 && (list[bytes] == ',' || list[bytes] == '\0'))
      return 1;
  return 0;
}

/* Finds this process's cgroup of the controller ("": version 2) in /proc/self/cgroup, "4:cpu,memory:/PATH". */
static int
find_group (const char *controller, char *ret_path)
{
  FILE *file = fopen ("/proc/self/cgroup", "re");
  char line[LINE_MAX_BYTES];
  char controllers[LINE_MAX_BYTES];
  int found = 0;

  while (file != NULL && !found && fgets (line, sizeof line, file) != NULL)
    {
      *controllers = '\0';
      found = (sscanf (line, "%*d:%[^:]:%[^\n]", controllers, ret_path) == 2 && has_word (controllers, controller))
              || (*controller == '\0' && sscanf (line, "0::%[^\n]", ret_path) == 1);
    }
  if (file != NULL)
    (void) fclose (file);
  return found;
}

/* Finds where a hierarchy is mounted, and which of its groups is seen there: in a container that is often not the root.
 */
static int
find_mount (const char *type, const char *controller, char *ret_root, char *ret_point)
{
  FILE *file = fopen ("/proc/self/mountinfo", "re");
  char line[LINE_MAX_BYTES];
  char line_type[64];
  char options[LINE_MAX_BYTES];
  int found = 0;

  while (file != NULL && !found && fgets (line, sizeof line, file) != NULL)
    {
      const char *rest = strstr (line, " - ");

      found = rest != NULL && sscanf (rest, " - %63s %*s %s", line_type, options) == 2 && strcmp (line_type, type) == 0
              && (*controller == '\0' || has_word (options, controller))
              && sscanf (line, "%*d %*d %*s %4095s %4095s", ret_root, ret_point) == 2;
    }
  if (file != NULL)
    (void) fclose (file);
  return found;
}

static int
open_counter (const char *type, const char *controller, const char *name)
{
  char group[LINE_MAX_BYTES];
  char root[PATH_MAX];
  char point[PATH_MAX];
  char path[3 * PATH_MAX];
  const char *below = group;

  if (!find_group (controller, group) || !find_mount (type, controller, root, point))
    return -1;
  if (strcmp (root, "/") != 0)
    below = strncmp (group, root, strlen (root)) == 0 ? group + strlen (root) : "";
  if (snprintf (path, sizeof path, "%s%s/%s", point, below, name) >= (int) sizeof path)
    return -1;
  counter_fd = open (path, O_RDONLY | O_CLOEXEC);
  return counter_fd;
}

void
oom_open (void)
{
  if (open_counter ("cgroup", "memory", "memory.oom_control") < 0)
    (void) open_counter ("cgroup2", "", "memory.events");
}

uint64_t
oom_kills (void)
{
  char text[1024];
  ssize_t count = counter_fd >= 0 ? pread (counter_fd, text, sizeof text - 1, 0) : -1;
  const char *at = text;

  if (count <= 0)
    return 0;
  text[count] = '\0';
  while (at != NULL && strncmp (at, "oom_kill ", 9) != 0)
    {
      at = strchr (at, '\n');
      at = at != NULL ? at + 1 : NULL;
    }
  return at != NULL ? strtoull (at + 9, NULL, 10) : 0;
}
