/* SPDX-License-Identifier: MIT */

/* The ELF and note reader: whatever the bytes are, it ends, stays inside them, and what it gives can be read. */
#include "elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count);

static size_t
read_texts (const struct elf_list *list)
{
  size_t length = 0;

  for (size_t i = 0; i < list->count; i++)
    length += strlen (list->items[i]);
  return length;
}

static void
check (const struct elf_file *elf)
{
  size_t length = read_texts (&elf->needed) + read_texts (&elf->exports) + read_texts (&elf->undefined)
                  + read_texts (&elf->versions) + strlen (elf->build_id) + strlen (elf->note.name)
                  + strlen (elf->fault);

  for (size_t i = 0; i < elf->wanted_count; i++)
    length += strlen (elf->wanted[i].file) + strlen (elf->wanted[i].name);
  for (size_t i = 1; i < elf->exports.count; i++)
    if (strcmp (elf->exports.items[i - 1], elf->exports.items[i]) > 0)
      abort ();
  for (size_t i = 0; i < elf->exports.count; i++)
    if (!elf_list_has (&elf->exports, elf->exports.items[i]))
      abort ();
  if ((elf->reason == REASON_NONE) != (elf->fault[0] == '\0') || length > (size_t) 1 << 40)
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count)
{
  int fd = memfd_create ("elf", MFD_CLOEXEC);
  struct elf_file elf;

  if (fd < 0 || write (fd, bytes, count) != (ssize_t) count)
    abort ();
  elf_file_read (&elf, fd, count);
  check (&elf);
  elf_file_clear (&elf);
  close (fd);
  return 0;
}
