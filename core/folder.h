/* SPDX-License-Identifier: MIT */
#ifndef CORE_FOLDER_H
#define CORE_FOLDER_H

#include "registry.h"
#include "trust.h"

#define CANDIDATE_PREFIX "compute-provider-"
#define CANDIDATE_SUFFIX ".so"
/* Of one folder; the rest is left out, with a warning. */
#define CANDIDATES_MAX 4096

/* A look at one element of the search. */
struct folder
{
  struct compute_folder view; /* path and why belong to this struct or to the place */
  int fd;                     /* -1 where it is no folder that is searched */
  struct walk walk;
  gboolean vouched; /* somebody answers for it: what others can change there is loaded all the same */
  GPtrArray *names; /* of the candidates, sorted; one absolute path for COMPUTE_FOLDER_FILE; none where not searched */
  char *why;
};

/* Goes through the search of a registry; a frozen one has none.
 *
 *   struct search search;
 *
 *   search_begin (&search, registry);
 *   while (search_next (&search))
 *     use (search.folder);
 *   search_end (&search);
 */
struct search
{
  struct compute_registry *registry;
  struct folder folder;
  guint next;
  GArray *seen; /* struct stat of the folders so far */
};

void search_begin (struct search *search, struct compute_registry *registry);
gboolean search_next (struct search *search);
void search_end (struct search *search);

#endif
