/* SPDX-License-Identifier: MIT */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

static void
store_u32 (unsigned char *to, uint32_t value)
{
  for (int i = 0; i < 4; i++)
    to[i] = (unsigned char) (value >> (8 * i));
}

static uint64_t
load (const unsigned char *from, size_t bytes)
{
  uint64_t value = 0;

  for (size_t i = 0; i < bytes; i++)
    value |= (uint64_t) from[i] << (8 * i);
  return value;
}

void
frame_put_header (unsigned char *to, uint8_t type, uint8_t flags, uint32_t id, uint32_t length)
{
  store_u32 (to, length);
  to[4] = type;
  to[5] = flags;
  to[6] = to[7] = 0;
  store_u32 (to + 8, id);
}

int
frame_parse (const unsigned char *bytes, size_t count, struct frame *ret_frame)
{
  uint32_t length;

  if (count < FRAME_HEADER_BYTES)
    return 0;
  length = (uint32_t) load (bytes, 4);
  if (length > FRAME_PAYLOAD_MAX || (bytes[5] & ~FRAME_MORE) != 0 || bytes[6] != 0 || bytes[7] != 0)
    return -1;
  if (count - FRAME_HEADER_BYTES < length)
    return 0;
  ret_frame->length = length;
  ret_frame->type = bytes[4];
  ret_frame->flags = bytes[5];
  ret_frame->id = (uint32_t) load (bytes + 8, 4);
  ret_frame->payload = bytes + FRAME_HEADER_BYTES;
  return 1;
}

void
reader_init (struct reader *reader, const void *bytes, size_t count)
{
  reader->at = bytes;
  reader->end = reader->at + count;
  reader->failed = 0;
}

/* The next count bytes, or NULL. */
static const unsigned char *
reader_take (struct reader *reader, size_t count)
{
  const unsigned char *at = reader->at;

  if (reader->failed || (size_t) (reader->end - at) < count)
    {
      reader->failed = 1;
      return NULL;
    }
  reader->at += count;
  return at;
}

static uint64_t
reader_number (struct reader *reader, size_t bytes)
{
  const unsigned char *at = reader_take (reader, bytes);

  return at != NULL ? load (at, bytes) : 0;
}

uint8_t
reader_u8 (struct reader *reader)
{
  return (uint8_t) reader_number (reader, 1);
}

uint32_t
reader_u32 (struct reader *reader)
{
  return (uint32_t) reader_number (reader, 4);
}

uint64_t
reader_u64 (struct reader *reader)
{
  return reader_number (reader, 8);
}

const char *
reader_string (struct reader *reader, uint32_t *ret_bytes)
{
  uint32_t count = reader_u32 (reader);
  const unsigned char *at = reader_take (reader, count);

  if (at == NULL || memchr (at, '\0', count) != NULL)
    {
      reader->failed = 1;
      *ret_bytes = 0;
      return "";
    }
  *ret_bytes = count;
  return (const char *) at;
}

uint32_t
reader_count (struct reader *reader, size_t item_bytes_min)
{
  uint32_t count = reader_u32 (reader);

  if (reader->failed || count > (size_t) (reader->end - reader->at) / item_bytes_min)
    {
      reader->failed = 1;
      return 0;
    }
  return count;
}

int
reader_done (const struct reader *reader)
{
  return !reader->failed && reader->at == reader->end;
}

static void
grow (struct writer *writer, size_t room)
{
  unsigned char *bytes = realloc (writer->borrowed ? NULL : writer->bytes, room);

  if (bytes == NULL)
    {
      writer->failed = 1;
      return;
    }
  if (writer->borrowed && writer->count > 0)
    memcpy (bytes, writer->bytes, writer->count);
  writer->bytes = bytes;
  writer->room = room;
  writer->borrowed = 0;
}

void
writer_expect (struct writer *writer, size_t count)
{
  size_t room = writer->room > 0 ? writer->room : 256;

  while (room - writer->count < count)
    room *= 2;
  if (room != writer->room && !writer->failed)
    grow (writer, room);
}

static unsigned char *
writer_reserve (struct writer *writer, size_t count)
{
  writer_expect (writer, count);
  if (writer->failed)
    return NULL;
  writer->count += count;
  return writer->bytes + writer->count - count;
}

static void
writer_number (struct writer *writer, uint64_t value, size_t bytes)
{
  unsigned char *to = writer_reserve (writer, bytes);

  for (size_t i = 0; to != NULL && i < bytes; i++)
    to[i] = (unsigned char) (value >> (8 * i));
}

void
writer_u8 (struct writer *writer, uint8_t value)
{
  writer_number (writer, value, 1);
}

void
writer_u32 (struct writer *writer, uint32_t value)
{
  writer_number (writer, value, 4);
}

void
writer_u64 (struct writer *writer, uint64_t value)
{
  writer_number (writer, value, 8);
}

void
writer_bytes (struct writer *writer, const void *bytes, size_t count)
{
  unsigned char *to = writer_reserve (writer, count);

  if (to != NULL && count > 0)
    memcpy (to, bytes, count);
}

void
writer_string (struct writer *writer, const char *text, size_t count)
{
  writer_u32 (writer, (uint32_t) count);
  writer_bytes (writer, text, count);
}

void
writer_free (struct writer *writer)
{
  if (!writer->borrowed)
    free (writer->bytes);
  *writer = (struct writer){ 0 };
}
