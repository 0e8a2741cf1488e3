/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANY 5000001u

static int
file_with (const char *bytes, gsize count)
{
  int fd = open (g_get_tmp_dir (), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, bytes, count), ==, (gssize) count);
  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  return fd;
}

static int
put (Place *place, const char *path, guint mode, int fd, struct compute_error *err)
{
  *err = (struct compute_error) COMPUTE_ERROR_INIT;
  return compute_runner_put (place->runner, path, mode, fd, NULL, err);
}

static void
test_bytes_and_mode_survive_both_ways (void)
{
  g_autoptr (Place) place = place_new ();
  g_autofree char *data = g_malloc (MANY);
  g_autofree char *copy = g_malloc (MANY);

  for (gsize i = 0; i < MANY; i++)
    data[i] = (char) (i * 31 + i / 255);
  for (gsize count = 0; count <= MANY; count += MANY)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
      int from = file_with (data, count), to = file_with ("", 0);

      g_assert_cmpint (put (place, "file", 04751, from, &err), ==, 0);
      g_assert_cmpint (compute_runner_get (place->runner, "file", to, NULL, &info, &err), ==, 0);
      g_assert_cmpuint (info.mode, ==, 04751);
      g_assert_cmpuint (info.bytes, ==, count);
      g_assert_cmpuint (info.size, ==, sizeof info);
      g_assert_cmpint (pread (to, copy, MANY, 0), ==, (gssize) count);
      g_assert_cmpmem (copy, count, data, count);
      close (from);
      close (to);
    }
}

static void
test_what_is_no_file_is_refused (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  int fd = file_with ("x", 1);

  run_free (run_well (place, "mkdir folder; mkfifo fifo"));
  for (guint i = 0; i < 4; i++)
    {
      static const char *const paths[] = { "missing", "folder", "fifo", "/dev/null" };
      struct compute_error err = COMPUTE_ERROR_INIT;
      int code = compute_runner_get (place->runner, paths[i], fd, NULL, &info, &err);

      g_assert_cmpint (code, ==, i == 0 ? COMPUTE_E_NOT_FOUND : COMPUTE_E_INVALID);
      g_assert_nonnull (strstr (err.message, paths[i]));
    }
  close (fd);
}

static void
test_a_full_target_is_an_error (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int full = open ("/dev/full", O_WRONLY | O_CLOEXEC);

  run_free (run_well (place, "head -c 3000000 /dev/zero >zeros"));
  g_assert_cmpint (compute_runner_get (place->runner, "zeros", full, NULL, &info, &err), ==, COMPUTE_E_SYSTEM);
  g_assert_cmpint (err.sys_errno, ==, ENOSPC);
  g_assert_cmpuint (info.bytes, ==, 0);
  close (full);
}

/* SIGPIPE has its default action here: it would end the test. */
static void
test_a_closed_target_is_an_error (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int ends[2];

  run_free (run_well (place, "echo text >file"));
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  close (ends[0]);
  g_assert_cmpint (compute_runner_get (place->runner, "file", ends[1], NULL, &info, &err), ==, COMPUTE_E_SYSTEM);
  g_assert_cmpint (err.sys_errno, ==, EPIPE);
  close (ends[1]);
}

static gpointer
cancel_once_the_pipe_is_full (gpointer data)
{
  const int *fds = data;
  struct pollfd pipe_end = { .fd = fds[0], .events = POLLOUT };

  while (poll (&pipe_end, 1, 0) == 1)
    g_usleep (1000);
  g_assert_cmpint (write (fds[1], "x", 1), ==, 1);
  return NULL;
}

static void
test_a_target_that_nobody_reads_can_be_cancelled (void)
{
  g_autoptr (Place) place = place_new ();
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_call call = COMPUTE_CALL_INIT;
  int target[2], cancel[2], fds[2];
  GThread *thread;

  run_free (run_well (place, "head -c 3000000 /dev/zero >zeros"));
  g_assert_cmpint (pipe2 (target, O_CLOEXEC), ==, 0);
  g_assert_cmpint (pipe2 (cancel, O_CLOEXEC), ==, 0);
  fds[0] = target[1];
  fds[1] = cancel[1];
  call.cancel_fd = cancel[0];
  thread = g_thread_new ("cancel", cancel_once_the_pipe_is_full, fds);
  g_assert_cmpint (compute_runner_get (place->runner, "zeros", target[1], &call, &info, &err), ==, COMPUTE_E_CANCELLED);
  g_thread_join (thread);
  run_free (run_well (place, "true"));
  for (int i = 0; i < 2; i++)
    {
      close (target[i]);
      close (cancel[i]);
    }
}

static void
test_a_put_that_fails_leaves_the_old_file (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) after = NULL;
  struct compute_error err;
  int folder = open (place->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  run_free (run_well (place, "echo old >file"));
  g_assert_cmpint (put (place, "file", 0644, folder, &err), ==, COMPUTE_E_SYSTEM);
  g_assert_cmpint (err.sys_errno, ==, EISDIR);
  after = run_well (place, "cat file; ls -A");
  assert_out (after, "old\nfile\n");
  close (folder);
}

static gpointer
cancel_soon (gpointer user)
{
  int fd = GPOINTER_TO_INT (user);

  g_usleep (100000);
  g_assert_cmpint (eventfd_write (fd, 1), ==, 0);
  return NULL;
}

static void
test_a_cancelled_put_leaves_nothing (void)
{
  g_autoptr (Place) place = place_new ();
  g_autoptr (Run) after = NULL;
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  GThread *thread;
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0); /* an input without an end */
  call.cancel_fd = eventfd (0, EFD_CLOEXEC);
  thread = g_thread_new ("cancel", cancel_soon, GINT_TO_POINTER (call.cancel_fd));
  g_assert_cmpint (compute_runner_put (place->runner, "file", 0644, ends[0], &call, &err), ==, COMPUTE_E_CANCELLED);
  g_thread_join (thread);
  after = run_well (place, "ls -A");
  assert_out (after, "");
  close (call.cancel_fd);
  close (ends[0]);
  close (ends[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/transfer/bytes-and-mode-survive-both-ways", test_bytes_and_mode_survive_both_ways);
  g_test_add_func ("/transfer/what-is-no-file-is-refused", test_what_is_no_file_is_refused);
  g_test_add_func ("/transfer/a-full-target-is-an-error", test_a_full_target_is_an_error);
  g_test_add_func ("/transfer/a-closed-target-is-an-error", test_a_closed_target_is_an_error);
  g_test_add_func ("/transfer/a-target-that-nobody-reads-can-be-cancelled",
                   test_a_target_that_nobody_reads_can_be_cancelled);
  g_test_add_func ("/transfer/a-put-that-fails-leaves-the-old-file", test_a_put_that_fails_leaves_the_old_file);
  g_test_add_func ("/transfer/a-cancelled-put-leaves-nothing", test_a_cancelled_put_leaves_nothing);
  return g_test_run ();
}
