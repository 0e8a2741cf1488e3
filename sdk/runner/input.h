/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_INPUT_H
#define RUNNER_INPUT_H

/* A command's standard input: what the host sends waits here until the pipe takes it. */

#include "loop.h"
#include "protocol.h"

struct input
{
  struct watch watch;  /* fd -1: there is none, or the command has closed its end */
  struct writer bytes; /* to be written from head on */
  size_t head;
  int framed;          /* each frame's length goes before it and 0 after the last, so that a cut is told from the end */
  int ended;           /* STDIN_END came */
  uint64_t uncredited; /* bytes of the window that the host has used up */
  void (*moved) (struct input *input); /* uncredited may have become worth telling */
};

void input_open (struct input *input, int write_fd, int framed, void (*moved) (struct input *input));

/* Takes a frame's bytes. Returns 0, or -1 when they are more than the window allowed, or come after the end. */
int input_add (struct input *input, const unsigned char *bytes, size_t count);

/* Returns 0, or -1 when the end comes a second time. */
int input_end (struct input *input);

/* How much the host may be told to send again; it then counts as told. */
uint64_t input_take_credit (struct input *input);

void input_close (struct input *input);

#endif
