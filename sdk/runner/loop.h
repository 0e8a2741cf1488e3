/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_LOOP_H
#define RUNNER_LOOP_H

/* The runner's one loop: descriptors, timers, signals. Everything runs in it, one thing at a time. */

#include <stdint.h>

/* Part of a larger object, which ready() finds by its address. ready() may end and free any watch, its own included. */
struct watch
{
  int fd;          /* -1: none */
  uint32_t events; /* what the kernel was told: EPOLLIN, EPOLLOUT; 0: nothing, not even a hang-up */
  void (*ready) (struct watch *watch, uint32_t events);
};

struct timer
{
  int64_t at_us; /* by clock.h; CLOCK_NEVER: not set */
  void (*fire) (struct timer *timer);
  struct timer *next;
};

/* The object that holds a member. */
#define LOOP_OBJECT(type, member, pointer) ((type *) (void *) ((char *) (pointer) -offsetof (type, member)))

/* Blocks every signal; those the runner acts on come through the loop. Returns 0, or -1 with errno. */
int loop_open (void (*signalled) (int number));

/* Sets what is waited for. Returns 0, or -1 with errno (EPERM: a regular file). */
int loop_watch (struct watch *watch, uint32_t events);

/* Stops waiting for it and closes its descriptor. */
void loop_close (struct watch *watch);

/* A timer stays known until loop_forget; only at_us changes. */
void loop_timer (struct timer *timer);
void loop_forget (struct timer *timer);

/* One round: waits, then calls what is ready and due. */
void loop_round (void);

#endif
