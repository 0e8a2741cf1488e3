/* SPDX-License-Identifier: MIT */
#include "actions.h"

#include "report.h"
#include "suggest.h"

#include <string.h>

int
actions_run (const struct action *actions, size_t count, const struct request *request,
             struct compute_registry *registry)
{
  const char *typed = request->operands->pdata[0];
  struct suggestion nearest = SUGGESTION_INIT (typed);
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GString) list = g_string_new (NULL);

  for (size_t i = 0; i < count; i++)
    {
      if (strcmp (typed, actions[i].name) == 0)
        return actions[i].main (request, registry);
      suggestion_consider (&nearest, actions[i].name);
      g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", actions[i].name);
    }
  if (nearest.best != NULL)
    (void) compute_error_set (&err, COMPUTE_E_INVALID, 0, "'%.100s' is none of %s; did you mean '%s'?", typed,
                              list->str, nearest.best);
  else
    (void) compute_error_set (&err, COMPUTE_E_INVALID, 0, "'%.100s' is none of %s", typed, list->str);
  return report_usage (request, &err);
}
