/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CREDIT_STEP (STDIN_FIRST_WINDOW / 4)

static size_t
left (const struct input *input)
{
  return input->bytes.count - input->head;
}

/* The reader is gone, or everything is written: what is there and what still comes is dropped. */
static void
close_pipe (struct input *input)
{
  loop_close (&input->watch);
  writer_free (&input->bytes);
  input->head = 0;
}

static void
write_some (struct input *input)
{
  while (input->watch.fd >= 0 && left (input) > 0)
    {
      ssize_t count = write (input->watch.fd, input->bytes.bytes + input->head, left (input));

      if (count >= 0)
        input->head += (size_t) count;
      else if (errno == EAGAIN)
        break;
      else if (errno != EINTR)
        close_pipe (input);
    }
  if (left (input) == 0)
    input->head = input->bytes.count = 0;
  if (input->ended && left (input) == 0)
    close_pipe (input);
  if (input->watch.fd >= 0)
    (void) loop_watch (&input->watch, left (input) > 0 ? EPOLLOUT : 0);
}

static void
input_ready (struct watch *watch, uint32_t events)
{
  struct input *input = LOOP_OBJECT (struct input, watch, watch);

  (void) events;
  write_some (input);
  input->moved (input);
}

void
input_open (struct input *input, int write_fd, int framed, void (*moved) (struct input *input))
{
  input->watch.fd = write_fd;
  input->watch.ready = input_ready;
  input->framed = framed;
  input->moved = moved;
}

/* Moves what is left to the front when that is cheap, so that the buffer stays about as large as the window. */
static void
compact (struct input *input)
{
  if (input->head < left (input))
    return;
  memcpy (input->bytes.bytes, input->bytes.bytes + input->head, left (input));
  input->bytes.count = left (input);
  input->head = 0;
}

int
input_add (struct input *input, const unsigned char *bytes, size_t count)
{
  if (input->ended || input->uncredited + count > STDIN_FIRST_WINDOW)
    return -1;
  input->uncredited += count;
  if (input->watch.fd < 0 || count == 0)
    return 0;
  if (input->head > 0)
    compact (input);
  if (input->framed)
    writer_u32 (&input->bytes, (uint32_t) count);
  writer_bytes (&input->bytes, bytes, count);
  if (input->bytes.failed)
    return -1;
  write_some (input);
  return 0;
}

int
input_end (struct input *input)
{
  if (input->ended)
    return -1;
  input->ended = 1;
  if (input->framed && input->watch.fd >= 0)
    writer_u32 (&input->bytes, 0);
  write_some (input);
  return 0;
}

uint64_t
input_take_credit (struct input *input)
{
  uint64_t waiting = left (input);
  uint64_t credit = input->uncredited > waiting ? input->uncredited - waiting : 0;

  if (credit < CREDIT_STEP || input->ended)
    return 0;
  input->uncredited -= credit;
  return credit;
}

void
input_close (struct input *input)
{
  close_pipe (input);
}
