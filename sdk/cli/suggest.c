/* SPDX-License-Identifier: MIT */
#include "suggest.h"

#include <glib.h>
#include <string.h>

#define WORD_MAX 24

size_t
suggest_distance (const char *typed, const char *meant)
{
  size_t typed_length = strlen (typed), meant_length = strlen (meant);
  size_t cost[WORD_MAX + 1][WORD_MAX + 1]; /* [i][j]: the first i letters of typed to the first j of meant */

  if (typed_length > WORD_MAX || meant_length > WORD_MAX)
    return SUGGEST_FAR;
  for (size_t i = 0; i <= typed_length; i++)
    for (size_t j = 0; j <= meant_length; j++)
      {
        if (i == 0 || j == 0)
          {
            cost[i][j] = i + j;
            continue;
          }
        cost[i][j] = cost[i - 1][j - 1] + (typed[i - 1] != meant[j - 1]);
        cost[i][j] = MIN (cost[i][j], MIN (cost[i - 1][j], cost[i][j - 1]) + 1);
        if (i > 1 && j > 1 && typed[i - 1] == meant[j - 2] && typed[i - 2] == meant[j - 1])
          cost[i][j] = MIN (cost[i][j], cost[i - 2][j - 2] + 1);
      }
  return MIN (cost[typed_length][meant_length], SUGGEST_FAR);
}

void
suggestion_consider (struct suggestion *suggestion, const char *word)
{
  size_t distance = suggest_distance (suggestion->typed, word);

  if (distance < suggestion->distance)
    {
      suggestion->best = word;
      suggestion->distance = distance;
    }
}
