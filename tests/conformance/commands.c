/* SPDX-License-Identifier: MIT */
/* What a command is given: words, scripts, input, environment, folder, and the state of a fresh process. */
#include "conformance.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Words -------------------------------------------------------------------------------------------------- */

static struct run
run_words (struct place *place, const char *const *words)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.argv = words;
  command.argc = g_strv_length ((char **) words);
  return run_command (place, &command, NULL);
}

void
test_command_word_stays_one_word (void)
{
  const char *words[]
      = { "printf", "%s\\n", "a  b", "$HOME", "", "l1\nl2", "'\"`id`", "*", "-n", "\\n\\\\x", "é\377", "; :", NULL };
  auto_place place = place_open (NULL);
  auto_run run = run_words (&place, words);

  assert_prints (run, "a  b\n$HOME\n\nl1\nl2\n'\"`id`\n*\n-n\n\\n\\\\x\né\377\n; :\n");
}

void
test_command_words_without_a_shell (void)
{
  const char *words[] = { "sh", "-c", "exit 7", NULL };
  const char *killed[] = { "sh", "-c", "kill -9 $$", NULL };
  const char *no_builtin[] = { "exit 3", NULL };
  auto_place place = place_open (NULL);
  auto_run run = run_words (&place, words);
  auto_run dead = run_words (&place, killed);
  auto_run none = run_words (&place, no_builtin);

  assert_exited (run, 7);
  assert_outcome (dead, SIGNALED, 137, 9);
  assert_exited (none, 127);
}

/* A program that is not there, or may not be run, is a result like a shell's. */
void
test_command_that_cannot_be_run (void)
{
  const char *missing[] = { "no_such_cmd_xyz", "--help", NULL };
  const char *missing_path[] = { "/no/such/program", NULL };
  const char *forbidden[] = { "./plain", NULL };
  const char *folder[] = { "/", NULL };
  const char *nameless[] = { "", NULL };
  auto_place place = place_open (NULL);
  auto_run made = run_script (&place, "echo echo hi > plain; chmod 644 plain", 30 * SECOND);
  auto_run a = run_words (&place, missing);
  auto_run b = run_words (&place, missing_path);
  auto_run c = run_words (&place, forbidden);
  auto_run d = run_words (&place, folder);
  auto_run e = run_words (&place, nameless);

  assert_exited (made, 0);
  assert_exited (a, 127);
  assert_text (a.err->str, "no_such_cmd_xyz");
  assert_exited (b, 127);
  assert_text (b.err->str, "/no/such/program");
  assert_exited (c, 126);
  assert_text (c.err->str, "./plain");
  assert_exited (d, 126);
  if (e.code != 0)
    assert_code (e.code, COMPUTE_E_INVALID, &e.error);
  else
    assert_exited (e, 127);
}

/* argv[0] is looked up in the PATH that the command gets, and a script without #! runs as from a shell or not at all.
 */
void
test_command_is_looked_up_in_its_own_path (void)
{
  const char *words[] = { "tool", "x", NULL };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_pair path = { "PATH", NULL };
  auto_place place = place_open (NULL);
  auto_run made = run_script (&place,
                              "mkdir a b && printf '#!/bin/sh\\necho tool $1\\n' > b/tool && "
                              "echo no > a/tool && chmod 755 b/tool",
                              30 * SECOND);
  g_autofree char *folders = g_strdup_printf ("/no/such:%s/a:%s/b:/usr/bin:/bin", place.workdir, place.workdir);

  assert_exited (made, 0);
  path.value = folders;
  config.env = &path;
  config.env_count = 1;
  command.argv = words;
  command.argc = 2;
  auto_run run = run_command (&place, &command, &config);

  assert_prints (run, "tool x\n");
}

void
test_command_many_words (void)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  auto_place place = place_open (NULL);

  g_ptr_array_add (words, (void *) "sh");
  g_ptr_array_add (words, (void *) "-c");
  g_ptr_array_add (words, (void *) "echo $#");
  g_ptr_array_add (words, (void *) "sh");
  for (int i = 0; i < 20000; i++)
    g_ptr_array_add (words, (void *) "word");
  g_ptr_array_add (words, NULL);
  auto_run run = run_words (&place, (const char *const *) words->pdata);

  assert_prints (run, "20000\n");
}

/* What the system does not take is an error before anything ran, and the message says how much it takes. */
void
test_command_word_too_long (void)
{
  g_autofree char *word = g_strnfill (64 * (gsize) sysconf (_SC_PAGESIZE), 'a');
  const char *words[] = { "printf", "%s", word, NULL };
  auto_place place = place_open (NULL);
  auto_run run = run_words (&place, words);
  auto_run after = run_script (&place, "echo ok", 30 * SECOND);

  assert_error (run.code, COMPUTE_E_INVALID, &run.error, "bytes for one");
  g_assert_cmpuint (run.out->len, ==, 0);
  assert_prints (after, "ok\n");
}

/* ---- Scripts ------------------------------------------------------------------------------------------------ */

void
test_case_L01_argument_of_200000_bytes (void)
{
  g_autofree char *argument = g_strnfill (200000, 'a');
  g_autofree char *script = g_strdup_printf ("printf %%s '%s' | wc -c | tr -d ' '", argument);
  auto_run run = X (script, 60 * SECOND);

  assert_prints (run, "200000\n");
}

void
test_case_L02_long_script (void)
{
  g_autofree char *tail = g_strnfill (300000, 'a');
  g_autofree char *comment = g_strconcat ("true #", tail, NULL);
  g_autofree char *body = g_strnfill (MEBI, 'b');
  g_autofree char *here
      = g_strconcat ("cat <<E | wc -c | tr -d ' '\n", body, "\nE\ncat; head -c 3; read x; echo got=$x", NULL);
  auto_place place = place_open (NULL);
  auto_run commented = run_script (&place, comment, 60 * SECOND);
  auto_run counted = run_script (&place, here, 60 * SECOND);

  assert_prints (commented, "");
  assert_prints (counted, "1048577\ngot=\n");
}

/* However long, a script is run the same way: parameters, shell, signals, descriptors. */
void
test_command_long_script_runs_like_a_short_one (void)
{
  static const char probe[] = "echo \"$0|$#|$*\"; ls /proc/self/fd | wc -l; kill -9 $$";
  g_autofree char *padding = g_strnfill (300000, '#');
  g_autofree char *padded = g_strconcat (padding, "\n", probe, NULL);
  auto_place place = place_open (NULL);
  auto_run brief = run_script (&place, probe, 30 * SECOND);
  auto_run lengthy = run_script (&place, padded, 30 * SECOND);

  assert_outcome (brief, SIGNALED, 137, 9);
  assert_outcome (lengthy, SIGNALED, 137, 9);
  g_assert_cmpstr (lengthy.out->str, ==, brief.out->str);
  g_assert_cmpuint (brief.out->len, >, 0);
}

void
test_command_script_of_20_mebibytes (void)
{
  g_autofree char *padding = g_strnfill (20 * MEBI, 'x');
  g_autofree char *script = g_strconcat (": '", padding, "'\necho end", NULL);
  auto_run run = X (script, 60 * SECOND);

  assert_prints (run, "end\n");
}

/* A script that begins like an option is a script. */
void
test_command_script_like_an_option (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, "-n foo", 30 * SECOND);
  auto_run syntax = run_script (&place, "if", 30 * SECOND);

  assert_exited (run, 127);
  assert_text (run.err->str, "-n");
  assert_code (syntax.code, 0, &syntax.error);
  g_assert_cmpuint (syntax.result.outcome, ==, COMPUTE_OUTCOME_EXITED);
  g_assert_cmpint (syntax.result.exit_code, !=, 0);
  g_assert_cmpuint (syntax.err->len, >, 0);
}

/* script_bytes is the length; what follows is not read. */
void
test_command_script_with_a_length (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  auto_place place = place_open (NULL);

  command.script = "echo one; echo two";
  command.script_bytes = strlen ("echo one");
  auto_run run = run_command (&place, &command, NULL);

  assert_prints (run, "one\n");
}

/* ---- Input -------------------------------------------------------------------------------------------------- */

static struct run
run_with_input (struct place *place, const char *script, const void *data, gsize bytes)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = script;
  command.stdin_data = data;
  command.stdin_bytes = bytes;
  return run_command (place, &command, NULL);
}

static struct run
run_with_input_from (struct place *place, const char *script, int fd)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.flags = COMPUTE_COMMAND_STDIN_FD;
  command.script = script;
  command.stdin_fd = fd;
  return run_command (place, &command, NULL);
}

void
test_case_S01_no_input_is_the_end_of_input (void)
{
  auto_run run = X ("cat; echo done", 10 * SECOND);

  assert_prints (run, "done\n");
  g_assert_cmpuint (run.result.duration_us, <, G_USEC_PER_SEC);
}

void
test_case_S06_script_is_not_on_the_input (void)
{
  auto_place place = place_open (NULL);
  auto_run r = run_script (&place, "cat\necho after", 10 * SECOND);
  auto_run s = run_script (&place, "head -c 3\necho after", 10 * SECOND);
  auto_run t = run_script (&place, "read x; echo got=$x\necho after", 10 * SECOND);

  assert_prints (r, "after\n");
  assert_prints (s, "after\n");
  assert_prints (t, "got=\nafter\n");
}

void
test_command_input_of_bytes (void)
{
  auto_place place = place_open (NULL);
  auto_run text = run_with_input (&place, "cat; echo .", "a\0b\377\n", 5);
  auto_run empty = run_with_input (&place, "cat; echo end", "", 0);

  assert_exited (text, 0);
  g_assert_cmpmem (text.out->str, text.out->len, "a\0b\377\n.\n", 7);
  assert_prints (empty, "end\n");
}

/* More than every pipe and window holds, both ways at once. */
void
test_command_large_input (void)
{
  const gsize bytes = 20 * MEBI;
  g_autofree char *data = g_malloc (bytes);
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < bytes; i++)
    data[i] = (char) (i * 2654435761u >> 24);
  command.script = "cat";
  command.stdin_data = data;
  command.stdin_bytes = bytes;
  config.output_limit_bytes = 0;
  auto_run run = run_command (&place, &command, &config);

  assert_exited (run, 0);
  g_assert_cmpuint (run.out->len, ==, bytes);
  g_assert_cmpint (memcmp (run.out->str, data, bytes), ==, 0);
}

/* A command may leave its input unread, or close it early. */
void
test_command_input_that_nobody_reads (void)
{
  const gsize bytes = 8 * MEBI;
  g_autofree char *data = g_malloc0 (bytes);
  auto_place place = place_open (NULL);
  auto_run unread = run_with_input (&place, "exit 4", data, bytes);
  auto_run closed = run_with_input (&place, "exec <&-; sleep 0.5; exit 5", data, bytes);
  auto_run part = run_with_input (&place, "head -c 100000 | wc -c | tr -d ' '", data, bytes);
  auto_run after = run_script (&place, "echo ok", 30 * SECOND);

  assert_exited (unread, 4);
  assert_exited (closed, 5);
  assert_prints (part, "100000\n");
  assert_prints (after, "ok\n");
}

void
test_command_input_from_a_descriptor (void)
{
  auto_place place = place_open (NULL);
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  write_whole (ends[1], "first\nsecond\n", 13);
  close (ends[1]);
  auto_run run = run_with_input_from (&place, "read a; echo got $a; cat", ends[0]);

  assert_prints (run, "got first\nsecond\n");
  g_assert_cmpint (fcntl (ends[0], F_GETFD), >=, 0); /* still open */
  close (ends[0]);
}

/* A descriptor on which nothing comes keeps nobody: not a command that does not read, nor a limit. */
void
test_command_input_that_never_comes (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  auto_place place = place_open (NULL);
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  command.flags = COMPUTE_COMMAND_STDIN_FD;
  command.stdin_fd = ends[0];
  command.script = "exit 6";
  config.timeout_ms = 10 * SECOND;
  auto_run unread = run_command (&place, &command, &config);

  assert_exited (unread, 6);
  command.script = "cat";
  config.timeout_ms = 500;
  auto_run waiting = run_command (&place, &command, &config);

  assert_timed_out (waiting);
  close (ends[0]);
  close (ends[1]);
}

/* A descriptor that cannot be read is an error, no empty input. */
void
test_command_input_that_cannot_be_read (void)
{
  auto_place place = place_open (NULL);
  int folder = open ("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int sink = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  auto_run from_folder = run_with_input_from (&place, "cat", folder);
  auto_run from_sink = run_with_input_from (&place, "cat", sink);
  auto_run from_closed = run_with_input_from (&place, "cat", 9999);
  auto_run from_none = run_with_input_from (&place, "cat", -1);
  auto_run after = run_script (&place, "echo ok", 30 * SECOND);

  g_assert_cmpint (from_folder.code, <, 0);
  g_assert_cmpint (from_sink.code, <, 0);
  g_assert_cmpint (from_closed.code, <, 0);
  g_assert_cmpint (from_none.code, <, 0);
  assert_prints (after, "ok\n");
  close (folder);
  close (sink);
}

/* ---- Environment -------------------------------------------------------------------------------------------- */

static struct run
run_with_env (struct place *place, const char *script, uint32_t flags, const struct compute_pair *env, gsize count)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  command.script = script;
  config.flags = flags;
  config.env = env;
  config.env_count = count;
  return run_command (place, &command, &config);
}

void
test_case_Q01_value_with_a_blank (void)
{
  const struct compute_pair env[] = { { "MY_VAR", "hello world" } };
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.env = env;
  config.env_count = 1;
  auto_place place = place_open (&config);
  auto_run run = run_script (&place, "printf %s \"$MY_VAR\"", 30 * SECOND);

  assert_prints (run, "hello world");
}

void
test_case_Q02_values_byte_for_byte (void)
{
  const struct compute_pair env[] = { { "A", "l1\nl2" },
                                      { "B", "\"'`$(id)$HOME\\" },
                                      { "C", "" },
                                      { "D", "a=b=c" },
                                      { "E", "caf\303\251" },
                                      { "F", " lead" },
                                      { "G", "a,b" },
                                      { "H", "\377" } };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  auto_place plain = place_open (NULL);

  config.env = env;
  config.env_count = G_N_ELEMENTS (env);
  auto_place place = place_open (&config);

  for (gsize i = 0; i < G_N_ELEMENTS (env); i++)
    {
      g_autofree char *script = g_strdup_printf ("printf %%s \"${%s-unset}\"", env[i].name);
      auto_run of_instance = run_script (&place, script, 30 * SECOND);
      auto_run of_command = run_with_env (&plain, script, 0, env, G_N_ELEMENTS (env));

      assert_prints (of_instance, env[i].value);
      assert_prints (of_command, env[i].value);
    }
}

/* Merged by name; what the command is given wins, and is not there for the next one. */
void
test_command_env_is_merged (void)
{
  const struct compute_pair base[] = { { "CC_A", "1" }, { "CC_B", "2" } };
  const struct compute_pair more[] = { { "CC_B", "3" }, { "CC_C", "4" } };
  static const char script[] = "echo $CC_A ${CC_B-} ${CC_C-none}; env | grep -c ^CC_B=";
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.env = base;
  config.env_count = G_N_ELEMENTS (base);
  auto_place place = place_open (&config);
  auto_run with = run_with_env (&place, script, 0, more, G_N_ELEMENTS (more));
  auto_run without = run_script (&place, script, 30 * SECOND);

  assert_prints (with, "1 3 4\n1\n");
  assert_prints (without, "1 2 none\n1\n");
}

/* The last of two values of one name holds, once. */
void
test_command_env_name_twice (void)
{
  const struct compute_pair twice[] = { { "CC_A", "1" }, { "CC_A", "2" } };
  auto_place place = place_open (NULL);
  auto_run run = run_with_env (&place, "echo $CC_A; env | grep -c ^CC_A=", 0, twice, 2);

  if (run.code == 0)
    assert_prints (run, "2\n1\n");
  else
    assert_error (run.code, COMPUTE_E_INVALID, &run.error, "CC_A");
}

/* The program's environment is exactly the one given. */
void
test_command_env_is_replaced (void)
{
  const char *words[] = { "/usr/bin/env", NULL };
  const struct compute_pair base[] = { { "CC_A", "1" } };
  const struct compute_pair only[] = { { "CC_B", "2" } };
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_config replace = COMPUTE_CONFIG_INIT;

  config.env = base;
  config.env_count = 1;
  command.argv = words;
  command.argc = 1;
  replace.flags = COMPUTE_CONFIG_ENV_REPLACE;
  auto_place place = place_open (&config);
  auto_run none = run_command (&place, &command, &replace);

  assert_prints (none, "");
  replace.env = only;
  replace.env_count = 1;
  auto_run one = run_command (&place, &command, &replace);

  assert_prints (one, "CC_B=2\n");
  replace.env = base;
  auto_place replaced = place_open (&replace);
  auto_run run = run_command (&replaced, &command, NULL);

  assert_prints (run, "CC_A=1\n");
}

/* ---- Folder, and the state of a fresh process --------------------------------------------------------------- */

void
test_case_W01_workdir_is_made (void)
{
  g_autofree char *workdir = g_strdup_printf ("%s/no/such/%s", private_dir (), "fol der");
  g_autofree char *line = g_strconcat (workdir, "\n", NULL);
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.workdir = workdir;
  auto_place place = place_open (&config);
  auto_run run = run_script (&place, "pwd; echo $PWD", 30 * SECOND);
  g_autofree char *twice = g_strconcat (line, line, NULL);

  assert_prints (run, twice);
  g_assert_cmpstr (place.instance.workdir, ==, workdir);
}

void
test_case_W05_no_state_between_commands (void)
{
  auto_place place = place_open (NULL);
  auto_run before = run_script (&place, "umask", 30 * SECOND);
  auto_run change = run_script (&place, "cd /; export A=1; umask 077; ulimit -n 17; trap '' TERM", 30 * SECOND);
  auto_run after = run_script (&place, "pwd; echo [$A]", 30 * SECOND);
  auto_run mask = run_script (&place, "umask", 30 * SECOND);
  auto_run limit = run_script (&place, "test $(ulimit -n) != 17", 30 * SECOND);
  g_autofree char *expected = g_strdup_printf ("%s\n[]\n", place.workdir);

  assert_exited (change, 0);
  assert_prints (after, expected);
  assert_prints (mask, before.out->str);
  assert_exited (limit, 0);
}

void
test_command_workdir_of_its_own (void)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  auto_place place = place_open (NULL);
  g_autofree char *inner = place_path (&place, "in ner");
  g_autofree char *expected = g_strconcat (inner, "\n", NULL);
  g_autofree char *usual = g_strconcat (place.workdir, "\n", NULL);
  auto_run made = run_script (&place, "mkdir 'in ner'", 30 * SECOND);

  assert_exited (made, 0);
  command.script = "pwd";
  config.workdir = inner;
  auto_run run = run_command (&place, &command, &config);
  auto_run next = run_command (&place, &command, NULL);

  assert_prints (run, expected);
  assert_prints (next, usual);
}

/* The workdir of the instance may be lost: then a command does not start, in no other folder either. */
void
test_command_workdir_lost (void)
{
  auto_place place = place_open (NULL);
  auto_run removed = run_script (&place, "rmdir \"$PWD\"", 30 * SECOND);
  auto_run run = run_script (&place, "pwd", 30 * SECOND);

  assert_exited (removed, 0);
  assert_error (run.code, COMPUTE_E_NOT_STARTED, &run.error, place.workdir);
}

void
test_case_I15_signals_of_the_host (void)
{
  sigset_t blocked, old;
  struct sigaction pipes;

  g_assert_cmpint (sigaction (SIGPIPE, NULL, &pipes), ==, 0);
  signal_set (SIGPIPE, SIG_IGN);
  sigemptyset (&blocked);
  sigaddset (&blocked, SIGTERM);
  sigaddset (&blocked, SIGUSR1);
  g_assert_cmpint (sigprocmask (SIG_BLOCK, &blocked, &old), ==, 0);
  signal_set (SIGHUP, SIG_IGN);
  signal_set (SIGINT, SIG_IGN);
  auto_place place = place_open (NULL);
  auto_run pipeline = run_script (&place, "yes | head -n 1", 30 * SECOND);
  auto_run masks = run_script (&place, "grep -E 'Sig(Ign|Blk)' /proc/self/status | tr -d '\\t'", 30 * SECOND);

  assert_prints (pipeline, "y\n");
  g_assert_cmpstr (pipeline.err->str, ==, "");
  g_assert_cmpuint (pipeline.result.duration_us, <, G_USEC_PER_SEC);
  assert_prints (masks, "SigBlk:0000000000000000\nSigIgn:0000000000000000\n");
  sigaction (SIGPIPE, &pipes, NULL);
  signal_set (SIGHUP, SIG_DFL);
  signal_set (SIGINT, SIG_DFL);
  sigprocmask (SIG_SETMASK, &old, NULL);
}

void
test_case_I16_descriptors_of_the_host (void)
{
  g_autofree char *lock_path = g_build_filename (private_dir (), "lock", NULL);
  int lock = open (lock_path, O_CREAT | O_RDWR, 0600); /* no O_CLOEXEC: as careless hosts do */
  int other = open (lock_path, O_RDWR | O_CLOEXEC);
  int open_files[50];

  for (gsize i = 0; i < G_N_ELEMENTS (open_files); i++)
    g_assert_cmpint (open_files[i] = open ("/dev/null", O_RDWR), >=, 0);
  g_assert_cmpint (flock (lock, LOCK_EX), ==, 0);
  g_autofree char *mark = mark_new ();
  g_autofree char *background = g_strdup_printf ("sleep %s &", mark);
  auto_place place = place_open (NULL);
  auto_run count = run_script (&place, "ls /proc/self/fd | wc -l", 30 * SECOND);
  auto_run left = run_script (&place, background, 30 * SECOND);

  assert_exited (count, 0);
  g_assert_cmpint (g_ascii_strtoll (count.out->str, NULL, 10), <=, 4);
  assert_exited (left, 0);
  close (lock); /* a child that held a copy would keep the lock */
  g_assert_cmpint (flock (other, LOCK_EX | LOCK_NB), ==, 0);
  wait_until (place_runs (&place, mark), 5 * SECOND);
  for (gsize i = 0; i < G_N_ELEMENTS (open_files); i++)
    close (open_files[i]);
  close (other);
}

/* Priority, limits and process group are those of a fresh process that nobody's terminal reaches. */
void
test_command_is_in_a_group_of_its_own (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, "cut -d ' ' -f 5,7 /proc/self/stat; echo $$", 30 * SECOND);
  g_auto (GStrv) lines = NULL;
  g_autofree char *own = g_strdup_printf ("%d", (int) getpgrp ());

  assert_exited (run, 0);
  lines = g_strsplit_set (run.out->str, " \n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 4);
  g_assert_cmpstr (lines[0], !=, own);
  g_assert_cmpstr (lines[1], ==, "0"); /* no terminal */
}

void
test_case_D06_command_runs_once (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_script (&place, "echo x >> n; sleep 30", 1 * SECOND);
  auto_run count = run_script (&place, "wc -l < n | tr -d ' '", 30 * SECOND);

  assert_timed_out (run);
  assert_prints (count, "1\n");
}
