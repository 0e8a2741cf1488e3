/* SPDX-License-Identifier: MIT */
#ifndef CORE_LIBRARIES_H
#define CORE_LIBRARIES_H

#include "elf_file.h"

#include <glib.h>

/**
 * libraries.h: finds the libraries that a file wants, as the dynamic linker would, without loading any: those of the
 * process, RPATH, LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.conf, the linker's own folders. What was found is remembered, so
 * that a thousand providers cost little more than one. Not for two threads at once.
 */

struct libraries;

struct library
{
  char *path;
  dev_t dev;
  ino_t ino;
  gboolean loaded;     /* in this process already, with all it wants */
  struct elf_file elf; /* as far as it could be read */
  gboolean read;
};

/* One library wanted, by the file itself or by another library. */
struct want
{
  const char *name;
  const char *wanted_by;       /* a path */
  const struct library *found; /* NULL: not found */
};

struct libraries *libraries_new (void);
void libraries_free (struct libraries *libraries);

/* All that a file wants, directly and through others, breadth first: those of elf->needed come first, in its order.
 * Elements are struct want, valid as long as both elf and libraries live. */
GArray *libraries_find (struct libraries *libraries, const struct elf_file *elf, const char *path);

/* The library found for that name; NULL: none. */
const struct library *wants_find (const GArray *wants, const char *name);

/* The library's ELF file; read when first asked for. */
const struct elf_file *library_elf (const struct library *library);

/* How many folders a search for that file's libraries looks into. */
guint libraries_count_folders (struct libraries *libraries, const struct elf_file *elf);

#endif
