/* SPDX-License-Identifier: MIT */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* How many letters to add, drop, change or swap with a neighbour make one word of the other; SUGGEST_FAR when it is
 * more than somebody would mistype. */
#define SUGGEST_FAR 3
size_t suggest_distance (const char *typed, const char *meant);

/* The word nearest to what was typed; NULL as long as none is near. */
struct suggestion
{
  const char *typed;
  const char *best;
  size_t distance;
};
#define SUGGESTION_INIT(typed)                                                                                         \
  {                                                                                                                    \
    typed, NULL, SUGGEST_FAR                                                                                           \
  }

void suggestion_consider (struct suggestion *suggestion, const char *word);

#endif
