/* SPDX-License-Identifier: MIT */

/* Loading files into this process: the steps, the reasons, and what is shared between loads. */
#include "support.h"
#include "stub.h"

#include <string.h>
#include <unistd.h>

static char *top;

static void
add_stage (void *user, const char *stage)
{
  g_string_append_printf (user, "%s ", stage);
}

/* Expects "STAGES REASON": the steps until it failed, and why. */
static void
check_load (const char *path, const char *expected)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autoptr (GString) stages = g_string_new (NULL);
  const struct compute_provider *provider = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;
  const char *reason = NULL;
  int rc = compute_load_file (registry, path, add_stage, stages, &reason, &provider, &err);

  g_string_append (stages, reason != NULL ? reason : "-");
  if (strcmp (stages->str, expected) != 0)
    g_error ("%s: %s, not %s (%s)", path, stages->str, expected, err.message);
  g_assert_cmpint (rc, ==, reason != NULL ? COMPUTE_E_PLUGIN : 0);
  g_assert_true ((provider != NULL) == (rc == 0));
  g_assert_true ((err.message[0] != '\0') == (rc != 0));
  compute_registry_close (registry);
}

static void
test_every_fixture_fails_at_its_step (void)
{
#define TO_TABLE "check dlopen entry init table "
  static const char *const cases[][2] = {
    { "compute-provider-ok.so", TO_TABLE "done -" },
    { "compute-provider-cxx.so", TO_TABLE "done -" },
    { "compute-provider-dep.so", TO_TABLE "done -" },
    { "compute-provider-no-note.so", TO_TABLE "done -" },
    { "compute-provider-struct-short.so", TO_TABLE "done -" },
    { "compute-provider-struct-long.so", TO_TABLE "done -" },
    { "compute-provider-ext-missing.so", TO_TABLE "done -" },
    { "compute-provider-ext-null.so", TO_TABLE "done -" },
    { "compute-provider-static-tls.so", TO_TABLE "done -" },
    { "bytes/compute-provider-minor-built.so",
      "check dlopen entry init table E_INCONSISTENT" }, /* its table says "ok" */
    { "compute-provider-no-entry.so", "check E_NO_ENTRY" },
    { "compute-provider-foreign-entry.so", "check E_FOREIGN_ENTRY" },
    { "compute-provider-missing-dep.so", "check dlopen E_MISSING_DEP" },
    { "compute-provider-undefined.so", "check dlopen E_UNDEFINED_SYMBOL" },
    { "compute-provider-symver.so", "check dlopen E_SYMBOL_VERSION" },
    { "compute-provider-static-tls-large.so", "check dlopen E_STATIC_TLS" },
    { "compute-provider-init-fail.so", "check dlopen entry init E_INIT_FAILED" },
    { "compute-provider-init-positive.so", "check dlopen entry init E_INIT_FAILED" },
    { "compute-provider-no-execute.so", TO_TABLE "E_INCONSISTENT" },
    { "compute-provider-struct-too-short.so", TO_TABLE "E_INCONSISTENT" },
    { "compute-provider-struct-major.so", TO_TABLE "E_ABI_MAJOR" },
    { "compute-provider-disagrees-name.so", TO_TABLE "E_INCONSISTENT" },
    { "compute-provider-disagrees-version.so", TO_TABLE "E_INCONSISTENT" },
    { "compute-provider-disagrees-capabilities.so", TO_TABLE "E_INCONSISTENT" },
    { "bytes/compute-provider-machine.so", "check E_MACHINE" },
    { "bytes/compute-provider-cut-004096.so", "check E_TRUNCATED" },
    { "bytes/compute-provider-major-next.so", "check E_ABI_MAJOR" },
    { "bytes/compute-provider-folder.so", "check E_NOT_REGULAR" },
    { "bytes/compute-provider-dangling.so", "check E_OPEN" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = fixture (cases[i][0]);

      check_load (path, cases[i][1]);
      check_load (path,
                  cases[i][1][0] == 'c' && strstr (cases[i][1], "done") != NULL ? "check dlopen done -" : cases[i][1]);
    }
}

static void
check_resolve (struct compute_registry *registry, const char *name, int code, const char *message)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = NULL;

  g_assert_cmpint (compute_resolve (registry, name, &handle, &err), ==, code);
  g_assert_cmpstr (err.message, ==, message);
  g_assert_true ((handle != NULL) == (code == 0));
  compute_close (handle);
}

static void
test_name_whose_file_is_bad_says_why (void)
{
  g_autofree char *path = fixture ("compute-provider-init-fail.so"), *message = NULL;
  const char *const paths[] = { path };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);

  message = g_strdup_printf ("provider 'init-fail': E_INIT_FAILED: the fixture does not like it here (%s)", path);
  if (strlen (message) >= sizeof ((struct compute_error *) NULL)->message)
    g_clear_pointer (&message, g_free); /* a build folder with a very long name */
  else
    check_resolve (registry, "init-fail", COMPUTE_E_PLUGIN, message);
  compute_registry_close (registry);
}

static void
copy_fixture (const char *name, const char *to)
{
  g_autofree char *from = fixture (name), *bytes = NULL;
  gsize count;

  g_assert_true (g_file_get_contents (from, &bytes, &count, NULL));
  g_assert_true (g_file_set_contents_full (to, bytes, (gssize) count, G_FILE_SET_CONTENTS_CONSISTENT, 0755, NULL));
}

static void
test_file_that_fails_to_load_does_not_hide_a_later_one (void)
{
  g_autofree char *folder = g_build_filename (top, "first", NULL), *good = fixture ("compute-provider-ok.so");
  g_autofree char *bad = g_build_filename (folder, "compute-provider-ok.so", NULL);
  const char *const paths[] = { folder, good };
  struct compute_registry *registry = open_registry (paths, 2, COMPUTE_REGISTRY_ONLY_PATHS);

  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  copy_fixture ("bytes/compute-provider-cut-004096.so", bad);
  check_resolve (registry, "ok", 0, "");
  compute_registry_close (registry);
}

static void
test_file_without_note_goes_by_its_files_name (void)
{
  g_autofree char *folder = fixture ("");
  const char *const paths[] = { folder };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);

  check_resolve (registry, "No-Note", 0, "");
  compute_registry_close (registry);
}

static const struct compute_provider *
load_table (const char *path)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  const struct compute_provider *provider = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_load_file (registry, path, NULL, NULL, NULL, &provider, &err), ==, 0);
  compute_registry_close (registry);
  return provider;
}

static void
test_one_file_by_two_paths_is_loaded_once (void)
{
  g_autofree char *path = fixture ("compute-provider-ok-2.so"), *link = g_build_filename (top, "x.so", NULL);
  g_autofree char *hard = g_build_filename (top, "y.so", NULL);

  g_assert_cmpint (symlink (path, link), ==, 0);
  g_assert_true (load_table (link) == load_table (path));
  copy_fixture ("compute-provider-ok-2.so", hard);
  g_assert_true (load_table (hard) != load_table (path));
}

/* A long-lived host goes on with what it has when a package is upgraded under it. */
static void
test_file_replaced_after_loading_stays_what_it_was (void)
{
  g_autofree char *path = g_build_filename (top, "compute-provider-ok.so", NULL);
  const char *const paths[] = { path };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  const struct compute_provider *before;
  struct compute_handle *handle;
  struct compute_error err = COMPUTE_ERROR_INIT;

  copy_fixture ("compute-provider-ok.so", path);
  before = load_table (path);
  g_assert_cmpint (g_unlink (path), ==, 0);
  copy_fixture ("compute-provider-ok.so", path);
  g_assert_cmpint (compute_resolve (registry, "ok", &handle, &err), ==, 0);
  g_assert_true (compute_get_provider (handle) == before);
  compute_close (handle);
  compute_registry_close (registry);
}

static void
test_provider_that_asks_for_itself_while_loaded_is_told_busy (void)
{
  g_autofree char *path = fixture ("compute-provider-init-reenter.so");
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  const struct compute_provider *provider;
  struct compute_error err = COMPUTE_ERROR_INIT;
  const char *reason = NULL;

  g_assert_cmpint (compute_load_file (registry, path, NULL, NULL, &reason, &provider, &err), ==, COMPUTE_E_PLUGIN);
  g_assert_cmpstr (reason, ==, "E_INIT_FAILED");
  g_assert_nonnull (strstr (err.message, "asked for provider 'init-reenter' while it was being loaded itself"));
  compute_registry_close (registry);
}

/* ---- What a provider is given ---------------------------------------------------------------------------------------
 */

static int
know_one_setting (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes)
{
  g_assert_cmpstr (context, ==, "context");
  if (strcmp (key, "stub.colour") != 0)
    return COMPUTE_E_NOT_FOUND;
  *ret_bytes = sizeof "red";
  if (buffer_bytes < sizeof "red")
    return COMPUTE_E_INVALID;
  memcpy (buffer, "red", sizeof "red");
  return 0;
}

static char logged[64];

static void
keep_line (void *context, uint32_t level, const char *line)
{
  g_assert_cmpstr (context, ==, "context");
  g_snprintf (logged, sizeof logged, "%u %s", level, line);
}

static void
test_host_services_are_the_host_applications_and_ours (void)
{
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  struct compute_handle *handle;
  char buffer[4096] = "untouched";
  uint64_t bytes = 0;

  stub_reset ();
  options.context = (void *) "context";
  options.config_get = know_one_setting;
  options.log = keep_line;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, 0);
  g_assert_cmpint (compute_register (registry, "stub", &stub_provider, &err), ==, 0);
  g_assert_cmpint (compute_resolve (registry, "stub", &handle, &err), ==, 0);

  stub.host->log (stub.host->context, COMPUTE_LOG_INFO, "a line");
  g_assert_cmpstr (logged, ==, "3 a line");
  g_assert_cmpint (stub.host->config_get (stub.host->context, "stub.colour", buffer, sizeof buffer, &bytes), ==, 0);
  g_assert_cmpstr (buffer, ==, "red");
  g_assert_cmpint (stub.host->config_get (stub.host->context, "stub.size", buffer, sizeof buffer, &bytes), ==,
                   COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (stub.host->config_get (stub.host->context, "runner.path", buffer, 3, &bytes), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (stub.host->config_get (stub.host->context, "runner.path", buffer, bytes, &bytes), ==, 0);
  g_assert_true (g_path_is_absolute (buffer));
  g_assert_cmpuint (bytes, ==, strlen (buffer) + 1);
  g_assert_cmpint (access (buffer, X_OK), ==, 0);

  compute_close (handle);
  compute_registry_close (registry);
}

static void
test_registry_without_options_gives_services_too (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  struct compute_handle *handle;
  char buffer[4096];
  uint64_t bytes;

  stub_reset ();
  g_assert_cmpint (compute_registry_open (NULL, &registry, &err), ==, 0);
  g_assert_cmpint (compute_register (registry, "stub", &stub_provider, &err), ==, 0);
  g_assert_cmpint (compute_resolve (registry, "stub", &handle, &err), ==, 0);
  stub.host->log (stub.host->context, COMPUTE_LOG_ERROR, "dropped");
  g_assert_cmpint (stub.host->config_get (stub.host->context, "runner.path", buffer, sizeof buffer, &bytes), ==, 0);
  compute_close (handle);
  compute_registry_close (registry);
}

#define AREA "load"
#define TESTS(X)                                                                                                       \
  X (every_fixture_fails_at_its_step)                                                                                  \
  X (name_whose_file_is_bad_says_why)                                                                                  \
  X (file_that_fails_to_load_does_not_hide_a_later_one)                                                                \
  X (file_without_note_goes_by_its_files_name)                                                                         \
  X (one_file_by_two_paths_is_loaded_once)                                                                             \
  X (file_replaced_after_loading_stays_what_it_was)                                                                    \
  X (provider_that_asks_for_itself_while_loaded_is_told_busy)                                                          \
  X (host_services_are_the_host_applications_and_ours)                                                                 \
  X (registry_without_options_gives_services_too)

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  top = g_dir_make_tmp ("compute-XXXXXX", NULL);
  TESTS (ADD_TEST)
  status = g_test_run ();
  remove_folder (top);
  g_free (top);
  return status;
}
