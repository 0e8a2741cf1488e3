/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <stdlib.h>

/* What this state knows: the instances it owns, the ones it has shut down, and the detached ones it is connected to.
 * All about the latter is in the run folder, where other processes change it. */

#define STOPPED_REMEMBERED 256u

/* Under lock, as all static functions here. */
static struct instance **
find (struct compute_provider_state *state, const char *id)
{
  struct instance **at = &state->instances;

  while (*at != NULL && strcmp ((*at)->about.id, id) != 0)
    at = &(*at)->next;
  return at;
}

static void
forget (struct instance **at)
{
  struct instance *instance = *at;

  *at = instance->next;
  free (instance);
}

/* Forgets the oldest of those that were shut down when there are too many. */
static void
forget_oldest (struct compute_provider_state *state)
{
  struct instance **oldest = NULL;
  unsigned count = 0;

  for (struct instance **at = &state->instances; *at != NULL; at = &(*at)->next)
    if ((*at)->was_shut_down)
      {
        oldest = at;
        count++;
      }
  if (count > STOPPED_REMEMBERED)
    forget (oldest);
}

/* One user less. Returns the link when that was the last, to be closed without the lock. */
static struct link *
drop (struct link *link)
{
  return --link->users == 0 ? link : NULL;
}

static void
close_if_any (struct link *link)
{
  if (link != NULL)
    link_close (link);
}

/* Notices a runner that has died: an owned instance has stopped, of a detached one the run folder tells more. Returns a
 * link to be closed, or NULL. */
static struct link *
mind_death (struct instance **at)
{
  struct instance *instance = *at;
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct link *link = instance != NULL ? instance->link : NULL;

  if (link == NULL || compute_runner_check (link->runner, &why) == 0)
    return NULL;
  instance->link = NULL;
  instance->about.state = COMPUTE_STATE_STOPPED;
  cut_text (instance->about.detail, sizeof instance->about.detail, why.message);
  if (instance->about.flags & COMPUTE_CONFIG_DETACHED)
    forget (at);
  return drop (link);
}

/* True when a detached instance is all that the table knows by this name, or it knows none. */
static int
is_elsewhere (const struct instance *instance)
{
  return instance == NULL || (!instance->was_shut_down && (instance->about.flags & COMPUTE_CONFIG_DETACHED) != 0);
}

/* A second connection to a detached instance, made by two threads at a time, is the one too many: *link is replaced. */
static struct link *
insert (struct compute_provider_state *state, struct instance *instance, struct link **link)
{
  struct instance *other = *find (state, instance->about.id);
  struct link *unused = NULL;

  if (other != NULL && other->link != NULL)
    {
      unused = *link;
      *link = other->link;
      free (instance);
    }
  else
    {
      instance->link = *link;
      instance->link->users = 1;
      instance->next = state->instances;
      state->instances = instance;
    }
  return unused;
}

/* Remembers an instance that runs; its link is taken, and given back with one user more where enter is set. */
static int
add (struct compute_provider_state *state, const struct compute_instance *about, struct link **link, int enter,
     struct compute_error *err)
{
  struct instance *instance = calloc (1, sizeof *instance);
  struct link *unused;

  if (instance == NULL)
    {
      link_close (*link);
      return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for an instance");
    }
  instance->about = *about;
  pthread_mutex_lock (&state->lock);
  unused = insert (state, instance, link);
  (*link)->users += (unsigned) enter;
  pthread_mutex_unlock (&state->lock);
  close_if_any (unused);
  return 0;
}

int
instances_add (struct compute_provider_state *state, const struct compute_instance *about, struct link *link,
               struct compute_error *err)
{
  return add (state, about, &link, 0, err);
}

/* As instances_enter, for what the table knows; NOT_FOUND without a message where the run folder has to tell. */
static int
enter_known (struct compute_provider_state *state, const char *id, struct link **ret_link, struct link **ret_dead,
             struct compute_error *err)
{
  struct instance *instance;

  *ret_dead = mind_death (find (state, id));
  instance = *find (state, id);
  if (instance == NULL)
    return COMPUTE_E_NOT_FOUND;
  if (instance->link == NULL)
    return not_running (id, err);
  instance->link->users++;
  *ret_link = instance->link;
  return 0;
}

int
instances_enter (struct compute_provider_state *state, const char *id, struct link **ret_link,
                 struct compute_error *err)
{
  struct compute_instance about;
  struct link *dead;
  int result;

  pthread_mutex_lock (&state->lock);
  result = enter_known (state, id, ret_link, &dead, err);
  pthread_mutex_unlock (&state->lock);
  close_if_any (dead);
  if (result != COMPUTE_E_NOT_FOUND)
    return result;
  result = detached_open (id, &about, ret_link, err);
  return result == 0 ? add (state, &about, ret_link, 1, err) : result;
}

void
instances_leave (struct compute_provider_state *state, struct link *link)
{
  pthread_mutex_lock (&state->lock);
  link = drop (link);
  pthread_mutex_unlock (&state->lock);
  close_if_any (link);
}

/* Takes the link of an instance out, so that no call enters any more; NULL when it has none. */
static struct link *
mark_shut_down (struct compute_provider_state *state, struct instance *instance)
{
  struct link *link = instance->link;

  instance->link = NULL;
  instance->was_shut_down = 1;
  instance->about.state = COMPUTE_STATE_STOPPED;
  forget_oldest (state);
  return link;
}

/* Another connection than ours ends a detached instance as well as our own: ours is only dropped. */
static int
shut_down_detached (struct compute_provider_state *state, const char *id, struct compute_error *err)
{
  struct instance *instance;
  struct link *link = NULL;
  int result = detached_shutdown (id, err);

  if (result != 0)
    return result;
  pthread_mutex_lock (&state->lock);
  instance = *find (state, id);
  if (instance != NULL && (link = mark_shut_down (state, instance)) != NULL)
    link = drop (link);
  pthread_mutex_unlock (&state->lock);
  close_if_any (link);
  return 0;
}

static int
shut_down_owned (struct compute_provider_state *state, struct link *link, struct compute_error *err)
{
  int result = compute_runner_shutdown (link->runner, err);

  instances_leave (state, link);
  return result == COMPUTE_E_LOST ? 0 : result; /* lost: it had died, and what it ran with it */
}

int
instances_shut_down (struct compute_provider_state *state, const char *id, struct compute_error *err)
{
  struct instance *instance;
  struct link *link = NULL;
  int elsewhere;

  pthread_mutex_lock (&state->lock);
  instance = *find (state, id);
  elsewhere = is_elsewhere (instance);
  if (!elsewhere)
    link = mark_shut_down (state, instance);
  pthread_mutex_unlock (&state->lock);
  if (elsewhere)
    return shut_down_detached (state, id, err);
  return link != NULL ? shut_down_owned (state, link, err) : 0;
}

int
instances_status (struct compute_provider_state *state, const char *id, struct compute_instance *ret_about,
                  struct compute_error *err)
{
  struct instance *instance;
  struct link *dead;
  int elsewhere;

  pthread_mutex_lock (&state->lock);
  dead = mind_death (find (state, id));
  instance = *find (state, id);
  elsewhere = is_elsewhere (instance);
  if (!elsewhere)
    *ret_about = instance->about;
  pthread_mutex_unlock (&state->lock);
  close_if_any (dead);
  return elsewhere ? detached_status (id, ret_about, err) : 0;
}

/* The owned instances at one moment, and the links of those found dead. */
struct snapshot
{
  struct compute_instance *about;
  struct link **dead;
  size_t count;
};

static int
take_snapshot (struct compute_provider_state *state, struct snapshot *snapshot)
{
  size_t room = 1;

  for (struct instance *instance = state->instances; instance != NULL; instance = instance->next)
    room++;
  snapshot->about = calloc (room, sizeof *snapshot->about);
  snapshot->dead = calloc (room, sizeof (struct link *));
  if (snapshot->about == NULL || snapshot->dead == NULL)
    return -1;
  for (struct instance **at = &state->instances; *at != NULL; at = &(*at)->next)
    if (!is_elsewhere (*at) && !(*at)->was_shut_down)
      {
        snapshot->dead[snapshot->count] = mind_death (at);
        snapshot->about[snapshot->count++] = (*at)->about;
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
  return result == 0 ? detached_list (state, emit, user, err) : result;
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
