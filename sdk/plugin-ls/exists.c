/* SPDX-License-Identifier: MIT */
#include "exists.h"

#include <string.h>

struct question
{
  const struct options *options;
  bool answer;
};

/* Compares "1.10" and "1.9.2" number by number, a missing one being 0; on equal numbers what has a "-suffix" is older
 * (1.0-rc1 comes before 1.0), and a "+suffix" does not count. */
static int
compare_versions (const char *a, const char *b)
{
  while (g_ascii_isdigit (*a) || g_ascii_isdigit (*b))
    {
      guint64 left = g_ascii_strtoull (a, (char **) &a, 10);
      guint64 right = g_ascii_strtoull (b, (char **) &b, 10);

      if (left != right)
        return left < right ? -1 : 1;
      a += a[0] == '.' && g_ascii_isdigit (a[1]);
      b += b[0] == '.' && g_ascii_isdigit (b[1]);
    }
  if ((*a == '-') != (*b == '-'))
    return *a == '-' ? -1 : 1;
  return *a == '-' ? strverscmp (a, b) : 0;
}

/* The first OK one of a name is the one that would be loaded. */
static int
consider (void *user, const struct compute_candidate *candidate)
{
  struct question *question = user;
  const struct options *options = question->options;

  if (candidate->state != COMPUTE_CANDIDATE_OK || candidate->name == NULL
      || g_ascii_strcasecmp (candidate->name, options->subject) != 0)
    return 0;
  question->answer
      = (candidate->capabilities & options->capabilities) == options->capabilities
        && (options->min_version == NULL
            || (candidate->version != NULL && compare_versions (candidate->version, options->min_version) >= 0));
  return 1;
}

int
exists (struct compute_registry *registry, const struct options *options, bool *ret_exists, struct compute_error *err)
{
  struct question question = { .options = options };
  int code = compute_list_candidates (registry, 0, consider, &question, err);

  if (code < 0)
    return code;
  *ret_exists = question.answer;
  return 0;
}
