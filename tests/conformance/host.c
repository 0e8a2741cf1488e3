/* SPDX-License-Identifier: MIT */
/* What the host application can rely on: its process is left alone, its secrets stay in it, and nothing runs on this
 * machine that was asked to run elsewhere. */
#include "conformance.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The host's process ------------------------------------------------------------------------------------- */

/* A life of an instance with all that may happen in it. */
static void
live_once (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, "sleep 60 & echo ok", 30 * SECOND);
  auto_run late = run_script (&place, "sleep 30", 50);
  struct compute_error err = COMPUTE_ERROR_INIT;

  assert_prints (run, "ok\n");
  assert_timed_out (late);
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
}

/* The handlers of every signal, the mask, the folder, the umask, the environment and the standard descriptors. */
static char *
host_state (void)
{
  GString *state = g_string_new (NULL);
  g_autofree char *folder = g_get_current_dir ();
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree char *variables = g_strjoinv ("\n", environment);
  sigset_t mask;
  mode_t old = umask (0);

  umask (old);
  g_string_append_printf (state, "%s\n%s\numask %o\n", variables, folder, (guint) old);
  sigprocmask (SIG_BLOCK, NULL, &mask);
  for (int i = 1; i < NSIG; i++)
    {
      struct sigaction action;

      if (sigaction (i, NULL, &action) == 0)
        g_string_append_printf (state, "%d %p %x %d\n", i, (void *) (guintptr) action.sa_handler,
                                (guint) action.sa_flags, sigismember (&mask, i));
    }
  for (int fd = 0; fd <= 2; fd++)
    {
      struct stat status;

      g_assert_cmpint (fstat (fd, &status), ==, 0);
      g_string_append_printf (state, "%lx:%lx %x\n", (gulong) status.st_dev, (gulong) status.st_ino,
                              (guint) fcntl (fd, F_GETFL));
    }
  return g_string_free (state, FALSE);
}

void
test_host_is_left_alone (void)
{
  g_autofree char *before = host_state ();
  g_autofree char *after = NULL;

  live_once ();
  after = host_state ();
  g_assert_cmpstr (after, ==, before);
}

static void
note_signal (int signal_number)
{
  (void) signal_number;
}

/* A child of the host's own is waited for by the host alone. */
void
test_host_keeps_its_children (void)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    _exit (7);
  live_once ();
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 7);
  errno = 0;
  g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, -1);
  g_assert_cmpint (errno, ==, ECHILD);
}

/* A host that lets the system bury its children, and one that buries everybody's. */
void
test_host_ignores_the_end_of_children (void)
{
  signal_set (SIGCHLD, SIG_IGN);
  live_once ();
  signal_set (SIGCHLD, SIG_DFL);
}

static void *
bury_everybody (void *user)
{
  while (!g_atomic_int_get ((gint *) user))
    {
      while (waitpid (-1, NULL, WNOHANG) > 0)
        continue;
      g_usleep (1000);
    }
  return NULL;
}

void
test_host_buries_every_child (void)
{
  gint stop = 0;
  GThread *thread;

  signal_set (SIGCHLD, note_signal);
  thread = g_thread_new ("undertaker", bury_everybody, &stop);
  for (int i = 0; i < 10; i++)
    live_once ();
  g_atomic_int_set (&stop, 1);
  g_thread_join (thread);
  signal_set (SIGCHLD, SIG_DFL);
}

static void
interrupt_own_group (int fd, const void *data)
{
  (void) data;
  g_assert_cmpint (setpgid (0, 0), ==, 0);
  signal_set (SIGINT, note_signal);
  auto_place place = place_open (NULL);
  struct job *job = job_start (&place, "echo begun; sleep 1; echo whole", 30 * SECOND);

  job_wait_output (job, "begun\n");
  for (int i = 0; i < 20; i++)
    {
      g_assert_cmpint (kill (0, SIGINT), ==, 0);
      g_usleep (5000);
    }
  auto_run run = job_end (job);

  assert_prints (run, "begun\nwhole\n");
  write_whole (fd, "d", 1);
}

/* Ctrl-C at the host's terminal is the host's to handle: no command sees it, no call fails of it. */
void
test_host_is_interrupted_alone (void)
{
  char done;
  int fd;
  pid_t pid = host_start (interrupt_own_group, NULL, &fd);

  read_whole (fd, &done, 1);
  host_wait (pid);
  close (fd);
}

/* Descriptors 0, 1 and 2 may be closed in a daemon; ours must not land there and be taken for them. */
static void
live_without_standard_descriptors (int fd, const void *data)
{
  (void) data;
  close (0);
  close (1);
  close (2);
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, "cat; echo out; echo err >&2; exit 3", 30 * SECOND);
  gboolean good = run.code == 0 && run.result.exit_code == 3 && g_str_equal (run.out->str, "out\n")
                  && g_str_equal (run.err->str, "err\n");

  write_whole (fd, good ? "y" : "n", 1);
}

void
test_host_without_standard_descriptors (void)
{
  char good;
  int fd;
  pid_t pid = host_start (live_without_standard_descriptors, NULL, &fd);

  read_whole (fd, &good, 1);
  host_wait (pid);
  close (fd);
  g_assert_cmpint (good, ==, 'y');
}

/* ---- Secrets ------------------------------------------------------------------------------------------------ */

/* Neither in an argument list that any user can read nor in a log line, while it is used and when it fails. */
void
test_case_Q07_secret_stays_in_the_environment (void)
{
  const struct compute_pair of_instance = { "TOKEN", "s3cr3t-canary-of-the-instance" };
  const struct compute_pair of_command[] = { { "OTHER", "s3cr3t-canary-of-the-command" }, { "BAD=", "s3cr3t-canary" } };
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.env = &of_instance;
  config.env_count = 1;
  auto_place place = place_open (&config);
  struct job *job = job_start (&place, "echo begun; sleep 1; test -n \"$TOKEN\"", 30 * SECOND);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  g_autofree char *logged = NULL;

  config.env = of_command;
  command.script = "for f in /proc/[0-9]*/cmdline; do tr '\\000' ' ' < $f; done 2>/dev/null | grep -c 's3cr3[t]'";
  job_wait_output (job, "begun\n");
  auto_run seen = run_command (&place, &command, &config);
  gboolean shown = machine_runs ("s3cr3t-canary");
  auto_run run = job_end (job);

  g_assert_false (shown);
  assert_exited (run, 0);
  assert_exited (seen, 1); /* grep found nothing */
  config.env_count = 2;
  auto_run refused = run_command (&place, &command, &config);

  assert_code (refused.code, COMPUTE_E_INVALID, &refused.error);
  g_assert_null (strstr (refused.error.message, "s3cr3t"));
  logged = log_text ();
  g_assert_null (strstr (logged, "s3cr3t"));
}

/* A canary in the environment of a detached instance is in no file of its folder and on no command line. */
void
test_host_secret_of_a_detached_instance (void)
{
  const struct compute_pair env = { "TOKEN", "s3cr3t-canary-detached" };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *script = g_strdup_printf ("grep -rs 's3cr3[t]' '%s'; test -n \"$TOKEN\"", private_dir ());

  config.env = &env;
  config.env_count = 1;
  config.flags = COMPUTE_CONFIG_DETACHED;
  auto_place place = place_open (&config);
  auto_run run = run_script (&place, script, 30 * SECOND);

  assert_prints (run, "");
  g_assert_false (machine_runs ("s3cr3t-canary-detached"));
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
}

/* ---- Where it runs ------------------------------------------------------------------------------------------ */

static int
name_is_ours (void *user, const char *name)
{
  if (strcmp (name, provider_name ()) == 0)
    ++*(guint *) user;
  return 0;
}

void
test_host_finds_the_provider_by_name (void)
{
  g_autofree char *upper = g_ascii_strup (provider_name (), -1);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  guint count = 0;

  assert_code (compute_list (registry_get (), name_is_ours, &count, &err), 0, &err);
  g_assert_cmpuint (count, ==, 1);
  assert_code (compute_resolve (registry_get (), upper, &handle, &err), 0, &err);
  g_assert_cmpstr (compute_get_provider (handle)->name, ==, provider_name ());
  g_assert_cmpuint (compute_get_provider (handle)->capabilities & COMPUTE_CAP_EXECUTE, !=, 0);
  assert_code (compute_is_available (handle, NULL, &err), 0, &err);
  compute_close (handle);
}

/* An unknown provider runs nothing anywhere: there is no handle to run it with. */
void
test_host_unknown_provider_runs_nothing (void)
{
  static const char *const names[]
      = { "e2b", " local", "local ", "../local", "./compute-provider-local.so", "local\n" };
  struct compute_error err = COMPUTE_ERROR_INIT;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      struct compute_handle *handle = NULL;

      assert_error (compute_resolve (registry_get (), names[i], &handle, &err), COMPUTE_E_UNKNOWN_PROVIDER, &err,
                    "Falling back to local would run on the host something you asked to sandbox.");
      g_assert_null (handle);
    }
  assert_text (err.message, provider_name ());
}

/* A provider whose program is not there, is another, or never answers is unavailable, in time, and runs nothing. */
static int
answer_runner_path (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes)
{
  if (strcmp (key, "runner.path") != 0)
    return COMPUTE_E_NOT_FOUND;
  *ret_bytes = strlen (context) + 1;
  if (*ret_bytes > buffer_bytes)
    return COMPUTE_E_INVALID;
  memcpy (buffer, context, *ret_bytes);
  return 0;
}

static void
assert_unavailable_with_runner (const char *path)
{
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_error why = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  struct compute_handle *handle = NULL;
  struct place place = { NULL, COMPUTE_INSTANCE_INIT, NULL };
  gint64 start = g_get_monotonic_time ();

  options.context = (void *) path;
  options.config_get = answer_runner_path;
  assert_code (compute_registry_open (&options, &registry, &err), 0, &err);
  assert_code (compute_resolve (registry, provider_name (), &handle, &err), 0, &err);
  assert_code (compute_is_available (handle, NULL, &why), COMPUTE_E_UNAVAILABLE, &why);
  g_assert_cmpuint (strlen (why.message), >, 0);
  g_assert_cmpint (place_provision (&place, handle, NULL, &err), <, 0);
  g_assert_cmpuint (strlen (err.message), >, 0);
  g_assert_cmpstr (place.instance.id, ==, "");
  place_close (&place);
  compute_registry_close (registry);
  g_assert_cmpint (g_get_monotonic_time () - start, <, 40 * G_USEC_PER_SEC);
  wait_until (process_tree_size (getpid ()) == 0, 5 * SECOND);
}

void
test_host_runner_that_is_not_there (void)
{
  assert_unavailable_with_runner ("/no/such/runner");
  assert_unavailable_with_runner ("/");
  assert_unavailable_with_runner ("/etc/passwd");
}

void
test_host_runner_that_is_another_program (void)
{
  assert_unavailable_with_runner ("/bin/true");
  assert_unavailable_with_runner ("/bin/cat");
  assert_unavailable_with_runner ("/usr/bin/yes");
}

void
test_host_runner_that_never_answers (void)
{
  g_autofree char *path = g_build_filename (private_dir (), "silent", NULL);

  g_assert_true (g_file_set_contents (path, "#!/bin/sh\nexec sleep 60\n", -1, NULL));
  g_assert_cmpint (chmod (path, 0755), ==, 0);
  assert_unavailable_with_runner (path);
}
