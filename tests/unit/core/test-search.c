/* SPDX-License-Identifier: MIT */

/* The search path: where its elements come from, in what order, and what becomes of each. */
#include "support.h"

#include <string.h>
#include <unistd.h>

static char *top; /* a folder of this test's own, below one that others can write to */

static char *
make_folder (const char *name)
{
  char *path = g_build_filename (top, name, NULL);

  g_assert_cmpint (g_mkdir_with_parents (path, 0755), ==, 0);
  return path;
}

static void
copy_fixture (const char *name, const char *folder, const char *as)
{
  g_autofree char *from = fixture (name), *to = g_build_filename (folder, as, NULL), *bytes = NULL;
  gsize count;

  g_assert_true (g_file_get_contents (from, &bytes, &count, NULL));
  g_assert_true (g_file_set_contents_full (to, bytes, (gssize) count, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
}

/* ---- The list of folders, as text -------------------------------------------------------------------------------- */

static const char *
source_word (uint32_t source)
{
  switch (source)
    {
#define WORD(name, value, word)                                                                                        \
  case value:                                                                                                          \
    return word;
      COMPUTE_SOURCE_MAP (WORD)
    default:
      return "?";
    }
}

static const char *
state_word (uint32_t state)
{
  switch (state)
    {
      COMPUTE_FOLDER_MAP (WORD)
#undef WORD
    default:
      return "?";
    }
}

static int
describe (void *user, const struct compute_folder *folder)
{
  GString *text = user;
  g_autofree char *below = g_str_has_prefix (folder->path, top) ? g_strconcat ("TOP", folder->path + strlen (top), NULL)
                                                                : g_strdup (folder->path);

  g_assert_cmpuint (folder->size, ==, sizeof *folder);
  if (folder->source == COMPUTE_SOURCE_SYSTEM) /* the machine's affair */
    return 0;
  g_string_append_printf (text, "%s %u %s%s %s\n", source_word (folder->source), folder->element,
                          state_word (folder->state), folder->loud ? "!" : "", below);
  return 0;
}

static void
check_folders (struct compute_registry *registry, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_list_folders (registry, describe, text, &err), ==, 0);
  g_assert_cmpstr (text->str, ==, expected);
  compute_registry_close (registry);
}

/* Everything under our folder can be changed by others, as everybody can write to the one for temporary files. */
static void
test_environment_is_split_at_colons_and_each_element_judged (void)
{
  g_autofree char *one = make_folder ("one"), *file = g_build_filename (top, "file", NULL), *variable = NULL;

  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  variable = g_strdup_printf (":%s::relative:~/x:%s/missing:%s:%s/../one:.:", one, top, file, one);
  g_setenv ("COMPUTE_PROVIDER_PATH", variable, TRUE);
  check_folders (open_registry (NULL, 0, 0), "env 1 empty! \n"
                                             "env 2 untrusted! TOP/one\n"
                                             "env 3 empty! \n"
                                             "env 4 relative! relative\n"
                                             "env 5 relative! ~/x\n"
                                             "env 6 missing! TOP/missing\n"
                                             "env 7 not_dir! TOP/file\n"
                                             "env 8 duplicate TOP/one/../one\n"
                                             "env 9 relative! .\n"
                                             "env 10 empty! \n"
                                             "user 1 ignored \n");
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
}

static void
test_empty_variable_is_as_good_as_none (void)
{
  g_setenv ("COMPUTE_PROVIDER_PATH", "", TRUE);
  check_folders (open_registry (NULL, 0, 0), "user 1 ignored \n");
  g_setenv ("COMPUTE_PROVIDER_PATH", ":", TRUE);
  check_folders (open_registry (NULL, 0, 0), "env 1 empty! \nenv 2 empty! \nuser 1 ignored \n");
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
}

static void
test_same_folder_counts_once_however_it_is_reached (void)
{
  g_autofree char *folder = make_folder ("real"), *link = g_build_filename (top, "link", NULL);
  const char *const paths[] = { link, folder };

  g_assert_cmpint (symlink ("real", link), ==, 0);
  check_folders (open_registry (paths, 2, COMPUTE_REGISTRY_ONLY_PATHS),
                 "api 1 ok! TOP/link\napi 2 duplicate TOP/real\nuser 1 ignored \n");
}

static void
test_host_paths_come_first_and_may_be_files (void)
{
  g_autofree char *folder = make_folder ("host"), *file = g_build_filename (folder, "x.so", NULL),
                  *env = make_folder ("env");
  const char *const paths[] = { folder, file, "", "relative", "/nothing/here" };

  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  g_setenv ("COMPUTE_PROVIDER_PATH", env, TRUE);
  check_folders (open_registry (paths, G_N_ELEMENTS (paths), 0), "api 1 ok! TOP/host\n"
                                                                 "api 2 file TOP/host/x.so\n"
                                                                 "api 3 empty! \n"
                                                                 "api 4 relative! relative\n"
                                                                 "api 5 missing! /nothing/here\n"
                                                                 "env 1 untrusted! TOP/env\n"
                                                                 "user 1 ignored \n");
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
}

static void
test_only_means_only (void)
{
  g_autofree char *folder = make_folder ("only"), *env = make_folder ("env");
  const char *const paths[] = { folder };

  g_setenv ("COMPUTE_PROVIDER_PATH", env, TRUE);
  g_setenv ("XDG_DATA_HOME", top, TRUE);
  check_folders (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS),
                 "api 1 ok! TOP/only\nenv 1 ignored TOP/env\nuser 1 ignored TOP/compute/providers/1\n");
  g_setenv ("COMPUTE_PROVIDER_PATH_ONLY", "1", TRUE);
  check_folders (open_registry (paths, 1, COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT),
                 "api 1 ok! TOP/only\nenv 1 untrusted! TOP/env\nuser 1 ignored TOP/compute/providers/1\n");
  g_setenv ("COMPUTE_PROVIDER_PATH_ONLY", "0", TRUE);
  check_folders (open_registry (paths, 1, COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT),
                 "api 1 ok! TOP/only\nenv 1 untrusted! TOP/env\nuser 1 missing TOP/compute/providers/1\n");
  g_unsetenv ("COMPUTE_PROVIDER_PATH_ONLY");
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
  g_unsetenv ("XDG_DATA_HOME");
}

static void
test_users_folder_is_that_of_xdg_else_of_home (void)
{
  const uint32_t flags = COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT;

  g_setenv ("HOME", "/home-of-nobody", TRUE);
  check_folders (open_registry (NULL, 0, flags), "user 1 missing /home-of-nobody/.local/share/compute/providers/1\n");
  g_setenv ("XDG_DATA_HOME", "", TRUE);
  check_folders (open_registry (NULL, 0, flags), "user 1 missing /home-of-nobody/.local/share/compute/providers/1\n");
  g_setenv ("XDG_DATA_HOME", "/data", TRUE);
  check_folders (open_registry (NULL, 0, flags), "user 1 missing /data/compute/providers/1\n");
  g_setenv ("XDG_DATA_HOME", "data", TRUE);
  check_folders (open_registry (NULL, 0, flags), "user 1 relative data/compute/providers/1\n");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("HOME");
  check_folders (open_registry (NULL, 0, flags), "user 1 ignored \n");
}

static void
test_path_that_the_kernel_does_not_take_is_unreadable (void)
{
  g_autofree char *name = g_strnfill (300, 'x'), *path = g_build_filename (top, name, NULL), *expected = NULL;
  const char *const paths[] = { path };

  expected = g_strdup_printf ("api 1 unreadable! TOP/%s\nuser 1 ignored \n", name);
  check_folders (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS), expected);
}

/* Root reads everything. */
static void
test_folder_without_permission_is_unreadable (void)
{
  g_autofree char *folder = make_folder ("secret");
  const char *const paths[] = { folder };

  g_assert_cmpint (g_chmod (folder, 0), ==, 0);
  check_folders (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS),
                 "api 1 unreadable! TOP/secret\nuser 1 ignored \n");
}

static int
find_system (void *user, const struct compute_folder *folder)
{
  GString *text = user;

  if (folder->source == COMPUTE_SOURCE_SYSTEM)
    g_string_append_printf (text, "%u %s\n", folder->element, folder->path);
  return 0;
}

static void
test_system_folders_are_usr_local_and_the_one_beside_the_library (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, 0);
  g_autofree char *beside = g_canonicalize_filename ("../../core/compute/providers/1", getenv ("FIXTURES"));
  g_autofree char *expected = g_strdup_printf ("1 /usr/local/lib/compute/providers/1\n2 %s\n", beside);
  g_autoptr (GString) text = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_list_folders (registry, find_system, text, &err), ==, 0);
  g_assert_cmpstr (text->str, ==, expected);
  compute_registry_close (registry);
}

/* ---- What is found there ----------------------------------------------------------------------------------------- */

static int
count_candidate (void *user, const struct compute_candidate *candidate)
{
  (void) candidate;
  ++*(uint64_t *) user;
  return 0;
}

static uint64_t
count_candidates (struct compute_registry *registry)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  uint64_t count = 0;

  g_assert_cmpint (compute_list_candidates (registry, 0, count_candidate, &count, &err), ==, 0);
  return count;
}

static void
test_only_files_named_like_a_provider_are_candidates (void)
{
  static const char *const others[] = {
    "compute-provider-.so", "compute-provider-x.so.1", "xcompute-provider-x.so", "COMPUTE-PROVIDER-X.SO", "libx.so",
    "compute-provider-x",   "compute-provider.so"
  };
  g_autofree char *folder = make_folder ("names"), *below = make_folder ("names/below");
  const char *const paths[] = { folder };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    copy_fixture ("compute-provider-ok.so", folder, others[i]);
  copy_fixture ("compute-provider-ok.so", below, "compute-provider-ok.so"); /* not looked into */
  g_assert_cmpuint (count_candidates (registry), ==, 0);
  copy_fixture ("compute-provider-ok.so", folder, "compute-provider-ok.so");
  g_assert_cmpuint (count_candidates (registry), ==, 1);
  compute_registry_close (registry);
}

static int
check_crowd (void *user, const struct compute_folder *folder)
{
  (void) user;
  if (folder->source != COMPUTE_SOURCE_HOST)
    return 0;
  g_assert_cmpuint (folder->candidates, ==, 4096);
  g_assert_cmpuint (folder->loud, ==, 1);
  return 0;
}

static int
check_order (void *user, const struct compute_candidate *candidate)
{
  char **last = user;

  g_assert_cmpint (strcmp (*last, candidate->path), <, 0);
  g_free (*last);
  *last = g_strdup (candidate->path);
  return 0;
}

static void
test_first_4096_by_name_are_looked_at (void)
{
  g_autofree char *folder = make_folder ("crowd"), *last = g_strdup (""), *expected = NULL;
  const char *const paths[] = { folder };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_error err = COMPUTE_ERROR_INIT;

  for (int i = 9999; i >= 0; i--)
    {
      g_autofree char *path = g_strdup_printf ("%s/compute-provider-%04d.so", folder, i);

      g_assert_cmpint (symlink ("nowhere", path), ==, 0);
    }
  g_assert_cmpint (compute_list_folders (registry, check_crowd, NULL, &err), ==, 0);
  g_assert_cmpint (compute_list_candidates (registry, 0, check_order, &last, &err), ==, 0);
  expected = g_strdup_printf ("%s/compute-provider-4095.so", folder);
  g_assert_cmpstr (last, ==, expected);
  compute_registry_close (registry);
}

static int
find_ok (void *user, const char *name)
{
  *(gboolean *) user |= strcmp (name, "ok") == 0;
  return 0;
}

/* What others could exchange is refused as root and used with a warning otherwise. */
static void
test_open_folder_of_the_environment_is_refused_to_root (void)
{
  g_autofree char *folder = make_folder ("tempting");
  struct compute_registry *registry;
  struct compute_error err = COMPUTE_ERROR_INIT;
  gboolean found = FALSE;

  copy_fixture ("compute-provider-ok.so", folder, "compute-provider-ok.so");
  g_setenv ("COMPUTE_PROVIDER_PATH", folder, TRUE);
  registry = open_registry (NULL, 0, 0);
  g_assert_cmpint (compute_list (registry, find_ok, &found, &err), ==, 0);
  g_assert_cmpint (found, ==, geteuid () != 0);
  compute_registry_close (registry);
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
}

static void
count_warning (void *context, uint32_t level, const char *line)
{
  g_assert_cmpuint (level, ==, COMPUTE_LOG_WARNING);
  g_assert_cmpstr (line, ==, "providers in '/nothing/here': no such folder");
  ++*(int *) context;
}

static void
test_log_hears_of_a_bad_folder_once (void)
{
  static const char *const paths[] = { "/nothing/here" };
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  int warnings = 0;

  options.flags = COMPUTE_REGISTRY_ONLY_PATHS;
  options.paths = paths;
  options.path_count = 1;
  options.context = &warnings;
  options.log = count_warning;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, 0);
  g_assert_cmpint (warnings, ==, 0);
  count_candidates (registry);
  count_candidates (registry);
  g_assert_cmpint (warnings, ==, 1);
  compute_registry_close (registry);
}

#define AREA "search"
#define TESTS(X)                                                                                                       \
  X (environment_is_split_at_colons_and_each_element_judged)                                                           \
  X (empty_variable_is_as_good_as_none)                                                                                \
  X (same_folder_counts_once_however_it_is_reached)                                                                    \
  X (host_paths_come_first_and_may_be_files)                                                                           \
  X (only_means_only)                                                                                                  \
  X (users_folder_is_that_of_xdg_else_of_home)                                                                         \
  X (path_that_the_kernel_does_not_take_is_unreadable)                                                                 \
  X (system_folders_are_usr_local_and_the_one_beside_the_library)                                                      \
  X (only_files_named_like_a_provider_are_candidates)                                                                  \
  X (first_4096_by_name_are_looked_at)                                                                                 \
  X (open_folder_of_the_environment_is_refused_to_root)                                                                \
  X (log_hears_of_a_bad_folder_once)

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  g_unsetenv ("HOME");
  g_unsetenv ("XDG_DATA_HOME");
  top = g_dir_make_tmp ("compute-XXXXXX", NULL);
  TESTS (ADD_TEST)
  if (geteuid () != 0)
    ADD_TEST (folder_without_permission_is_unreadable)
  status = g_test_run ();
  remove_folder (top);
  g_free (top);
  return status;
}
