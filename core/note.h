/* SPDX-License-Identifier: MIT */
#ifndef CORE_NOTE_H
#define CORE_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A provider's note, decoded. The C library alone: it reads untrusted bytes and is fuzzed without the rest. */
struct note
{
  uint32_t count;    /* of our notes in the file; 0: the rest is zero */
  const char *fault; /* why it is no good; NULL when it is. Static storage */
  uint16_t abi_major;
  uint16_t abi_minor_built;
  uint16_t abi_minor_required;
  uint64_t capabilities;
  char name[65];
  const char *version; /* the details, UTF-8; NULL where not stated */
  const char *vendor;
  const char *license;
  const char *url;
  char *details; /* owned; holds the texts above */
};

/* Decodes a note's description: the fixed part of struct compute_note and the details. */
void note_read (struct note *note, const unsigned char *bytes, size_t count, bool big_endian);
void note_clear (struct note *note);

#endif
