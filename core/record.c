/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER ".praisonai/environments"
#define RECORD "registry.json"
#define MAX_BYTES (64 * 1024 * 1024)
#define LOOK_MS 20    /* between looks whether it is our turn */
#define TURN_MS 15000 /* for a change, which takes milliseconds */

double
record_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  return (double) now.tv_sec + (double) (now.tv_nsec / 1000) / 1e6;
}

static int
refuse (int error, const char *what, const char *path, struct compute_error *err)
{
  char shown[120];
  int code = error == EACCES || error == EPERM || error == EROFS ? COMPUTE_E_DENIED : COMPUTE_E_SYSTEM;

  return compute_error_set (err, code, error, "could not %s %s: %s", what, text_for_people (shown, sizeof shown, path),
                            text_of_errno (error));
}

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

/* The environment does not count for a process with raised privileges. */
static char *
home_folder (void)
{
  const char *home = secure_getenv ("HOME");
  struct passwd *found = NULL, entry;
  char buffer[4096];

  if (home != NULL && home[0] == '/')
    return g_strdup (home);
  (void) getpwuid_r (geteuid (), &entry, buffer, sizeof buffer, &found);
  return found != NULL ? g_strdup (found->pw_dir) : NULL;
}

/* name: of a file beside the record. Makes the folder when asked to. */
static int
file_path (const char *name, gboolean makes_folder, char **ret_path, struct compute_error *err)
{
  g_autofree char *home = home_folder ();
  g_autofree char *folder = home != NULL ? g_build_filename (home, FOLDER, NULL) : NULL;

  if (folder == NULL)
    return compute_error_set (err, COMPUTE_E_SYSTEM, 0, "no home folder for the record of captures; set HOME");
  if (makes_folder && g_mkdir_with_parents (folder, 0700) != 0)
    return refuse (errno, "make", folder, err);
  *ret_path = g_build_filename (folder, name, NULL);
  return 0;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static int
read_whole (const char *path, int fd, GString *text, struct compute_error *err)
{
  char buffer[65536];
  ssize_t count;

  while ((count = read (fd, buffer, sizeof buffer)) != 0)
    {
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return refuse (errno, "read", path, err);
      if (text->len + (gsize) count > MAX_BYTES)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s is over %d MiB; it is no record of captures", path,
                                  MAX_BYTES >> 20);
      g_string_append_len (text, buffer, count);
    }
  return 0;
}

/* *ret_record is NULL when there is a file that is no record. */
static int
read_record (const char *path, cJSON **ret_record, struct compute_error *err)
{
  g_autoptr (GString) text = g_string_new (NULL);
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  int rc;

  if (fd < 0 && errno == ENOENT)
    {
      *ret_record = cJSON_CreateObject ();
      return 0;
    }
  if (fd < 0)
    return refuse (errno, "open", path, err);
  rc = read_whole (path, fd, text, err);
  close (fd);
  if (rc != 0)
    return rc;
  *ret_record = memchr (text->str, '\0', text->len) == NULL ? cJSON_ParseWithOpts (text->str, NULL, 1) : NULL;
  if (*ret_record != NULL && !cJSON_IsObject (*ret_record))
    {
      cJSON_Delete (*ret_record);
      *ret_record = NULL;
    }
  return 0;
}

int
record_read (cJSON **ret_record, struct compute_error *err)
{
  g_autofree char *path = NULL;
  int rc = file_path (RECORD, FALSE, &path, err);

  if (rc == 0)
    rc = read_record (path, ret_record, err);
  if (rc == 0 && *ret_record == NULL)
    *ret_record = cJSON_CreateObject ();
  return rc;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static int
write_whole (int fd, const char *text, size_t bytes)
{
  while (bytes > 0)
    {
      ssize_t count = write (fd, text, bytes);

      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return errno;
      text += count;
      bytes -= (size_t) count;
    }
  return 0;
}

/* The rename itself is on disk only when the folder is. */
static void
sync_folder (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0)
    return;
  (void) fsync (fd);
  close (fd);
}

/* Puts the text in the place of what is there. Nobody else writes: it is this process's turn, so that a file of that
 * name is what one that died has left. */
static int
replace (const char *path, const char *text, struct compute_error *err)
{
  g_autofree char *fresh = g_strconcat (path, ".new", NULL);
  int fd, error;

  (void) unlink (fresh);
  fd = open (fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return refuse (errno, "make", fresh, err);
  error = write_whole (fd, text, strlen (text));
  if (error == 0 && fsync (fd) != 0)
    error = errno;
  if (close (fd) != 0 && error == 0)
    error = errno;
  if (error == 0 && rename (fresh, path) != 0)
    error = errno;
  if (error != 0)
    {
      (void) unlink (fresh);
      return refuse (error, "write", path, err);
    }
  sync_folder (path);
  return 0;
}

/* What is no record is not ours to overwrite. */
static int
set_aside (const char *path, record_log_fn log, void *context, struct compute_error *err)
{
  g_autofree char *aside = g_strdup_printf ("%s.torn-%lld", path, (long long) time (NULL));
  g_autofree char *line = g_strdup_printf ("%s is no record of captures; it is %s now", path, aside);

  if (rename (path, aside) != 0)
    return refuse (errno, "set aside", path, err);
  log (context, line);
  return 0;
}

static int
change_record (const char *path, record_change_fn change, void *user, record_log_fn log, void *context,
               struct compute_error *err)
{
  cJSON *record = NULL;
  int rc = read_record (path, &record, err);

  if (rc == 0 && record == NULL)
    {
      rc = set_aside (path, log, context, err);
      record = cJSON_CreateObject ();
    }
  if (rc == 0 && change (user, record))
    {
      char *text = cJSON_Print (record);

      rc = replace (path, text, err);
      cJSON_free (text);
    }
  cJSON_Delete (record);
  return rc;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static int64_t
now_ms (void)
{
  return g_get_monotonic_time () / 1000;
}

static int
open_lock (const char *name, int *ret_fd, struct compute_error *err)
{
  g_autofree char *path = NULL;
  int rc = file_path (name, TRUE, &path, err);

  if (rc != 0)
    return rc;
  *ret_fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  return *ret_fd >= 0 ? 0 : refuse (errno, "open", path, err);
}

/* Any program that locks as PraisonAI does takes turns with this. */
static int
take_turn (int fd, struct compute_error *err)
{
  int64_t end_ms = now_ms () + TURN_MS;

  while (flock (fd, LOCK_EX | LOCK_NB) != 0)
    {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return refuse (errno, "lock", RECORD, err);
      if (now_ms () >= end_ms)
        return compute_error_set (err, COMPUTE_E_BUSY, 0, "another program holds the record of captures (%s.lock)",
                                  RECORD);
      (void) poll (NULL, 0, LOOK_MS);
    }
  return 0;
}

int
record_change (record_change_fn change, void *user, record_log_fn log, void *context, struct compute_error *err)
{
  g_autofree char *path = NULL;
  int fd = -1;
  int rc = file_path (RECORD, TRUE, &path, err);

  if (rc == 0)
    rc = open_lock (RECORD ".lock", &fd, err);
  if (rc == 0)
    rc = take_turn (fd, err);
  if (rc == 0)
    rc = change_record (path, change, user, log, context, err);
  if (fd >= 0)
    close (fd);
  return rc;
}

/* A key is 48 bits: each has a byte of its own in one file, which therefore names none. The lock belongs to the open
 * file, so that threads exclude each other, too. */
static int
set_lock (int fd, const char *key)
{
  struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

  lock.l_start = (off_t) g_ascii_strtoull (key, NULL, 16);
  return fcntl (fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int
key_lock_take (struct key_lock *lock, const char *key, int cancel_fd, void (*on_wait) (void *user), void *user,
               struct compute_error *err)
{
  gboolean has_waited = FALSE;
  int rc = open_lock ("building.lock", &lock->fd, err);
  int error;

  if (rc != 0)
    return rc;
  while ((error = set_lock (lock->fd, key)) == EAGAIN || error == EACCES)
    {
      struct pollfd cancel = { .fd = cancel_fd > 0 ? cancel_fd : -1, .events = POLLIN };

      if (!has_waited)
        on_wait (user);
      has_waited = TRUE;
      if (poll (&cancel, 1, LOOK_MS) > 0)
        {
          key_lock_release (lock);
          return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "cancelled by the caller");
        }
    }
  if (error == 0)
    return 0;
  key_lock_release (lock);
  return refuse (error, "lock", "building.lock", err);
}

int
key_lock_try (struct key_lock *lock, const char *key, struct compute_error *err)
{
  int rc = open_lock ("building.lock", &lock->fd, err);
  int error;

  if (rc != 0)
    return rc;
  error = set_lock (lock->fd, key);
  if (error == 0)
    return 0;
  key_lock_release (lock);
  if (error == EAGAIN || error == EACCES)
    return compute_error_set (err, COMPUTE_E_BUSY, 0, "it is being built");
  return refuse (error, "lock", "building.lock", err);
}

void
key_lock_release (struct key_lock *lock)
{
  if (lock->fd >= 0)
    close (lock->fd);
  lock->fd = -1;
}
