/* SPDX-License-Identifier: MIT */

/* What is said of each file, without running any of it. */
#include "support.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static char *top; /* a folder of this test's own, below one that others can write to */

static const char *
state_word (uint32_t state)
{
  switch (state)
    {
#define WORD(name, value, word)                                                                                        \
  case value:                                                                                                          \
    return word;
      COMPUTE_CANDIDATE_MAP (WORD)
#undef WORD
    default:
      return "?";
    }
}

/* "NAME STATE REASON": "beta failed E_MISSING_DEP". The system's folders are the machine's affair. */
static int
describe (void *user, const struct compute_candidate *candidate)
{
  g_assert_cmpuint (candidate->size, ==, sizeof *candidate);
  g_assert_true ((candidate->reason == NULL) == (candidate->hint == NULL));
  if (candidate->state != COMPUTE_CANDIDATE_OK && candidate->state != COMPUTE_CANDIDATE_SHADOWED)
    g_assert_nonnull (candidate->message);
  if (candidate->source == COMPUTE_SOURCE_SYSTEM)
    return 0;
  g_string_append_printf (user, "%s %s %s\n", candidate->name != NULL ? candidate->name : "-",
                          state_word (candidate->state), candidate->reason != NULL ? candidate->reason : "-");
  return 0;
}

static void
check_file (const char *path, const char *expected)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autoptr (GString) text = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_inspect_file (registry, path, COMPUTE_INSPECT_DEPS, NULL, describe, text, &err), ==, 0);
  g_assert_true (g_str_has_suffix (text->str, "\n"));
  g_string_truncate (text, text->len - 1);
  if (strcmp (text->str, expected) != 0)
    g_error ("%s: %s, not %s", path, text->str, expected);
  compute_registry_close (registry);
}

static void
test_every_fixture_has_its_reason (void)
{
  static const char *const cases[][2] = {
    { "compute-provider-ok.so", "ok ok -" },
    { "compute-provider-cxx.so", "cxx ok -" },
    { "compute-provider-dep.so", "dep ok -" },
    { "compute-provider-init-crash.so", "init-crash ok -" },
    { "compute-provider-no-note.so", "no-note ok E_NO_NOTE" },
    { "compute-provider-no-note-no-entry.so", "no-note-no-entry failed E_NO_NOTE" },
    { "compute-provider-no-entry.so", "no-entry failed E_NO_ENTRY" },
    { "compute-provider-foreign-entry.so", "foreign-entry failed E_FOREIGN_ENTRY" },
    { "compute-provider-missing-dep.so", "missing-dep failed E_MISSING_DEP" },
    { "compute-provider-undefined.so", "undefined failed E_UNDEFINED_SYMBOL" },
    { "compute-provider-symver.so", "symver failed E_SYMBOL_VERSION" },
    { "compute-provider-exec-stack.so", "exec-stack ok E_EXECSTACK" },
    { "compute-provider-static-tls.so", "static-tls ok E_STATIC_TLS" },
    { "compute-provider-name-invalid.so", "name-invalid failed E_BAD_NOTE" },
    { "compute-provider-program.so", "program failed E_NOT_DSO" },
    { "libfixture-entry.so", "- not_provider E_NO_NOTE" },
    { "bytes/compute-provider-empty.so", "empty failed E_NOT_ELF" },
    { "bytes/compute-provider-text.so", "text failed E_NOT_ELF" },
    { "bytes/compute-provider-short-text.so", "short-text failed E_NOT_ELF" },
    { "bytes/compute-provider-cut-000064.so", "cut-000064 failed E_TRUNCATED" },
    { "bytes/compute-provider-load-eof.so", "load-eof failed E_TRUNCATED" },
    { "bytes/compute-provider-phoff-eof.so", "phoff-eof failed E_TRUNCATED" },
    { "bytes/compute-provider-class.so", "class other_arch E_CLASS" },
    { "bytes/compute-provider-endian.so", "endian other_arch E_ENDIAN" },
    { "bytes/compute-provider-machine.so", "machine other_arch E_MACHINE" },
    { "bytes/compute-provider-type-rel.so", "type-rel failed E_NOT_DSO" },
    { "bytes/compute-provider-phnum-0.so", "phnum-0 failed E_NOT_DSO" },
    { "bytes/compute-provider-note-truncated.so", "note-truncated failed E_BAD_NOTE" },
    { "bytes/compute-provider-note-bad-magic.so", "note-bad-magic failed E_BAD_NOTE" },
    { "bytes/compute-provider-note-not-utf8.so", "note-not-utf8 failed E_BAD_NOTE" },
    { "bytes/compute-provider-note-not-json.so", "note-not-json failed E_BAD_NOTE" },
    { "bytes/compute-provider-note-escapes.so", "note-escapes ok -" },
    { "bytes/compute-provider-major-next.so", "major-next failed E_ABI_MAJOR" },
    { "bytes/compute-provider-major-0.so", "major-0 failed E_ABI_MAJOR" },
    { "bytes/compute-provider-minor-required.so", "minor-required failed E_ABI_TOO_NEW" },
    { "bytes/compute-provider-minor-built.so", "minor-built ok -" },
    { "bytes/compute-provider-dangling.so", "dangling failed E_OPEN" },
    { "bytes/compute-provider-loop.so", "loop failed E_OPEN" },
    { "bytes/compute-provider-missing.so", "missing failed E_OPEN" },
    { "bytes/compute-provider-folder.so", "folder failed E_NOT_REGULAR" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = fixture (cases[i][0]);

      check_file (path, cases[i][1]);
    }
}

static int
check_hint (void *user, const struct compute_candidate *candidate)
{
  (void) user;
  g_assert_nonnull (strstr (candidate->hint, "if it has the entry, it can be loaded by name"));
  return 0;
}

/* One hint serves a file with an entry, which can be loaded by name, and one without, which cannot. */
static void
test_a_file_without_an_entry_is_not_said_to_load (void)
{
  static const char *const files[]
      = { "compute-provider-no-note.so", "compute-provider-no-note-no-entry.so", "libfixture-entry.so" };
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = fixture (files[i]);

      g_assert_cmpint (compute_inspect_file (registry, path, 0, NULL, check_hint, NULL, NULL), ==, 0);
    }
  compute_registry_close (registry);
}

static void
test_asan_is_told_where_the_process_lacks_it (void)
{
  g_autofree char *path = fixture ("compute-provider-asan.so");
#ifdef __SANITIZE_ADDRESS__
  check_file (path, "asan ok -");
#else
  check_file (path, "asan failed E_UNDEFINED_SYMBOL");
#endif
}

static char *
below (const char *name)
{
  return g_build_filename (top, name, NULL);
}

static void
test_special_files_are_no_providers_and_block_nobody (void)
{
  g_autofree char *fifo = below ("compute-provider-fifo.so"), *sock = below ("compute-provider-sock.so");
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  check_file (fifo, "fifo failed E_NOT_REGULAR");
  g_strlcpy (address.sun_path, sock, sizeof address.sun_path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  check_file (sock, "sock failed E_NOT_REGULAR");
  close (fd);
  check_file ("/dev/null", "- failed E_NOT_REGULAR");
}

static void
copy_fixture (const char *name, const char *to)
{
  g_autofree char *from = fixture (name), *bytes = NULL;
  gsize count;

  g_assert_true (g_file_get_contents (from, &bytes, &count, NULL));
  g_assert_true (g_file_set_contents_full (to, bytes, (gssize) count, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
}

static void
test_file_without_permission_is_told (void)
{
  g_autofree char *path = below ("compute-provider-secret.so");

  copy_fixture ("compute-provider-ok.so", path);
  g_assert_cmpint (g_chmod (path, 0), ==, 0);
  check_file (path, "secret failed E_PERM");
}

static void
test_file_on_a_noexec_mount_is_told (void)
{
  g_autofree char *folder = below ("noexec"), *path = below ("noexec/compute-provider-ok.so");

  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  g_assert_cmpint (mount ("none", folder, "tmpfs", MS_NOEXEC, NULL), ==, 0);
  copy_fixture ("compute-provider-ok.so", path);
  check_file (path, "ok failed E_NOEXEC");
  g_assert_cmpint (umount (folder), ==, 0);
}

static void
test_relative_path_is_that_of_the_current_folder (void)
{
  g_autofree char *folder = fixture (""), *back = g_get_current_dir ();

  g_assert_cmpint (chdir (folder), ==, 0);
  check_file ("compute-provider-ok.so", "ok ok -");
  g_assert_cmpint (chdir (back), ==, 0);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static int
describe_check (void *user, const struct compute_check *check)
{
  g_assert_cmpuint (check->size, ==, sizeof *check);
  g_assert_cmpstr (check->found, !=, "");
  g_string_append_printf (user, "%s%s%s%s;", check->passed ? "" : "not ", check->what, check->reason != NULL ? " " : "",
                          check->reason != NULL ? check->reason : "");
  return strcmp (check->what, "stack") == 0 ? 77 : 0;
}

static int
check_text_file (void *user, const struct compute_check *check)
{
  g_string_append_printf (user, "%s%s: %s;", check->passed ? "" : "not ", check->what, check->found);
  return 0;
}

static void
test_checks_are_told_in_order_up_to_the_first_that_fails (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autofree char *path = fixture ("bytes/compute-provider-text.so"),
                  *good = fixture ("compute-provider-exec-stack.so");
  g_autoptr (GString) text = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_inspect_file (registry, path, 0, check_text_file, NULL, text, &err), ==, 0);
  g_assert_nonnull (strstr (text->str, "open: it can be read;regular file: it is a regular file;trust: "));
  g_assert_true (g_str_has_suffix (text->str, "not ELF file: it does not begin as an ELF file does;"));

  /* The callback's result ends it. */
  g_string_truncate (text, 0);
  g_assert_cmpint (compute_inspect_file (registry, good, 0, describe_check, describe, text, &err), ==, 77);
  g_assert_cmpstr (text->str, ==,
                   "open;regular file;trust;ELF file;word size;byte order;processor;shared library;note;ABI;name;entry;"
                   "stack E_EXECSTACK;");
  g_assert_cmpint (compute_inspect_file (registry, good, 2, NULL, NULL, NULL, &err), ==, COMPUTE_E_INVALID);
  g_assert_cmpint (compute_inspect_file (registry, "", 0, NULL, NULL, NULL, &err), ==, COMPUTE_E_INVALID);
  compute_registry_close (registry);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void
check_list (struct compute_registry *registry, uint32_t flags, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_list_candidates (registry, flags, describe, text, &err), ==, 0);
  g_assert_cmpstr (text->str, ==, expected);
  compute_registry_close (registry);
}

static char *
make_folder (const char *name)
{
  char *path = below (name);

  g_assert_cmpint (g_mkdir (path, 0755), ==, 0);
  return path;
}

static void
add_fixture (const char *folder, const char *name, const char *as)
{
  g_autofree char *file = g_strdup_printf ("compute-provider-%s.so", name);
  g_autofree char *to = g_strdup_printf ("%s/compute-provider-%s.so", folder, as);

  copy_fixture (file, to);
}

static void
test_listing_runs_no_code (void)
{
  g_autofree char *folder = fixture ("");
  const char *const paths[] = { folder };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autoptr (GString) text = g_string_new (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  /* Those that crash, exit and hang while they are loaded are among them. */
  g_assert_cmpint (compute_list_candidates (registry, COMPUTE_INSPECT_DEPS, describe, text, &err), ==, 0);
  g_assert_nonnull (strstr (text->str, "load-crash ok -\nload-exit ok -\nload-hang ok -\n"));
  compute_registry_close (registry);
}

static void
test_first_good_one_of_a_name_shadows_the_rest (void)
{
  g_autofree char *a = make_folder ("shadow-a"), *b = make_folder ("shadow-b");
  const char *const paths[] = { a, b };

  add_fixture (a, "ok", "ok");
  add_fixture (b, "ok", "ok");
  add_fixture (b, "ok-2", "ok-2");
  check_list (open_registry (paths, 2, COMPUTE_REGISTRY_ONLY_PATHS), 0, "ok ok -\nok-2 ok -\nok shadowed -\n");
}

static void
test_bad_one_never_hides_a_good_one (void)
{
  g_autofree char *a = make_folder ("hide-a"), *b = make_folder ("hide-b"),
                  *cut = below ("hide-a/compute-provider-ok.so");
  const char *const paths[] = { a, b };

  add_fixture (a, "no-entry", "no-entry");
  add_fixture (b, "ok", "ok");
  copy_fixture ("bytes/compute-provider-cut-004096.so", cut);
  check_list (open_registry (paths, 2, COMPUTE_REGISTRY_ONLY_PATHS), 0,
              "no-entry failed E_NO_ENTRY\nok failed E_TRUNCATED\nok ok -\n");
}

static void
test_two_files_of_one_name_in_a_folder_are_both_told (void)
{
  g_autofree char *folder = make_folder ("twice");
  const char *const paths[] = { folder };

  add_fixture (folder, "ok", "a");
  add_fixture (folder, "ok", "b");
  check_list (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS), 0, "ok ok -\nok failed E_DUPLICATE\n");
}

/* A version in the file's name, and a link without: the usual way to install a library. */
static void
test_link_to_a_file_of_its_folder_is_no_duplicate (void)
{
  g_autofree char *folder = make_folder ("linked"), *link = below ("linked/compute-provider-ok.so");
  const char *const paths[] = { folder };

  add_fixture (folder, "ok", "ok-1.0");
  g_assert_cmpint (symlink ("compute-provider-ok-1.0.so", link), ==, 0);
  check_list (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS), 0, "ok ok -\nok shadowed -\n");
}

static int
check_mismatch (void *user, const struct compute_candidate *candidate)
{
  (void) user;
  g_assert_cmpuint (candidate->state, ==, COMPUTE_CANDIDATE_OK);
  g_assert_cmpstr (candidate->message, ==, "its name is 'ok', its file is named 'compute-provider-other.so'");
  g_assert_null (candidate->reason);
  return 0;
}

static void
test_name_of_another_file_is_a_warning (void)
{
  g_autofree char *folder = make_folder ("mismatch");
  const char *const paths[] = { folder };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_error err = COMPUTE_ERROR_INIT;

  add_fixture (folder, "ok", "other");
  g_assert_cmpint (compute_list_candidates (registry, 0, check_mismatch, NULL, &err), ==, 0);
  compute_registry_close (registry);
}

static void
test_reserved_name_comes_from_the_host_only (void)
{
  g_autofree char *path = fixture ("compute-provider-reserved.so"), *data = make_folder ("data"), *folder = NULL;
  const char *const paths[] = { path };
  const uint32_t user = COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT;

  check_list (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS), 0, "local ok -\n");
  if (geteuid () == 0) /* no folder here is trusted */
    return;
  folder = g_build_filename (data, "compute/providers/1", NULL);
  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  add_fixture (folder, "reserved", "local");
  g_setenv ("XDG_DATA_HOME", data, TRUE);
  check_list (open_registry (NULL, 0, user), 0, "local failed E_RESERVED_NAME\n");
  check_list (open_registry (NULL, 0, user | COMPUTE_REGISTRY_ALLOW_OVERRIDE), 0, "local ok E_UNTRUSTED\n");
  g_unsetenv ("XDG_DATA_HOME");
  g_setenv ("COMPUTE_PROVIDER_PATH", folder, TRUE);
  check_list (open_registry (NULL, 0, user), 0, "local failed E_RESERVED_NAME\n");
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
}

/* Root has a place that nobody else can write to. */
static void
test_what_others_can_change_is_refused_to_root (void)
{
  char folder[] = "/run/compute-test-XXXXXX";
  g_autofree char *open = make_folder ("open"), *link = NULL, *file = NULL;

  g_assert_nonnull (g_mkdtemp (folder));
  g_assert_cmpint (g_chmod (folder, 0755), ==, 0);
  add_fixture (folder, "ok", "ok");
  add_fixture (folder, "ok-2", "ok-2");
  add_fixture (folder, "reserved", "reserved");
  add_fixture (open, "cxx", "cxx");
  file = g_build_filename (folder, "compute-provider-ok-2.so", NULL);
  g_assert_cmpint (g_chmod (file, 0666), ==, 0);
  link = g_build_filename (folder, "compute-provider-cxx.so", NULL);
  g_free (file);
  file = g_build_filename (open, "compute-provider-cxx.so", NULL);
  g_assert_cmpint (symlink (file, link), ==, 0);
  g_setenv ("COMPUTE_PROVIDER_PATH", folder, TRUE);
  check_list (open_registry (NULL, 0, 0), 0,
              "cxx failed E_UNTRUSTED\nok-2 failed E_UNTRUSTED\nok ok -\nlocal failed E_RESERVED_NAME\n");
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
  remove_folder (folder);
}

/* A sanitizer's own libraries come before it. */
static const struct compute_needed *
find_needed (const struct compute_candidate *candidate, const char *name)
{
  for (uint64_t i = 0; i < candidate->needed_count; i++)
    if (strcmp (candidate->needed[i].name, name) == 0)
      return &candidate->needed[i];
  g_assert_not_reached ();
}

static int
check_clash (void *user, const struct compute_candidate *candidate)
{
  const struct compute_needed *needed = find_needed (candidate, "libfixture-symver.so.1");

  g_assert_cmpuint (candidate->state, ==, COMPUTE_CANDIDATE_OK);
  g_assert_nonnull (needed->path);
  g_assert_cmpstr (needed->provided_by, ==, strcmp (candidate->name, "dep") == 0 ? NULL : user);
  return 0;
}

/* The linker would give the second provider the first one's library, whatever its own is. */
static void
test_libraries_of_one_name_are_told (void)
{
  g_autofree char *a = make_folder ("clash-a"), *b = make_folder ("clash-b");
  g_autofree char *library_a = g_build_filename (a, "libfixture-symver.so.1", NULL);
  g_autofree char *library_b = g_build_filename (b, "libfixture-symver.so.1", NULL);
  g_autofree char *first = g_build_filename (a, "compute-provider-dep.so", NULL);
  const char *const paths[] = { a, b };
  struct compute_registry *registry = open_registry (paths, 2, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_error err = COMPUTE_ERROR_INIT;

  add_fixture (a, "dep", "dep");
  add_fixture (b, "dep-2", "dep-2");
  copy_fixture ("libfixture-symver.so.1", library_a);
  copy_fixture ("libfixture-symver.so.1", library_b);
  g_assert_cmpint (compute_list_candidates (registry, 0, check_clash, first, &err), ==, 0);
  compute_registry_close (registry);
}

static int
check_missing (void *user, const struct compute_candidate *candidate)
{
  (void) user;
  g_assert_true (g_str_has_prefix (
      candidate->message, "libfixture-absent.so.4 not found (wanted by compute-provider-missing-dep.so; RUNPATH "));
  g_assert_nonnull (strstr (candidate->message, "nothing-here, searched "));
  g_assert_null (find_needed (candidate, "libfixture-absent.so.4")->path);
  return 0;
}

static void
test_missing_library_is_told_with_where_it_was_sought (void)
{
  g_autofree char *path = fixture ("compute-provider-missing-dep.so");
  const char *const paths[] = { path };
  struct compute_registry *registry = open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_list_candidates (registry, 0, check_missing, NULL, &err), ==, 0);
  compute_registry_close (registry);
}

static int
check_facts (void *user, const struct compute_candidate *candidate)
{
  struct stat found;

  g_assert_cmpint (stat (user, &found), ==, 0);
  g_assert_cmpstr (candidate->path, ==, user);
  g_assert_cmpstr (candidate->realpath, ==, user);
  g_assert_cmpuint (candidate->dev, ==, found.st_dev);
  g_assert_cmpuint (candidate->ino, ==, found.st_ino);
  g_assert_cmpuint (candidate->file_bytes, ==, (uint64_t) found.st_size);
  g_assert_cmpint (candidate->mtime_ns / 1000000000, ==, found.st_mtim.tv_sec);
  g_assert_cmpuint (candidate->has_note, ==, 1);
  g_assert_cmpstr (candidate->version, ==, "2.0");
  g_assert_cmpstr (candidate->vendor, ==, "Fixtures Ltd");
  g_assert_cmpstr (candidate->license, ==, "MIT");
  g_assert_cmpstr (candidate->url, ==, "https://fixtures.example");
  g_assert_cmpuint (candidate->abi_major, ==, COMPUTE_ABI_MAJOR);
  g_assert_cmpuint (candidate->abi_minor_built, ==, COMPUTE_ABI_MINOR);
  g_assert_cmpuint (candidate->abi_minor_required, ==, 0);
  g_assert_cmpuint (candidate->capabilities, ==, COMPUTE_CAP_EXECUTE);
  g_assert_cmpuint (candidate->elf_class, ==, 8 * sizeof (void *));
  g_assert_cmpuint (candidate->export_count, ==, 1);
  g_assert_cmpstr (candidate->exports[0], ==, COMPUTE_PROVIDER_ENTRY);
  g_assert_cmpuint (strlen (candidate->build_id), ==, 40);
  return 0;
}

static void
test_facts_are_those_of_the_file (void)
{
  struct compute_registry *registry = open_registry (NULL, 0, COMPUTE_REGISTRY_ONLY_PATHS);
  g_autofree char *path = fixture ("compute-provider-ok-2.so");
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_inspect_file (registry, path, 0, NULL, check_facts, path, &err), ==, 0);
  compute_registry_close (registry);
}

static void
test_odd_names_are_found_and_shown_without_controls (void)
{
  g_autofree char *folder = fixture ("bytes/odd-names");
  const char *const paths[] = { folder };

  check_list (open_registry (paths, 1, COMPUTE_REGISTRY_ONLY_PATHS), 0,
              "ok ok -\nok failed E_DUPLICATE\nok failed E_DUPLICATE\nok failed E_DUPLICATE\nok failed E_DUPLICATE\n"
              "ok failed E_DUPLICATE\nok failed E_DUPLICATE\nok failed E_DUPLICATE\n");
}

#define AREA "candidates"
#define TESTS(X)                                                                                                       \
  X (every_fixture_has_its_reason)                                                                                     \
  X (a_file_without_an_entry_is_not_said_to_load)                                                                      \
  X (asan_is_told_where_the_process_lacks_it)                                                                          \
  X (special_files_are_no_providers_and_block_nobody)                                                                  \
  X (relative_path_is_that_of_the_current_folder)                                                                      \
  X (checks_are_told_in_order_up_to_the_first_that_fails)                                                              \
  X (listing_runs_no_code)                                                                                             \
  X (first_good_one_of_a_name_shadows_the_rest)                                                                        \
  X (bad_one_never_hides_a_good_one)                                                                                   \
  X (two_files_of_one_name_in_a_folder_are_both_told)                                                                  \
  X (link_to_a_file_of_its_folder_is_no_duplicate)                                                                     \
  X (name_of_another_file_is_a_warning)                                                                                \
  X (reserved_name_comes_from_the_host_only)                                                                           \
  X (libraries_of_one_name_are_told)                                                                                   \
  X (missing_library_is_told_with_where_it_was_sought)                                                                 \
  X (facts_are_those_of_the_file)                                                                                      \
  X (odd_names_are_found_and_shown_without_controls)

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  g_unsetenv ("HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("LD_LIBRARY_PATH"); /* would come before a file's own RUNPATH */
  top = g_dir_make_tmp ("compute-XXXXXX", NULL);
  TESTS (ADD_TEST)
  if (geteuid () == 0)
    {
      ADD_TEST (file_on_a_noexec_mount_is_told)
      ADD_TEST (what_others_can_change_is_refused_to_root)
    }
  else
    ADD_TEST (file_without_permission_is_told)
  status = g_test_run ();
  remove_folder (top);
  g_free (top);
  return status;
}
