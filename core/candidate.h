/* SPDX-License-Identifier: MIT */
#ifndef CORE_CANDIDATE_H
#define CORE_CANDIDATE_H

#include "elf_file.h"
#include "folder.h"
#include "libraries.h"
#include "text.h"

/* How much of a file is looked at. */
enum depth
{
  DEPTH_FILE,      /* the file alone: enough to load it */
  DEPTH_LIBRARIES, /* the libraries and versions it wants too */
  DEPTH_SYMBOLS    /* and every symbol */
};

/* One look at a number of files. Not for two threads at once. */
struct inspection
{
  struct compute_registry *registry;
  enum depth depth;
  struct libraries *libraries; /* made when first needed */
  compute_check_fn check;      /* hears of every check; may be NULL */
  void *user;
  int stopped; /* what check returned to end it */
};

void inspection_clear (struct inspection *inspection);

/* A file that may be a provider. */
struct candidate
{
  struct compute_candidate view; /* its texts belong to this struct */
  gboolean loadable;             /* worth a dlopen: nothing is wrong, or only what our own search for libraries says */
  enum reason reason;
  char name[NAME_BYTES]; /* "": none can be told */
  char *path;
  char *real; /* without links */
  char *message;
  struct elf_file elf;
  GArray *wants;  /* struct want */
  GArray *needed; /* struct compute_needed */
  GPtrArray *undefined;
};

/* Looks at the file of that name in a folder of the search, or at any path with folder == NULL. Runs none of its code.
 */
struct candidate *candidate_new (struct inspection *inspection, const struct folder *folder, const char *name);
void candidate_free (gpointer candidate);

/* Changes the verdict; message is taken. */
void candidate_set (struct candidate *candidate, enum compute_candidate_state state, enum reason reason, char *message);

#endif
