/* SPDX-License-Identifier: MIT */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <compute/error.h>
#include <stdbool.h>

/* "1.5" seconds as milliseconds. Digits with at most one point: no sign, no exponent, no "nan". What is more than 0 is
 * at least 1 ms, since 0 means no limit. */
int value_seconds (const char *option, const char *text, int64_t *ret_ms, struct compute_error *err);

/* "14" or "0.5" days as milliseconds, written as seconds are. */
int value_days (const char *option, const char *text, int64_t *ret_ms, struct compute_error *err);

/* "65536", "64K", "10M", "1G" (powers of 1024) as bytes. */
int value_bytes (const char *option, const char *text, int64_t *ret_bytes, struct compute_error *err);

#endif
