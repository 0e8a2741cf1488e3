/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define STOPPED_REMEMBERED 256u

static void
copy_text (char *to, size_t room, const char *from)
{
  int length = snprintf (to, room, "%s", from);

  if (length >= 0 && (size_t) length >= room)
    compute_error_end_at_character (to, room - 1);
}

static int
new_id (char *id, size_t room, struct compute_error *err)
{
  unsigned char random[6];

  if (getrandom (random, sizeof random, 0) != (ssize_t) sizeof random)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "no random number for an id: %s", strerror (errno));
  snprintf (id, room, "local-%02x%02x%02x%02x%02x%02x", random[0], random[1], random[2], random[3], random[4],
            random[5]);
  return 0;
}

int
describe (const struct compute_config *config, struct compute_instance *about, struct compute_error *err)
{
  struct timespec now;
  int detached = (config->flags & COMPUTE_CONFIG_DETACHED) != 0;

  *about = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  clock_gettime (CLOCK_REALTIME, &now);
  about->created_ms = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
  about->state = COMPUTE_STATE_RUNNING;
  about->flags = detached ? COMPUTE_CONFIG_DETACHED : 0;
  about->owner = detached ? COMPUTE_OWNER_NONE : COMPUTE_OWNER_SELF;
  about->owner_pid = detached ? 0 : getpid ();
  gethostname (about->host, sizeof about->host - 1);
  copy_text (about->workdir, sizeof about->workdir, config->workdir);
  if (config->definition != NULL)
    copy_text (about->definition, sizeof about->definition, config->definition);
  return new_id (about->id, sizeof about->id, err);
}

/* Under lock, as all static functions below. */
static struct instance *
find (struct compute_provider_state *state, const char *id)
{
  struct instance *instance = state->instances;

  while (instance != NULL && strcmp (instance->about.id, id) != 0)
    instance = instance->next;
  return instance;
}

/* Forgets the oldest of those that were shut down when there are too many. */
static void
forget_old (struct compute_provider_state *state)
{
  struct instance **last = NULL, *old;
  unsigned count = 0;

  for (struct instance **at = &state->instances; *at != NULL; at = &(*at)->next)
    if ((*at)->was_shut_down)
      {
        last = at;
        count++;
      }
  if (count <= STOPPED_REMEMBERED)
    return;
  old = *last;
  *last = old->next;
  free (old);
}

/* One user less; returns the link when it was the last, to be closed without the lock. */
static struct link *
drop (struct link *link)
{
  return --link->users == 0 ? link : NULL;
}

/* Notices a runner that has died. Returns a link to be closed, or NULL. */
static struct link *
mind_death (struct instance *instance)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct link *link = instance->link;

  if (link == NULL || compute_runner_check (link->runner, &why) == 0)
    return NULL;
  instance->link = NULL;
  instance->about.state = COMPUTE_STATE_STOPPED;
  copy_text (instance->about.detail, sizeof instance->about.detail, why.message);
  return drop (link);
}

static int
unknown (const char *id, struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no instance '%s'", id);
}

static void
close_if_any (struct link *link)
{
  if (link != NULL)
    link_close (link);
}

int
instances_add (struct compute_provider_state *state, const struct compute_instance *about, struct link *link,
               struct compute_error *err)
{
  struct instance *instance = calloc (1, sizeof *instance);

  if (instance == NULL)
    {
      link_close (link);
      return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for an instance");
    }
  instance->link = link;
  link->users = 1;
  instance->about = *about;
  pthread_mutex_lock (&state->lock);
  instance->next = state->instances;
  state->instances = instance;
  pthread_mutex_unlock (&state->lock);
  return 0;
}

int
instances_enter (struct compute_provider_state *state, const char *id, struct link **ret_link,
                 struct compute_error *err)
{
  struct instance *instance;
  struct link *dead = NULL;
  int result = 0;

  pthread_mutex_lock (&state->lock);
  instance = find (state, id);
  if (instance != NULL)
    dead = mind_death (instance);
  if (instance == NULL)
    result = unknown (id, err);
  else if (instance->link == NULL)
    result = compute_error_set (err, COMPUTE_E_NOT_RUNNING, 0, "instance '%s' is stopped, not running.", id);
  else
    {
      instance->link->users++;
      *ret_link = instance->link;
    }
  pthread_mutex_unlock (&state->lock);
  close_if_any (dead);
  return result;
}

void
instances_leave (struct compute_provider_state *state, struct link *link)
{
  pthread_mutex_lock (&state->lock);
  link = drop (link);
  pthread_mutex_unlock (&state->lock);
  close_if_any (link);
}

int
instances_stop (struct compute_provider_state *state, const char *id, struct link **ret_link, struct compute_error *err)
{
  struct instance *instance;
  int result = 0;

  pthread_mutex_lock (&state->lock);
  instance = find (state, id);
  if (instance == NULL)
    result = unknown (id, err);
  else
    {
      *ret_link = instance->link;
      instance->link = NULL;
      instance->was_shut_down = 1;
      instance->about.state = COMPUTE_STATE_STOPPED;
      forget_old (state);
    }
  pthread_mutex_unlock (&state->lock);
  return result;
}

void
give_instance (struct compute_instance *to, const struct compute_instance *from)
{
  uint32_t size = to->size;

  memcpy (to, from, size < sizeof *from ? size : sizeof *from);
  to->size = size;
}

int
instances_status (struct compute_provider_state *state, const char *id, struct compute_instance *ret_about,
                  struct compute_error *err)
{
  struct instance *instance;
  struct link *dead = NULL;
  int result = 0;

  pthread_mutex_lock (&state->lock);
  instance = find (state, id);
  if (instance == NULL)
    result = unknown (id, err);
  else
    {
      dead = mind_death (instance);
      give_instance (ret_about, &instance->about);
    }
  pthread_mutex_unlock (&state->lock);
  close_if_any (dead);
  return result;
}

/* What a list shows, taken at one moment. */
struct snapshot
{
  struct compute_instance *about;
  struct link **dead;
  size_t count;
};

static int
take_snapshot (struct compute_provider_state *state, struct snapshot *snapshot)
{
  size_t room = 0;

  for (struct instance *instance = state->instances; instance != NULL; instance = instance->next)
    room++;
  snapshot->about = calloc (room + 1, sizeof *snapshot->about);
  snapshot->dead = calloc (room + 1, sizeof *snapshot->dead);
  if (snapshot->about == NULL || snapshot->dead == NULL)
    return -1;
  for (struct instance *instance = state->instances; instance != NULL; instance = instance->next)
    if (!instance->was_shut_down)
      {
        snapshot->dead[snapshot->count] = mind_death (instance);
        snapshot->about[snapshot->count++] = instance->about;
      }
  return 0;
}

int
instances_list (struct compute_provider_state *state, compute_instance_fn emit, void *user, struct compute_error *err)
{
  struct snapshot snapshot = { 0 };
  int result;

  pthread_mutex_lock (&state->lock);
  result = take_snapshot (state, &snapshot);
  pthread_mutex_unlock (&state->lock);
  if (result != 0)
    result = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for a list of instances");
  for (size_t i = 0; i < snapshot.count; i++)
    close_if_any (snapshot.dead[i]);
  for (size_t i = 0; i < snapshot.count && result == 0; i++)
    result = emit (user, &snapshot.about[i]);
  free (snapshot.about);
  free (snapshot.dead);
  return result;
}

/* All pipes close before the first runner is waited for: they end at the same time. */
void
instances_close (struct compute_provider_state *state)
{
  struct instance *instance;

  for (instance = state->instances; instance != NULL; instance = instance->next)
    if (instance->link != NULL)
      {
        compute_runner_close (instance->link->runner);
        instance->link->runner = NULL;
      }
  while ((instance = state->instances) != NULL)
    {
      state->instances = instance->next;
      close_if_any (instance->link);
      free (instance);
    }
}
