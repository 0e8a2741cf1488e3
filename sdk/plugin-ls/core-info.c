/* SPDX-License-Identifier: MIT */
#include "core-info.h"

#include <compute/compute.h>
#include <dlfcn.h>
#include <elf.h>
#include <glib.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The linker's name for the header of this very program, which is of the machine that it was built for. */
extern const ElfW (Ehdr) __ehdr_start __attribute__ ((visibility ("hidden")));

void
machine_word (uint32_t machine, char word[32])
{
  static const struct
  {
    uint32_t machine;
    const char *word;
  } words[] = {
    { EM_X86_64, "x86-64" }, { EM_AARCH64, "aarch64" }, { EM_386, "i386" },   { EM_ARM, "arm" },
    { EM_RISCV, "riscv" },   { EM_PPC64, "ppc64" },     { EM_S390, "s390x" }, { EM_MIPS, "mips" },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (words); i++)
    if (words[i].machine == machine)
      {
        g_strlcpy (word, words[i].word, 32);
        return;
      }
  g_snprintf (word, 32, "machine %u", machine);
}

void
core_info_init (struct core_info *core)
{
  Dl_info where;
  char *path = NULL;

  core->version = compute_version ();
  g_snprintf (core->abi, sizeof core->abi, "%d.%d", COMPUTE_ABI_MAJOR, COMPUTE_ABI_MINOR);
#ifdef _CS_GNU_LIBC_VERSION
  confstr (_CS_GNU_LIBC_VERSION, core->libc, sizeof core->libc); /* "glibc 2.36" */
#else
  g_strlcpy (core->libc, "musl", sizeof core->libc);
#endif
  machine_word (__ehdr_start.e_machine, core->arch);
  if (dladdr ((const void *) compute_version, &where) != 0 && where.dli_fname != NULL)
    path = realpath (where.dli_fname, NULL);
  core->path = g_strdup (path != NULL ? path : "libcompute.so");
  free (path);
  core->secure = getauxval (AT_SECURE) != 0;
}

void
core_info_clear (struct core_info *core)
{
  g_free (core->path);
}
