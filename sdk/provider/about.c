/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define ID_DIGITS 12u

static int
new_id (const char *prefix, char *id, size_t room, struct compute_error *err)
{
  unsigned char random[ID_DIGITS / 2];

  if (getrandom (random, sizeof random, 0) != (ssize_t) sizeof random)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "no random number for an id: %s", strerror (errno));
  snprintf (id, room, "%s%02x%02x%02x%02x%02x%02x", prefix, random[0], random[1], random[2], random[3], random[4],
            random[5]);
  return 0;
}

int
is_instance_id (const char *prefix, const char *id)
{
  size_t bytes = strlen (prefix);

  return strlen (id) == bytes + ID_DIGITS && memcmp (id, prefix, bytes) == 0
         && strspn (id + bytes, "0123456789abcdef") == ID_DIGITS;
}

void
cut_text (char *to, size_t room, const char *from)
{
  int length = snprintf (to, room, "%s", from);

  if (length >= 0 && (size_t) length >= room)
    compute_error_end_at_character (to, room - 1);
}

int
describe (const char *prefix, const struct compute_config *config, struct compute_instance *about,
          struct compute_error *err)
{
  int detached = (config->flags & COMPUTE_CONFIG_DETACHED) != 0;
  struct timespec now;

  *about = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  clock_gettime (CLOCK_REALTIME, &now);
  about->created_ms = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
  about->state = COMPUTE_STATE_RUNNING;
  about->flags = detached ? COMPUTE_CONFIG_DETACHED : 0;
  about->owner = detached ? COMPUTE_OWNER_NONE : COMPUTE_OWNER_SELF;
  about->owner_pid = detached ? 0 : getpid ();
  (void) gethostname (about->host, sizeof about->host - 1);
  cut_text (about->workdir, sizeof about->workdir, config->workdir);
  if (config->definition != NULL)
    cut_text (about->definition, sizeof about->definition, config->definition);
  return new_id (prefix, about->id, sizeof about->id, err);
}

void
give_instance (struct compute_instance *to, const struct compute_instance *from)
{
  uint32_t size = to->size;

  memcpy (to, from, size < sizeof *from ? size : sizeof *from);
  to->size = size;
}

int
no_instance (const char *id, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no instance '%s'", id);
}

int
not_running (const char *id, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_NOT_RUNNING, 0, "instance '%s' is stopped, not running.", id);
}
