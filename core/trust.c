/* SPDX-License-Identifier: MIT */
#include "trust.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* As many as the kernel follows. */
#define LINKS_MAX 40

gboolean
trust_is_strict (void)
{
  return geteuid () == 0 || getauxval (AT_SECURE) != 0;
}

char *
distrust_of (const struct stat *found, const char *path)
{
  char shown[160];

  text_for_people (shown, sizeof shown, path);
  if (found->st_uid != 0 && found->st_uid != geteuid ())
    return g_strdup_printf ("'%s' belongs to user %u", shown, found->st_uid);
  if ((found->st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return g_strdup_printf ("%s can write to '%s'", (found->st_mode & S_IWOTH) != 0 ? "everybody" : "its group", shown);
  return NULL;
}

/* Puts what a link says in front of what is left to walk. */
static int
follow_link (GString *done, GString *left, const char *link)
{
  char target[PATH_MAX];
  ssize_t length = readlink (link, target, sizeof target);

  if (length < 0)
    return errno;
  if ((size_t) length == sizeof target)
    return ENAMETOOLONG;
  if (length == 0)
    return ENOENT;
  if (target[0] == '/')
    g_string_truncate (done, 0);
  g_string_prepend_len (left, target, length);
  return 0;
}

/* Takes the next name off what is left; NULL at the end. */
static char *
take_name (GString *left)
{
  gsize blank = strspn (left->str, "/"), length = strcspn (left->str + blank, "/");
  char *name = length == 0 ? NULL : g_strndup (left->str + blank, length);

  g_string_erase (left, 0, (gssize) (blank + length));
  return name;
}

/* Goes one name further: into it, back from "..", or along a link. */
static int
walk_name (struct walk *walk, GString *done, GString *left, const char *name, int *links)
{
  const gsize parent = done->len;
  struct stat found;

  if (strcmp (name, ".") == 0)
    return 0;
  if (strcmp (name, "..") == 0)
    {
      const char *slash = strrchr (done->str, '/');

      g_string_truncate (done, slash != NULL ? (gsize) (slash - done->str) : 0);
      return 0;
    }
  g_string_append_c (done, '/');
  g_string_append (done, name);
  if (lstat (done->str, &found) != 0)
    return errno;
  if (S_ISLNK (found.st_mode))
    {
      g_autofree char *link = g_strdup (done->str);

      g_string_truncate (done, parent);
      return ++*links > LINKS_MAX ? ELOOP : follow_link (done, left, link);
    }
  if (!S_ISDIR (found.st_mode))
    return left->str[0] != '\0' ? ENOTDIR : 0;
  if (walk->distrust == NULL)
    walk->distrust = distrust_of (&found, done->str);
  return 0;
}

void
walk_path (struct walk *walk, const char *path)
{
  g_autoptr (GString) done = g_string_new (NULL), left = g_string_new (path);
  struct stat root;
  int links = 0;

  *walk = (struct walk){ .sys_errno = stat ("/", &root) != 0 ? errno : 0 };
  if (walk->sys_errno == 0)
    walk->distrust = distrust_of (&root, "/");
  while (walk->sys_errno == 0)
    {
      g_autofree char *name = take_name (left);

      if (name == NULL)
        break;
      walk->sys_errno = walk_name (walk, done, left, name, &links);
    }
  if (walk->sys_errno == 0)
    walk->real = g_strdup (done->len == 0 ? "/" : done->str);
}

void
walk_clear (struct walk *walk)
{
  g_free (walk->real);
  g_free (walk->distrust);
  *walk = (struct walk){ .real = NULL };
}
