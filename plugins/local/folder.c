/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 32u
#define ROOT_BYTES (sizeof ((struct folder *) 0)->path - NAME_BYTES - sizeof "/local/" - INSTANCE_ID_BYTES)

/* Where the run folder is made: the user's runtime folder, where there is one and it is the user's own, else /tmp. */
static void
find_root (char *root, char *name)
{
  const char *runtime = secure_getenv ("XDG_RUNTIME_DIR");
  struct stat status;

  if (runtime != NULL && runtime[0] == '/' && strlen (runtime) < ROOT_BYTES && stat (runtime, &status) == 0
      && status.st_uid == geteuid () && (status.st_mode & 022) == 0)
    {
      snprintf (root, ROOT_BYTES, "%s", runtime);
      snprintf (name, NAME_BYTES, "compute");
      return;
    }
  snprintf (root, ROOT_BYTES, "/tmp");
  snprintf (name, NAME_BYTES, "compute-%u", (unsigned) geteuid ());
}

/* Nobody but this user may have made it, or may enter it. */
static int
check_private (int fd, const char *path, struct compute_error *err)
{
  struct stat status;

  if (fstat (fd, &status) != 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot look at '%s': %s", path, strerror (errno));
  if (status.st_uid != geteuid ())
    return compute_error_set (err, COMPUTE_E_DENIED, 0, "the run folder '%s' belongs to user %u, not to this one", path,
                              (unsigned) status.st_uid);
  if ((status.st_mode & 077) != 0)
    return compute_error_set (err, COMPUTE_E_DENIED, 0, "the run folder '%s' is open to others (mode %03o)", path,
                              (unsigned) status.st_mode & 0777);
  return 0;
}

/* Opens the folder name in parent; path is for messages. */
static int
open_private (int parent, const char *name, const char *path, int *ret_fd, struct compute_error *err)
{
  int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int result;

  if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
    return compute_error_set (err, COMPUTE_E_DENIED, errno, "the run folder '%s' is a link or no folder at all", path);
  if (fd < 0)
    return compute_error_set (err, errno == ENOENT ? COMPUTE_E_NOT_FOUND : COMPUTE_E_SYSTEM, errno,
                              "cannot open the run folder '%s': %s", path, strerror (errno));
  result = check_private (fd, path, err);
  if (result == 0)
    *ret_fd = fd;
  else
    close (fd);
  return result;
}

static int
make_private (int parent, const char *name, const char *path, int *ret_fd, struct compute_error *err)
{
  if (mkdirat (parent, name, 0700) != 0 && errno != EEXIST)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot make the run folder '%s': %s", path,
                              strerror (errno));
  return open_private (parent, name, path, ret_fd, err);
}

int
folder_open_all (int make, struct folder *ret_folder, struct compute_error *err)
{
  int (*enter) (int, const char *, const char *, int *, struct compute_error *) = make ? make_private : open_private;
  char root[ROOT_BYTES], name[NAME_BYTES];
  int root_fd, outer_fd, result;

  find_root (root, name);
  root_fd = open (root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd < 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot open '%s': %s", root, strerror (errno));
  snprintf (ret_folder->path, sizeof ret_folder->path, "%s/%s", root, name);
  result = enter (root_fd, name, ret_folder->path, &outer_fd, err);
  close (root_fd);
  if (result != 0)
    return result;
  snprintf (ret_folder->path, sizeof ret_folder->path, "%s/%s/local", root, name);
  result = enter (outer_fd, "local", ret_folder->path, &ret_folder->fd, err);
  close (outer_fd);
  return result;
}

int
folder_open (const char *id, int make, struct folder *ret_folder, struct compute_error *err)
{
  struct folder all;
  int result = folder_open_all (make, &all, err);

  if (result != 0)
    return result;
  snprintf (ret_folder->path, sizeof ret_folder->path, "%.*s/%s", (int) (sizeof all.path - INSTANCE_ID_BYTES), all.path,
            id);
  if (make && mkdirat (all.fd, id, 0700) != 0)
    result = compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot make the run folder '%s': %s", ret_folder->path,
                                strerror (errno));
  if (result == 0)
    result = open_private (all.fd, id, ret_folder->path, &ret_folder->fd, err);
  close (all.fd);
  return result;
}

void
folder_close (struct folder *folder)
{
  close (folder->fd);
}

void
folder_remove (struct folder *folder)
{
  static const char *const files[] = { RECORD_FILE, RECORD_FILE_NEW, SOCKET_FILE };

  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    (void) unlinkat (folder->fd, files[i], 0);
  (void) rmdir (folder->path);
  folder_close (folder);
}
