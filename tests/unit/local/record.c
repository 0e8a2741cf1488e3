/* SPDX-License-Identifier: MIT */
#include "../../../plugins/local/local.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "local-0123456789ab"

static const struct record example = {
  .proof
  = { .boot = "1b4e28ba-2fa1-11d2-883f-0016d3cca427", .namespace = "pid:[4026531836]", .pid = 4711, .start_time = 99 },
  .about = { .size = sizeof (struct compute_instance),
             .created_ms = 1700000000123,
             .id = ID,
             .definition = "0123456789ab",
             .host = "machine",
             .workdir = "/tmp/caf\xc3\xa9 100%\nnew\tline" },
};

static struct folder
new_folder (void)
{
  struct folder folder;
  g_autofree char *path = g_dir_make_tmp ("record-XXXXXX", NULL);

  g_strlcpy (folder.path, path, sizeof folder.path);
  folder.fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (folder.fd, >=, 0);
  return folder;
}

static char *
record_path (const struct folder *folder)
{
  return g_build_filename (folder->path, RECORD_FILE, NULL);
}

static void
test_every_member_comes_back (void)
{
  struct folder folder = new_folder ();
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct record record;

  g_assert_cmpint (record_write (&folder, &example, &err), ==, 0);
  g_assert_cmpint (record_read (&folder, ID, &record, &err), ==, 0);
  g_assert_cmpstr (record.about.id, ==, example.about.id);
  g_assert_cmpstr (record.about.definition, ==, example.about.definition);
  g_assert_cmpstr (record.about.host, ==, example.about.host);
  g_assert_cmpstr (record.about.workdir, ==, example.about.workdir);
  g_assert_cmpint (record.about.created_ms, ==, example.about.created_ms);
  g_assert_cmpstr (record.proof.boot, ==, example.proof.boot);
  g_assert_cmpstr (record.proof.namespace, ==, example.proof.namespace);
  g_assert_cmpint (record.proof.pid, ==, example.proof.pid);
  g_assert_cmpint (record.proof.start_time, ==, example.proof.start_time);
  folder_remove (&folder);
  g_assert_false (g_file_test (folder.path, G_FILE_TEST_EXISTS));
}

/* Nobody else may read what a record says. */
static void
test_a_record_is_for_its_user (void)
{
  struct folder folder = new_folder ();
  g_autofree char *path = record_path (&folder);
  GStatBuf status;

  g_assert_cmpint (record_write (&folder, &example, NULL), ==, 0);
  g_assert_cmpint (g_stat (path, &status), ==, 0);
  g_assert_cmpuint (status.st_mode & 0777, ==, 0600);
  folder_remove (&folder);
}

/* The example's text, with what a test does to it. */
static char *
example_text (struct folder *folder)
{
  g_autofree char *path = record_path (folder);
  char *text;

  g_assert_cmpint (record_write (folder, &example, NULL), ==, 0);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

static int
read_text (struct folder *folder, const char *text, const char *id)
{
  g_autofree char *path = record_path (folder);
  struct record record;

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return record_read (folder, id, &record, NULL);
}

static void
test_keys_of_newer_versions_are_left_alone (void)
{
  struct folder folder = new_folder ();
  g_autofree char *text = example_text (&folder);
  g_autofree char *newer = g_strconcat ("colour=%00green\n", text, "shape=\n", NULL);

  g_assert_cmpint (read_text (&folder, newer, ID), ==, 0);
  folder_remove (&folder);
}

static void
test_a_broken_record_is_told (void)
{
  static const char *const changes[][2] = {
    { "pid=4711", "pid=0" },
    { "pid=4711", "pid=-4711" },
    { "pid=4711", "pid=47x" },
    { "pid=4711", "pid=" },
    { "pid=4711", "pid" },
    { "pid=4711", "pid=99999999999999999999" },
    { "start_time=99", "time=99" },
    { "%25", "%2" },
    { "%25", "%G5" },
    { "%25", "%" },
    { "boot=", "boot=0123456789012345678901234567890" },
    { "id=" ID, "id=local-ba9876543210" },
  };
  struct folder folder = new_folder ();
  g_autofree char *text = example_text (&folder);

  g_assert_cmpint (read_text (&folder, text, ID), ==, 0);
  g_assert_cmpint (read_text (&folder, text, "local-ba9876543210"), ==, COMPUTE_E_SYSTEM);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_auto (GStrv) parts = g_strsplit (text, changes[i][0], 2);
      g_autofree char *changed = g_strjoinv (changes[i][1], parts);

      g_test_message ("%s", changes[i][1]);
      g_assert_cmpuint (g_strv_length (parts), ==, 2);
      g_assert_cmpint (read_text (&folder, changed, ID), ==, COMPUTE_E_SYSTEM);
    }
  for (gsize cut = 0; cut + 1 < strlen (text); cut++)
    {
      g_autofree char *torn = g_strndup (text, cut);

      if (strstr (torn, "\nworkdir=") == NULL) /* a shorter workdir is a workdir, too */
        g_assert_cmpint (read_text (&folder, torn, ID), ==, COMPUTE_E_SYSTEM);
    }
  folder_remove (&folder);
}

static void
test_what_is_no_file_is_not_read (void)
{
  struct folder folder = new_folder ();
  g_autofree char *path = record_path (&folder);
  struct record record;

  g_assert_cmpint (record_read (&folder, ID, &record, NULL), ==, COMPUTE_E_NOT_FOUND);
  g_assert_cmpint (symlink ("/etc/passwd", path), ==, 0);
  g_assert_cmpint (record_read (&folder, ID, &record, NULL), ==, COMPUTE_E_SYSTEM);
  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0); /* without a writer: whoever waits for one hangs */
  g_assert_cmpint (record_read (&folder, ID, &record, NULL), ==, COMPUTE_E_SYSTEM);
  folder_remove (&folder);
}

/* ---- Whether a process is still the same one -----------------------------------------------------------------------
 */

static void
test_a_process_that_lives_is_alive (void)
{
  struct proof proof;

  g_assert_cmpint (proof_take (getpid (), &proof, NULL), ==, 0);
  g_assert_cmpint (proof_check (&proof), ==, LIFE_ALIVE);
}

/* A zombie is gone, though its number is still taken. */
static void
test_a_process_that_ended_is_gone (void)
{
  struct proof proof;
  siginfo_t info;
  int ends[2];
  pid_t pid;
  char none;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      close (ends[1]);
      _exit (read (ends[0], &none, 1) != 0);
    }
  close (ends[0]);
  g_assert_cmpint (proof_take (pid, &proof, NULL), ==, 0);
  g_assert_cmpint (proof_check (&proof), ==, LIFE_ALIVE);
  close (ends[1]);
  g_assert_cmpint (waitid (P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), ==, 0);
  g_assert_cmpint (proof_check (&proof), ==, LIFE_GONE);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  g_assert_cmpint (proof_check (&proof), ==, LIFE_GONE);
  g_assert_cmpint (proof_take (pid, &proof, NULL), ==, COMPUTE_E_SYSTEM);
}

static void
test_a_number_used_again_proves_nothing (void)
{
  struct proof proof;

  g_assert_cmpint (proof_take (getpid (), &proof, NULL), ==, 0);
  proof.start_time--;
  g_assert_cmpint (proof_check (&proof), ==, LIFE_GONE);
}

static void
test_another_boot_ended_all (void)
{
  struct proof proof;

  g_assert_cmpint (proof_take (getpid (), &proof, NULL), ==, 0);
  proof.boot[0] = proof.boot[0] == 'a' ? 'b' : 'a';
  g_assert_cmpint (proof_check (&proof), ==, LIFE_GONE);
}

/* A container that shares the folder has the same boot, but other numbers. */
static void
test_another_namespace_is_unknown (void)
{
  struct proof proof;

  g_assert_cmpint (proof_take (getpid (), &proof, NULL), ==, 0);
  g_strlcpy (proof.namespace, "pid:[1]", sizeof proof.namespace);
  proof.pid = 1 << 30;
  g_assert_cmpint (proof_check (&proof), ==, LIFE_UNKNOWN);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/record/every-member-comes-back", test_every_member_comes_back);
  g_test_add_func ("/record/is-for-its-user", test_a_record_is_for_its_user);
  g_test_add_func ("/record/keys-of-newer-versions-are-left-alone", test_keys_of_newer_versions_are_left_alone);
  g_test_add_func ("/record/broken-is-told", test_a_broken_record_is_told);
  g_test_add_func ("/record/what-is-no-file-is-not-read", test_what_is_no_file_is_not_read);
  g_test_add_func ("/proof/a-process-that-lives-is-alive", test_a_process_that_lives_is_alive);
  g_test_add_func ("/proof/a-process-that-ended-is-gone", test_a_process_that_ended_is_gone);
  g_test_add_func ("/proof/a-number-used-again-proves-nothing", test_a_number_used_again_proves_nothing);
  g_test_add_func ("/proof/another-boot-ended-all", test_another_boot_ended_all);
  g_test_add_func ("/proof/another-namespace-is-unknown", test_another_namespace_is_unknown);
  return g_test_run ();
}
