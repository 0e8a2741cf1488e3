/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <sys/mman.h>
#include <unistd.h>

int
said_open (void)
{
  return memfd_create ("stderr", MFD_CLOEXEC);
}

/* Engines' clients end with a hint at their manual, and warn of what is no failure. */
static int
tells_nothing (const char *line)
{
  static const char *const starts[] = { "See '", "Run '", "WARNING: " };

  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp (line, starts[i], strlen (starts[i])) == 0)
      return 1;
  return line[0] == '\0' || strstr (line, " level=warning ") != NULL;
}

void
said_take (int fd, char *text, size_t room)
{
  char end[4096];
  off_t size = fd >= 0 ? lseek (fd, 0, SEEK_END) : 0;
  off_t from = size > (off_t) sizeof end - 1 ? size - (off_t) sizeof end + 1 : 0;
  ssize_t count = fd >= 0 ? pread (fd, end, sizeof end - 1, from) : 0;
  const char *last = "";

  end[count > 0 ? count : 0] = '\0';
  for (char *rest = end, *line; (line = strsep (&rest, "\n")) != NULL;)
    if (!tells_nothing (line))
      last = line;
  cut_text (text, room, last);
  if (fd >= 0)
    close (fd);
}
