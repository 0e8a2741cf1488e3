/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MANY (8u * 1024 * 1024) /* more than any window */

static void
run_with_bytes (Run *run, Place *place, const char *script, const void *data, gsize bytes)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = script;
  command.stdin_data = data;
  command.stdin_bytes = bytes;
  run_command (run, place, &command, NULL);
}

static void
run_with_fd (Run *run, Place *place, const char *script, int fd)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = script;
  command.flags = COMPUTE_COMMAND_STDIN_FD;
  command.stdin_fd = fd;
  run_command (run, place, &command, NULL);
}

static void
test_without_input_it_is_empty (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_well (place, "cat; readlink /proc/self/fd/0");

  assert_out (run, "/dev/null\n");
}

static void
test_bytes_come_whole (void)
{
  g_autoptr (Place) place = place_new ();
  g_autofree char *data = g_malloc (MANY);

  for (gsize i = 0; i < MANY; i++)
    data[i] = (char) (i * 7 + i / 251);
  for (gsize bytes = 0; bytes <= MANY; bytes = bytes * 37 + 1)
    {
      g_autoptr (Run) run = run_new ();

      run_with_bytes (run, place, "cat", data, bytes);
      assert_exited (run, 0);
      g_assert_cmpmem (run->out->str, run->out->len, data, bytes);
    }
}

static gpointer
feed (gpointer user)
{
  int fd = GPOINTER_TO_INT (user);

  for (guint i = 0; i < 100000; i++)
    g_assert_cmpint (dprintf (fd, "line %u\n", i), >, 0);
  close (fd);
  return NULL;
}

static void
test_a_pipe_is_streamed (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  GThread *thread;
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  thread = g_thread_new ("feed", feed, GINT_TO_POINTER (ends[1]));
  run_with_fd (run, place, "tail -n 1; wc -c", ends[0]);
  g_thread_join (thread);
  assert_exited (run, 0);
  assert_out (run, "line 99999\n0\n");
  g_assert_cmpint (fcntl (ends[0], F_GETFD), >=, 0);
  close (ends[0]);
}

/* poll takes regular files, epoll would not. */
static void
test_a_regular_file_is_read_from_its_position (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  int fd = open (place->workdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (dprintf (fd, "skipped, read"), ==, 13);
  g_assert_cmpint (lseek (fd, 9, SEEK_SET), ==, 9);
  run_with_fd (run, place, "cat", fd);
  assert_exited (run, 0);
  assert_out (run, "read");
  close (fd);
}

static void
test_input_that_cannot_be_read_ends_the_command (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  int fd = open (place->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  run_with_fd (run, place, "sleep 60", fd);
  g_assert_cmpint (run->code, ==, COMPUTE_E_SYSTEM);
  g_assert_cmpint (run->err.sys_errno, ==, EISDIR);
  g_assert_nonnull (strstr (run->err.message, "cannot read the input"));
  close (fd);
}

static void
test_a_command_need_not_read (void)
{
  g_autoptr (Place) place = place_new ();
  g_autofree char *data = g_malloc0 (MANY);
  g_autoptr (Run) run = run_new ();
  g_autoptr (Run) closes = run_new ();
  int ends[2];

  run_with_bytes (run, place, "exit 3", data, MANY);
  assert_exited (run, 3);
  run_with_bytes (closes, place, "exec <&-; sleep 0.2; echo on", data, MANY);
  assert_exited (closes, 0);
  assert_out (closes, "on\n");
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  run_with_fd (run, place, "exit 4", ends[0]); /* whose writer never says a word */
  assert_exited (run, 4);
  close (ends[0]);
  close (ends[1]);
}

static void
test_input_and_output_do_not_wait_for_each_other (void)
{
  g_autoptr (Place) place = place_new ();
  g_autofree char *data = g_malloc0 (MANY);
  g_autoptr (Run) run = run_new ();

  run_with_bytes (run, place, "cat; cat", data, MANY);
  assert_exited (run, 0);
  g_assert_cmpuint (run->out->len, ==, MANY);
}

static void
test_cancel_ends_all_and_keeps_the_output (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  g_autoptr (Run) left = NULL;
  int ends[2];

  /* The command itself says when: it writes into the pipe that cancels it. */
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  run->call.cancel_fd = ends[0];
  {
    g_autofree char *script
        = g_strdup_printf ("echo first; (sleep 61 &); echo x >/proc/%d/fd/%d; sleep 60", getpid (), ends[1]);

    run_script (run, place, script);
  }
  g_assert_cmpint (run->code, ==, 0);
  g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
  g_assert_cmpint (run->result.exit_code, ==, -1);
  assert_out (run, "first\n");
  left = run_well (place, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[s]leep 61' || true");
  assert_out (left, "0\n");
  close (ends[0]);
  close (ends[1]);
}

static void
test_a_closed_pipe_cancels (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  close (ends[1]);
  run->call.cancel_fd = ends[0];
  run_script (run, place, "sleep 60");
  g_assert_cmpint (run->code, ==, 0);
  g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
  close (ends[0]);
}

static void
test_cancelled_beforehand_starts_nothing (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  g_autoptr (Run) after = NULL;

  run->call.cancel_fd = eventfd (1, EFD_CLOEXEC);
  run_script (run, place, "echo ran > file");
  g_assert_cmpint (run->code, ==, 0);
  g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
  after = run_well (place, "ls");
  assert_out (after, "");
  close (run->call.cancel_fd);
}

static void
test_a_descriptor_that_is_not_open_is_refused (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();

  run->call.cancel_fd = 999;
  run_script (run, place, "true");
  g_assert_cmpint (run->code, ==, COMPUTE_E_INVALID);
  g_assert_cmpstr (run->err.message, ==, "cancel_fd 999 is not open");
}

static void
test_output_can_cancel (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) run = run_new ();
  gsize taken;

  run->cancel_after = 100000;
  run_script (run, place, "yes");
  taken = run->out->len;
  g_assert_cmpint (run->code, ==, 0);
  g_assert_cmpuint (run->result.outcome, ==, COMPUTE_OUTCOME_CANCELLED);
  g_assert_cmpuint (taken, <=, 100000 + 65536);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/input/without-input-it-is-empty", test_without_input_it_is_empty);
  g_test_add_func ("/input/bytes-come-whole", test_bytes_come_whole);
  g_test_add_func ("/input/a-pipe-is-streamed", test_a_pipe_is_streamed);
  g_test_add_func ("/input/a-regular-file-is-read-from-its-position", test_a_regular_file_is_read_from_its_position);
  g_test_add_func ("/input/what-cannot-be-read-ends-the-command", test_input_that_cannot_be_read_ends_the_command);
  g_test_add_func ("/input/a-command-need-not-read", test_a_command_need_not_read);
  g_test_add_func ("/input/input-and-output-do-not-wait-for-each-other",
                   test_input_and_output_do_not_wait_for_each_other);
  g_test_add_func ("/cancel/ends-all-and-keeps-the-output", test_cancel_ends_all_and_keeps_the_output);
  g_test_add_func ("/cancel/a-closed-pipe-cancels", test_a_closed_pipe_cancels);
  g_test_add_func ("/cancel/beforehand-starts-nothing", test_cancelled_beforehand_starts_nothing);
  g_test_add_func ("/cancel/a-descriptor-that-is-not-open-is-refused", test_a_descriptor_that_is_not_open_is_refused);
  g_test_add_func ("/cancel/output-can-cancel", test_output_can_cancel);
  return g_test_run ();
}
