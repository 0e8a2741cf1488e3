/* SPDX-License-Identifier: MIT */
#ifndef CORE_REASON_H
#define CORE_REASON_H

#include <compute/compute.h>

/* Why a file is no good, by the list of compute.h. */
enum reason
{
  REASON_NONE,
#define REASON_ENUM(name, hint) REASON_##name,
  COMPUTE_REASON_MAP (REASON_ENUM)
#undef REASON_ENUM
};

/* "E_NO_NOTE" and its way out; NULL for REASON_NONE. Static storage. */
const char *reason_code (enum reason reason);
const char *reason_hint (enum reason reason);

#endif
