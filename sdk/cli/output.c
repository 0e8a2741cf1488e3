/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "signals.h"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Returns once fd takes PIPE_BUF bytes without blocking. */
static int
wait_writable (int fd, struct compute_error *err)
{
  struct pollfd wait[] = { { .fd = fd, .events = POLLOUT }, { .fd = signals_fd (), .events = POLLIN } };

  while (wait[0].revents == 0)
    {
      if (wait[1].revents != 0)
        return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "%s is not read", fd == 1 ? "stdout" : "stderr");
      (void) poll (wait, G_N_ELEMENTS (wait), -1);
    }
  return 0;
}

int
output_write (int fd, const void *data, uint64_t bytes, struct compute_error *err)
{
  const char *from = data;

  while (bytes > 0)
    {
      ssize_t count;
      int rc = wait_writable (fd, err);

      if (rc != 0)
        return rc;
      count = write (fd, from, MIN (bytes, PIPE_BUF));
      if (count < 0 && errno != EINTR && errno != EAGAIN)
        return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot write to %s: %s", fd == 1 ? "stdout" : "stderr",
                                  g_strerror (errno));
      if (count > 0)
        {
          from += count;
          bytes -= (uint64_t) count;
        }
    }
  return 0;
}

char *
output_printable (const char *text)
{
  g_autoptr (GString) shown = g_string_new (NULL);

  while (*text != '\0')
    {
      gunichar c = g_utf8_get_char_validated (text, -1);
      bool valid = c < (gunichar) -2;
      const char *next = valid ? g_utf8_next_char (text) : text + 1;

      if (valid && g_unichar_isprint (c))
        g_string_append_len (shown, text, next - text);
      else
        for (; text < next; text++)
          g_string_append_printf (shown, "\\x%02x", (unsigned char) *text);
      text = next;
    }
  return g_string_free (g_steal_pointer (&shown), FALSE);
}
