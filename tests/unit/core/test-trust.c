/* SPDX-License-Identifier: MIT */
#include "support.h"
#include "trust.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A folder of this test's own. What lies above it is the machine's affair, so paths are judged below it. */
static char *top;

static char *
below (const char *name)
{
  return g_build_filename (top, name, NULL);
}

static void
make_folder (const char *name, mode_t mode)
{
  g_autofree char *path = below (name);

  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  g_assert_cmpint (g_chmod (path, mode), ==, 0);
}

static void
make_link (const char *name, const char *target)
{
  g_autofree char *path = below (name);

  g_assert_cmpint (symlink (target, path), ==, 0);
}

static void
check_walk (const char *name, int sys_errno, const char *real)
{
  g_autofree char *path = below (name), *expected = real != NULL ? below (real) : NULL;
  struct walk walk;

  walk_path (&walk, path);
  g_assert_cmpint (walk.sys_errno, ==, sys_errno);
  g_assert_cmpstr (walk.real, ==, expected);
  walk_clear (&walk);
}

static void
test_path_is_walked_to_its_end (void)
{
  make_folder ("a", 0755);
  make_folder ("a/b", 0755);
  make_link ("relative", "a/b");
  make_link ("a/up", "../relative");
  make_link ("loop", "loop");
  make_link ("dangling", "nothing/here");

  check_walk ("a/b", 0, "a/b");
  check_walk ("a//./b/", 0, "a/b");
  check_walk ("a/b/../b", 0, "a/b");
  check_walk ("relative", 0, "a/b");
  check_walk ("relative/..", 0, "a"); /* of the folder, not of the link */
  check_walk ("a/up", 0, "a/b");
  check_walk ("loop", ELOOP, NULL);
  check_walk ("dangling", ENOENT, NULL);
  check_walk ("missing", ENOENT, NULL);
}

static void
test_path_through_a_file_is_none (void)
{
  g_autofree char *path = below ("file");

  g_assert_true (g_file_set_contents (path, "x", 1, NULL));
  check_walk ("file", 0, "file");
  check_walk ("file/x", ENOTDIR, NULL);
  check_walk ("file/", ENOTDIR, NULL);
}

static void
test_path_longer_than_the_kernel_takes_is_an_error (void)
{
  g_autofree char *name = g_strnfill (300, 'x'), *deep = NULL;
  g_autoptr (GString) path = g_string_new (NULL);

  check_walk (name, ENAMETOOLONG, NULL);
  make_folder ("deep", 0755);
  for (int i = 0; i < 3000; i++)
    g_string_append (path, "deep/../");
  deep = g_strconcat (path->str, "deep", NULL);
  check_walk (deep, 0, "deep"); /* link by link, it is never that long */
}

static void
check_mode (mode_t mode, const char *who)
{
  g_autofree char *path = below ("judged");
  g_autofree char *expected = who != NULL ? g_strdup_printf ("%s can write to '%s'", who, path) : NULL;
  g_autofree char *distrust = NULL;
  struct stat found;

  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  g_assert_cmpint (g_chmod (path, mode), ==, 0);
  g_assert_cmpint (stat (path, &found), ==, 0);
  distrust = distrust_of (&found, path);
  g_assert_cmpstr (distrust, ==, expected);
  g_assert_cmpint (g_rmdir (path), ==, 0);
}

static void
test_folder_that_others_can_write_to_is_not_trusted (void)
{
  check_mode (0700, NULL);
  check_mode (0755, NULL);
  check_mode (0775, "its group");
  check_mode (0757, "everybody");
  check_mode (0777, "everybody");
  check_mode (01777, "everybody"); /* sticky keeps others from taking a file away, not from adding one */
}

static void
test_folder_of_another_user_is_not_trusted (void)
{
  g_autofree char *distrust = NULL;
  struct stat found = { .st_mode = S_IFDIR | 0755, .st_uid = geteuid () + 1 };

  distrust = distrust_of (&found, "/a/folder");
  g_assert_nonnull (strstr (distrust, "'/a/folder' belongs to user"));
  found.st_uid = 0;
  g_assert_null (distrust_of (&found, "/a/folder"));
  found.st_uid = geteuid ();
  g_assert_null (distrust_of (&found, "/a/folder"));
}

static char *
distrust_at (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  struct walk walk;
  char *distrust;

  walk_path (&walk, path);
  g_assert_cmpint (walk.sys_errno, ==, 0);
  distrust = g_strdup (walk.distrust);
  walk_clear (&walk);
  return distrust;
}

/* Reached through a link, a folder is no better than those on the way to the link and to its target. Only root has a
 * place where all is well above. */
static void
test_every_folder_on_the_way_counts (void)
{
  static const struct
  {
    const char *name;
    gboolean trusted;
  } cases[] = { { "closed", TRUE },      { "good", TRUE },       { "open", FALSE },
                { "open/below", FALSE }, { "open/link", FALSE }, { "into", FALSE } };
  char folder[] = "/run/compute-test-XXXXXX";
  g_autofree char *saved = g_steal_pointer (&top);

  g_assert_nonnull (g_mkdtemp (folder));
  top = folder;
  make_folder ("closed", 0755);
  make_folder ("open", 0777);
  make_folder ("open/below", 0755);
  make_link ("good", "closed");
  make_link ("open/link", "../closed");
  make_link ("into", "open/below");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *distrust = distrust_at (folder, cases[i].name);
      g_autofree char *expected = g_strdup_printf ("everybody can write to '%s/open'", folder);

      g_assert_cmpstr (distrust, ==, cases[i].trusted ? NULL : expected);
    }
  remove_folder (folder);
  top = g_steal_pointer (&saved);
}

#define AREA "trust"
#define TESTS(X)                                                                                                       \
  X (path_is_walked_to_its_end)                                                                                        \
  X (path_through_a_file_is_none)                                                                                      \
  X (path_longer_than_the_kernel_takes_is_an_error)                                                                    \
  X (folder_that_others_can_write_to_is_not_trusted) X (folder_of_another_user_is_not_trusted)

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  top = g_dir_make_tmp ("compute-XXXXXX", NULL);
  TESTS (ADD_TEST)
  if (geteuid () == 0)
    ADD_TEST (every_folder_on_the_way_counts)
  status = g_test_run ();
  remove_folder (top);
  g_free (top);
  return status;
}
