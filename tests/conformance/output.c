/* SPDX-License-Identifier: MIT */
/* Two streams, byte-exact, bounded where they are produced. */
#include "conformance.h"
#include <unistd.h>

static struct run
run_limited (struct place *place, const char *script, gint64 limit_bytes)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  command.script = script;
  config.output_limit_bytes = limit_bytes;
  return run_command (place, &command, &config);
}

void
test_case_E01_unknown_command_is_named (void)
{
  auto_run run = X ("no_such_cmd_xyz", 30 * SECOND);

  assert_exited (run, 127);
  assert_text (run.err->str, "no_such_cmd_xyz");
}

void
test_case_O01_cut_output_says_so (void)
{
  static const guint totals[] = { 9999, 10000, 10001, 16384 };
  auto_place place = place_open (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (totals); i++)
    {
      g_autofree char *script = g_strdup_printf ("head -c %u /dev/zero | tr '\\0' a", totals[i]);
      auto_run run = run_limited (&place, script, 10000);

      assert_exited (run, 0);
      g_assert_cmpuint (run.result.flags, ==, totals[i] > 10000 ? COMPUTE_RESULT_STDOUT_TRUNCATED : 0);
      g_assert_cmpuint (run.result.stdout_bytes, ==, totals[i]);
      g_assert_cmpuint (run.out->len, ==, MIN (totals[i], 10000));
      g_assert_cmpint (run.result.output_limit_bytes, ==, 10000);
    }
}

/* Each stream has its own limit, and what is kept is the beginning. */
void
test_output_limit_is_per_stream (void)
{
  auto_place place = place_open (NULL);
  auto_run run = run_limited (&place, "printf 0123456789; printf abcd >&2; printf 0123456789", 12);
  auto_run other = run_limited (&place, "printf abcd; printf 0123456789 >&2", 4);
  auto_run one = run_limited (&place, "printf 0123456789", 1);

  assert_prints (run, "012345678901");
  g_assert_cmpstr (run.err->str, ==, "abcd");
  g_assert_cmpuint (run.result.flags, ==, COMPUTE_RESULT_STDOUT_TRUNCATED);
  g_assert_cmpuint (run.result.stdout_bytes, ==, 20);
  assert_prints (other, "abcd");
  g_assert_cmpstr (other.err->str, ==, "0123");
  g_assert_cmpuint (other.result.flags, ==, COMPUTE_RESULT_STDERR_TRUNCATED);
  g_assert_cmpuint (other.result.stderr_bytes, ==, 10);
  assert_prints (one, "0");
}

/* Zero is no limit; the instance's limit applies where the command has none. */
void
test_output_limit_of_the_instance (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.output_limit_bytes = 5;
  auto_place place = place_open (&config);
  auto_run limited = run_script (&place, "printf 0123456789", COMPUTE_UNSET);
  auto_run unlimited = run_limited (&place, "head -c 12000000 /dev/zero", 0);

  assert_prints (limited, "01234");
  g_assert_cmpint (limited.result.output_limit_bytes, ==, 5);
  assert_exited (unlimited, 0);
  g_assert_cmpuint (unlimited.out->len, ==, 12000000);
  g_assert_cmpuint (unlimited.result.flags, ==, 0);
  g_assert_cmpint (unlimited.result.output_limit_bytes, ==, 0);
}

void
test_output_default_limit (void)
{
  auto_run run = X ("head -c 12000000 /dev/zero", 60 * SECOND);

  assert_exited (run, 0);
  g_assert_cmpuint (run.out->len, ==, COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES);
  g_assert_cmpuint (run.result.stdout_bytes, ==, 12000000);
  g_assert_cmpuint (run.result.flags, ==, COMPUTE_RESULT_STDOUT_TRUNCATED);
}

void
test_case_O02_both_streams_at_once (void)
{
  auto_run run
      = X ("i=0; while [ $i -lt 20000 ]; do echo outoutout; echo errerrerr >&2; i=$((i+1)); done", 60 * SECOND);

  assert_exited (run, 0);
  g_assert_cmpuint (run.out->len, ==, 20000 * strlen ("outoutout\n"));
  g_assert_cmpuint (run.err->len, ==, 20000 * strlen ("errerrerr\n"));
  for (gsize i = 0; i < run.out->len; i += strlen ("outoutout\n"))
    {
      g_assert_cmpint (memcmp (run.out->str + i, "outoutout\n", strlen ("outoutout\n")), ==, 0);
      g_assert_cmpint (memcmp (run.err->str + i, "errerrerr\n", strlen ("errerrerr\n")), ==, 0);
    }
}

/* A stream that nobody reads any more on one side fills up on its own: the other goes on. */
void
test_output_one_stream_alone (void)
{
  auto_run run = X ("head -c 1000000 /dev/zero >&2; printf end", 60 * SECOND);

  assert_prints (run, "end");
  g_assert_cmpuint (run.err->len, ==, 1000000);
}

void
test_case_O04_bytes_that_are_not_utf8 (void)
{
  auto_run run = X ("printf '\\377\\376A'", 30 * SECOND);

  assert_exited (run, 0);
  g_assert_cmpmem (run.out->str, run.out->len, "\377\376A", 3);
}

void
test_case_O05_nul_byte (void)
{
  auto_run run = X ("printf 'a\\000b'", 30 * SECOND);

  assert_exited (run, 0);
  g_assert_cmpmem (run.out->str, run.out->len, "a\0b", 3);
}

void
test_case_O10_no_terminal (void)
{
  auto_place place = place_open (NULL);
  auto_run bytes = run_script (&place, "printf 'a\\r\\nb\\n'", 30 * SECOND);
  auto_run terminals = run_script (&place, "test -t 1 || echo notty; test -t 0 || echo nostdin", 30 * SECOND);
  auto_run streams = run_script (&place, "echo o; echo e >&2", 30 * SECOND);
  auto_run controlling = run_script (&place, "(exec < /dev/tty) 2> /dev/null || echo none", 30 * SECOND);

  assert_prints (bytes, "a\r\nb\n");
  assert_prints (terminals, "notty\nnostdin\n");
  assert_prints (streams, "o\n");
  g_assert_cmpstr (streams.err->str, ==, "e\n");
  assert_prints (controlling, "none\n");
}

/* The end of a command is told by a frame; the bytes of one in the output are output, whole and in two writes. */
void
test_case_O14_forged_end (void)
{
  /* Length 92, type EXIT, id 1; then a WELCOME and a FAILED. */
  static const char header[] = "\\134\\000\\000\\000\\107\\000\\000\\000\\001\\000\\000\\000";
  static const char others[] = "\\020\\000\\000\\000\\101\\000\\000\\000\\000\\000\\000\\000CRUN\\001\\000\\000\\000"
                               "\\014\\000\\000\\000\\110\\000\\000\\000\\001\\000\\000\\000";
  g_autofree char *script = g_strdup_printf ("printf '%s'; head -c 92 /dev/zero; printf '%.16s'; sleep 1; "
                                             "printf '%s'; printf '%s'; printf '%s' >&2; echo tail; exit 5",
                                             header, header, header + 16, others, header);
  auto_run run = X (script, 30 * SECOND);

  assert_exited (run, 5);
  g_assert_cmpuint (run.out->len, ==, 12 + 92 + 12 + 32 + strlen ("tail\n"));
  g_assert_cmpuint (run.err->len, ==, 12);
  g_assert_cmpmem (run.out->str, 5, "\134\0\0\0\107", 5);
  g_assert_cmpmem (run.out->str + 104, 12, run.out->str, 12);
  assert_text (run.out->str + run.out->len - 5, "tail\n");
}

/* Sanitizers keep what was freed, so that resident memory says nothing about the program. */
static gboolean
memory_counts (void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  return FALSE;
#else
  return g_getenv ("COMPUTE_TEST_VALGRIND") == NULL;
#endif
}

/* A flood is cut where it is produced: host and runner together stay small while it lasts. */
static void
assert_flood_is_bounded (guint limit_bytes)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.output_limit_bytes = limit_bytes;
  auto_place place = place_open (&config);
  guint64 before = process_tree_peak_memory (getpid ());
  guint64 peak = before;
  struct job *job = job_start (&place, "yes", 2 * SECOND);

  while (!job_wait_done (job, 100))
    peak = MAX (peak, process_tree_peak_memory (getpid ()));
  auto_run run = job_end (job);

  peak = MAX (peak, process_tree_peak_memory (getpid ()));
  assert_timed_out (run);
  g_assert_cmpint (run.wall_ms, <, 4 * SECOND);
  g_assert_cmpuint (run.result.stdout_bytes, >, 1 * MEBI);
  g_assert_cmpuint (run.out->len, ==, MIN (run.result.stdout_bytes, limit_bytes));
  g_assert_cmpuint (run.result.flags, ==, run.result.stdout_bytes > limit_bytes ? COMPUTE_RESULT_STDOUT_TRUNCATED : 0);
  if (memory_counts ())
    g_assert_cmpuint (peak - before, <, 64 * MEBI);
}

void
test_case_T16_flood_ends_at_the_limit (void)
{
  assert_flood_is_bounded (COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES);
}

void
test_case_O16_flood_is_bounded (void)
{
  assert_flood_is_bounded (1 * MEBI);
}
