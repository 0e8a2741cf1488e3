/* SPDX-License-Identifier: MIT */
#include "conformance.h"
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static int
job_collect (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct job *job = user;

  pthread_mutex_lock (&job->lock);
  run_collect (&job->run, stream, data, bytes);
  pthread_cond_broadcast (&job->changed);
  while (job->held)
    pthread_cond_wait (&job->changed, &job->lock);
  pthread_mutex_unlock (&job->lock);
  return 0;
}

static void *
job_main (void *user)
{
  struct job *job = user;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_error error = COMPUTE_ERROR_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  gint64 start = g_get_monotonic_time ();
  int code;

  call.cancel_fd = job->cancel_fd;
  call.user = job;
  call.output = job_collect;
  code = compute_execute (job->place->handle, job->place->instance.id, &job->command, &job->config, &call, &result,
                          &error);
  pthread_mutex_lock (&job->lock);
  job->run.code = code;
  job->run.error = error;
  job->run.result = result;
  job->run.wall_ms = (g_get_monotonic_time () - start) / 1000;
  job->done = TRUE;
  pthread_cond_broadcast (&job->changed);
  pthread_mutex_unlock (&job->lock);
  return NULL;
}

static void
monotonic_cond_init (pthread_cond_t *cond)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (cond, &attributes);
  pthread_condattr_destroy (&attributes);
}

static struct job *
job_start_full (struct place *place, const char *script, gint64 timeout_ms, gboolean held)
{
  static const struct compute_command nothing_to_do = COMPUTE_COMMAND_INIT;
  static const struct compute_config nothing_stated = COMPUTE_CONFIG_INIT;
  struct job *job = g_new0 (struct job, 1);

  job->place = place;
  job->command = nothing_to_do;
  job->command.script = g_strdup (script);
  job->config = nothing_stated;
  job->config.timeout_ms = timeout_ms;
  job->held = held;
  job->cancel_fd = eventfd (0, EFD_CLOEXEC);
  g_assert_cmpint (job->cancel_fd, >=, 0);
  job->run = run_new ();
  pthread_mutex_init (&job->lock, NULL);
  monotonic_cond_init (&job->changed);
  job->thread = g_thread_new ("job", job_main, job);
  return job;
}

struct job *
job_start (struct place *place, const char *script, gint64 timeout_ms)
{
  return job_start_full (place, script, timeout_ms, FALSE);
}

struct job *
job_start_held (struct place *place, const char *script, gint64 timeout_ms)
{
  return job_start_full (place, script, timeout_ms, TRUE);
}

void
job_wait_output (struct job *job, const char *text)
{
  pthread_mutex_lock (&job->lock);
  while (!job->done && strstr (job->run.out->str, text) == NULL)
    pthread_cond_wait (&job->changed, &job->lock);
  if (strstr (job->run.out->str, text) == NULL)
    g_error ("the command ended (%s) and never printed '%s'", job->run.error.message, text);
  pthread_mutex_unlock (&job->lock);
}

gboolean
job_wait_done (struct job *job, gint64 limit_ms)
{
  gint64 end = g_get_monotonic_time () + limit_ms * 1000;
  const struct timespec until = { end / G_USEC_PER_SEC, end % G_USEC_PER_SEC * 1000 };
  gboolean done;

  pthread_mutex_lock (&job->lock);
  while (!job->done && pthread_cond_timedwait (&job->changed, &job->lock, &until) == 0)
    continue;
  done = job->done;
  pthread_mutex_unlock (&job->lock);
  return done;
}

void
job_cancel (struct job *job)
{
  const guint64 one = 1;

  write_whole (job->cancel_fd, &one, sizeof one);
}

void
job_release (struct job *job)
{
  pthread_mutex_lock (&job->lock);
  job->held = FALSE;
  pthread_cond_broadcast (&job->changed);
  pthread_mutex_unlock (&job->lock);
}

struct run
job_end (struct job *job)
{
  struct run run;

  g_thread_join (job->thread);
  run = job->run;
  close (job->cancel_fd);
  g_free ((char *) job->command.script);
  pthread_mutex_destroy (&job->lock);
  pthread_cond_destroy (&job->changed);
  g_free (job);
  return run;
}
