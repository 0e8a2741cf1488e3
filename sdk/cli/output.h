/* SPDX-License-Identifier: MIT */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <compute/error.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Everything compute writes goes through here, unbuffered. fd is 1 or 2. Waits while a reader is slow, but not after a
 * signal has asked compute to end. Errors: SYSTEM, CANCELLED. */
int output_write (int fd, const void *data, uint64_t bytes, struct compute_error *err);

/* For people: control characters and what is no UTF-8 become \xNN, so that no name from a file, an engine or a
 * container can play with the terminal. */
char *output_printable (const char *text);

#endif
