/* SPDX-License-Identifier: MIT */
#ifndef CORE_BYTES_H
#define CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of up to 8 bytes, at any alignment, in the byte order of its file. */
static inline uint64_t
bytes_get (const unsigned char *from, size_t count, bool big_endian)
{
  uint64_t value = 0;

  for (size_t i = 0; i < count; i++)
    value |= (uint64_t) from[i] << 8 * (big_endian ? count - 1 - i : i);
  return value;
}

#endif
