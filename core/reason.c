/* SPDX-License-Identifier: MIT */
#include "reason.h"

const char *
reason_code (enum reason reason)
{
  static const char *const codes[] = { NULL,
#define REASON_CODE(name, hint) "E_" #name,
                                       COMPUTE_REASON_MAP (REASON_CODE)
#undef REASON_CODE
  };

  return codes[reason];
}

const char *
reason_hint (enum reason reason)
{
  static const char *const hints[] = { NULL,
#define REASON_HINT(name, hint) hint,
                                       COMPUTE_REASON_MAP (REASON_HINT)
#undef REASON_HINT
  };

  return hints[reason];
}
