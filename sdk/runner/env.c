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

/* The block's strings as entries; one without "=" is no variable and is left out. */
static size_t
split_block (const struct env *block, struct entry *entries)
{
  const char *text = (const char *) block->text.bytes;
  size_t used = 0;

  for (uint32_t i = 0; i < block->count; i++, text += strlen (text) + 1)
    {
      size_t name_bytes = strcspn (text, "=");
      const char *value = text + name_bytes + 1;

      if (name_bytes == 0 || text[name_bytes] == '\0')
        continue;
      entries[used] = (struct entry){ text, value, (uint32_t) name_bytes, (uint32_t) strlen (value), (uint32_t) used };
      used++;
    }
  return used;
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
  for (size_t i = 0; i < count; i++)
    {
      writer_bytes (&to->text, entries[i].name, entries[i].name_bytes);
      writer_u8 (&to->text, '=');
      writer_bytes (&to->text, entries[i].value, entries[i].value_bytes);
      writer_u8 (&to->text, '\0');
    }
  to->count += (uint32_t) count;
}

int
env_read (struct reader *reader, const struct env *base, struct env *to, struct compute_error *err)
{
  uint32_t listed = reader_count (reader, 8);
  struct entry *entries;
  size_t count;
  int result;

  if (reader->failed)
    return 0;
  entries = malloc (((size_t) (base != NULL ? base->count : 0) + listed + 1) * sizeof *entries);
  if (entries == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the environment");
  count = base != NULL ? split_block (base, entries) : 0;
  result = read_entries (reader, listed, entries + count, (uint32_t) count, err);
  count += listed;
  if (result == 0 && !reader->failed)
    write_entries (entries, listed > 0 ? merge (entries, count) : count, to);
  free (entries);
  if (result == 0 && to->text.failed)
    result = compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the environment");
  return result;
}

int
env_own (struct env *to, struct compute_error *err)
{
  for (char **at = environ; *at != NULL; at++, to->count++)
    writer_bytes (&to->text, *at, strlen (*at) + 1);
  return to->text.failed ? compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the environment") : 0;
}
