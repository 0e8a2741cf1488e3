/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_PROTOCOL_H
#define COMPUTE_PROTOCOL_H

/* The wire between the client kit and the runner; PROTOCOL.md is its description. */

#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_MAGIC "CRUN"
#define PROTOCOL_VERSION 1u
#define FRAME_HEADER_BYTES 12u
#define FRAME_PAYLOAD_MAX (64u * 1024)
#define FRAME_MESSAGE_MAX (64u * 1024 * 1024) /* CONFIGURE or START put together from MORE frames */
#define FRAME_MORE 1u
#define STDIN_FIRST_WINDOW (256u * 1024)

enum frame_type
{
  FRAME_HELLO = 1,
  FRAME_CONFIGURE = 2,
  FRAME_START = 3,
  FRAME_STDIN = 4,
  FRAME_STDIN_END = 5,
  FRAME_WINDOW = 6,
  FRAME_SIGNAL = 7,
  FRAME_CANCEL = 8,
  FRAME_PING = 9,
  FRAME_SHUTDOWN = 10,
  FRAME_WELCOME = 65,
  FRAME_CONFIGURED = 66,
  FRAME_STDOUT = 68,
  FRAME_STDERR = 69,
  FRAME_STDIN_WINDOW = 70,
  FRAME_EXIT = 71,
  FRAME_FAILED = 72,
  FRAME_PONG = 73,
  FRAME_BYE = 74
};

enum start_kind
{
  START_SHELL = 1,
  START_ARGV = 2,
  START_PUT = 3,
  START_GET = 4
};

struct frame
{
  uint32_t length; /* of payload */
  uint8_t type;    /* enum frame_type, or unknown */
  uint8_t flags;
  uint32_t id;
  const unsigned char *payload; /* in the reader's buffer */
};

/* Writes a header of FRAME_HEADER_BYTES. */
void frame_put_header (unsigned char *to, uint8_t type, uint8_t flags, uint32_t id, uint32_t length);

/* Looks for a whole frame at the start of bytes. Returns 1 and fills *ret_frame; 0 when more bytes are needed; -1 when
 * this can be no frame (too long, unknown flag, reserved bits set). */
int frame_parse (const unsigned char *bytes, size_t count, struct frame *ret_frame);

/* Reads fields one after another; after the first that does not fit, failed is set and all give zero or "". */
struct reader
{
  const unsigned char *at;
  const unsigned char *end;
  int failed;
};

void reader_init (struct reader *reader, const void *bytes, size_t count);
uint8_t reader_u8 (struct reader *reader);
uint32_t reader_u32 (struct reader *reader);
uint64_t reader_u64 (struct reader *reader);

/* A str: its bytes (not NUL-terminated) and their number. Fails on a NUL inside. */
const char *reader_string (struct reader *reader, uint32_t *ret_bytes);

/* How many items a list has; fails when they could not fit in what is left at item_bytes_min each. */
uint32_t reader_count (struct reader *reader, size_t item_bytes_min);

/* 1 when nothing failed and nothing is left. */
int reader_done (const struct reader *reader);

/* A growing byte buffer; failed is set when memory ran out, and further writes do nothing. */
struct writer
{
  unsigned char *bytes;
  size_t count;
  size_t room;
  int borrowed; /* bytes is the caller's array */
  int failed;
};

/* A writer that takes memory only for what the array has no room for: most frames are short. */
#define WRITER_ON(array) ((struct writer){ .bytes = (array), .room = sizeof (array), .borrowed = 1 })

void writer_u8 (struct writer *writer, uint8_t value);
void writer_u32 (struct writer *writer, uint32_t value);
void writer_u64 (struct writer *writer, uint64_t value);
void writer_bytes (struct writer *writer, const void *bytes, size_t count);
void writer_string (struct writer *writer, const char *text, size_t count);

/* Makes room for count more bytes at once. */
void writer_expect (struct writer *writer, size_t count);

void writer_free (struct writer *writer);

#endif
