/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

static int
is_socket (int fd)
{
  struct stat status;

  return fstat (fd, &status) == 0 && S_ISSOCK (status.st_mode);
}

static int
prepare_fd (int fd)
{
  int flags = fcntl (fd, F_GETFL);

  return flags < 0 || fcntl (fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl (fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}

/* Asks the runner who it is. */
static int
shake_hands (struct compute_runner *runner, const struct compute_runner_options *options, struct compute_error *err)
{
  struct control control = { FRAME_WELCOME, options->hello_ms > 0 ? options->hello_ms : HELLO_MS, "no runner is there",
                             options->cancel_fd };
  struct writer message = { 0 }, frames = { 0 };
  struct arrival arrival = { 0 };
  struct frame answer;
  struct reader reader;
  uint32_t version;
  int result;

  writer_bytes (&message, PROTOCOL_MAGIC, 4);
  writer_u32 (&message, PROTOCOL_VERSION);
  writer_u32 (&message, runner->lease_ms);
  put_message (&frames, FRAME_HELLO, 0, &message);
  result = control_ask (runner, &frames, &control, &arrival, &answer, err);
  writer_free (&message);
  writer_free (&frames);
  if (result == 0)
    {
      reader_init (&reader, answer.payload, answer.length);
      (void) reader_u32 (&reader); /* the magic */
      version = reader_u32 (&reader);
      runner->pid = reader_u32 (&reader);
      if (reader.failed || memcmp (answer.payload, PROTOCOL_MAGIC, 4) != 0)
        result = compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "what answered is no runner");
      else if (version != PROTOCOL_VERSION)
        result = compute_error_set (err, COMPUTE_E_PROTOCOL, 0,
                                    "the runner speaks version %u of the protocol, this side speaks %u", version,
                                    PROTOCOL_VERSION);
    }
  writer_free (&arrival.frames);
  return result;
}

static struct compute_runner *
new_runner (const struct compute_runner_options *options)
{
  struct compute_runner *runner = calloc (1, sizeof *runner);

  if (runner == NULL)
    return NULL;
  runner->in = malloc (RECEIVE_BYTES);
  if (runner->in == NULL)
    {
      free (runner);
      return NULL;
    }
  runner->read_fd = fd_above_stdio (options->read_fd);
  runner->write_fd = options->write_fd == options->read_fd ? runner->read_fd : fd_above_stdio (options->write_fd);
  runner->write_is_socket = is_socket (runner->write_fd);
  runner->lease_ms = options->lease_ms;
  runner->heard_ms = now_ms ();
  pthread_mutex_init (&runner->lock, NULL);
  pthread_mutex_init (&runner->write_lock, NULL);
  pthread_mutex_init (&runner->control_lock, NULL);
  return runner;
}

int
compute_runner_open (const struct compute_runner_options *options, struct compute_runner **ret_runner,
                     struct compute_error *err)
{
  struct compute_runner *runner = new_runner (options);
  int result = 0;

  if (runner == NULL)
    {
      close_fd (options->read_fd);
      if (options->write_fd != options->read_fd)
        close_fd (options->write_fd);
      return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for a connection to the runner");
    }
  if (prepare_fd (runner->read_fd) != 0 || prepare_fd (runner->write_fd) != 0)
    result
        = compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot use the pipe to the runner: %s", strerror (errno));
  if (result == 0)
    result = shake_hands (runner, options, err);
  if (result == 0 && runner->lease_ms > 0)
    result = pinger_start (runner, err);
  if (result != 0)
    {
      compute_runner_close (runner);
      return result;
    }
  *ret_runner = runner;
  return 0;
}

void
compute_runner_close (struct compute_runner *runner)
{
  if (runner == NULL)
    return;
  pinger_end (runner);
  close_fd (runner->read_fd);
  if (runner->write_fd != runner->read_fd)
    close_fd (runner->write_fd);
  calls_free (runner);
  pthread_mutex_destroy (&runner->control_lock);
  pthread_mutex_destroy (&runner->write_lock);
  pthread_mutex_destroy (&runner->lock);
  free (runner->in);
  free (runner);
}

int
compute_runner_check (struct compute_runner *runner, struct compute_error *err)
{
  int broken;

  pthread_mutex_lock (&runner->lock);
  if (runner->leader == NULL && runner->broken == 0)
    receive (runner);
  broken = runner->broken;
  pthread_mutex_unlock (&runner->lock);
  return broken != 0 ? call_lost (runner, COMPUTE_E_LOST, "it cannot be used any more", err) : 0;
}

int64_t
compute_runner_pid (const struct compute_runner *runner)
{
  return runner->pid;
}
