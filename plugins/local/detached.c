/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_S 5
#define LAST_MOMENTS_MS 1000 /* of a daemon that takes no connection any more */

/* A record's state as of now. */
static void
judge (struct record *record)
{
  enum life life = proof_check (&record->proof);

  record->about.flags = COMPUTE_CONFIG_DETACHED;
  record->about.state = life == LIFE_GONE ? COMPUTE_STATE_STOPPED : COMPUTE_STATE_RUNNING;
  record->about.owner = life == LIFE_GONE      ? COMPUTE_OWNER_GONE
                        : life == LIFE_UNKNOWN ? COMPUTE_OWNER_UNKNOWN
                                               : COMPUTE_OWNER_NONE;
  if (life == LIFE_GONE)
    snprintf (record->about.detail, sizeof record->about.detail, "its runner, process %lld, has gone",
              (long long) record->proof.pid);
}

/* Finds an instance of this user's. Errors: NOT_FOUND, and a folder or record that cannot be trusted. */
static int
look_up (const char *id, struct folder *ret_folder, struct record *ret_record, struct compute_error *err)
{
  int result = is_instance_id (ID_PREFIX, id) ? folder_open (id, 0, ret_folder, err) : COMPUTE_E_NOT_FOUND;

  if (result == 0)
    {
      result = record_read (ret_folder, id, ret_record, err);
      if (result == 0)
        judge (ret_record);
      else
        folder_close (ret_folder);
    }
  return result == COMPUTE_E_NOT_FOUND ? no_instance (id, err) : result;
}

static int
status (void *context, const char *id, const struct compute_call *call, struct compute_instance *ret_about,
        struct compute_error *err)
{
  struct folder folder;
  struct record record;
  int result = look_up (id, &folder, &record, err);

  (void) context;
  (void) call;
  if (result != 0)
    return result;
  folder_close (&folder);
  *ret_about = record.about;
  return 0;
}

/* A socket's name has 107 bytes; by way of the open folder a path of any length fits. */
static int
connect_to (const struct folder *folder, int *ret_fd, struct compute_error *err)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct timeval limit = { .tv_sec = CONNECT_S };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder->fd, SOCKET_FILE);
  if (fd >= 0 && setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0
      && connect (fd, (const struct sockaddr *) &address, sizeof address) == 0)
    {
      *ret_fd = fd;
      return 0;
    }
  compute_error_set (err, COMPUTE_E_ENGINE, errno, "cannot reach the runner on '%s/%s': %s", folder->path, SOCKET_FILE,
                     strerror (errno));
  if (fd >= 0)
    close (fd);
  return COMPUTE_E_ENGINE;
}

static int
open_link (const struct folder *folder, struct link **ret_link, struct compute_error *err)
{
  struct compute_runner_options options = { .size = sizeof options };
  int result = connect_to (folder, &options.read_fd, err);

  options.write_fd = options.read_fd;
  return result == 0 ? link_open (&options, ret_link, err) : result;
}

static int
open_detached (void *context, const char *id, const struct compute_call *call, struct compute_instance *ret_about,
               struct link **ret_link, struct compute_error *err)
{
  struct folder folder;
  struct record record;
  int result = look_up (id, &folder, &record, err);

  (void) context;
  (void) call;
  if (result != 0)
    return result;
  if (record.about.state == COMPUTE_STATE_STOPPED)
    result = not_running (id, err);
  else
    result = open_link (&folder, ret_link, err);
  folder_close (&folder);
  if (result == 0)
    *ret_about = record.about;
  return result;
}

/* The record is there before the instance is of any use: a runner whose maker dies in between ends by itself. */
static int
introduce (const struct folder *folder, const struct compute_config *config, const struct compute_instance *about,
           struct link *link, struct compute_error *err)
{
  struct record record = { .about = *about };
  int result;

  result = proof_take (compute_runner_pid (link->runner), &record.proof, err);
  if (result == 0)
    result = record_write (folder, &record, err);
  return result == 0 ? compute_runner_configure (link->runner, config, err) : result;
}

int
detached_start (const struct compute_provider_state *state, const struct compute_config *config,
                const struct compute_instance *about, struct link **ret_link, struct compute_error *err)
{
  struct folder folder;
  struct link *link;
  char socket_path[sizeof folder.path + sizeof SOCKET_FILE];
  const char *const argv[] = { state->runner_path, "--listen", socket_path, NULL };
  int result = folder_open (about->id, 1, &folder, err);

  if (result != 0)
    return result;
  snprintf (socket_path, sizeof socket_path, "%s/%s", folder.path, SOCKET_FILE);
  result = link_start (argv, 0, NULL, &link, err);
  if (result == 0)
    {
      link_reap (link); /* what was started has handed over to the daemon */
      result = introduce (&folder, config, about, link, err);
      if (result != 0)
        {
          (void) compute_runner_shutdown (link->runner, NULL);
          link_close (link);
        }
    }
  if (result != 0)
    {
      folder_remove (&folder);
      return result;
    }
  folder_close (&folder);
  *ret_link = link;
  return 0;
}

/* True when the process has gone, or goes within its last moments. */
static int
goes_by_itself (const struct proof *proof)
{
  enum life life = proof_check (proof);

  for (int ms = 0; life == LIFE_ALIVE && ms < LAST_MOMENTS_MS; ms += 10)
    {
      (void) poll (NULL, 0, 10);
      life = proof_check (proof);
    }
  return life == LIFE_GONE;
}

/* Ends the daemon. One that dies meanwhile, at the hands of another process or by itself, has ended, too; but TIMEOUT
 * tells of what outlives it. */
static int
end_runner (const struct folder *folder, const struct record *record, struct compute_error *err)
{
  struct link *link;
  int result = open_link (folder, &link, err);

  if (result == 0)
    {
      result = compute_runner_shutdown (link->runner, err);
      link_close (link);
    }
  return result != 0 && result != COMPUTE_E_TIMEOUT && goes_by_itself (&record->proof) ? 0 : result;
}

static int
shut_down (void *context, const char *id, const struct compute_call *call, struct compute_error *err)
{
  struct folder folder;
  struct record record;
  int result = look_up (id, &folder, &record, err);

  (void) context;
  (void) call;
  if (result != 0)
    return result;
  if (record.about.state != COMPUTE_STATE_STOPPED)
    result = end_runner (&folder, &record, err);
  if (result == 0)
    folder_remove (&folder);
  else
    folder_close (&folder);
  return result;
}

/* Adds one folder's instance to the list. What is broken or not ours is said in the log, and never ends the list. */
static int
list_one (const struct compute_provider_state *state, const char *id, compute_instance_fn emit, void *user)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct compute_instance about;
  int result = status (NULL, id, NULL, &about, &why);

  if (result == 0)
    return emit (user, &about);
  if (result != COMPUTE_E_NOT_FOUND)
    host_log (state->host, COMPUTE_LOG_WARNING, "instance '%s' is left out of the list: %s", id, why.message);
  return 0;
}

static int
list (void *context, compute_instance_fn emit, void *user, const struct compute_call *call, struct compute_error *err)
{
  const struct compute_provider_state *state = context;
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct folder all;
  const struct dirent *entry;
  DIR *folder;
  int result = folder_open_all (0, &all, &why);

  (void) call;
  if (result == COMPUTE_E_DENIED)
    host_log (state->host, COMPUTE_LOG_WARNING, "no detached instance is listed: %s", why.message);
  if (result == COMPUTE_E_NOT_FOUND || result == COMPUTE_E_DENIED)
    return 0;
  if (result != 0)
    return compute_error_set (err, result, why.sys_errno, "%s", why.message);
  folder = fdopendir (all.fd);
  if (folder == NULL)
    {
      folder_close (&all);
      return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot list '%s': %s", all.path, strerror (errno));
    }
  while (result == 0 && (entry = readdir (folder)) != NULL)
    if (is_instance_id (ID_PREFIX, entry->d_name))
      result = list_one (state, entry->d_name, emit, user);
  closedir (folder);
  return result;
}

const struct instances_ops detached_ops
    = { .open = open_detached, .shut_down = shut_down, .status = status, .list = list };
