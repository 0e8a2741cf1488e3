/* SPDX-License-Identifier: MIT */
#include "record.h"
#include "support.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The record of captures: whatever happens to its writers, nothing is lost. */

#define AREA "record"
#define WRITERS 20
#define ROUNDS 100

static char *home;
static char *path; /* of the record */

static void
ignore_line (void *context, const char *line)
{
  (void) line;
  if (context != NULL)
    ++*(int *) context;
}

static gboolean
put (void *user, cJSON *record)
{
  const char *key = user;
  cJSON *entry = cJSON_GetObjectItemCaseSensitive (record, key);

  if (entry == NULL)
    entry = cJSON_AddObjectToObject (record, key);
  cJSON_DeleteItemFromObjectCaseSensitive (entry, "last_used");
  cJSON_AddNumberToObject (entry, "last_used", record_now ());
  return TRUE;
}

static void
record (const char *key)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (record_change (put, (void *) key, ignore_line, NULL, &err) != 0)
    g_error ("%s", err.message);
}

static cJSON *
read_record (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  cJSON *record_now_read = NULL;

  if (record_read (&record_now_read, &err) != 0)
    g_error ("%s", err.message);
  return record_now_read;
}

static void
write_file (const char *text)
{
  record ("a"); /* the folder */
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
set_up (void)
{
  home = g_dir_make_tmp ("compute-record-XXXXXX", NULL);
  path = g_build_filename (home, ".praisonai/environments/registry.json", NULL);
  g_assert_true (g_setenv ("HOME", home, TRUE));
}

static void
tear_down (void)
{
  remove_folder (home);
  g_free (home);
  g_free (path);
}

static void
test_what_others_wrote_stays (void)
{
  g_autofree char *text = NULL;
  struct stat about;

  set_up ();
  write_file ("{\"k\": {\"backend\": \"modal\", \"cost\": {\"eur\": 1}}, \"other\": [1, \"caf\\u00e9\"]}");
  record ("mine");
  record ("k");
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "\"eur\""));
  g_assert_nonnull (strstr (text, "\"modal\""));
  g_assert_nonnull (strstr (text, "caf\303\251"));
  g_assert_nonnull (strstr (text, "\"mine\""));
  g_assert_cmpint (stat (path, &about), ==, 0);
  g_assert_cmpint (about.st_mode & 0777, ==, 0600);
  tear_down ();
}

static guint
count_files (const char *prefix)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  guint count = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    count += g_str_has_prefix (name, prefix);
  return count;
}

static void
test_a_torn_file_is_set_aside_and_told (void)
{
  static const char *const torn[] = { "{\"k\": {\"backend\"", "[]", "", "not json" };

  for (size_t i = 0; i < G_N_ELEMENTS (torn); i++)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      int lines = 0;
      cJSON *read;

      set_up ();
      write_file (torn[i]);
      read = read_record ();
      g_assert_cmpint (cJSON_GetArraySize (read), ==, 0);
      cJSON_Delete (read);
      g_assert_cmpint (record_change (put, (void *) "k", ignore_line, &lines, &err), ==, 0);
      g_assert_cmpint (lines, ==, 1);
      g_assert_cmpint (count_files ("registry.json.torn-"), ==, 1);
      tear_down ();
    }
}

/* ---- Writers that are killed ------------------------------------------------------------------------------------- */

static pid_t
start_writer (int number)
{
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      g_autofree char *key = g_strdup_printf ("key-%d", number);

      record (key);
      _exit (0);
    }
  return pid;
}

/* All have recorded but perhaps the killed one. */
static void
assert_round (int killed)
{
  cJSON *read = read_record ();

  for (int i = 0; i < WRITERS; i++)
    {
      g_autofree char *key = g_strdup_printf ("key-%d", i);

      if (i != killed && !cJSON_HasObjectItem (read, key))
        g_error ("%s is lost", key);
    }
  cJSON_Delete (read);
}

static void
test_case_C13_writers_that_die_lose_nothing_of_others (void)
{
  GRand *random = g_rand_new_with_seed (g_test_rand_int_range (0, G_MAXINT32));
  int rounds = g_test_slow () ? ROUNDS : ROUNDS / 5;

  set_up ();
  for (int round = 0; round < rounds; round++)
    {
      int killed = g_rand_int_range (random, 0, WRITERS);
      pid_t writers[WRITERS];

      for (int i = 0; i < WRITERS; i++)
        writers[i] = start_writer (i);
      g_usleep ((gulong) g_rand_int_range (random, 0, 20000));
      (void) kill (writers[killed], SIGKILL);
      for (int i = 0; i < WRITERS; i++)
        {
          int status;

          g_assert_cmpint (waitpid (writers[i], &status, 0), ==, writers[i]);
          g_assert_true (i == killed || (WIFEXITED (status) && WEXITSTATUS (status) == 0));
        }
      assert_round (killed);
      g_assert_cmpint (g_unlink (path), ==, 0);
    }
  g_assert_cmpint (count_files ("registry.json.torn-"), ==, 0);
  tear_down ();
  g_rand_free (random);
}

/* ---- Turns of a key ---------------------------------------------------------------------------------------------- */

static void
count_wait (void *user)
{
  ++*(int *) user;
}

static void
test_one_at_a_time_has_the_turn_of_a_key (void)
{
  struct key_lock mine = { -1 }, other = { -1 };
  struct compute_error err = COMPUTE_ERROR_INIT;
  int ends[2], waits = 0;

  set_up ();
  g_assert_cmpint (pipe (ends), ==, 0);
  g_assert_cmpint (write (ends[1], "", 1), ==, 1);
  g_assert_cmpint (key_lock_take (&mine, "0123456789ab", -1, count_wait, &waits, &err), ==, 0);
  g_assert_cmpint (key_lock_try (&other, "0123456789ab", &err), ==, COMPUTE_E_BUSY);
  g_assert_cmpint (key_lock_take (&other, "0123456789ab", ends[0], count_wait, &waits, &err), ==, COMPUTE_E_CANCELLED);
  g_assert_cmpint (waits, ==, 1);
  g_assert_cmpint (key_lock_try (&other, "ffffffffffff", &err), ==, 0);
  key_lock_release (&other);
  key_lock_release (&mine);
  g_assert_cmpint (key_lock_try (&other, "0123456789ab", &err), ==, 0);
  key_lock_release (&other);
  close (ends[0]);
  close (ends[1]);
  tear_down ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD_TEST (what_others_wrote_stays);
  ADD_TEST (a_torn_file_is_set_aside_and_told);
  ADD_TEST (case_C13_writers_that_die_lose_nothing_of_others);
  ADD_TEST (one_at_a_time_has_the_turn_of_a_key);
  return g_test_run ();
}
