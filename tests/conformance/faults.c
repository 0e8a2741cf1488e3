/* SPDX-License-Identifier: MIT */
/* Faults from outside: a host or a runner that is killed, and resources that are used up. */
#include "conformance.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The host dies ------------------------------------------------------------------------------------------ */

/* A host with a child in the background, one that ignores TERM, and a command under way. */
static void
host_at_work (int fd, const void *data)
{
  const char *mark = data;
  struct place place = place_open (NULL);
  g_autofree char *background
      = g_strdup_printf ("(setsid sleep %s &) ; (trap '' TERM; setsid sleep %s &) ; sleep %s &", mark, mark, mark);
  g_autofree char *foreground = g_strdup_printf ("echo begun; trap '' TERM; while :; do sleep %s; done", mark);
  auto_run left = run_script (&place, background, 30 * SECOND);
  struct job *job;

  assert_exited (left, 0);
  job = job_start (&place, foreground, 0);
  job_wait_output (job, "begun\n");
  write_whole (fd, "r", 1);
  pause ();
}

/* Nothing of an owned instance lives five seconds later: neither its commands nor what ran them. */
void
test_case_G01_host_is_killed (void)
{
  g_autofree char *mark = mark_new ();
  g_autoptr (GArray) tree = NULL;
  char ready;
  int fd;
  pid_t pid = host_start (host_at_work, mark, &fd);

  read_whole (fd, &ready, 1);
  tree = process_tree (pid);
  g_assert_cmpuint (tree->len, >, 0);
  wait_until (machine_runs (mark), 5 * SECOND);
  host_kill (pid);
  wait_until (!machine_runs (mark) && !processes_live (tree), 5 * SECOND);
  close (fd);
}

static void
host_that_forked (int fd, const void *data)
{
  struct place place = place_open (NULL);
  g_autofree char *script = g_strdup_printf ("setsid sleep %s &", (const char *) data);
  auto_run left = run_script (&place, script, 30 * SECOND);
  pid_t heir;

  assert_exited (left, 0);
  heir = fork (); /* as Python's multiprocessing does: a copy of every descriptor */
  if (heir == 0)
    {
      alarm (20);
      pause ();
      _exit (0);
    }
  write_whole (fd, &heir, sizeof heir);
  pause ();
}

/* The owner is the process, not whoever has copies of its descriptors. */
void
test_fault_host_is_killed_and_its_fork_lives (void)
{
  g_autofree char *mark = mark_new ();
  pid_t heir;
  int fd;
  pid_t pid = host_start (host_that_forked, mark, &fd);

  read_whole (fd, &heir, sizeof heir);
  wait_until (machine_runs (mark), 5 * SECOND);
  host_kill (pid);
  wait_until (!machine_runs (mark), 5 * SECOND);
  g_assert_true (process_lives (heir));
  g_assert_cmpint (kill (heir, SIGKILL), ==, 0);
  close (fd);
}

static void
host_that_leaves (int fd, const void *data)
{
  struct place place = place_open (NULL);
  g_autofree char *script = g_strdup_printf ("setsid sleep %s &", (const char *) data);
  auto_run left = run_script (&place, script, 30 * SECOND);

  assert_exited (left, 0);
  write_whole (fd, "r", 1);
}

void
test_fault_host_exits_without_a_close (void)
{
  g_autofree char *mark = mark_new ();
  char ready;
  int fd;
  pid_t pid = host_start (host_that_leaves, mark, &fd);

  read_whole (fd, &ready, 1);
  host_wait (pid);
  wait_until (!machine_runs (mark), 5 * SECOND);
  close (fd);
}

/* ---- The runner dies ---------------------------------------------------------------------------------------- */

/* Lost, not finished: the call ends at once, the rest of the host is as before, and nothing goes on or runs twice. */
void
test_case_E05_runner_is_killed_in_mid_command (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script
      = g_strdup_printf ("echo x >> n; (setsid sleep %s &); echo begun; sleep %s; exit 7", mark, mark);
  auto_place place = place_open (NULL);
  struct job *job = job_start (&place, script, 60 * SECOND);

  job_wait_output (job, "begun\n");
  g_assert_cmpint (kill (transport_pid (), SIGKILL), ==, 0);
  g_assert_true (job_wait_done (job, 10 * SECOND));
  auto_run run = job_end (job);
  auto_run later = run_script (&place, "echo x >> n", 30 * SECOND);

  assert_code (run.code, COMPUTE_E_LOST, &run.error);
  g_assert_cmpuint (run.result.outcome, ==, 0);
  g_assert_true (later.code == COMPUTE_E_LOST || later.code == COMPUTE_E_NOT_RUNNING);
  wait_until (!machine_runs (mark), 5 * SECOND);
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place again;

  config.workdir = place.workdir;
  assert_code (place_provision (&again, place.handle, &config, &err), 0, &err);
  auto_run count = run_script (&again, "wc -l < n | tr -d ' '", 30 * SECOND);

  assert_prints (count, "1\n");
  g_free (again.workdir);
}

/* Every call under way ends when the runner does, the one that waits in its output callback too. */
void
test_fault_runner_is_killed_under_many_commands (void)
{
  auto_place place = place_open (NULL);
  struct job *held = job_start_held (&place, "yes", 0);
  struct job *jobs[16];

  job_wait_output (held, "y\n");
  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i++)
    jobs[i] = job_start (&place, "echo begun; sleep 60", 0);
  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i++)
    job_wait_output (jobs[i], "begun\n");
  g_assert_cmpint (kill (transport_pid (), SIGKILL), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (jobs); i++)
    {
      auto_run run = job_end (jobs[i]);

      assert_code (run.code, COMPUTE_E_LOST, &run.error);
    }
  job_release (held);
  auto_run run = job_end (held);

  assert_code (run.code, COMPUTE_E_LOST, &run.error);
}

/* A runner that does not answer keeps nobody who cancels, nor the end of the host. */
void
test_fault_runner_is_stopped (void)
{
  auto_place place = place_open (NULL);
  pid_t runner = transport_pid ();
  struct job *job = job_start (&place, "echo begun; sleep 60", 0);

  job_wait_output (job, "begun\n");
  g_assert_cmpint (kill (runner, SIGSTOP), ==, 0);
  job_cancel (job);
  if (!job_wait_done (job, 20 * SECOND))
    g_error ("a cancel was not heeded while the runner was stopped");
  auto_run run = job_end (job);

  if (run.code == 0)
    assert_cancelled (run);
  else
    assert_code (run.code, COMPUTE_E_LOST, &run.error);
  compute_close (g_steal_pointer (&place.handle));
  wait_until (!process_lives (runner), 5 * SECOND);
}

/* The daemon of a detached instance is killed: it no longer runs, and can be put away. */
void
test_fault_detached_runner_is_killed (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_instance status = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  config.flags = COMPUTE_CONFIG_DETACHED;
  auto_place place = place_open (&config);
  auto_run pid = run_script (&place,
                             "p=$$; while [ $p -gt 1 ]; do s=$(cat /proc/$p/stat); case \"$s\" in *compute-runner*) "
                             "r=$p;; esac; s=${s##*) }; s=${s#* }; p=${s%% *}; done; echo $r",
                             30 * SECOND);
  int code;

  assert_exited (pid, 0);
  g_assert_cmpint (kill ((pid_t) g_ascii_strtoll (pid.out->str, NULL, 10), SIGKILL), ==, 0);
  wait_until (compute_get_status (place.handle, place.instance.id, NULL, &status, &err) != 0
                  || status.state != COMPUTE_STATE_RUNNING,
              5 * SECOND);
  compute_close (place.handle);
  place.handle = handle_open ();
  code = compute_get_status (place.handle, place.instance.id, NULL, &status, &err);
  if (code == 0)
    g_assert_cmpuint (status.state, !=, COMPUTE_STATE_RUNNING);
  else
    assert_code (code, COMPUTE_E_NOT_FOUND, &err);
  auto_run run = run_script (&place, "true", 30 * SECOND);

  g_assert_true (run.code == COMPUTE_E_NOT_RUNNING || run.code == COMPUTE_E_NOT_FOUND || run.code == COMPUTE_E_LOST);
  code = compute_shutdown (place.handle, place.instance.id, NULL, &err);
  if (code != 0)
    assert_code (code, COMPUTE_E_NOT_FOUND, &err);
  assert_code (compute_get_status (place.handle, place.instance.id, NULL, &status, &err), COMPUTE_E_NOT_FOUND, &err);
}

/* ---- Resources ---------------------------------------------------------------------------------------------- */

void
test_fault_1000_commands_leave_nothing (void)
{
  auto_place place = place_open (NULL);
  auto_run first = run_script (&place, "true", 30 * SECOND);
  pid_t runner = transport_pid ();
  guint own_descriptors = process_descriptors (getpid ());
  guint runner_descriptors = process_descriptors (runner);
  g_autoptr (GArray) before = process_tree (getpid ());
  g_autoptr (GArray) after = NULL;

  assert_exited (first, 0);
  for (int i = 0; i < 1000; i++)
    {
      gboolean late = i % 50 == 25;
      auto_run run = run_script (&place, late ? "sleep 30 & sleep 30" : "echo ok", late ? 20 : 60 * SECOND);

      if (late)
        assert_timed_out (run);
      else
        assert_prints (run, "ok\n");
    }
  wait_until (process_tree_zombies (getpid ()) == 0, 5 * SECOND);
  wait_until (process_descriptors (runner) <= runner_descriptors, 5 * SECOND);
  g_assert_cmpuint (process_descriptors (getpid ()), ==, own_descriptors);
  after = process_tree (getpid ());
  g_assert_cmpuint (after->len, <=, before->len + 1); /* a spare keeper may have come */
}

/* Instances come and go without a trace as well. */
void
test_fault_50_instances_leave_nothing (void)
{
  auto_place keep = place_open (NULL);
  guint descriptors = process_descriptors (getpid ());
  g_autoptr (GArray) before = process_tree (getpid ());
  g_autoptr (GArray) after = NULL;

  (void) keep;
  for (int i = 0; i < 50; i++)
    {
      auto_place place = place_open (NULL);
      auto_run run = run_script (&place, "sleep 60 & echo ok", 30 * SECOND);

      assert_prints (run, "ok\n");
    }
  wait_until (process_tree_zombies (getpid ()) == 0, 5 * SECOND);
  after = process_tree (getpid ());
  g_assert_cmpuint (process_descriptors (getpid ()), ==, descriptors);
  g_assert_cmpuint (after->len, <=, before->len + 1);
}

/* Uses up every descriptor of the process but so many. */
static GArray *
descriptors_use_up (guint but)
{
  GArray *taken = g_array_new (FALSE, FALSE, sizeof (int));
  int fd;

  while ((fd = open ("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
    g_array_append_val (taken, fd);
  g_assert_cmpint (errno, ==, EMFILE);
  for (; but > 0; but--)
    {
      close (g_array_index (taken, int, taken->len - 1));
      g_array_set_size (taken, taken->len - 1);
    }
  return taken;
}

static void
descriptors_give_back (GArray *taken)
{
  for (guint i = 0; i < taken->len; i++)
    close (g_array_index (taken, int, i));
  g_array_unref (taken);
}

/* With so many descriptors left: provision works or says what is missing; whether it worked. */
static gboolean
try_with_descriptors (struct place *place, guint left)
{
  guint open_before = process_descriptors (getpid ());
  GArray *taken = descriptors_use_up (left);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place fresh;
  int code = place_provision (&fresh, place->handle, NULL, &err);
  /* A command on an instance that stands needs none. */
  auto_run run = run_script (place, "echo ok", 30 * SECOND);

  if (code == 0)
    assert_code (compute_shutdown (place->handle, fresh.instance.id, NULL, &err), 0, &err);
  descriptors_give_back (taken);
  g_free (fresh.workdir);
  if (code != 0)
    {
      assert_code (code, COMPUTE_E_SYSTEM, &err);
      g_assert_cmpint (err.sys_errno, ==, EMFILE);
    }
  assert_prints (run, "ok\n");
  g_assert_cmpuint (process_descriptors (getpid ()), ==, open_before);
  wait_until (process_tree_zombies (getpid ()) == 0, 5 * SECOND);
  return code == 0;
}

void
test_fault_no_descriptor_left (void)
{
  auto_place place = place_open (NULL);
  struct rlimit limit;
  guint left = 0;

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  limit.rlim_cur = 100;
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  g_assert_false (try_with_descriptors (&place, 0));
  while (!try_with_descriptors (&place, left))
    g_assert_cmpuint (++left, <, 16);
  auto_place other = place_open (NULL);
  auto_run run = run_script (&other, "echo ok", 30 * SECOND);

  assert_prints (run, "ok\n");
}

/* Also while a provider is being opened. */
void
test_fault_no_descriptor_left_to_open_a_provider (void)
{
  struct compute_registry *registry = registry_get ();
  struct compute_handle *handle = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct rlimit limit;
  GArray *taken;
  int code;

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  limit.rlim_cur = 100;
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  taken = descriptors_use_up (0);
  code = compute_resolve (registry, provider_name (), &handle, &err);
  descriptors_give_back (taken);
  g_assert_cmpint (code, <, 0);
  g_assert_null (handle);
  g_assert_cmpuint (strlen (err.message), >, 0);
  auto_run run = X ("echo ok", 30 * SECOND);

  assert_prints (run, "ok\n");
}

/* Mounts a file system of 64 KiB on a folder, seen by this process alone; skips the test where that is not allowed. */
static gboolean
mount_small (const char *folder)
{
  if (unshare (CLONE_NEWNS) != 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
      || mount ("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=700") != 0)
    {
      g_test_skip ("no file system of its own may be mounted here");
      return FALSE;
    }
  return TRUE;
}

static char *
disk_fill (const char *folder)
{
  char *path = g_build_filename (folder, "full", NULL);
  int fd = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

  g_assert_cmpint (fd, >=, 0);
  while (write (fd, "x", 1) == 1)
    continue;
  g_assert_cmpint (errno, ==, ENOSPC);
  close (fd);
  return path;
}

/* A full disk under the run folder: a detached instance is not made, and says why; owned ones need no disk. */
void
test_fault_run_folder_is_full (void)
{
  g_autofree char *folder = g_build_filename (private_dir (), "run", NULL);
  struct compute_config detached = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  struct place place;
  g_autofree char *filler = NULL;

  g_assert_cmpint (mkdir (folder, 0700), ==, 0);
  if (!mount_small (folder))
    return;
  g_setenv ("XDG_RUNTIME_DIR", folder, TRUE);
  handle = handle_open ();
  filler = disk_fill (folder);
  detached.flags = COMPUTE_CONFIG_DETACHED;
  assert_code (place_provision (&place, handle, &detached, &err), COMPUTE_E_SYSTEM, &err);
  g_assert_cmpint (err.sys_errno, ==, ENOSPC);
  g_free (place.workdir);
  g_assert_cmpuint (process_tree_size (getpid ()), ==, 0);
  auto_run owned = X ("echo ok", 30 * SECOND);

  assert_prints (owned, "ok\n");
  g_assert_cmpint (unlink (filler), ==, 0);
  assert_code (place_provision (&place, handle, &detached, &err), 0, &err);
  auto_run run = run_script (&place, "echo ok", 30 * SECOND);

  assert_prints (run, "ok\n");
  assert_code (compute_shutdown (handle, place.instance.id, NULL, &err), 0, &err);
  place_close (&place);
}

/* A full disk in the instance is a put's error, and leaves no half file. */
void
test_fault_disk_of_the_instance_is_full (void)
{
  g_autofree char *folder = g_build_filename (private_dir (), "disk", NULL);
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int zeros = open ("/dev/zero", O_RDONLY | O_CLOEXEC);

  g_assert_cmpint (mkdir (folder, 0700), ==, 0);
  if (!mount_small (folder))
    return;
  config.workdir = folder;
  auto_place place = place_open (&config);
  int code = compute_put (place.handle, place.instance.id, "file", 0644, zeros, NULL, &err);
  auto_run seen = run_script (&place, "ls -A", 30 * SECOND);

  assert_error (code, COMPUTE_E_SYSTEM, &err, "'file'");
  g_assert_cmpint (err.sys_errno, ==, ENOSPC);
  assert_prints (seen, "");
  close (zeros);
}
