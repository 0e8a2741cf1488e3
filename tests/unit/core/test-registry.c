/* SPDX-License-Identifier: MIT */

/* Names: registering, listing, resolving. */
#include "support.h"
#include "stub.h"

#include <string.h>

static int
join_name (void *user, const char *name)
{
  GString *joined = user;

  g_string_append_printf (joined, "%s%s", joined->len == 0 ? "" : " ", name);
  return 0;
}

static void
check_names (struct compute_registry *registry, const char *expected)
{
  g_autoptr (GString) joined = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_list (registry, join_name, joined, &err), ==, 0);
  g_assert_cmpstr (joined->str, ==, expected);
}

static void
register_stub (struct compute_registry *registry, const char *name)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_register (registry, name, &stub_provider, &err), ==, 0);
}

static void
check_unknown (struct compute_registry *registry, const char *name, const char *message)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = NULL;

  g_assert_cmpint (compute_resolve (registry, name, &handle, &err), ==, COMPUTE_E_UNKNOWN_PROVIDER);
  g_assert_cmpint (err.code, ==, COMPUTE_E_UNKNOWN_PROVIDER);
  g_assert_cmpstr (err.message, ==, message);
  g_assert_null (handle);
}

static void
test_names_are_lower_cased_sorted_and_unique (void)
{
  g_autofree char *path = fixture ("compute-provider-ok.so");
  const char *const paths[] = { path, path };
  struct compute_registry *registry = open_registry (paths, 2, COMPUTE_REGISTRY_ONLY_PATHS);

  register_stub (registry, "Zeta");
  register_stub (registry, "a.b-c_1");
  register_stub (registry, "ALPHA");
  check_names (registry, "a.b-c_1 alpha ok zeta");
  compute_registry_close (registry);
}

static void
test_registering_checks_name_and_table (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_provider table = stub_provider;
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_register (registry, "not a name", &stub_provider, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "invalid provider name 'not a name': it must match [a-z0-9][a-z0-9._-]{0,63}");
  g_assert_cmpint (compute_register (registry, NULL, &stub_provider, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_register (registry, "x", NULL, &err), ==, COMPUTE_E_INVALID);
  table.execute = NULL;
  g_assert_cmpint (compute_register (registry, "x", &table, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "provider 'x' has no execute");
  register_stub (registry, "twice");
  g_assert_cmpint (compute_register (registry, "TWICE", &stub_provider, &err), ==, COMPUTE_E_BUSY);
  check_names (registry, "twice");
  compute_registry_close (registry);
}

static void
test_no_name_is_no_provider_and_no_error (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_handle *handle = (struct compute_handle *) registry;
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_resolve (registry, NULL, &handle, &err), ==, 0);
  g_assert_null (handle);
  handle = (struct compute_handle *) registry;
  g_assert_cmpint (compute_resolve (registry, "", &handle, &err), ==, 0);
  g_assert_null (handle);
  compute_registry_close (registry);
}

static void
test_each_resolve_gives_a_handle_of_its_own_in_any_case (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_handle *first, *second;
  struct compute_error err = COMPUTE_ERROR_INIT;

  stub_reset ();
  register_stub (registry, "stub");
  g_assert_cmpint (compute_resolve (registry, "stub", &first, &err), ==, 0);
  g_assert_cmpint (compute_resolve (registry, "STUB", &second, &err), ==, 0);
  g_assert_true (first != second);
  g_assert_cmpint (stub.opened, ==, 2);
  compute_close (first);
  compute_close (second);
  g_assert_cmpint (stub.closed, ==, 2);
  compute_registry_close (registry);
}

static void
test_failed_open_is_the_error_of_resolve (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_handle *handle = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;

  stub_reset ();
  register_stub (registry, "stub");
  stub.returns = COMPUTE_E_DENIED;
  compute_error_set (&stub.err, COMPUTE_E_DENIED, EACCES, "not here");
  g_assert_cmpint (compute_resolve (registry, "stub", &handle, &err), ==, COMPUTE_E_DENIED);
  g_assert_cmpstr (err.message, ==, "not here");
  g_assert_null (handle);
  compute_registry_close (registry);
}

#define ADVICE "Falling back to local would run on the host something you asked to sandbox."

static void
test_unknown_name_lists_what_there_is (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);

  check_unknown (registry, "e2b", "Unknown compute provider 'e2b'. Available: none. " ADVICE);
  register_stub (registry, "local");
  register_stub (registry, "docker");
  check_unknown (registry, "e2b", "Unknown compute provider 'e2b'. Available: docker, local. " ADVICE);
  check_unknown (registry, "E2B", "Unknown compute provider 'E2B'. Available: docker, local. " ADVICE);
  check_unknown (registry, " docker", "Unknown compute provider ' docker'. Available: docker, local. " ADVICE);
  check_unknown (registry, "a\nb\xff", "Unknown compute provider 'a\\x0ab\\xff'. Available: docker, local. " ADVICE);
  compute_registry_close (registry);
}

static void
test_unknown_names_message_keeps_its_last_sentence (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autofree char *long_name = g_strnfill (5000, 'x');
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;

  for (int i = 0; i < 40; i++)
    {
      g_autofree char *name = g_strdup_printf ("provider-%02d", i);

      register_stub (registry, name);
    }
  check_unknown (registry, "e2b",
                 "Unknown compute provider 'e2b'. Available: provider-00, provider-01, provider-02, provider-03, "
                 "provider-04, provider-05, provider-06, provider-07, provider-08, .... " ADVICE);
  g_assert_cmpint (compute_resolve (registry, long_name, &handle, &err), ==, COMPUTE_E_UNKNOWN_PROVIDER);
  g_assert_true (g_str_has_suffix (err.message, ", .... " ADVICE));
  g_assert_nonnull (strstr (err.message, "xxx...'. Available: provider-00"));
  compute_registry_close (registry);
}

/* One name too long to be shown at all. */
static void
test_unknown_names_message_may_have_no_room_for_names (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autofree char *name = g_strnfill (64, 'n'), *asked = g_strnfill (71, 'a');
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;

  register_stub (registry, name);
  g_assert_cmpint (compute_resolve (registry, asked, &handle, &err), ==, COMPUTE_E_UNKNOWN_PROVIDER);
  g_assert_true (g_str_has_suffix (err.message, "'. Available: .... " ADVICE));
  compute_registry_close (registry);
}

static void
test_registered_table_wins_over_a_file (void)
{
  g_autofree char *path = fixture ("compute-provider-ok.so");
  const char *const paths[] = { path };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_handle *handle;
  struct compute_error err = COMPUTE_ERROR_INIT;

  stub_reset ();
  register_stub (registry, "ok");
  g_assert_cmpint (compute_resolve (registry, "ok", &handle, &err), ==, 0);
  g_assert_true (compute_get_provider (handle) == &stub_provider);
  compute_close (handle);
  compute_registry_close (registry);
}

static int
stop_at_second (void *user, const char *name)
{
  (void) name;
  return ++*(int *) user == 2 ? -42 : 0;
}

static void
test_list_ends_with_what_the_callback_returned (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_error err = COMPUTE_ERROR_INIT;
  int count = 0;

  register_stub (registry, "a");
  register_stub (registry, "b");
  register_stub (registry, "c");
  g_assert_cmpint (compute_list (registry, stop_at_second, &count, &err), ==, -42);
  g_assert_cmpint (count, ==, 2);
  compute_registry_close (registry);
}

static void
test_options_are_checked (void)
{
  static const char *const paths[] = { "/a", NULL };
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_registry *registry = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;

  options.flags = 0x100;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, COMPUTE_E_INVALID);
  options.flags = 0;
  options.paths = paths;
  options.path_count = 2;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (err.message, ==, "path 2 of 2 is missing");
  options.size = 0;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, COMPUTE_E_INVALID);
  g_assert_null (registry);
  compute_registry_close (NULL);
}

static void
test_frozen_registry_gives_only_what_it_has (void)
{
  g_autofree char *folder = fixture ("");
  const char *const paths[] = { folder };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_handle *handle;
  struct compute_error err = COMPUTE_ERROR_INIT;
  const struct compute_provider *provider;
  const char *reason = NULL;
  g_autofree char *other = fixture ("compute-provider-ok-2.so");

  stub_reset ();
  register_stub (registry, "stub");
  g_assert_cmpint (compute_resolve (registry, "ok", &handle, &err), ==, 0);
  compute_close (handle);
  compute_freeze (registry);
  check_names (registry, "ok stub");
  g_assert_cmpint (compute_resolve (registry, "ok", &handle, &err), ==, 0);
  compute_close (handle);
  check_unknown (registry, "ok-2", "Unknown compute provider 'ok-2'. Available: ok, stub. " ADVICE);
  g_assert_cmpint (compute_load_file (registry, other, NULL, NULL, &reason, &provider, &err), ==, COMPUTE_E_PLUGIN);
  g_assert_nonnull (strstr (err.message, "loading is frozen"));
  compute_registry_close (registry);
}

#define AREA "registry"
#define TESTS(X)                                                                                                       \
  X (names_are_lower_cased_sorted_and_unique)                                                                          \
  X (registering_checks_name_and_table)                                                                                \
  X (no_name_is_no_provider_and_no_error)                                                                              \
  X (each_resolve_gives_a_handle_of_its_own_in_any_case)                                                               \
  X (failed_open_is_the_error_of_resolve)                                                                              \
  X (unknown_name_lists_what_there_is)                                                                                 \
  X (unknown_names_message_keeps_its_last_sentence)                                                                    \
  X (unknown_names_message_may_have_no_room_for_names)                                                                 \
  X (registered_table_wins_over_a_file)                                                                                \
  X (list_ends_with_what_the_callback_returned)                                                                        \
  X (options_are_checked)                                                                                              \
  X (frozen_registry_gives_only_what_it_has)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  TESTS (ADD_TEST)
  return g_test_run ();
}
