/* SPDX-License-Identifier: MIT */
#include "local_file.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t
less_umask (mode_t mode)
{
  mode_t mask = umask (0);

  umask (mask);
  return mode & 0777 & ~mask;
}

static int
fail (const char *path, struct compute_error *err)
{
  int code
      = errno == EINTR ? COMPUTE_E_CANCELLED : COMPUTE_E_SYSTEM; /* a signal while a FIFO waits for its other end */

  return compute_error_set (err, code, errno, "'%s': %s", path, g_strerror (errno));
}

int
local_file_open (const char *path, int *ret_fd, uint32_t *ret_mode, struct compute_error *err)
{
  bool is_stdin = g_str_equal (path, "-");
  int fd = is_stdin ? fcntl (0, F_DUPFD_CLOEXEC, 3) : open (path, O_RDONLY | O_CLOEXEC);
  struct stat st;

  if (fd < 0)
    return fail (is_stdin ? "stdin" : path, err);
  if (fstat (fd, &st) != 0 || S_ISDIR (st.st_mode))
    {
      close (fd);
      return compute_error_set (err, COMPUTE_E_INVALID, EISDIR, "'%s' is a folder; cp copies one file", path);
    }
  *ret_fd = fd;
  *ret_mode = S_ISREG (st.st_mode) && !is_stdin ? st.st_mode & 0777 : less_umask (0666);
  return 0;
}

/* Beside the real file, so that a link to it stays one and the rename stays on one file system. */
static int
create_temporary (struct local_file *file, struct compute_error *err)
{
  g_autofree char *folder = g_path_get_dirname (file->path);

  file->temporary = g_build_filename (folder, ".compute-cp.XXXXXX", NULL);
  file->fd = mkostemp (file->temporary, O_CLOEXEC);
  if (file->fd >= 0)
    return 0;
  g_clear_pointer (&file->temporary, g_free);
  return fail (file->path, err);
}

static int
open_in_place (struct local_file *file, struct compute_error *err)
{
  file->fd = open (file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return file->fd >= 0 ? 0 : fail (file->path, err);
}

int
local_file_create (struct local_file *file, const char *path, struct compute_error *err)
{
  struct stat st;
  char *real;
  int rc;

  *file = (struct local_file){ .fd = -1, .path = g_strdup (path), .existing_mode = -1 };
  if (g_str_equal (path, "-"))
    {
      file->fd = fcntl (1, F_DUPFD_CLOEXEC, 3);
      rc = file->fd >= 0 ? 0 : fail ("stdout", err);
    }
  else if (stat (path, &st) != 0)
    rc = create_temporary (file, err);
  else if (!S_ISREG (st.st_mode))
    rc = open_in_place (file, err); /* a device or pipe is written to, not replaced */
  else
    {
      file->existing_mode = st.st_mode & 0777;
      real = realpath (path, NULL);
      if (real != NULL)
        {
          g_free (file->path);
          file->path = g_strdup (real);
          free (real);
        }
      rc = create_temporary (file, err);
      if (rc == 0)
        (void) !fchown (file->fd, st.st_uid, st.st_gid); /* as far as we may */
    }
  if (rc != 0)
    local_file_discard (file);
  return rc;
}

int
local_file_commit (struct local_file *file, uint32_t mode, struct compute_error *err)
{
  int rc = 0;

  if (file->temporary != NULL
      && fchmod (file->fd, file->existing_mode >= 0 ? (mode_t) file->existing_mode : less_umask (mode)) != 0)
    rc = fail (file->path, err);
  if (close (file->fd) != 0 && rc == 0)
    rc = fail (file->path, err);
  file->fd = -1;
  if (rc == 0 && file->temporary != NULL)
    {
      if (rename (file->temporary, file->path) != 0)
        rc = fail (file->path, err);
      else
        g_clear_pointer (&file->temporary, g_free);
    }
  local_file_discard (file);
  return rc;
}

void
local_file_discard (struct local_file *file)
{
  if (file->fd >= 0)
    close (file->fd);
  if (file->temporary != NULL)
    (void) unlink (file->temporary);
  g_free (file->temporary);
  g_free (file->path);
}
