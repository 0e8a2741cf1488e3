/* SPDX-License-Identifier: MIT */
/* Regular files in and out: byte-exact, whole or not at all, and never a wait on what is no file. */
#include "conformance.h"
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file without a name, with that content, read from its beginning. */
static int
file_with (const void *data, gsize bytes)
{
  int fd = memfd_create ("source", MFD_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  write_whole (fd, data, bytes);
  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  return fd;
}

static int
put_bytes (struct place *place, const char *path, uint32_t mode, const void *data, gsize bytes,
           struct compute_error *err)
{
  int fd = file_with (data, bytes);
  int code = compute_put (place->handle, place->instance.id, path, mode, fd, NULL, err);

  close (fd);
  return code;
}

/* The file's content; NULL on failure. Free with g_free. */
static char *
get_bytes (struct place *place, const char *path, struct compute_file_info *info, int *ret_code,
           struct compute_error *err)
{
  const struct compute_file_info fresh = COMPUTE_FILE_INFO_INIT;
  int fd = memfd_create ("target", MFD_CLOEXEC);
  char *data = NULL;

  *info = fresh;
  *ret_code = compute_get (place->handle, place->instance.id, path, fd, NULL, info, err);
  if (*ret_code == 0)
    {
      g_assert_cmpuint ((guint64) lseek (fd, 0, SEEK_END), ==, info->bytes);
      g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
      data = g_malloc0 (info->bytes + 1);
      read_whole (fd, data, info->bytes);
    }
  close (fd);
  return data;
}

static int
get_code (struct place *place, const char *path, struct compute_error *err)
{
  struct compute_file_info info;
  int code;

  g_free (get_bytes (place, path, &info, &code, err));
  return code;
}

static void
assert_round_trip (struct place *place, const char *path, uint32_t mode, const void *data, gsize bytes)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_file_info info;
  g_autofree char *back = NULL;
  int code;

  assert_code (put_bytes (place, path, mode, data, bytes, &err), 0, &err);
  back = get_bytes (place, path, &info, &code, &err);
  assert_code (code, 0, &err);
  g_assert_cmpuint (info.bytes, ==, bytes);
  g_assert_cmpuint (info.mode, ==, mode);
  g_assert_cmpint (memcmp (back, data, bytes), ==, 0);
}

void
test_file_sizes (void)
{
  static const gsize sizes[] = { 0, 1, 65535, 65536, 65537, 262144, 1000000 };
  g_autofree unsigned char *data = g_malloc (1000000);
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < 1000000; i++)
    data[i] = (unsigned char) (i * 2654435761u >> 24);
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    assert_round_trip (&place, "file", 0644, data, sizes[i]);
}

void
test_file_of_64_mebibytes (void)
{
  const gsize bytes = 64 * MEBI + 1;
  g_autofree unsigned char *data = g_malloc (bytes);
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < bytes; i++)
    data[i] = (unsigned char) (i * 2654435761u >> 24);
  assert_round_trip (&place, "large", 0600, data, bytes);
}

/* Whatever the umask of the host is. */
void
test_file_modes (void)
{
  static const uint32_t modes[] = { 0644, 0600, 0755, 0444, 0777, 0000, 04755, 02750, 01777 };
  mode_t old = umask (077);
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *expected = g_strdup_printf ("%o\n", modes[i]);
      struct compute_error err = COMPUTE_ERROR_INIT;

      assert_code (put_bytes (&place, "file", modes[i], "x", 1, &err), 0, &err);
      auto_run mode = run_script (&place, "stat -c %a file", 30 * SECOND);

      assert_prints (mode, expected);
    }
  umask (old);
}

void
test_file_paths (void)
{
  static const char *const names[] = { "plain", "a b", "-n", "new\nline", "\377\376", "'quote\"", "$(id)", "./dot" };
  auto_place place = place_open (NULL);
  g_autofree char *absolute = place_path (&place, "absolute");
  g_autofree char *longest = g_strnfill (255, 'n');
  auto_run made = run_script (&place, "mkdir sub", 30 * SECOND);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    assert_round_trip (&place, names[i], 0644, names[i], strlen (names[i]));
  assert_round_trip (&place, absolute, 0644, "a", 1);
  assert_round_trip (&place, longest, 0644, "l", 1);
  assert_round_trip (&place, "sub/file", 0644, "s", 1);
  assert_round_trip (&place, "sub/../up", 0644, "u", 1);
  auto_run seen = run_script (&place, "cat absolute sub/file up; ls -A | wc -l | tr -d ' '", 30 * SECOND);

  assert_exited (made, 0);
  assert_prints (seen, "asu13\n"); /* a name with a newline counts twice */
}

/* put starts where the descriptor stands, and neither closes nor needs a regular file. */
void
test_file_from_a_pipe (void)
{
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  int file = file_with ("skipped rest", 12);
  int ends[2];

  g_assert_cmpint (lseek (file, 8, SEEK_SET), ==, 8);
  assert_code (compute_put (place.handle, place.instance.id, "rest", 0644, file, NULL, &err), 0, &err);
  g_assert_cmpint (fcntl (file, F_GETFD), >=, 0);
  close (file);
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  write_whole (ends[1], "piped", 5);
  close (ends[1]);
  assert_code (compute_put (place.handle, place.instance.id, "piped", 0644, ends[0], NULL, &err), 0, &err);
  close (ends[0]);
  auto_run seen = run_script (&place, "cat rest piped", 30 * SECOND);

  assert_prints (seen, "restpiped");
}

/* The old file, or the new one; in between nothing else, and nothing beside it. */
void
test_file_is_replaced_whole (void)
{
  const gsize bytes = 300000;
  g_autofree char *a = g_strnfill (bytes, 'a');
  g_autofree char *b = g_strnfill (bytes, 'b');
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct job *reader;

  assert_code (put_bytes (&place, "file", 0644, a, bytes, &err), 0, &err);
  reader = job_start (
      &place, "echo begun; while [ ! -e stop ]; do tr -s ab < file | wc -c; wc -c < file; done | tr -d ' ' | sort -u",
      0);
  job_wait_output (reader, "begun\n");
  for (int i = 0; i < 60; i++)
    assert_code (put_bytes (&place, "file", 0644, i % 2 == 0 ? b : a, bytes, &err), 0, &err);
  assert_code (put_bytes (&place, "stop", 0644, "", 0, &err), 0, &err);
  auto_run run = job_end (reader);
  auto_run left = run_script (&place, "ls -A", 30 * SECOND);

  assert_prints (run, "begun\n1\n300000\n");
  assert_prints (left, "file\nstop\n");
}

/* A put that fails or is cancelled leaves the old file as it was, and nothing beside it. */
void
test_file_put_that_fails_changes_nothing (void)
{
  auto_place place = place_open (NULL);
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  int folder = open ("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int ends[2];

  assert_code (put_bytes (&place, "file", 0644, "old", 3, &err), 0, &err);
  g_assert_cmpint (compute_put (place.handle, place.instance.id, "file", 0644, folder, NULL, &err), <, 0);
  g_assert_cmpint (compute_put (place.handle, place.instance.id, "file", 0644, -1, NULL, &err), <, 0);
  close (folder);

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  write_whole (ends[1], "new", 3); /* and no end */
  call.cancel_fd = eventfd (1, EFD_CLOEXEC);
  assert_code (compute_put (place.handle, place.instance.id, "file", 0644, ends[0], &call, &err), COMPUTE_E_CANCELLED,
               &err);
  close (call.cancel_fd);
  close (ends[0]);
  close (ends[1]);
  auto_run seen = run_script (&place, "cat file; echo; ls -A", 30 * SECOND);

  assert_prints (seen, "old\nfile\n");
}

void
test_file_get_is_cancelled (void)
{
  auto_place place = place_open (NULL);
  struct compute_call call = COMPUTE_CALL_INIT;
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_run made = run_script (&place, "head -c 20000000 /dev/zero > file", 30 * SECOND);
  int ends[2];

  assert_exited (made, 0);
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0); /* nobody reads it */
  call.cancel_fd = eventfd (1, EFD_CLOEXEC);
  assert_code (compute_get (place.handle, place.instance.id, "file", ends[1], &call, &info, &err), COMPUTE_E_CANCELLED,
               &err);
  g_assert_cmpuint (info.bytes, ==, 0);
  close (call.cancel_fd);
  close (ends[0]);
  close (ends[1]);
  auto_run after = run_script (&place, "echo ok", 30 * SECOND);

  assert_prints (after, "ok\n");
}

/* A target that takes no more is an error; the host gets no signal for it. */
void
test_file_target_that_is_closed (void)
{
  auto_place place = place_open (NULL);
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_run made = run_script (&place, "head -c 1000000 /dev/zero > file", 30 * SECOND);
  int full = open ("/dev/full", O_WRONLY | O_CLOEXEC);
  int ends[2];

  assert_exited (made, 0);
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  close (ends[0]);
  assert_code (compute_get (place.handle, place.instance.id, "file", ends[1], NULL, &info, &err), COMPUTE_E_SYSTEM,
               &err);
  assert_code (compute_get (place.handle, place.instance.id, "file", full, NULL, &info, &err), COMPUTE_E_SYSTEM, &err);
  g_assert_cmpint (compute_get (place.handle, place.instance.id, "file", -1, NULL, &info, &err), <, 0);
  close (ends[1]);
  close (full);
  assert_round_trip (&place, "file", 0644, "ok", 2);
}

/* A file that is none, or that has gone: its error, at once. */
void
test_case_F04_what_is_no_file (void)
{
  static const char *const none[] = { "folder", "fifo", "socket", "/dev/zero", "/dev/null", "to-fifo" };
  static const char *const missing[] = { "missing", "no/such/file" };
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_run made = run_script (&place,
                              "mkdir folder && mkfifo fifo && ln -s fifo to-fifo && python3 -c 'import socket; "
                              "socket.socket(socket.AF_UNIX).bind(\"socket\")'",
                              30 * SECOND);

  assert_exited (made, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (none); i++)
    assert_error (get_code (&place, none[i], &err), COMPUTE_E_INVALID, &err, none[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (missing); i++)
    assert_error (get_code (&place, missing[i], &err), COMPUTE_E_NOT_FOUND, &err, missing[i]);
  g_assert_cmpint (get_code (&place, "", &err), <, 0);
}

/* Likewise where a file should go: what stands there is not touched and not waited for. */
void
test_file_put_where_no_file_can_be (void)
{
  static const char *const none[] = { "folder", ".", "/", "fifo", "socket" };
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autofree char *long_path = g_strnfill (5000, 'x');
  g_autofree char *long_name = g_strnfill (256, 'x');
  auto_run made = run_script (&place,
                              "mkdir folder && mkfifo fifo && echo x > plain && python3 -c 'import socket; "
                              "socket.socket(socket.AF_UNIX).bind(\"socket\")'",
                              30 * SECOND);

  assert_exited (made, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (none); i++)
    assert_error (put_bytes (&place, none[i], 0644, "x", 1, &err), COMPUTE_E_INVALID, &err, none[i]);
  assert_error (put_bytes (&place, "no/such/folder", 0644, "x", 1, &err), COMPUTE_E_NOT_FOUND, &err, "no/such/folder");
  g_assert_cmpint (put_bytes (&place, "plain/below", 0644, "x", 1, &err), <, 0);
  g_assert_cmpint (put_bytes (&place, "", 0644, "x", 1, &err), <, 0);
  g_assert_cmpint (put_bytes (&place, long_path, 0644, "x", 1, &err), <, 0);
  g_assert_cmpint (put_bytes (&place, long_name, 0644, "x", 1, &err), <, 0);
  g_assert_cmpint (put_bytes (&place, "bits", 010000, "x", 1, &err), ==, COMPUTE_E_INVALID);
  auto_run seen = run_script (&place, "ls -A; ls folder; test -p fifo && test -S socket && cat plain", 30 * SECOND);

  assert_prints (seen, "fifo\nfolder\nplain\nsocket\nx\n");
}

/* A link is not followed: get refuses it, put replaces it, and what it leads to is as before. */
void
test_case_F03_links (void)
{
  static const char *const links[] = { "link", "to-folder", "dangling", "loop" };
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  auto_run made = run_script (&place,
                              "echo real > real && mkdir folder && ln -s real link && ln -s folder to-folder && "
                              "ln -s nowhere dangling && ln -s loop loop",
                              30 * SECOND);

  assert_exited (made, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (links); i++)
    {
      assert_error (get_code (&place, links[i], &err), COMPUTE_E_INVALID, &err, links[i]);
      assert_round_trip (&place, links[i], 0644, "new", 3);
    }
  auto_run seen = run_script (&place, "cat real; ls -A folder; ls", 30 * SECOND);

  assert_prints (seen, "real\ndangling\nfolder\nlink\nloop\nreal\nto-folder\n");
}

/* Swapping a file for a FIFO, a folder or a link never makes a call wait, nor half a file. */
void
test_case_F03_swapped_under_the_call (void)
{
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct job *swapper = job_start (&place,
                                   "echo linked > linked; echo begun; while [ ! -e stop ]; do rm -rf f; mkfifo f; "
                                   "rm -rf f; mkdir f; rm -rf f; echo whole > t; mv -f t f; ln -sf linked f; done",
                                   0);

  job_wait_output (swapper, "begun\n");
  for (int i = 0; i < 100; i++)
    {
      struct compute_file_info info;
      int code;
      g_autofree char *data = get_bytes (&place, "f", &info, &code, &err);

      if (code == 0)
        g_assert_true (g_str_equal (data, "whole\n") || g_str_equal (data, "new"));
      else
        g_assert_true (code == COMPUTE_E_NOT_FOUND || code == COMPUTE_E_INVALID);
      code = put_bytes (&place, "f", 0644, "new", 3, &err);
      g_assert_true (code == 0 || code == COMPUTE_E_INVALID || code == COMPUTE_E_NOT_FOUND);
    }
  assert_code (put_bytes (&place, "stop", 0644, "", 0, &err), 0, &err);
  auto_run run = job_end (swapper);
  auto_run linked = run_script (&place, "cat linked", 30 * SECOND);

  assert_code (run.code, 0, &run.error);
  g_assert_cmpuint (run.result.outcome, ==, COMPUTE_OUTCOME_EXITED);
  assert_prints (linked, "linked\n");
}

/* A file whose size nobody knows before it is read. */
void
test_file_of_the_kernel (void)
{
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_file_info info;
  int code;
  g_autofree char *data = get_bytes (&place, "/proc/version", &info, &code, &err);

  assert_code (code, 0, &err);
  assert_text (data, "Linux");
}

/* A file that grows and shrinks while it is read comes out as it was at some moment, or with an error. */
void
test_file_that_changes_its_size (void)
{
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct job *writer
      = job_start (&place,
                   "echo x > f; echo begun; while [ ! -e stop ]; do head -c 400000 /dev/zero >> f; : > f; "
                   "done",
                   0);

  job_wait_output (writer, "begun\n");
  for (int i = 0; i < 100; i++)
    {
      int code = get_code (&place, "f", &err);

      if (code != 0)
        assert_text (err.message, "'f'");
    }
  assert_code (put_bytes (&place, "stop", 0644, "", 0, &err), 0, &err);
  auto_run run = job_end (writer);

  assert_exited (run, 0);
}

void
test_file_of_an_instance_that_ended (void)
{
  auto_place place = place_open (NULL);
  struct compute_error err = COMPUTE_ERROR_INIT;

  assert_code (compute_shutdown (place.handle, place.instance.id, NULL, &err), 0, &err);
  assert_code (put_bytes (&place, "f", 0644, "x", 1, &err), COMPUTE_E_NOT_RUNNING, &err);
  assert_code (get_code (&place, "f", &err), COMPUTE_E_NOT_RUNNING, &err);
  g_assert_cmpint (compute_put (place.handle, "never-was", "f", 0644, 0, NULL, &err), ==, COMPUTE_E_NOT_FOUND);
}
