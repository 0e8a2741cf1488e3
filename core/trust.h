/* SPDX-License-Identifier: MIT */
#ifndef CORE_TRUST_H
#define CORE_TRUST_H

#include <glib.h>
#include <sys/stat.h>

/**
 * trust.h: who else could put a file where we are about to load one from.
 *
 * Where no other user can write to a folder or to any folder on the way to it, nobody can exchange files in it, so that
 * a look at the folders is not racy, while a look at the file alone is. Root and the effective user are trusted.
 */

/* What a path leads to. */
struct walk
{
  int sys_errno;  /* 0, or why it leads nowhere */
  char *real;     /* without links; NULL after an error. Owned */
  char *distrust; /* the first thing on the way that others can change, in words; NULL: none. Owned */
};

/* Follows an absolute path link by link and looks at every folder on the way, the last one included. */
void walk_path (struct walk *walk, const char *path);
void walk_clear (struct walk *walk);

/* Why others can change what was found at path, to be freed; NULL: they cannot. */
char *distrust_of (const struct stat *found, const char *path);

/* True when what others can change must not be loaded at all: as root, or with raised privileges. */
gboolean trust_is_strict (void);

#endif
