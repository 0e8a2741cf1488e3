/* SPDX-License-Identifier: MIT */
#include "env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry
{
  const char *name;
  const char *value;
  uint32_t name_bytes;
  uint32_t value_bytes;
  uint32_t order; /* as given: of one name, the later wins */
};

static int
compare_name (const void *left, const void *right)
{
  const struct entry *a = left;
  const struct entry *b = right;
  uint32_t shorter = a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes;
  int result = memcmp (a->name, b->name, shorter);

  if (result == 0 && a->name_bytes != b->name_bytes)
    result = a->name_bytes < b->name_bytes ? -1 : 1;
  if (result == 0)
    result = a->order < b->order ? -1 : 1;
  return result;
}

static int
compare_order (const void *left, const void *right)
{
  return ((const struct entry *) left)->order < ((const struct entry *) right)->order ? -1 : 1;
}

static int
same_name (const struct entry *a, const struct entry *b)
{
  return a->name_bytes == b->name_bytes && memcmp (a->name, b->name, a->name_bytes) == 0;
}

/* Leaves the last of each name, in the order given. Sorting keeps it quick for lists of any size. */
static size_t
merge (struct entry *entries, size_t count)
{
  size_t kept = 0;

  qsort (entries, count, sizeof *entries, compare_name);
  for (size_t i = 0; i < count; i++)
    if (i + 1 == count || !same_name (&entries[i], &entries[i + 1]))
      entries[kept++] = entries[i];
  qsort (entries, kept, sizeof *entries, compare_order);
  return kept;
}

/* The block's strings as entries. */
static void
split_block (const struct env *block, struct entry *entries)
{
  const char *text = (const char *) block->text.bytes;

  for (uint32_t i = 0; i < block->count; i++)
    {
      size_t name_bytes = strcspn (text, "=");
      const char *value = text + name_bytes + 1;

      entries[i] = (struct entry){ text, value, (uint32_t) name_bytes, (uint32_t) strlen (value), i };
      text = value + strlen (value) + 1;
    }
}

static int
read_entries (struct reader *reader, uint32_t count, struct entry *entries, uint32_t order, struct compute_error *err)
{
  int result = 0;

  for (uint32_t i = 0; i < count; i++)
    {
      struct entry *entry = &entries[i];

      entry->name = reader_string (reader, &entry->name_bytes);
      entry->value = reader_string (reader, &entry->value_bytes);
      entry->order = order + i;
      if (reader->failed || result != 0)
        continue; /* the list is read to its end, for what comes after it */
      if (entry->name_bytes == 0 || memchr (entry->name, '=', entry->name_bytes) != NULL)
        result = compute_error_set (err, COMPUTE_E_INVALID, 0, "'%.*s' cannot be the name of an environment variable",
                                    entry->name_bytes < 100 ? (int) entry->name_bytes : 100, entry->name);
    }
  return reader->failed ? 0 : result;
}

static void
write_entries (const struct entry *entries, size_t count, struct env *to)
{
  size_t bytes = 0;

  for (size_t i = 0; i < count; i++)
    bytes += (size_t) entries[i].name_bytes + 1 + entries[i].value_bytes + 1;
  writer_expect (&to->text, bytes);
  for (size_t i = 0; i < count; i++)
    {
      writer_bytes (&to->text, entries[i].name, entries[i].name_bytes);
      writer_u8 (&to->text, '=');
      writer_bytes (&to->text, entries[i].value, entries[i].value_bytes);
      writer_u8 (&to->text, '\0');
    }
  to->count += (uint32_t) count;
}

/* The usual case: nothing is sorted. */
static void
copy_block (const struct env *base, struct env *to)
{
  writer_bytes (&to->text, base->text.bytes, base->text.count);
  to->count += base->count;
}

static int
read_and_merge (struct reader *reader, uint32_t listed, const struct env *base, struct env *to,
                struct compute_error *err)
{
  uint32_t count = base != NULL ? base->count : 0;
  struct entry *entries = malloc (((size_t) count + listed) * sizeof *entries);
  int result;

  if (entries == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the environment");
  if (base != NULL)
    split_block (base, entries);
  result = read_entries (reader, listed, entries + count, count, err);
  if (result == 0 && !reader->failed)
    write_entries (entries, merge (entries, (size_t) count + listed), to);
  free (entries);
  return result;
}

int
env_read (struct reader *reader, const struct env *base, struct env *to, struct compute_error *err)
{
  uint32_t listed = reader_count (reader, 8);
  int result = 0;

  if (listed > 0)
    result = read_and_merge (reader, listed, base, to, err);
  else if (base != NULL && !reader->failed)
    copy_block (base, to);
  if (result == 0 && to->text.failed)
    result = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the environment");
  return result;
}

/* A string without a name and "=" is no variable. */
static int
is_variable (const char *text)
{
  size_t name_bytes = strcspn (text, "=");

  return name_bytes > 0 && text[name_bytes] == '=';
}

int
env_own (struct env *to, struct compute_error *err)
{
  size_t bytes = 0;

  for (char **at = environ; *at != NULL; at++)
    bytes += strlen (*at) + 1;
  writer_expect (&to->text, bytes);
  for (char **at = environ; *at != NULL; at++)
    if (is_variable (*at))
      {
        writer_bytes (&to->text, *at, strlen (*at) + 1);
        to->count++;
      }
  return to->text.failed ? compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the environment") : 0;
}
