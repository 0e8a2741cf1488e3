/* SPDX-License-Identifier: MIT */
/* Instances: what is told about them, who sees them, how they end. */
#include "conformance.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <unistd.h>

struct listing
{
  const char *id; /* looked for */
  guint count;
  struct compute_instance found;
};

static int
list_one (void *user, const struct compute_instance *instance)
{
  struct listing *listing = user;

  g_assert_cmpuint (instance->size, >=, sizeof *instance);
  if (strcmp (instance->id, listing->id) == 0)
    {
      listing->count++;
      listing->found = *instance;
    }
  return 0;
}

/* How often an instance is listed, which is once or never. */
static gboolean
is_listed (struct compute_handle *handle, const char *id, struct compute_instance *ret_instance)
{
  struct listing listing = { id, 0, COMPUTE_INSTANCE_INIT };
  struct compute_error err = COMPUTE_ERROR_INIT;

  assert_code (compute_list_instances (handle, list_one, &listing, NULL, &err), 0, &err);
  g_assert_cmpuint (listing.count, <=, 1);
  if (ret_instance != NULL)
    *ret_instance = listing.found;
  return listing.count == 1;
}

static struct compute_instance
status_of (struct compute_handle *handle, const char *id)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  assert_code (compute_get_status (handle, id, NULL, &instance, &err), 0, &err);
  g_assert_cmpstr (instance.id, ==, id);
  return instance;
}

static void
assert_described (const struct compute_instance *instance, const struct place *place)
{
  gint64 now = g_get_real_time () / 1000;

  g_assert_cmpuint (instance->state, ==, COMPUTE_STATE_RUNNING);
  g_assert_cmpuint (instance->owner, ==, COMPUTE_OWNER_SELF);
  g_assert_cmpint (instance->owner_pid, ==, getpid ());
  g_assert_cmpuint (instance->flags, ==, 0);
  g_assert_cmpint (instance->created_ms, <=, now);
  g_assert_cmpint (instance->created_ms, >, now - 60 * SECOND);
  g_assert_cmpstr (instance->workdir, ==, place->workdir);
  g_assert_cmpstr (instance->definition, ==, "0123456789ab");
  g_assert_cmpuint (strlen (instance->id), >, 0);
  g_assert_cmpuint (strspn (instance->id, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-"), ==, strlen (instance->id));
  g_assert_cmpuint (strlen (instance->host), >, 0);
}

void
test_instance_is_described (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.definition = "0123456789ab";
  auto_place place = place_open (&config);
  struct compute_instance status = status_of (place.handle, place.instance.id);
  struct compute_instance listed;

  g_assert_true (is_listed (place.handle, place.instance.id, &listed));
  assert_described (&place.instance, &place);
  assert_described (&status, &place);
  assert_described (&listed, &place);
}

/* Without a workdir there is one, and commands run in it. */
void
test_instance_without_a_config (void)
{
  struct place place = { handle_open (), COMPUTE_INSTANCE_INIT, NULL };
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *expected = NULL;

  assert_code (compute_provision (place.handle, NULL, NULL, &place.instance, &err), 0, &err);
  expected = g_strconcat (place.instance.workdir, "\n", NULL);
  g_assert_true (g_path_is_absolute (place.instance.workdir));
  auto_run run = run_script (&place, "pwd", 30 * SECOND);

  assert_prints (run, expected);
  place_close (&place);
}

void
test_instance_several_in_one_handle (void)
{
  struct compute_handle *handle = handle_open ();
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place places[3];

  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    assert_code (place_provision (&places[i], handle, NULL, &err), 0, &err);
  g_assert_cmpstr (places[0].instance.id, !=, places[1].instance.id);
  g_assert_cmpstr (places[1].instance.id, !=, places[2].instance.id);
  g_assert_cmpstr (places[0].instance.id, !=, places[2].instance.id);
  assert_code (compute_shutdown (handle, places[1].instance.id, NULL, &err), 0, &err);
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *expected = g_strconcat (places[i].workdir, "\n", NULL);
      auto_run run = run_script (&places[i], "pwd", 30 * SECOND);

      if (i == 1)
        assert_code (run.code, COMPUTE_E_NOT_RUNNING, &run.error);
      else
        assert_prints (run, expected);
    }
  compute_close (handle);
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    g_free (places[i].workdir);
}

/* Each resolve gives a handle with instances of its own. */
void
test_instance_belongs_to_its_handle (void)
{
  auto_place one = place_open (NULL);
  auto_place other = place_open (NULL);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  command.script = "true";
  assert_code (compute_execute (one.handle, other.instance.id, &command, NULL, NULL, &result, &err),
               COMPUTE_E_NOT_FOUND, &err);
  g_assert_false (is_listed (one.handle, other.instance.id, NULL));
  g_assert_true (is_listed (other.handle, other.instance.id, NULL));
}

void
test_instance_shut_down (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("(trap '' TERM; setsid sleep %s &) ; sleep %s &", mark, mark);
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *text = g_strdup_printf ("'%s' is stopped, not running.", place.instance.id);
  auto_run background = run_script (&place, script, 30 * SECOND);

  assert_exited (background, 0);
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
  g_assert_false (machine_runs (mark));
  auto_run run = run_script (&place, "true", 30 * SECOND);

  assert_error (run.code, COMPUTE_E_NOT_RUNNING, &run.error, text);
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err); /* again */
}

/* Commands that run when their instance ends are lost or cancelled, not left hanging. */
void
test_instance_shut_down_under_a_command (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("echo begun; sleep %s", mark);
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct job *job = job_start (&place, script, 0);

  job_wait_output (job, "begun\n");
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
  g_assert_true (job_wait_done (job, 10 * SECOND));
  g_assert_false (machine_runs (mark));
  auto_run run = job_end (job);

  if (run.code == 0)
    g_assert_cmpuint (run.result.outcome, !=, COMPUTE_OUTCOME_EXITED);
  else
    g_assert_true (run.code == COMPUTE_E_LOST || run.code == COMPUTE_E_NOT_RUNNING);
}

void
test_case_G06_unknown_running_and_shut_down (void)
{
  auto_place place = place_open (NULL);
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  assert_code (compute_get_status (place.handle, "never-was", NULL, &instance, &err), COMPUTE_E_NOT_FOUND, &err);
  g_assert_cmpuint (status_of (place.handle, place.instance.id).state, ==, COMPUTE_STATE_RUNNING);
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
  g_assert_cmpuint (status_of (place.handle, place.instance.id).state, ==, COMPUTE_STATE_STOPPED);
}

/* Stopped by hand: here that is the end of the runner, which an instance of this machine consists of. */
void
test_instance_stopped_by_hand (void)
{
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (kill (transport_pid (), SIGKILL), ==, 0);
  wait_until (status_of (place.handle, place.instance.id).state != COMPUTE_STATE_RUNNING, 5 * SECOND);
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
}

/* A docker program that removes nothing while the file refused is there. */
static void
use_docker_that_refuses (const char *refused)
{
  g_autofree char *program = g_build_filename (private_dir (), "docker", NULL);
  g_autofree char *text
      = g_strdup_printf ("#!/bin/sh\n"
                         "[ \"$1\" != rm ] || [ ! -e '%s' ] || { echo 'no removal today' >&2; exit 1; }\n"
                         "exec \"${TEST_DOCKER:-docker}\" \"$@\"\n",
                         refused);
  const char *real = g_getenv ("COMPUTE_DOCKER");

  if (real != NULL)
    g_assert_true (g_setenv ("TEST_DOCKER", real, TRUE));
  g_assert_true (g_file_set_contents_full (program, text, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
  g_assert_true (g_setenv ("COMPUTE_DOCKER", program, TRUE));
}

/* An instance as a list tells of it: others of the engine are none of this test's. */
static int
note_state (void *user, const struct compute_instance *instance)
{
  struct compute_instance *wanted = user;

  if (strcmp (instance->id, wanted->id) == 0)
    wanted->state = instance->state;
  return 0;
}

void
test_instance_that_could_not_be_removed (void)
{
  g_autofree char *refused = g_build_filename (private_dir (), "refused", NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  use_docker_that_refuses (refused);
  g_assert_true (g_file_set_contents (refused, "", 0, NULL));
  {
    auto_place place = place_open (NULL);
    g_autofree char *told = g_strdup_printf (
        "Could not remove container %s: no removal today. It may still be running.", place.instance.id);

    assert_error (compute_shutdown (place.handle, place.instance.id, NULL, &err), COMPUTE_E_ENGINE, &err, told);
    g_assert_cmpuint (status_of (place.handle, place.instance.id).state, ==, COMPUTE_STATE_ERROR);
    g_assert_cmpstr (status_of (place.handle, place.instance.id).detail, ==, told);
    assert_code (compute_list_instances (place.handle, note_state, &place.instance, NULL, &err), 0, &err);
    g_assert_cmpuint (place.instance.state, ==, COMPUTE_STATE_ERROR);
    g_assert_cmpint (g_unlink (refused), ==, 0);
    assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
    g_assert_cmpuint (status_of (place.handle, place.instance.id).state, ==, COMPUTE_STATE_STOPPED);
  }
}

static int
end_list (void *user, const struct compute_instance *instance)
{
  (void) instance;
  ++*(guint *) user;
  return -12345;
}

/* A result of the callback ends the list and is handed on. */
void
test_instance_list_ended_by_the_caller (void)
{
  struct compute_handle *handle = handle_open ();
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place places[2];
  guint calls = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      assert_code (place_provision (&places[i], handle, NULL, &err), 0, &err);
      g_free (places[i].workdir);
    }
  g_assert_cmpint (compute_list_instances (handle, end_list, &calls, NULL, &err), ==, -12345);
  g_assert_cmpuint (calls, ==, 1);
  compute_close (handle);
}

/* ---- Across processes --------------------------------------------------------------------------------------- */

/* Provisions, says which instance it is, and ends as a good host does. */
static void
provision_detached (int fd, const void *data)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  const struct compute_pair env = { "CC_MARK", data };
  struct place place;

  config.flags = COMPUTE_CONFIG_DETACHED;
  config.definition = "0123456789ab";
  config.env = &env;
  config.env_count = 1;
  place = place_open (&config);
  write_whole (fd, &place.instance, sizeof place.instance);
  place_close (&place);
}

static struct compute_instance
detached_new (const char *mark)
{
  struct compute_instance instance;
  int fd;
  pid_t pid = host_start (provision_detached, mark, &fd);

  read_whole (fd, &instance, sizeof instance);
  host_wait (pid);
  close (fd);
  return instance;
}

static struct place
place_of (const struct compute_instance *instance)
{
  return (struct place){ handle_open (), *instance, g_strdup (instance->workdir) };
}

void
test_detached_lives_on (void)
{
  g_autofree char *mark = mark_new ();
  struct compute_instance made = detached_new (mark);
  auto_place place = place_of (&made);
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *expected = g_strdup_printf ("%s\n%s\n", mark, made.workdir);
  struct compute_instance status = status_of (place.handle, made.id);
  struct compute_instance listed;

  g_assert_true (is_listed (place.handle, made.id, &listed));
  g_assert_cmpuint (made.flags, ==, COMPUTE_CONFIG_DETACHED);
  g_assert_cmpuint (status.state, ==, COMPUTE_STATE_RUNNING);
  g_assert_cmpuint (status.owner, ==, COMPUTE_OWNER_NONE);
  g_assert_cmpuint (listed.state, ==, COMPUTE_STATE_RUNNING);
  g_assert_cmpuint (listed.owner, ==, COMPUTE_OWNER_NONE);
  g_assert_cmpuint (listed.flags, ==, COMPUTE_CONFIG_DETACHED);
  g_assert_cmpint (listed.created_ms, ==, made.created_ms);
  g_assert_cmpstr (listed.definition, ==, "0123456789ab");
  g_assert_cmpstr (listed.workdir, ==, made.workdir);
  auto_run run = run_script (&place, "echo $CC_MARK; pwd", 30 * SECOND);

  assert_prints (run, expected);
  assert_code (compute_shutdown (place.handle, made.id, NULL, &err), 0, &err);
}

static void
say_hi (int fd, const void *data)
{
  auto_place place = place_of (data);
  auto_run run = run_script (&place, "echo hi", 30 * SECOND);

  write_whole (fd, &run.code, sizeof run.code);
  write_whole (fd, run.out->str, run.out->len);
}

/* A detached instance is used from any process, one that is owned from no other. */
void
test_case_G05_execute_from_another_process (void)
{
  g_autofree char *mark = mark_new ();
  struct compute_instance made = detached_new (mark);
  auto_place owned = place_open (NULL);
  auto_place place = place_of (&made);
  struct compute_error err = COMPUTE_ERROR_INIT;
  char hi[3];
  int code, fd;
  pid_t pid = host_start (say_hi, &made, &fd);

  read_whole (fd, &code, sizeof code);
  g_assert_cmpint (code, ==, 0);
  read_whole (fd, hi, sizeof hi);
  g_assert_cmpmem (hi, sizeof hi, "hi\n", 3);
  host_wait (pid);
  close (fd);

  pid = host_start (say_hi, &owned.instance, &fd);
  read_whole (fd, &code, sizeof code);
  g_assert_true (code == COMPUTE_E_NOT_FOUND || code == COMPUTE_E_UNSUPPORTED);
  host_wait (pid);
  close (fd);
  assert_code (compute_shutdown (place.handle, made.id, NULL, &err), 0, &err);
}

/* Shut down from another process: it and all it ran are gone, for everybody. */
void
test_case_G03_shutdown_from_another_process (void)
{
  g_autofree char *mark = mark_new ();
  g_autofree char *script = g_strdup_printf ("(trap '' TERM; setsid sleep %s &) ; sleep %s &", mark, mark);
  struct compute_instance made = detached_new (mark);
  struct compute_instance status = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_place user = place_of (&made);
  auto_place ender = place_of (&made);
  auto_run background = run_script (&user, script, 30 * SECOND);

  assert_exited (background, 0);
  compute_close (g_steal_pointer (&user.handle));
  wait_until (machine_runs (mark), 5 * SECOND); /* nobody is connected any more */
  assert_code (compute_shutdown (ender.handle, made.id, NULL, &err), 0, &err);
  g_assert_false (machine_runs (mark));
  g_assert_false (is_listed (ender.handle, made.id, NULL));
  user.handle = handle_open ();
  assert_code (compute_get_status (user.handle, made.id, NULL, &status, &err), COMPUTE_E_NOT_FOUND, &err);
  assert_code (compute_shutdown (user.handle, made.id, NULL, &err), COMPUTE_E_NOT_FOUND, &err);
  auto_run run = run_script (&user, "true", 30 * SECOND);

  assert_code (run.code, COMPUTE_E_NOT_FOUND, &run.error);
}

static void
run_for_ever (int fd, const void *data)
{
  struct place place = place_of (data);
  g_autofree char *script = g_strdup_printf ("(setsid sleep $CC_MARK &) ; echo begun; exec sleep $CC_MARK");
  struct job *job = job_start (&place, script, 0);

  job_wait_output (job, "begun\n");
  write_whole (fd, "r", 1);
  pause ();
}

/* A host that dies in mid-command takes that command with it, not the instance, whose other commands go on. */
void
test_detached_survives_a_killed_user (void)
{
  g_autofree char *mark = mark_new ();
  struct compute_instance made = detached_new (mark);
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_place place = place_of (&made);
  struct job *beside;
  char ready;
  int fd;
  pid_t pid = host_start (run_for_ever, &made, &fd);

  read_whole (fd, &ready, 1);
  beside = job_start (&place, "echo begun; sleep 1; echo whole", 30 * SECOND);
  job_wait_output (beside, "begun\n");
  wait_until (machine_runs (mark), 5 * SECOND);
  host_kill (pid);
  close (fd);
  wait_until (!machine_runs (mark), 5 * SECOND);
  auto_run run = job_end (beside);
  auto_run after = run_script (&place, "echo ok", 30 * SECOND);

  assert_prints (run, "begun\nwhole\n");
  assert_prints (after, "ok\n");
  assert_code (compute_shutdown (place.handle, made.id, NULL, &err), 0, &err);
}

/* Two users of one instance at once. */
void
test_detached_used_by_two (void)
{
  g_autofree char *mark = mark_new ();
  struct compute_instance made = detached_new (mark);
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_place one = place_of (&made);
  auto_place other = place_of (&made);
  struct job *first = job_start (&one, "echo begun; while [ ! -e met ]; do sleep 0.05; done; echo first", 30 * SECOND);
  auto_run second = (job_wait_output (first, "begun\n"), run_script (&other, "touch met; echo second", 30 * SECOND));
  auto_run run = job_end (first);

  assert_prints (second, "second\n");
  assert_prints (run, "begun\nfirst\n");
  assert_code (compute_shutdown (one.handle, made.id, NULL, &err), 0, &err);
}

/* Closing a handle ends what it owns, and nothing that is detached. */
void
test_detached_outlives_its_handle (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  config.flags = COMPUTE_CONFIG_DETACHED;
  struct place first = place_open (&config);
  auto_place place = place_of (&first.instance);

  place_close (&first);
  g_assert_true (is_listed (place.handle, place.instance.id, NULL));
  auto_run run = run_script (&place, "echo ok", 30 * SECOND);

  assert_prints (run, "ok\n");
  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
}
