/* SPDX-License-Identifier: MIT */
#include "oom.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 4096 /* of a file in /proc or /sys */

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

/* Reads the start of a file as a string, "" where that fails. */
static void
read_text (int fd, char *text, size_t room)
{
  ssize_t count = fd >= 0 ? pread (fd, text, room - 1, 0) : -1;

  text[count > 0 ? count : 0] = '\0';
}

/* Finds this process's cgroup of the controller ("": version 2) among lines like "4:cpu,memory:/GROUP", which it takes
 * apart. */
static const char *
find_group (char *lines, const char *controller)
{
  char *rest;

  for (char *line = strtok_r (lines, "\n", &rest); line != NULL; line = strtok_r (NULL, "\n", &rest))
    {
      char *list = strchr (line, ':');
      char *group = list != NULL ? strchr (list + 1, ':') : NULL;

      if (group == NULL)
        continue;
      *group = '\0';
      if (*controller == '\0' ? list[1] == '\0' : has_word (list + 1, controller))
        return group + 1;
    }
  return NULL;
}

/* In a container without a cgroup namespace the group is named as the host sees it, and its files are at the top. */
static int
open_counter (const char *controller, const char *point, const char *name)
{
  int fd = open ("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
  char lines[TEXT_BYTES];
  char path[TEXT_BYTES + 64];
  const char *group;

  read_text (fd, lines, sizeof lines);
  if (fd >= 0)
    (void) close (fd);
  group = find_group (lines, controller);
  if (group == NULL)
    return -1;
  (void) snprintf (path, sizeof path, "%s%s/%s", point, group, name);
  counter_fd = open (path, O_RDONLY | O_CLOEXEC);
  if (counter_fd < 0)
    {
      (void) snprintf (path, sizeof path, "%s/%s", point, name);
      counter_fd = open (path, O_RDONLY | O_CLOEXEC);
    }
  return counter_fd;
}

/* Where systemd and every container engine mount the two versions. */
void
oom_open (void)
{
  if (open_counter ("memory", "/sys/fs/cgroup/memory", "memory.oom_control") < 0)
    (void) open_counter ("", "/sys/fs/cgroup", "memory.events");
}

uint64_t
oom_kills (void)
{
  char text[TEXT_BYTES];
  const char *at = text;

  read_text (counter_fd, text, sizeof text);
  while (at != NULL && strncmp (at, "oom_kill ", 9) != 0)
    {
      at = strchr (at, '\n');
      at = at != NULL ? at + 1 : NULL;
    }
  return at != NULL ? strtoull (at + 9, NULL, 10) : 0;
}
