/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_FILES_H
#define RUNNER_FILES_H

/* The two commands that are no programs: a file in, a file out. Each runs in a process of its own, like any other. */

#include <compute/error.h>

/* Makes a file of what comes on descriptor 0 (chunks: u32 length, bytes; a length of 0 is the end, and anything else
 * that ends the input is not). The file appears whole, with mode, or not at all. Call with all signals blocked. */
int files_put (const char *path, uint32_t mode, struct compute_error *err);

/* Writes u32 mode, u64 size and the file's bytes to descriptor 1. */
int files_get (const char *path, struct compute_error *err);

#endif
