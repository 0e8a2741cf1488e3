/* SPDX-License-Identifier: MIT */

/* Many threads at one registry, and providers that take their time to load. Run under ThreadSanitizer too. */
#include "support.h"

#include <pthread.h>
#include <string.h>

#define THREADS 16

static struct compute_registry *registry;

/* ---- A gate in a provider's init ----------------------------------------------------------------------------------
 */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static gboolean gate_open;
static int waiting, passed; /* threads in the provider's init, and through it */

static int
wait_at_gate (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes)
{
  (void) context;
  (void) buffer;
  (void) buffer_bytes;
  if (strcmp (key, "fixture.gate") != 0)
    return COMPUTE_E_NOT_FOUND;
  *ret_bytes = 0;
  pthread_mutex_lock (&gate_lock);
  waiting++;
  pthread_cond_broadcast (&gate_changed);
  while (!gate_open)
    pthread_cond_wait (&gate_changed, &gate_lock);
  passed++;
  pthread_mutex_unlock (&gate_lock);
  return 0;
}

static void
open_with_gate (void)
{
  static const char *folder;
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  folder = getenv ("FIXTURES");
  options.flags = COMPUTE_REGISTRY_ONLY_PATHS;
  options.paths = &folder;
  options.path_count = 1;
  options.config_get = wait_at_gate;
  g_assert_cmpint (compute_registry_open (&options, &registry, &err), ==, 0);
}

static gpointer
resolve (gpointer name)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle = NULL;
  int rc = compute_resolve (registry, name, &handle, &err);

  if (rc == 0)
    g_assert_cmpint (compute_is_available (handle, NULL, &err), ==, 0);
  compute_close (handle);
  return GINT_TO_POINTER (rc);
}

static void
test_slow_init_holds_up_nobody_else_and_runs_once (void)
{
  GThread *first, *second;

  open_with_gate ();
  first = g_thread_new ("first", resolve, (gpointer) "init-asks");
  pthread_mutex_lock (&gate_lock);
  while (waiting == 0)
    pthread_cond_wait (&gate_changed, &gate_lock);
  pthread_mutex_unlock (&gate_lock);

  second = g_thread_new ("second", resolve, (gpointer) "init-asks"); /* waits for the first */
  g_assert_cmpint (GPOINTER_TO_INT (resolve ((gpointer) "ok")), ==, 0);
  g_assert_cmpint (GPOINTER_TO_INT (resolve ((gpointer) "init-fail")), ==, COMPUTE_E_PLUGIN);

  pthread_mutex_lock (&gate_lock);
  gate_open = TRUE;
  pthread_cond_broadcast (&gate_changed);
  pthread_mutex_unlock (&gate_lock);
  g_assert_cmpint (GPOINTER_TO_INT (g_thread_join (first)), ==, 0);
  g_assert_cmpint (GPOINTER_TO_INT (g_thread_join (second)), ==, 0);
  g_assert_cmpint (passed, ==, 1);
  compute_registry_close (registry);
}

/* ---- Everything at once -------------------------------------------------------------------------------------------
 */

static int
count_name (void *user, const char *name)
{
  (void) name;
  ++*(int *) user;
  return 0;
}

static gpointer
use_registry (gpointer number)
{
  static const char *const names[] = { "ok", "cxx", "dep", "init-fail", "ok-2", "no-such", "missing-dep" };
  struct compute_error err = COMPUTE_ERROR_INIT;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      guint chosen = (GPOINTER_TO_UINT (number) + i) % G_N_ELEMENTS (names);
      int rc = GPOINTER_TO_INT (resolve ((gpointer) names[chosen]));

      g_assert_cmpint (rc, ==,
                       strcmp (names[chosen], "no-such") == 0    ? COMPUTE_E_UNKNOWN_PROVIDER
                       : strchr ("im", names[chosen][0]) != NULL ? COMPUTE_E_PLUGIN
                                                                 : 0);
    }
  if (GPOINTER_TO_UINT (number) % 4 == 0)
    {
      int count = 0;

      g_assert_cmpint (compute_list (registry, count_name, &count, &err), ==, 0);
      g_assert_cmpint (count, >, 10);
    }
  return NULL;
}

static void
test_sixteen_threads_resolve_and_list (void)
{
  GThread *threads[THREADS];

  open_with_gate ();
  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("user", use_registry, GUINT_TO_POINTER (i));
  for (guint i = 0; i < THREADS; i++)
    g_thread_join (threads[i]);
  compute_registry_close (registry);
}

#define AREA "threads"
#define TESTS(X)                                                                                                       \
  X (slow_init_holds_up_nobody_else_and_runs_once)                                                                     \
  X (sixteen_threads_resolve_and_list)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TESTS (ADD_TEST)
  return g_test_run ();
}
