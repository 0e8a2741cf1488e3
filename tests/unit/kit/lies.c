/* SPDX-License-Identifier: MIT */
#include "place.h"
#include "../../../sdk/runner/protocol.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Runners that lie: the other end of the pipe is a thread of the test. */

struct liar
{
  int fd;
  GThread *thread;
  const struct lie *lie;
  gint *gate;
};

static gboolean
read_exactly (int fd, guint8 *to, gsize count)
{
  while (count > 0)
    {
      gssize got = read (fd, to, count);

      if (got <= 0)
        return FALSE;
      to += got;
      count -= (gsize) got;
    }
  return TRUE;
}

/* The type of the next frame; 0 at the end. */
static guint8
read_frame (int fd)
{
  guint8 bytes[FRAME_HEADER_BYTES];
  g_autofree guint8 *payload = g_malloc (FRAME_PAYLOAD_MAX);

  if (!read_exactly (fd, bytes, sizeof bytes)
      || !read_exactly (fd, payload, bytes[0] + bytes[1] * 256u + bytes[2] * 65536u))
    return 0;
  return bytes[4];
}

static void
write_all (int fd, const guint8 *bytes, gsize count)
{
  while (count > 0)
    {
      gssize sent = send (fd, bytes, count, MSG_NOSIGNAL);

      if (sent < 0)
        return; /* the kit has had enough */
      bytes += sent;
      count -= (gsize) sent;
    }
}

static void
write_frame (int fd, guint8 type, guint8 flags, guint32 id, const void *payload, guint32 count)
{
  guint8 header[FRAME_HEADER_BYTES];

  frame_put_header (header, type, flags, id, count);
  write_all (fd, header, sizeof header);
  if (payload != NULL)
    write_all (fd, payload, count);
}

static void
write_welcome (int fd, guint8 version)
{
  const guint8 welcome[] = { 'C', 'R', 'U', 'N', version, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0 };

  g_assert_cmpuint (read_frame (fd), ==, FRAME_HELLO);
  write_frame (fd, FRAME_WELCOME, 0, 0, welcome, sizeof welcome);
}

/* Says no more, and reads until the kit closes. */
static void
fall_silent (int fd)
{
  while (read_frame (fd) != 0)
    ;
  close (fd);
}

static int
start_liar (struct liar *liar, GThreadFunc function, guint32 hello_ms, Place *place, struct compute_error *err)
{
  struct compute_runner_options options = { .size = sizeof options, .hello_ms = hello_ms };
  int ends[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
  liar->fd = ends[1];
  liar->thread = g_thread_new ("liar", function, liar);
  options.read_fd = options.write_fd = ends[0];
  place->runner = NULL;
  return compute_runner_open (&options, &place->runner, err);
}

static void
end_liar (struct liar *liar, Place *place)
{
  compute_runner_close (place->runner);
  g_thread_join (liar->thread);
}

/* ---- After the hand-shake ------------------------------------------------------------------------------------------
 */

/* What it says after it has read START, and how the kit takes it. */
struct lie
{
  const char *name;
  guint8 type;
  guint8 flags;
  guint32 id;
  guint32 bytes; /* of payload, all 0xFF; or the header alone says so */
  gboolean cut;  /* the payload never comes */
  int code;
};

static const struct lie lies[] = {
  { "closes", 0, 0, 0, 0, FALSE, COMPUTE_E_LOST },
  { "unknown-frame", 99, 0, 1, 0, FALSE, COMPUTE_E_PROTOCOL },
  { "frame-of-the-host", FRAME_START, 0, 1, 0, FALSE, COMPUTE_E_PROTOCOL },
  { "unknown-id", FRAME_STDOUT, 0, 7, 1, FALSE, COMPUTE_E_PROTOCOL },
  { "output-of-the-connection", FRAME_STDOUT, 0, 0, 1, FALSE, COMPUTE_E_PROTOCOL },
  { "empty-output", FRAME_STDOUT, 0, 1, 0, FALSE, COMPUTE_E_PROTOCOL },
  { "output-in-parts", FRAME_STDERR, FRAME_MORE, 1, 1, FALSE, COMPUTE_E_PROTOCOL },
  { "unknown-flag", FRAME_STDOUT, 2, 1, 1, FALSE, COMPUTE_E_PROTOCOL },
  { "too-long", FRAME_STDOUT, 0, 1, FRAME_PAYLOAD_MAX + 1, TRUE, COMPUTE_E_PROTOCOL },
  { "cut", FRAME_STDOUT, 0, 1, 1000, TRUE, COMPUTE_E_LOST },
  { "exit-too-short", FRAME_EXIT, 0, 1, 8, FALSE, COMPUTE_E_PROTOCOL },
  { "exit-too-long", FRAME_EXIT, 0, 1, 200, FALSE, COMPUTE_E_PROTOCOL },
  { "exit-without-sense", FRAME_EXIT, 0, 1, 80, FALSE, COMPUTE_E_PROTOCOL },
  { "failure-without-sense", FRAME_FAILED, 0, 1, 12, FALSE, COMPUTE_E_PROTOCOL },
  { "window-without-sense", FRAME_STDIN_WINDOW, 0, 1, 9, FALSE, COMPUTE_E_PROTOCOL },
  { "answer-to-no-question", FRAME_CONFIGURED, 0, 0, 0, FALSE, COMPUTE_E_PROTOCOL },
  { "bye-unasked", FRAME_BYE, 0, 0, 4, FALSE, COMPUTE_E_PROTOCOL },
  { "complaint", FRAME_FAILED, 0, 0, 12, FALSE, COMPUTE_E_PROTOCOL },
  { "malformed-pong", FRAME_PONG, 0, 0, 1, FALSE, COMPUTE_E_PROTOCOL },
};

static gpointer
lie_once (gpointer user)
{
  const struct liar *liar = user;
  const struct lie *lie = liar->lie;
  g_autofree char *payload = g_strnfill (lie->bytes, (char) 0xFF);

  write_welcome (liar->fd, PROTOCOL_VERSION);
  g_assert_cmpuint (read_frame (liar->fd), ==, FRAME_START);
  if (lie->type != 0)
    write_frame (liar->fd, lie->type, lie->flags, lie->id, lie->cut ? NULL : payload, lie->bytes);
  shutdown (liar->fd, SHUT_WR);
  fall_silent (liar->fd);
  return NULL;
}

static void
test_a_lie_is_told (gconstpointer user)
{
  const struct lie *lie = user;
  struct liar liar = { .lie = lie };
  g_autoptr (Run) run = run_new ();
  g_autoptr (Run) late = run_new ();
  Place place;

  g_assert_cmpint (start_liar (&liar, lie_once, 0, &place, NULL), ==, 0);
  run_script (run, &place, "true");
  g_assert_cmpint (run->code, ==, lie->code);
  g_assert_cmpuint (run->out->len, ==, 0);
  g_test_message ("%s", run->err.message);
  run_script (late, &place, "true");
  g_assert_cmpint (late->code, ==, COMPUTE_E_LOST);
  end_liar (&liar, &place);
}

/* ---- More than was allowed -----------------------------------------------------------------------------------------
 */

static gpointer
flood (gpointer user)
{
  const struct liar *liar = user;
  g_autofree char *payload = g_strnfill (FRAME_PAYLOAD_MAX, 'x');

  write_welcome (liar->fd, PROTOCOL_VERSION);
  g_assert_cmpuint (read_frame (liar->fd), ==, FRAME_START);
  write_frame (liar->fd, FRAME_STDOUT, 0, 1, "x", 1);
  g_assert_cmpuint (read_frame (liar->fd), ==, FRAME_START);
  for (guint i = 0; i < 64; i++)
    write_frame (liar->fd, FRAME_STDOUT, 0, 1, payload, FRAME_PAYLOAD_MAX);
  fall_silent (liar->fd);
  return NULL;
}

static void
wait_at_gate (gpointer user)
{
  gint *gate = user;

  g_atomic_int_set (&gate[1], 1);
  while (g_atomic_int_get (&gate[0]) == 0)
    g_usleep (1000);
}

struct consumer
{
  Place place;
  Run *run;
};

static gpointer
consume (gpointer user)
{
  struct consumer *consumer = user;

  run_script (consumer->run, &consumer->place, "true");
  return NULL;
}

/* One call's consumer stands still, the other leads and reads for it. */
static void
test_a_window_is_a_limit (void)
{
  gint gate[2] = { 0, 0 };
  struct liar liar = { 0 };
  struct consumer stands = { .run = run_new () };
  g_autoptr (Run) leads = run_new ();
  GThread *thread;

  g_assert_cmpint (start_liar (&liar, flood, 0, &stands.place, NULL), ==, 0);
  stands.run->on_output = wait_at_gate;
  stands.run->user = gate;
  thread = g_thread_new ("consume", consume, &stands);
  wait_until (g_atomic_int_get (&gate[1]) == 1);
  run_script (leads, &stands.place, "true");
  g_assert_cmpint (leads->code, ==, COMPUTE_E_PROTOCOL);
  g_assert_nonnull (strstr (leads->err.message, "more output than it was allowed"));
  g_atomic_int_set (&gate[0], 1);
  g_thread_join (thread);
  g_assert_cmpint (stands.run->code, ==, COMPUTE_E_PROTOCOL);
  g_assert_cmpuint (stands.run->out->len, <=, 1024 * 1024);
  run_free (stands.run);
  end_liar (&liar, &stands.place);
}

/* ---- Before the hand-shake -----------------------------------------------------------------------------------------
 */

static gpointer
other_version (gpointer user)
{
  const struct liar *liar = user;

  write_welcome (liar->fd, 77);
  fall_silent (liar->fd);
  return NULL;
}

static gpointer
other_program (gpointer user)
{
  const struct liar *liar = user;

  write_all (liar->fd, (const guint8 *) "Welcome to Debian\n", 18);
  fall_silent (liar->fd);
  return NULL;
}

static gpointer
silence (gpointer user)
{
  const struct liar *liar = user;

  fall_silent (liar->fd);
  return NULL;
}

static void
test_hand_shake (GThreadFunc function, guint32 hello_ms, int code, const char *message)
{
  struct liar liar = { 0 };
  struct compute_error err = COMPUTE_ERROR_INIT;
  guint before = count_descriptors ();
  Place place;

  g_assert_cmpint (start_liar (&liar, function, hello_ms, &place, &err), ==, code);
  g_assert_nonnull (strstr (err.message, message));
  end_liar (&liar, &place);
  g_assert_cmpuint (count_descriptors (), ==, before);
}

static void
test_another_version_is_named (void)
{
  test_hand_shake (other_version, 0, COMPUTE_E_PROTOCOL, "version 77 of the protocol, this side speaks 1");
}

static void
test_another_program_is_no_runner (void)
{
  test_hand_shake (other_program, 0, COMPUTE_E_PROTOCOL, "what came is no frame");
}

static void
test_silence_is_not_waited_out (void)
{
  test_hand_shake (silence, 100, COMPUTE_E_TIMEOUT, "has not answered in time");
}

static gpointer
write_late (gpointer user)
{
  g_usleep (100000);
  g_assert_cmpint (eventfd_write (GPOINTER_TO_INT (user), 1), ==, 0);
  return NULL;
}

/* ---- Standing still, which takes its time --------------------------------------------------------------------------
 */

static gpointer
ignore_all (gpointer user)
{
  const struct liar *liar = user;

  write_welcome (liar->fd, PROTOCOL_VERSION);
  fall_silent (liar->fd);
  return NULL;
}

static void
test_a_cancel_is_answered_or_the_runner_given_up (void)
{
  struct liar liar = { 0 };
  g_autoptr (Run) run = run_new ();
  GThread *thread;
  Place place;

  g_assert_cmpint (start_liar (&liar, ignore_all, 0, &place, NULL), ==, 0);
  run->call.cancel_fd = eventfd (0, EFD_CLOEXEC);
  thread = g_thread_new ("cancel", write_late, GINT_TO_POINTER (run->call.cancel_fd));
  run_script (run, &place, "true");
  g_thread_join (thread);
  g_assert_cmpint (run->code, ==, COMPUTE_E_LOST);
  g_assert_nonnull (strstr (run->err.message, "did not end a cancelled command in 12 s"));
  close (run->call.cancel_fd);
  end_liar (&liar, &place);
}

static gpointer
read_nothing (gpointer user)
{
  const struct liar *liar = user;

  write_welcome (liar->fd, PROTOCOL_VERSION);
  for (guint i = 0; i < 3000 && g_atomic_int_get (liar->gate) == 0; i++)
    g_usleep (10000);
  close (liar->fd);
  return NULL;
}

static void
test_a_runner_that_does_not_read_is_given_up (void)
{
  gint gate = 0;
  struct liar liar = { .gate = &gate };
  g_autoptr (Run) run = run_new ();
  g_autofree char *script = g_strnfill (4 * 1024 * 1024, ' ');
  Place place;

  g_assert_cmpint (start_liar (&liar, read_nothing, 0, &place, NULL), ==, 0);
  run_script (run, &place, script);
  g_assert_cmpint (run->code, ==, COMPUTE_E_LOST);
  g_assert_cmpstr (run->err.message, ==, "the runner has taken no input for 10 s; the command was not sent");
  g_atomic_int_set (&gate, 1);
  end_liar (&liar, &place);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autofree char *name = g_strconcat ("/lies/", lies[i].name, NULL);

      g_test_add_data_func (name, &lies[i], test_a_lie_is_told);
    }
  g_test_add_func ("/lies/a-window-is-a-limit", test_a_window_is_a_limit);
  g_test_add_func ("/lies/another-version-is-named", test_another_version_is_named);
  g_test_add_func ("/lies/another-program-is-no-runner", test_another_program_is_no_runner);
  g_test_add_func ("/lies/silence-is-not-waited-out", test_silence_is_not_waited_out);
  g_test_add_func ("/lies/a-cancel-is-answered-or-the-runner-given-up",
                   test_a_cancel_is_answered_or_the_runner_given_up);
  g_test_add_func ("/lies/a-runner-that-does-not-read-is-given-up", test_a_runner_that_does_not_read_is_given_up);
  return g_test_run ();
}
