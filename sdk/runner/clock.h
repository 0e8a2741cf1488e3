/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_CLOCK_H
#define RUNNER_CLOCK_H

/* The one clock of all deadlines: monotonic, in microseconds. */

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

int64_t clock_us (void);

/* The moment so many milliseconds from now; CLOCK_NEVER when that is past the end of time. */
int64_t clock_after_ms (int64_t ms);

#endif
