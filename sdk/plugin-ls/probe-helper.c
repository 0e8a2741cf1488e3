/* SPDX-License-Identifier: MIT */

/**
 * compute-provider-probe: loads one provider and tells plugin-ls how far it came (see probe-channel.h). It runs in a
 * process group of its own, with /dev/null as stdin and stdout going to stderr, and may be killed by what it loads.
 */

#include "probe-channel.h"

#include <cjson/cJSON.h>
#include <compute/compute.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Out of the way of plugins that close or reuse low numbers. */
#define HIGH_FD 100

static int channel = -1;

/* Ends the whole group when plugin-ls has died: also while the plugin hangs, and with all that it started. A parent
 * death signal would come too early, when the spawning thread ends, and would spare the children. */
static void *
watch_parent (void *unused)
{
  struct pollfd parent = { .fd = channel };

  (void) unused;
  while (poll (&parent, 1, -1) <= 0)
    continue;
  kill (0, SIGKILL);
  return NULL;
}

static int
start_watching (void)
{
  pthread_t thread;
  sigset_t all, old;
  int failed;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old); /* the plugin's signals go to the plugin's thread */
  failed = pthread_create (&thread, NULL, watch_parent, NULL);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  return failed;
}

/* A failure because plugin-ls has died is the watcher's business. */
static bool
send_record (const char *record)
{
  return send (channel, record, strlen (record), MSG_NOSIGNAL) >= 0;
}

static void
send_stage (void *unused, const char *stage)
{
  (void) unused;
  send_record (stage);
}

static void
add_text (cJSON *object, const char *key, const char *text)
{
  char cut[PROBE_TEXT_BYTES];

  if (text == NULL)
    {
      cJSON_AddNullToObject (object, key);
      return;
    }
  snprintf (cut, sizeof cut, "%s", text);
  cJSON_AddStringToObject (object, key, cut);
}

static void
send_result (const char *reason, const char *message, const struct compute_provider *provider)
{
  cJSON *result = cJSON_CreateObject ();
  char *record;

  add_text (result, "reason", reason);
  add_text (result, "message", message);
  if (provider != NULL)
    {
      cJSON *table = cJSON_AddObjectToObject (result, "provider");

      add_text (table, "name", provider->name);
      add_text (table, "version", provider->version);
      add_text (table, "description", provider->description);
      cJSON_AddNumberToObject (table, "capabilities", (double) provider->capabilities);
    }
  record = cJSON_PrintUnformatted (result);
  if (record == NULL || !send_record (record))
    fputs ("compute-provider-probe: cannot send the result: was a descriptor closed by one who did not open it?\n",
           stderr);
}

int
main (int argc, char **argv)
{
  const struct rlimit no_core = { 0, 0 };
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  const struct compute_provider *provider = NULL;
  const char *reason = NULL;

  channel = fcntl (PROBE_CHANNEL_FD, F_DUPFD_CLOEXEC, HIGH_FD);
  if (argc != 2 || channel < 0 || getpgrp () != getpid ())
    {
      fputs ("compute-provider-probe: this program is started by plugin-ls --probe\n", stderr);
      return 2;
    }
  close (PROBE_CHANNEL_FD);
  (void) setrlimit (RLIMIT_CORE, &no_core);

  /* The folder is the caller's decision: plugin-ls has judged it. */
  options.flags = COMPUTE_REGISTRY_ONLY_PATHS;
  options.paths = (const char *const *) &argv[1];
  options.path_count = 1;
  if (start_watching () != 0 || compute_registry_open (&options, &registry, &err) != 0)
    {
      fprintf (stderr, "compute-provider-probe: cannot start: %s\n", err.message);
      return 1;
    }

  if (compute_load_file (registry, argv[1], send_stage, NULL, &reason, &provider, &err) != 0)
    send_result (reason != NULL ? reason : "E_DLOPEN", err.message, NULL);
  else
    send_result (NULL, NULL, provider);
  _exit (0); /* no destructor of the plugin */
}
