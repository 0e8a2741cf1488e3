/* SPDX-License-Identifier: MIT */
#include "../../../plugins/local/local.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The provider's own table, with a run folder that each test makes for itself. */

int compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                           struct compute_error *err);

struct host
{
  struct compute_host table;
  const struct compute_provider *provider;
  struct compute_provider_state *state;
  char *runtime; /* what XDG_RUNTIME_DIR says */
  char *base;    /* the folder of all instances in it */
  GString *log;
};

static void
take_log (void *context, uint32_t level, const char *line)
{
  struct host *host = context;

  g_assert_cmpuint (level, ==, COMPUTE_LOG_WARNING);
  g_string_append_printf (host->log, "%s\n", line);
}

static int
host_config_get (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes)
{
  const char *path = g_getenv ("COMPUTE_RUNNER");

  (void) context;
  if (strcmp (key, "runner.path") != 0)
    return COMPUTE_E_NOT_FOUND;
  *ret_bytes = strlen (path) + 1;
  if (*ret_bytes > buffer_bytes)
    return COMPUTE_E_INVALID;
  memcpy (buffer, path, *ret_bytes);
  return 0;
}

static struct host *
host_new (const char *subfolder)
{
  struct host *host = g_new0 (struct host, 1);
  g_autofree char *folder = g_dir_make_tmp ("run-XXXXXX", NULL);

  host->table = (struct compute_host){ .size = sizeof host->table,
                                       .abi_major = COMPUTE_ABI_MAJOR,
                                       .abi_minor = COMPUTE_ABI_MINOR,
                                       .context = host,
                                       .log = take_log,
                                       .config_get = host_config_get };
  host->log = g_string_new (NULL);
  host->runtime = g_build_filename (folder, subfolder, NULL);
  host->base = g_build_filename (host->runtime, "compute", "local", NULL);
  g_assert_cmpint (g_mkdir_with_parents (host->runtime, 0700), ==, 0);
  g_setenv ("XDG_RUNTIME_DIR", host->runtime, TRUE);
  g_assert_cmpint (compute_provider_init (&host->table, &host->provider, NULL), ==, 0);
  g_assert_cmpint (host->provider->open (&host->table, &host->state, NULL), ==, 0);
  return host;
}

static void
host_free (struct host *host)
{
  g_autofree char *command = g_strdup_printf ("rm -rf '%s'", host->runtime);

  host->provider->close (host->state);
  g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL);
  g_string_free (host->log, TRUE);
  g_free (host->base);
  g_free (host->runtime);
  g_free (host);
}

static int
up (struct host *host, struct compute_instance *instance, struct compute_error *err)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.flags = COMPUTE_CONFIG_DETACHED;
  config.workdir = "/";
  *instance = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  return host->provider->provision (host->state, &config, NULL, instance, err);
}

static int
down (struct host *host, const char *id)
{
  return host->provider->shutdown (host->state, id, NULL, NULL);
}

static int
status (struct host *host, const char *id, struct compute_instance *instance)
{
  *instance = (struct compute_instance) COMPUTE_INSTANCE_INIT;
  return host->provider->get_status (host->state, id, NULL, instance, NULL);
}

static int
append_id (void *user, const struct compute_instance *instance)
{
  g_string_append_printf (user, "%s\n", instance->id);
  return 0;
}

static char *
list (struct host *host)
{
  GString *ids = g_string_new (NULL);

  g_assert_cmpint (host->provider->list_instances (host->state, append_id, ids, NULL, NULL), ==, 0);
  return g_string_free (ids, FALSE);
}

static guint
count_entries (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  guint count = 0;

  while (folder != NULL && g_dir_read_name (folder) != NULL)
    count++;
  return count;
}

static void
assert_private (const char *path)
{
  GStatBuf info;

  g_assert_cmpint (g_stat (path, &info), ==, 0);
  g_assert_cmpuint (info.st_mode & 0777, ==, S_ISDIR (info.st_mode) ? 0700 : 0600);
}

static void
test_nobody_else_may_enter (void)
{
  struct host *host = host_new ("r");
  struct compute_instance instance;
  g_autofree char *folder = NULL, *outer = g_path_get_dirname (host->base), *socket_path = NULL;
  mode_t mask = umask (0);

  g_assert_cmpint (up (host, &instance, NULL), ==, 0);
  umask (mask);
  folder = g_build_filename (host->base, instance.id, NULL);
  socket_path = g_build_filename (folder, SOCKET_FILE, NULL);
  assert_private (outer);
  assert_private (host->base);
  assert_private (folder);
  assert_private (socket_path);
  g_assert_cmpint (down (host, instance.id), ==, 0);
  g_assert_cmpuint (count_entries (host->base), ==, 0);
  host_free (host);
}

/* A socket's name has 107 bytes. */
static void
test_a_long_path_is_no_hindrance (void)
{
  g_autofree char *name = g_strnfill (200, 'x');
  struct host *host = host_new (name), *other;
  struct compute_instance instance, seen;
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (up (host, &instance, &err), ==, 0);
  g_assert_cmpstr (err.message, ==, "");
  other = g_new0 (struct host, 1); /* without the connection of the first */
  g_assert_cmpint (host->provider->open (&host->table, &other->state, NULL), ==, 0);
  other->provider = host->provider;
  g_assert_cmpint (status (other, instance.id, &seen), ==, 0);
  g_assert_cmpuint (seen.state, ==, COMPUTE_STATE_RUNNING);
  g_assert_cmpuint (seen.owner, ==, COMPUTE_OWNER_NONE);
  g_assert_cmpint (down (other, instance.id), ==, 0);
  g_assert_cmpint (status (host, instance.id, &seen), ==, COMPUTE_E_NOT_FOUND);
  host->provider->close (other->state);
  g_free (other);
  host_free (host);
}

/* What stands in the way of the folder of all instances: refused by provision, left out by the list, never followed. */
static void
refuse (struct host *host, const char *message)
{
  struct compute_instance instance;
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *ids = NULL;

  g_assert_cmpint (up (host, &instance, &err), ==, COMPUTE_E_DENIED);
  g_assert_nonnull (strstr (err.message, message));
  ids = list (host);
  g_assert_cmpstr (ids, ==, "");
  g_assert_nonnull (strstr (host->log->str, message));
}

static void
test_a_link_is_not_followed (void)
{
  struct host *host = host_new ("r");
  g_autofree char *outer = g_path_get_dirname (host->base), *elsewhere = g_dir_make_tmp ("else-XXXXXX", NULL);

  g_assert_cmpint (symlink (elsewhere, outer), ==, 0);
  refuse (host, "is a link or no folder at all");
  g_assert_cmpint (unlink (outer), ==, 0);
  g_assert_cmpint (g_mkdir (outer, 0700), ==, 0);
  g_assert_cmpint (symlink (elsewhere, host->base), ==, 0);
  refuse (host, "is a link or no folder at all");
  g_assert_cmpuint (count_entries (elsewhere), ==, 0);
  g_rmdir (elsewhere);
  host_free (host);
}

static void
test_a_folder_open_to_others_is_refused (void)
{
  struct host *host = host_new ("r");

  g_assert_cmpint (g_mkdir_with_parents (host->base, 0700), ==, 0);
  g_assert_cmpint (g_chmod (host->base, 0750), ==, 0);
  refuse (host, "is open to others (mode 750)");
  g_assert_cmpuint (count_entries (host->base), ==, 0);
  host_free (host);
}

static void
test_a_folder_of_another_user_is_refused (void)
{
  struct host *host = host_new ("r");

  g_assert_cmpint (g_mkdir_with_parents (host->base, 0700), ==, 0);
  if (chown (host->base, 12345, 12345) != 0)
    g_test_skip ("only root can make a folder that belongs to another user");
  else
    refuse (host, "belongs to user 12345");
  host_free (host);
}

/* Then it is not the user's runtime folder, and /tmp is taken. */
static void
test_a_runtime_folder_open_to_others_does_not_count (void)
{
  struct host *host = host_new ("r");
  struct compute_instance instance;
  g_autofree char *folder = NULL;

  g_assert_cmpint (g_chmod (host->runtime, 0777), ==, 0);
  g_assert_cmpint (up (host, &instance, NULL), ==, 0);
  g_assert_cmpuint (count_entries (host->runtime), ==, 0);
  folder = g_strdup_printf ("/tmp/compute-%u/local/%s", (guint) geteuid (), instance.id);
  assert_private (folder);
  g_assert_cmpint (down (host, instance.id), ==, 0);
  g_assert_false (g_file_test (folder, G_FILE_TEST_EXISTS));
  host_free (host);
}

/* ---- Folders that are there ----------------------------------------------------------------------------------------
 */

/* Changes a text in an instance's record. */
static void
change_record (struct host *host, const char *id, const char *from, const char *to)
{
  g_autofree char *path = g_build_filename (host->base, id, RECORD_FILE, NULL), *text = NULL;
  g_auto (GStrv) parts = NULL;
  g_autofree char *changed = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  parts = g_strsplit (text, from, 2);
  changed = g_strjoinv (to, parts);
  g_assert_cmpstr (changed, !=, text);
  g_assert_true (g_file_set_contents (path, changed, -1, NULL));
}

static void
test_what_is_broken_hides_nothing_else (void)
{
  struct host *host = host_new ("r");
  struct compute_instance good, broken, seen;
  g_autofree char *other = NULL, *empty = NULL, *ids = NULL, *expected = NULL;

  g_assert_cmpint (up (host, &good, NULL), ==, 0);
  g_assert_cmpint (up (host, &broken, NULL), ==, 0);
  change_record (host, broken.id, "pid=", "pid=x");
  other = g_build_filename (host->base, "lost+found", NULL);
  empty = g_build_filename (host->base, "local-000000000000", NULL); /* as one that is being made */
  g_assert_cmpint (g_mkdir (other, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (empty, 0700), ==, 0);
  ids = list (host);
  expected = g_strconcat (good.id, "\n", NULL);
  g_assert_cmpstr (ids, ==, expected);
  g_assert_nonnull (strstr (host->log->str, broken.id));
  g_assert_nonnull (strstr (host->log->str, "is broken"));
  g_assert_null (strstr (host->log->str, "local-000000000000"));
  g_assert_cmpint (status (host, "local-000000000000", &seen), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (status (host, "../local", &seen), ==, COMPUTE_E_NOT_FOUND);
  change_record (host, broken.id, "pid=x", "pid=");
  g_assert_cmpint (down (host, good.id), ==, 0);
  g_assert_cmpint (down (host, broken.id), ==, 0);
  host_free (host);
}

/* A machine that was switched off left its folders behind. */
static void
test_an_instance_of_another_boot_is_gone (void)
{
  struct host *host = host_new ("r");
  struct compute_instance instance, seen;
  g_autofree char *line = NULL, *boot = NULL;

  g_assert_true (g_file_get_contents ("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL));
  line = g_strdup_printf ("boot=%s", g_strchomp (boot));
  g_assert_cmpint (up (host, &instance, NULL), ==, 0);
  change_record (host, instance.id, line, "boot=another");
  g_assert_cmpint (status (host, instance.id, &seen), ==, 0);
  g_assert_cmpuint (seen.state, ==, COMPUTE_STATE_STOPPED);
  g_assert_cmpuint (seen.owner, ==, COMPUTE_OWNER_GONE);
  g_assert_nonnull (strstr (seen.detail, "has gone"));
  change_record (host, instance.id, "boot=another", line);
  g_assert_cmpint (down (host, instance.id), ==, 0);
  host_free (host);
}

/* Of a process in another namespace nothing is proven; its instance is not taken for dead. */
static void
test_an_instance_of_another_namespace_is_unknown (void)
{
  struct host *host = host_new ("r");
  struct compute_instance instance, seen;

  g_assert_cmpint (up (host, &instance, NULL), ==, 0);
  change_record (host, instance.id, "namespace=pid:[", "namespace=pid:[1");
  g_assert_cmpint (status (host, instance.id, &seen), ==, 0);
  g_assert_cmpuint (seen.state, ==, COMPUTE_STATE_RUNNING);
  g_assert_cmpuint (seen.owner, ==, COMPUTE_OWNER_UNKNOWN);
  g_assert_cmpint (down (host, instance.id), ==, 0);
  host_free (host);
}

/* The daemon runs already when its workdir turns out to be impossible: it goes again, with its folder. */
static gpointer
kill_soon (gpointer pid)
{
  g_usleep (200000);
  g_assert_cmpint (kill (GPOINTER_TO_INT (pid), SIGKILL), ==, 0);
  return NULL;
}

/* A runner that ends removes its socket first: whoever comes a moment later finds none, though the process lives. */
static void
test_one_that_is_ending_counts_as_ended (void)
{
  struct host *host = host_new ("r");
  struct compute_instance instance;
  g_autofree char *record = NULL, *socket = NULL, *text = NULL;
  GThread *thread;

  g_assert_cmpint (up (host, &instance, NULL), ==, 0);
  record = g_build_filename (host->base, instance.id, RECORD_FILE, NULL);
  socket = g_build_filename (host->base, instance.id, SOCKET_FILE, NULL);
  g_assert_true (g_file_get_contents (record, &text, NULL, NULL));
  g_assert_cmpint (g_unlink (socket), ==, 0);
  thread = g_thread_new ("kill", kill_soon,
                         GINT_TO_POINTER (g_ascii_strtoll (strstr (text, "\npid=") + strlen ("\npid="), NULL, 10)));
  g_assert_cmpint (down (host, instance.id), ==, 0);
  g_thread_join (thread);
  g_assert_cmpuint (count_entries (host->base), ==, 0);
  host_free (host);
}

static void
test_a_start_that_fails_leaves_nothing (void)
{
  struct host *host = host_new ("r");
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  config.flags = COMPUTE_CONFIG_DETACHED;
  config.workdir = "/proc/no/such/folder";
  g_assert_cmpint (host->provider->provision (host->state, &config, NULL, &instance, &err), ==, COMPUTE_E_NOT_STARTED);
  g_assert_nonnull (strstr (err.message, "/proc/no/such/folder"));
  g_assert_cmpuint (count_entries (host->base), ==, 0);
  host_free (host);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/run-folder/nobody-else-may-enter", test_nobody_else_may_enter);
  g_test_add_func ("/run-folder/a-long-path-is-no-hindrance", test_a_long_path_is_no_hindrance);
  g_test_add_func ("/run-folder/a-link-is-not-followed", test_a_link_is_not_followed);
  g_test_add_func ("/run-folder/open-to-others-is-refused", test_a_folder_open_to_others_is_refused);
  g_test_add_func ("/run-folder/of-another-user-is-refused", test_a_folder_of_another_user_is_refused);
  g_test_add_func ("/run-folder/a-runtime-folder-open-to-others-does-not-count",
                   test_a_runtime_folder_open_to_others_does_not_count);
  g_test_add_func ("/run-folder/what-is-broken-hides-nothing-else", test_what_is_broken_hides_nothing_else);
  g_test_add_func ("/run-folder/an-instance-of-another-boot-is-gone", test_an_instance_of_another_boot_is_gone);
  g_test_add_func ("/run-folder/an-instance-of-another-namespace-is-unknown",
                   test_an_instance_of_another_namespace_is_unknown);
  g_test_add_func ("/run-folder/one-that-is-ending-counts-as-ended", test_one_that_is_ending_counts_as_ended);
  g_test_add_func ("/run-folder/a-start-that-fails-leaves-nothing", test_a_start_that_fails_leaves_nothing);
  return g_test_run ();
}
