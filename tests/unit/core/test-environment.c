/* SPDX-License-Identifier: MIT */
#include "environment.h"
#include "support.h"

#include <string.h>

/* An environment's file: what it says, what is refused and how, and where it is found. */

#define AREA "environment"

static struct compute_environment *
parse (const char *yaml)
{
  struct compute_environment *environment = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (environment_parse ("e.yaml", "/project", yaml, strlen (yaml), &environment, &err) != 0)
    g_error ("'%s': %s", yaml, err.message);
  return environment;
}

static void
test_every_key_is_read (void)
{
  struct compute_environment *environment = parse (
      "image: python:3.12\npackages:\n  pip: [requests>=2.0]\n  apt: git\nsetup: make\nrefresh:\n  - a\n  - b\n"
      "env: {A: 1, B: true, C: 1.50, D: ''}\nresources: {cpu: 0.5, memory_mb: 512, gpu: T4}\nnetwork: none\n"
      "backend: docker\nworking_dir: /srv\nmount_paths: [data, '/a:/b:ro']\ncapture: true\n");
  const struct compute_mount *mounts = (const struct compute_mount *) environment->mounts->data;

  g_assert_cmpstr (environment->image, ==, "python:3.12");
  g_assert_cmpstr (environment->packages[PACKAGE_PIP]->pdata[0], ==, "requests>=2.0");
  g_assert_cmpstr (environment->packages[PACKAGE_APT]->pdata[0], ==, "git");
  g_assert_null (environment->packages[PACKAGE_NPM]);
  g_assert_cmpint (environment->setup->len, ==, 1);
  g_assert_cmpstr (environment->refresh->pdata[1], ==, "b");
  g_assert_cmpstr (g_array_index (environment->env, struct compute_pair, 0).value, ==, "1");
  g_assert_cmpstr (g_array_index (environment->env, struct compute_pair, 1).value, ==, "true");
  g_assert_cmpstr (g_array_index (environment->env, struct compute_pair, 2).value, ==, "1.50");
  g_assert_cmpstr (g_array_index (environment->env, struct compute_pair, 3).value, ==, "");
  g_assert_cmpint (environment->cpu_millis, ==, 500);
  g_assert_cmpstr (environment->cpu, ==, "0.5");
  g_assert_cmpint (environment->memory_mb, ==, 512);
  g_assert_cmpstr (environment->gpu, ==, "T4");
  g_assert_cmpstr (environment->network, ==, "none");
  g_assert_cmpstr (compute_environment_backend (environment), ==, "docker");
  g_assert_cmpstr (mounts[0].source, ==, "/project/data");
  g_assert_cmpstr (mounts[0].target, ==, "/srv/data");
  g_assert_cmpint (mounts[0].flags, ==, 0);
  g_assert_cmpstr (mounts[1].source, ==, "/a");
  g_assert_cmpstr (mounts[1].target, ==, "/b");
  g_assert_cmpint (mounts[1].flags, ==, COMPUTE_MOUNT_READ_ONLY);
  g_assert_true (environment->may_cost);
  compute_environment_close (environment);
}

static void
test_what_is_wrong_is_told_with_its_line_and_what_is_allowed (void)
{
  static const struct
  {
    const char *yaml, *why;
  } rows[] = {
    { "image: a\nimages: b\n", "e.yaml:2: " },
    { "image: a\nimages: b\n", "mount_paths" },
    { "image: 3\n", "e.yaml:1: 'image' is an integer; it must be a text" },
    { "image: ''\n", "'image' is empty" },
    { "- image\n", "e.yaml:1: " },
    { "setup:\n  - a\n  - 3\n", "e.yaml:3: 'setup' has an integer in its list" },
    { "setup: {a: b}\n", "must be a list of texts, or one" },
    { "packages: {pip: [-r x]}\n", "'-r x' is no package of pip" },
    { "packages: {cargo: [x]}\n", "apt" },
    { "env: [A]\n", "'env' is a list" },
    { "env: {A: }\n", "the value of 'A' is nothing" },
    { "env: {'A=B': c}\n", "'A=B' cannot be the name" },
    { "network: bridge\n", "unrestricted or none" },
    { "working_dir: src\n", "no absolute path" },
    { "resources: {cpu: many}\n", "'cpu' must be a number" },
    { "resources: {cpu: 0}\n", "'cpu' must be a number" },
    { "resources: {memory_mb: 0.5}\n", "'memory_mb' must be a whole number" },
    { "mount_paths: ['a:b:c:d']\n", "a mount is SOURCE:TARGET" },
    { "mount_paths: ['a:/b:rw']\n", "a mount is SOURCE:TARGET" },
    { "capture: maybe\n", "must be true or false" },
    { "image: a\nimage: b\n", "e.yaml:2: " },
    { "\timage: a\n", "e.yaml:1: " },
    { "image: &a x\nbackend: *a\n", "e.yaml:1: " },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      struct compute_environment *environment = NULL;
      struct compute_error err = COMPUTE_ERROR_INIT;
      int rc = environment_parse ("e.yaml", "/", rows[i].yaml, strlen (rows[i].yaml), &environment, &err);

      g_assert_cmpint (rc, ==, COMPUTE_E_INVALID);
      if (strstr (err.message, rows[i].why) == NULL)
        g_error ("'%s': '%s' is not in '%s'", rows[i].yaml, rows[i].why, err.message);
    }
}

static void
write_environment (const char *folder, mode_t mode)
{
  g_autofree char *path = g_build_filename (folder, COMPUTE_ENVIRONMENT_FILE, NULL);
  g_autofree char *above = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (above, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, "image: a\n", -1, NULL));
  g_assert_cmpint (g_chmod (path, mode), ==, 0);
}

static void
test_the_file_is_found_upwards (void)
{
  g_autofree char *folder = g_dir_make_tmp ("compute-environment-XXXXXX", NULL);
  g_autofree char *below = g_build_filename (folder, "a/b", NULL);
  g_autofree char *expected = g_build_filename (folder, COMPUTE_ENVIRONMENT_FILE, NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  char path[4096];

  g_assert_cmpint (g_mkdir_with_parents (below, 0755), ==, 0);
  g_assert_cmpint (compute_environment_find (below, path, sizeof path, &err), ==, COMPUTE_E_NOT_FOUND);
  write_environment (folder, 0644);
  g_assert_cmpint (compute_environment_find (below, path, sizeof path, &err), ==, 0);
  g_assert_cmpstr (path, ==, expected);
  g_assert_cmpint (compute_environment_find (below, path, 8, &err), ==, COMPUTE_E_INVALID);
  remove_folder (folder);
}

static void
test_a_file_that_others_can_write_is_not_used_because_it_is_found (void)
{
  g_autofree char *folder = g_dir_make_tmp ("compute-environment-XXXXXX", NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  char path[4096];

  write_environment (folder, 0666);
  g_assert_cmpint (compute_environment_find (folder, path, sizeof path, &err), ==, COMPUTE_E_DENIED);
  g_assert_nonnull (strstr (err.message, "others can write it"));
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD_TEST (every_key_is_read);
  ADD_TEST (what_is_wrong_is_told_with_its_line_and_what_is_allowed);
  ADD_TEST (the_file_is_found_upwards);
  ADD_TEST (a_file_that_others_can_write_is_not_used_because_it_is_found);
  return g_test_run ();
}
