/* SPDX-License-Identifier: MIT */
#include "elf_file.h"

#include <link.h>
#include <string.h>

/* The linker puts this at the first byte of every library and program that has its headers loaded, as all have. */
extern const ElfW (Ehdr) __ehdr_start __attribute__ ((visibility ("hidden")));

struct elf_kind
elf_kind_of_process (void)
{
  return (struct elf_kind){
    .bits = __ehdr_start.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
    .big_endian = __ehdr_start.e_ident[EI_DATA] == ELFDATA2MSB,
    .machine = __ehdr_start.e_machine,
  };
}

const char *
elf_machine_name (uint16_t machine)
{
  switch (machine)
    {
    case EM_386:
      return "i386";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "arm";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    case EM_MIPS:
      return "mips";
    default:
      return NULL;
    }
}
