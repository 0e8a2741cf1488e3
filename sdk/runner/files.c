/* SPDX-License-Identifier: MIT */
#include "files.h"

#include "protocol.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64u * 1024)
#define TEMPORARY_TRIES 100

static unsigned char buffer[CHUNK];

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static int
code_of (int sys_errno)
{
  switch (sys_errno)
    {
    case ENOENT:
    case ENOTDIR:
      return COMPUTE_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return COMPUTE_E_DENIED;
    case ELOOP:
    case ENAMETOOLONG:
    case EISDIR:
      return COMPUTE_E_INVALID;
    default:
      return COMPUTE_E_SYSTEM;
    }
}

static int
fail (struct compute_error *err, const char *doing, const char *path)
{
  return compute_error_set (err, code_of (errno), errno, "cannot %s '%s': %s", doing, path, strerror (errno));
}

static const char *
name_of_kind (mode_t mode)
{
  switch (mode & S_IFMT)
    {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
    }
}

static int
refuse_kind (struct compute_error *err, const char *path, mode_t mode)
{
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "'%s' is %s, not a file", path, name_of_kind (mode));
}

/* ---- In and out -------------------------------------------------------------------------------------------------- */

/* Returns how many bytes there were before the end of input, at most count; -1 with errno. */
static ssize_t
read_all (int fd, void *to, size_t count)
{
  size_t done = 0;

  while (done < count)
    {
      ssize_t result = read (fd, (char *) to + done, count - done);

      if (result < 0 && errno == EINTR)
        continue;
      if (result < 0)
        return -1;
      if (result == 0)
        break;
      done += (size_t) result;
    }
  return (ssize_t) done;
}

static int
write_all (int fd, const void *from, size_t count)
{
  size_t done = 0;

  while (done < count)
    {
      ssize_t result = write (fd, (const char *) from + done, count - done);

      if (result < 0 && errno != EINTR)
        return -1;
      done += result > 0 ? (size_t) result : 0;
    }
  return 0;
}

/* TERM, which had to wait until now, does this, once. */
static void
allow_term (void (*handler) (int number))
{
  struct sigaction action = { .sa_handler = handler, .sa_flags = (int) SA_RESETHAND };
  sigset_t set;

  (void) sigaction (SIGTERM, &action, NULL);
  sigemptyset (&set);
  sigaddset (&set, SIGTERM);
  (void) sigprocmask (SIG_UNBLOCK, &set, NULL);
}

/* ---- Put --------------------------------------------------------------------------------------------------------- */

/* The file under its first name, beside its target; the signal handler needs it. */
static struct
{
  int folder_fd;
  char name[64];
} temporary;

static void
remove_and_die (int number)
{
  (void) unlinkat (temporary.folder_fd, temporary.name, 0);
  (void) raise (number); /* an exit of its own would say that it had come to its end */
}

/* Returns its descriptor, or -1 with errno. */
static int
make_temporary (void)
{
  int fd = -1;

  errno = EEXIST;
  for (int i = 0; fd < 0 && errno == EEXIST && i < TEMPORARY_TRIES; i++)
    {
      (void) snprintf (temporary.name, sizeof temporary.name, ".compute-put-%d-%d", (int) getpid (), i);
      fd = openat (temporary.folder_fd, temporary.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
  return fd;
}

/* Copies the chunks. Input that ends without saying so is a host that died: nothing may appear then. */
static int
receive (int fd, const char *path, struct compute_error *err)
{
  for (;;)
    {
      unsigned char head[4];
      struct reader reader;
      uint32_t left;

      if (read_all (0, head, sizeof head) != (ssize_t) sizeof head)
        return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "'%s' was not sent to its end", path);
      reader_init (&reader, head, sizeof head);
      left = reader_u32 (&reader);
      if (left == 0)
        return 0;
      for (uint32_t part; left > 0; left -= part)
        {
          part = left < CHUNK ? left : CHUNK;
          if (read_all (0, buffer, part) != (ssize_t) part)
            return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "'%s' was not sent to its end", path);
          if (write_all (fd, buffer, part) != 0)
            return fail (err, "write", path);
        }
    }
}

static int
fill_and_rename (int fd, const char *path, const char *name, uint32_t mode, struct compute_error *err)
{
  int result = receive (fd, path, err);

  if (result == 0 && fchmod (fd, mode) != 0)
    result = fail (err, "set the mode of", path);
  if (close (fd) != 0 && result == 0) /* some file systems tell only now that they are full */
    result = fail (err, "write", path);
  if (result == 0 && renameat (temporary.folder_fd, temporary.name, temporary.folder_fd, name) != 0)
    result = fail (err, "replace", path);
  if (result != 0)
    (void) unlinkat (temporary.folder_fd, temporary.name, 0);
  return result;
}

/* Opens the folder that holds path, whose last part is *ret_name. */
static int
open_folder (const char *path, const char **ret_name, struct compute_error *err)
{
  const char *slash = strrchr (path, '/');
  char folder[PATH_MAX] = ".";

  *ret_name = slash != NULL ? slash + 1 : path;
  if (slash != NULL && (size_t) (slash - path) + 2 > sizeof folder)
    errno = ENAMETOOLONG;
  else
    {
      if (slash != NULL)
        (void) snprintf (folder, sizeof folder, "%.*s", (int) (slash - path + (slash == path)), path);
      temporary.folder_fd = open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (temporary.folder_fd >= 0)
        return 0;
    }
  return fail (err, "enter the folder of", path);
}

int
files_put (const char *path, uint32_t mode, struct compute_error *err)
{
  struct stat old;
  const char *name;
  int fd;
  int result = open_folder (path, &name, err);

  if (result != 0)
    return result;
  if (mode > 07777)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "mode 0%o is more than permission bits", mode);
  if (*name == '\0' || strcmp (name, ".") == 0 || strcmp (name, "..") == 0)
    return refuse_kind (err, path, S_IFDIR);
  if (fstatat (temporary.folder_fd, name, &old, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG (old.st_mode)
      && !S_ISLNK (old.st_mode))
    return refuse_kind (err, path, old.st_mode);
  fd = make_temporary ();
  if (fd < 0)
    return fail (err, "make", path);
  allow_term (remove_and_die);
  return fill_and_rename (fd, path, name, mode, err);
}

/* ---- Get --------------------------------------------------------------------------------------------------------- */

static int
send_head (const struct stat *file)
{
  unsigned char array[64];
  struct writer head = WRITER_ON (array);
  int result;

  writer_u32 (&head, file->st_mode & 07777);
  writer_u64 (&head, (uint64_t) file->st_size);
  result = head.failed ? -1 : write_all (1, head.bytes, head.count);
  writer_free (&head);
  return result;
}

/* All of a file that has a size, and not what is added meanwhile; to its end one that tells none, as in /proc. */
static int
send_bytes (int fd, const char *path, uint64_t size, struct compute_error *err)
{
  uint64_t left = size > 0 ? size : UINT64_MAX;

  while (left > 0)
    {
      ssize_t count = read_all (fd, buffer, left < CHUNK ? (size_t) left : CHUNK);

      if (count < 0)
        return fail (err, "read", path);
      if (count == 0)
        break;
      if (write_all (1, buffer, (size_t) count) != 0)
        return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot send '%s': %s", path, strerror (errno));
      left -= (uint64_t) count;
    }
  if (size > 0 && left > 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, 0, "'%s' was made shorter while it was read", path);
  return 0;
}

static int
refuse_link (const char *path, struct compute_error *err)
{
  char target[PATH_MAX];
  ssize_t count = readlink (path, target, sizeof target);

  return compute_error_set (err, COMPUTE_E_INVALID, 0,
                            "'%s' is a symbolic link, which is not followed; it leads to '%.*s'", path,
                            count > 0 ? (int) count : 0, target);
}

/* What is looked at first may have been replaced when it is opened, so it is looked at again; nothing but a file is
 * ever opened on purpose, and nothing opened by mistake can make us wait. */
int
files_get (const char *path, struct compute_error *err)
{
  struct stat file;
  int fd;
  int result;

  allow_term (SIG_DFL);
  if (lstat (path, &file) != 0)
    return fail (err, "read", path);
  if (S_ISLNK (file.st_mode))
    return refuse_link (path, err);
  if (!S_ISREG (file.st_mode))
    return refuse_kind (err, path, file.st_mode);
  fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &file) != 0)
    return fail (err, "read", path);
  if (!S_ISREG (file.st_mode))
    return refuse_kind (err, path, file.st_mode);
  result = send_head (&file) == 0 ? send_bytes (fd, path, (uint64_t) file.st_size, err) : fail (err, "send", path);
  (void) close (fd);
  return result;
}
