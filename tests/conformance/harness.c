/* SPDX-License-Identifier: MIT */
#include "conformance.h"
#include <glib/gstdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *test_dir;
static struct compute_registry *registry;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static GString *log_lines;

void
fail_code (const char *file, int line, const char *call, int got, int wanted, const struct compute_error *error)
{
  g_error ("%s:%d: %s: got %s, wanted %s: %s", file, line, call, compute_error_token (got),
           compute_error_token (wanted), got != 0 && error != NULL ? error->message : "");
}

const char *
provider_name (void)
{
  const char *name = g_getenv ("COMPUTE_TEST_PROVIDER");

  return name != NULL ? name : "local";
}

static void
keep_log_line (void *context, uint32_t level, const char *line)
{
  (void) context;
  pthread_mutex_lock (&log_lock);
  g_string_append_printf (log_lines, "%u %s\n", level, line);
  pthread_mutex_unlock (&log_lock);
}

char *
log_text (void)
{
  char *text;

  pthread_mutex_lock (&log_lock);
  text = g_strdup (log_lines->str);
  pthread_mutex_unlock (&log_lock);
  return text;
}

struct compute_registry *
registry_get (void)
{
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  options.log = keep_log_line;
  if (registry == NULL)
    assert_code (compute_registry_open (&options, &registry, &err), 0, &err);
  return registry;
}

struct compute_handle *
handle_open (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = NULL;

  assert_code (compute_resolve (registry_get (), provider_name (), &handle, &err), 0, &err);
  g_assert_nonnull (handle);
  return handle;
}

const char *
private_dir (void)
{
  return test_dir;
}

char *
mark_new (void)
{
  static gint count;

  return g_strdup_printf ("9%07d%02d", (int) getpid (), g_atomic_int_add (&count, 1));
}

/* The home and the run folder of this test's user, short enough for the path of a socket. */
static void
private_dir_make (void)
{
  static const char *const variables[]
      = { "HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME" };

  test_dir = g_dir_make_tmp ("cc-XXXXXX", NULL);
  g_assert_nonnull (test_dir);
  for (gsize i = 0; i < G_N_ELEMENTS (variables); i++)
    g_setenv (variables[i], test_dir, TRUE);
  g_unsetenv ("COMPUTE_PROVIDER_PATH");
  g_unsetenv ("COMPUTE_PROVIDER_PATH_ONLY");
}

static void
private_dir_remove (void)
{
  const char *argv[] = { "rm", "-rf", "--", test_dir, NULL };

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  g_free (test_dir);
}

static void
add_case (const char *path, void (*function) (void))
{
  g_autofree char *dashes = g_strdelimit (g_strdup (path), "_", '-');

  g_test_add_func (dashes, function);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  private_dir_make ();
  log_lines = g_string_new (NULL);
#define CASE(provider, group, name, seconds, how) add_case ("/" #group "/" #name, test_##group##_##name);
#include "cases.h"
#undef CASE
  status = g_test_run ();
  compute_registry_close (registry);
  g_string_free (log_lines, TRUE);
  private_dir_remove ();
  return status;
}
