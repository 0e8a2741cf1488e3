/* SPDX-License-Identifier: MIT */
#ifndef CORE_ELF_FILE_H
#define CORE_ELF_FILE_H

#include "note.h"
#include "reason.h"

/**
 * elf_file.h: what an ELF file says about itself, read through a descriptor with every offset checked, never mapped and
 * never run. Both word sizes and both byte orders. The C library alone: it reads untrusted bytes and is fuzzed without
 * the rest.
 */

/* A symbol version that a file wants of another. */
struct elf_version
{
  const char *file; /* as in needed */
  const char *name;
  bool weak;
};

struct elf_list
{
  const char **items;
  size_t count;
};

struct elf_file
{
  enum reason reason; /* the first thing wrong with it; REASON_NONE: nothing */
  char fault[128];    /* in words */

  uint32_t bits; /* 32 or 64; 0: no ELF file, and the rest is zero */
  bool big_endian;
  uint16_t type;
  uint16_t machine;
  bool exec_stack;
  bool static_tls;
  struct note note;
  char build_id[129]; /* hexadecimal; "": none */

  /* From the dynamic section; texts point into strings. NULL: not stated. */
  const char *soname;
  const char *runpath;
  const char *rpath;
  struct elf_list needed;
  struct elf_list exports;   /* defined and visible to others, sorted */
  struct elf_list undefined; /* wanted of others, weak ones left out */
  struct elf_list versions;  /* defined */
  struct elf_version *wanted;
  size_t wanted_count;

  char *strings; /* owned, string_bytes long with a NUL after it */
  uint64_t string_bytes;
};

/* Reads a file of that many bytes. Fills as much of *elf as can be read, also of a broken file or one for another
 * machine. Free with elf_file_clear. Returns false when elf->reason is set. */
bool elf_file_read (struct elf_file *elf, int fd, uint64_t file_bytes);
void elf_file_clear (struct elf_file *elf);

bool elf_list_has (const struct elf_list *sorted, const char *item);

/* What a library must be made for, to be loaded into this process. */
struct elf_kind
{
  uint32_t bits;
  bool big_endian;
  uint16_t machine;
};
struct elf_kind elf_kind_of_process (void);

/* "x86-64", or NULL for a processor that has no name here. */
const char *elf_machine_name (uint16_t machine);

#endif
