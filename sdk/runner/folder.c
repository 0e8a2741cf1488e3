/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes each folder on the way; one that is there already is fine, whatever mkdir says about it. */
static void
make_all (char *path)
{
  for (char *slash = strchr (path + 1, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      *slash = '\0';
      (void) mkdir (path, 0777);
      *slash = '/';
    }
  (void) mkdir (path, 0777);
}

int
folder_make (char *path, struct compute_error *err)
{
  int fd;

  make_all (path);
  fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return compute_error_set (err, COMPUTE_E_NOT_STARTED, errno, "cannot make the working directory '%s': %s", path,
                              strerror (errno));
  (void) close (fd);
  if (faccessat (AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
    return compute_error_set (err, COMPUTE_E_NOT_STARTED, errno, "cannot enter the working directory '%s': %s", path,
                              strerror (errno));
  return 0;
}
