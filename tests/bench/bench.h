/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <stddef.h>

/* Every figure of speed is a ratio to a floor measured in the same run, in turn with what it is compared to. Programs
 * print one line a figure and exit with 1 when one is over its limit. */

/* Microseconds to start a program with two pipes, read both to their end and wait for it; the floor is that of sh -c
 * true. Ends the benchmark when the program does not exit with 0. */
double bench_spawn_us (const char *const *argv);
extern const char *const bench_floor_argv[];

/* Sorts the samples. */
double bench_median (double *samples, size_t count);

double bench_now_us (void);

/* Prints "NAME: value unit = ratio x floor, at most limit" and returns 1 when the ratio is over the limit, else 0. */
int bench_report (const char *name, double value_us, double floor_us, double limit);

#endif
