/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_SUPPORT_H
#define TESTS_UNIT_CORE_SUPPORT_H

#include <compute/compute.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>

/* Adds a test function under its own name; TESTS is a file's list of them. */
#define ADD_TEST(name) g_test_add_func ("/" AREA "/" #name, test_##name);

/* The fixture of that name, from the folder in FIXTURES; to be freed. */
static inline char *
fixture (const char *name)
{
  const char *folder = getenv ("FIXTURES");

  g_assert_nonnull (folder);
  return g_build_filename (folder, name, NULL);
}

/* Removes a folder with all that is in it; links are not followed. */
static inline void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *below = g_build_filename (path, name, NULL);

      if (!g_file_test (below, G_FILE_TEST_IS_SYMLINK) && g_file_test (below, G_FILE_TEST_IS_DIR))
        remove_folder (below);
      else
        g_assert_cmpint (g_unlink (below), ==, 0);
    }
  g_assert_cmpint (g_rmdir (path), ==, 0);
}

/* A registry with these paths and flags. */
static inline struct compute_registry *
open_registry (const char *const *paths, uint64_t count, uint32_t flags)
{
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry = NULL;

  options.flags = flags;
  options.paths = paths;
  options.path_count = count;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, 0);
  return registry;
}

#endif
