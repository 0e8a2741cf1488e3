/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_CORE_INFO_H
#define PLUGIN_LS_CORE_INFO_H

#include <stdbool.h>
#include <stdint.h>

/* The core that this program runs with. */
struct core_info
{
  const char *version;
  char abi[16];  /* "1.0" */
  char libc[32]; /* "glibc 2.36" */
  char arch[32]; /* "x86-64" */
  char *path;    /* of libcompute, without links */
  bool secure;   /* raised privileges: neither the environment, the user's folder nor a cache counts */
};

void core_info_init (struct core_info *core);
void core_info_clear (struct core_info *core);

/* "x86-64" for EM_X86_64; "machine 243" for one without a word here. */
void machine_word (uint32_t machine, char word[32]);

#endif
