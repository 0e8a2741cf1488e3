/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <stdlib.h>

/* What one open provider knows: the instances it owns, the ones it has shut down, and the detached ones it is connected
 * to. All about the latter is elsewhere, where other processes change it. */

#define STOPPED_REMEMBERED 256u

/* Under lock, as all static functions here. */
static struct instance **
find (struct instances *table, const char *id)
{
  struct instance **at = &table->first;

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
forget_oldest (struct instances *table)
{
  struct instance **oldest = NULL;
  unsigned count = 0;

  for (struct instance **at = &table->first; *at != NULL; at = &(*at)->next)
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

/* Notices a runner that has died: an owned instance has stopped, of a detached one whoever knows it tells more. Returns
 * a link to be closed, or NULL. */
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

/* True when somebody else has to tell the state. What could not be removed is told by the table: the engine does not
 * know that it should be gone. */
static int
is_told_elsewhere (const struct instances *table, const struct instance *instance)
{
  if (is_elsewhere (instance))
    return 1;
  return table->ops->remove != NULL && !instance->was_shut_down && instance->about.state != COMPUTE_STATE_ERROR;
}

/* A second connection to a detached instance, made by two threads at a time, is the one too many: *link is replaced. */
static struct link *
insert (struct instances *table, struct instance *instance, struct link **link)
{
  struct instance *other = *find (table, instance->about.id);
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
      instance->next = table->first;
      table->first = instance;
    }
  return unused;
}

/* Remembers an instance that runs; its link is taken, and given back with one user more where enter is set. */
static int
add (struct instances *table, const struct compute_instance *about, struct link **link, int enter,
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
  pthread_mutex_lock (&table->lock);
  unused = insert (table, instance, link);
  (*link)->users += (unsigned) enter;
  pthread_mutex_unlock (&table->lock);
  close_if_any (unused);
  return 0;
}

int
instances_add (struct instances *table, const struct compute_instance *about, struct link *link,
               struct compute_error *err)
{
  return add (table, about, &link, 0, err);
}

/* As instances_enter, for what the table knows; NOT_FOUND without a message where somebody else has to tell. */
static int
enter_known (struct instances *table, const char *id, struct link **ret_link, struct link **ret_dead,
             struct compute_error *err)
{
  struct instance *instance;

  *ret_dead = mind_death (find (table, id));
  instance = *find (table, id);
  if (instance == NULL)
    return COMPUTE_E_NOT_FOUND;
  if (instance->link == NULL)
    return not_running (id, err);
  instance->link->users++;
  *ret_link = instance->link;
  return 0;
}

/* A thread that connects to a detached instance; on its stack. */
struct opening
{
  struct opening *next;
  const char *id;
  uint64_t number;
};

/* Whether one that began before a number is under way. */
static int
is_opening (const struct instances *table, const char *id, uint64_t number)
{
  const struct opening *opening = table->openings;

  while (opening != NULL && (opening->number >= number || strcmp (opening->id, id) != 0))
    opening = opening->next;
  return opening != NULL;
}

/* Many calls at once need one connection: all but the first wait for it. When it fails, each tries for itself. */
static int
wait_for_opening (struct instances *table, const char *id, const struct compute_call *call, struct compute_error *err)
{
  uint64_t number = table->opening_count;

  while (is_opening (table, id, number))
    {
      patience_wait (&table->opened, &table->lock);
      if (is_cancelled (call))
        return cancelled (err);
    }
  return 0;
}

/* open, told to those who wait for it once it has ended and is in the table. */
static int
open_unknown (struct instances *table, struct opening *opening, const struct compute_call *call, struct link **ret_link,
              struct compute_error *err)
{
  struct compute_instance about;
  struct opening **at = &table->openings;
  int result = table->ops->open (table->context, opening->id, call, &about, ret_link, err);

  if (result == 0)
    result = add (table, &about, ret_link, 1, err);
  pthread_mutex_lock (&table->lock);
  while (*at != opening)
    at = &(*at)->next;
  *at = opening->next;
  pthread_cond_broadcast (&table->opened);
  pthread_mutex_unlock (&table->lock);
  return result;
}

int
instances_enter (struct instances *table, const char *id, const struct compute_call *call, struct link **ret_link,
                 struct compute_error *err)
{
  struct opening opening = { .id = id };
  struct link *dead;
  int result;

  pthread_mutex_lock (&table->lock);
  result = wait_for_opening (table, id, call, err);
  if (result != 0)
    {
      pthread_mutex_unlock (&table->lock);
      return result;
    }
  result = enter_known (table, id, ret_link, &dead, err);
  if (result == COMPUTE_E_NOT_FOUND)
    {
      opening.next = table->openings;
      opening.number = table->opening_count++;
      table->openings = &opening;
    }
  pthread_mutex_unlock (&table->lock);
  close_if_any (dead);
  return result == COMPUTE_E_NOT_FOUND ? open_unknown (table, &opening, call, ret_link, err) : result;
}

void
instances_leave (struct instances *table, struct link *link)
{
  pthread_mutex_lock (&table->lock);
  link = drop (link);
  pthread_mutex_unlock (&table->lock);
  close_if_any (link);
}

/* Takes the link of an instance out, so that no call enters any more; NULL when it has none. */
static struct link *
mark_shut_down (struct instances *table, struct instance *instance)
{
  struct link *link = instance->link;

  instance->link = NULL;
  instance->was_shut_down = 1;
  instance->about.state = COMPUTE_STATE_STOPPED;
  forget_oldest (table);
  return link;
}

/* Another connection than ours ends a detached instance as well as our own: ours is only dropped. */
static int
shut_down_detached (struct instances *table, const char *id, const struct compute_call *call, struct compute_error *err)
{
  struct instance *instance;
  struct link *link = NULL;
  int result = table->ops->shut_down (table->context, id, call, err);

  if (result != 0)
    return result;
  pthread_mutex_lock (&table->lock);
  instance = *find (table, id);
  if (instance != NULL && (link = mark_shut_down (table, instance)) != NULL)
    link = drop (link);
  pthread_mutex_unlock (&table->lock);
  close_if_any (link);
  return 0;
}

/* What could not be removed may still run: it is known again, as failed, and another shutdown can succeed. */
static int
remove_owned (struct instances *table, const char *id, const struct compute_call *call, struct compute_error *err)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  int result = table->ops->remove (table->context, id, call, &why);
  struct instance *instance;

  if (result == 0)
    return 0;
  pthread_mutex_lock (&table->lock);
  instance = *find (table, id);
  if (instance != NULL)
    {
      instance->was_shut_down = 0;
      instance->about.state = COMPUTE_STATE_ERROR;
      cut_text (instance->about.detail, sizeof instance->about.detail, why.message);
    }
  pthread_mutex_unlock (&table->lock);
  return compute_error_set (err, result, why.sys_errno, "%s", why.message);
}

static int
shut_down_owned (struct instances *table, const char *id, struct link *link, const struct compute_call *call,
                 struct compute_error *err)
{
  int result = 0;

  if (link != NULL)
    {
      result = compute_runner_shutdown (link->runner, err);
      instances_leave (table, link);
    }
  if (table->ops->remove != NULL)
    return remove_owned (table, id, call, err); /* with all that would not end */
  return result == COMPUTE_E_LOST ? 0 : result; /* lost: it had died, and what it ran with it */
}

int
instances_shut_down (struct instances *table, const char *id, const struct compute_call *call,
                     struct compute_error *err)
{
  struct instance *instance;
  struct link *link = NULL;
  int elsewhere, again;

  pthread_mutex_lock (&table->lock);
  instance = *find (table, id);
  elsewhere = is_elsewhere (instance);
  again = !elsewhere && instance->was_shut_down;
  if (!elsewhere)
    link = mark_shut_down (table, instance);
  pthread_mutex_unlock (&table->lock);
  if (elsewhere)
    return shut_down_detached (table, id, call, err);
  return again ? 0 : shut_down_owned (table, id, link, call, err);
}

int
instances_status (struct instances *table, const char *id, const struct compute_call *call,
                  struct compute_instance *ret_about, struct compute_error *err)
{
  struct instance *instance;
  struct link *dead;
  int elsewhere;

  pthread_mutex_lock (&table->lock);
  dead = mind_death (find (table, id));
  instance = *find (table, id);
  elsewhere = is_told_elsewhere (table, instance);
  if (!elsewhere)
    *ret_about = instance->about;
  pthread_mutex_unlock (&table->lock);
  close_if_any (dead);
  return elsewhere ? table->ops->status (table->context, id, call, ret_about, err) : 0;
}

/* The owned instances at one moment, and the links of those found dead. */
struct snapshot
{
  struct compute_instance *about;
  struct link **dead;
  size_t count;
};

static int
take_snapshot (struct instances *table, struct snapshot *snapshot)
{
  size_t room = 1;

  for (struct instance *instance = table->first; instance != NULL; instance = instance->next)
    room++;
  snapshot->about = calloc (room, sizeof *snapshot->about);
  snapshot->dead = calloc (room, sizeof (struct link *));
  if (snapshot->about == NULL || snapshot->dead == NULL)
    return -1;
  for (struct instance **at = &table->first; *at != NULL; at = &(*at)->next)
    if (!is_told_elsewhere (table, *at) && !(*at)->was_shut_down)
      {
        snapshot->dead[snapshot->count] = mind_death (at);
        snapshot->about[snapshot->count++] = (*at)->about;
      }
  return 0;
}

int
instances_list (struct instances *table, compute_instance_fn emit, void *user, const struct compute_call *call,
                struct compute_error *err)
{
  struct snapshot snapshot = { 0 };
  int result;

  pthread_mutex_lock (&table->lock);
  result = take_snapshot (table, &snapshot);
  pthread_mutex_unlock (&table->lock);
  if (result != 0)
    result = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for a list of instances");
  for (size_t i = 0; i < snapshot.count; i++)
    close_if_any (snapshot.dead[i]);
  for (size_t i = 0; i < snapshot.count && result == 0; i++)
    result = emit (user, &snapshot.about[i]);
  free (snapshot.about);
  free (snapshot.dead);
  return result == 0 ? table->ops->list (table->context, emit, user, call, err) : result;
}

int
instances_leave_telling (struct instances *table, const char *id)
{
  const struct instance *instance;
  int told;

  pthread_mutex_lock (&table->lock);
  instance = *find (table, id);
  told = instance != NULL && is_told_elsewhere (table, instance);
  pthread_mutex_unlock (&table->lock);
  return told;
}

void
instances_open (struct instances *table, const struct instances_ops *ops, void *context)
{
  *table = (struct instances){ .ops = ops, .context = context };
  pthread_mutex_init (&table->lock, NULL);
  patience_init (&table->opened);
}

/* All pipes close before the first runner is waited for: they end at the same time. */
void
instances_close (struct instances *table)
{
  struct instance *instance;

  for (instance = table->first; instance != NULL; instance = instance->next)
    if (instance->link != NULL)
      {
        compute_runner_close (instance->link->runner);
        instance->link->runner = NULL;
      }
  while ((instance = table->first) != NULL)
    {
      table->first = instance->next;
      close_if_any (instance->link);
      free (instance);
    }
  pthread_cond_destroy (&table->opened);
  pthread_mutex_destroy (&table->lock);
}

int
instances_execute (struct instances *table, const char *id, const struct compute_command *command,
                   const struct compute_config *config, const struct compute_call *call,
                   struct compute_result *ret_result, struct compute_error *err)
{
  struct link *link;
  int result = instances_enter (table, id, call, &link, err);

  if (result != 0)
    return result;
  result = compute_runner_execute (link->runner, command, config, call, ret_result, err);
  instances_leave (table, link);
  return result;
}
