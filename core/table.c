/* SPDX-License-Identifier: MIT */
#include "table.h"

#define REQUIRED_SLOTS(X)                                                                                              \
  X (open) X (close) X (is_available) X (provision) X (execute) X (shutdown) X (list_instances) X (get_status)

int
table_check (const struct compute_provider *provider, const char *name, struct compute_error *err)
{
  if (provider == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "provider '%s' has no table", name);
  if (provider->size < offsetof (struct compute_provider, name))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "provider '%s' has a table of %u bytes", name, provider->size);
  if (provider->abi_major != COMPUTE_ABI_MAJOR)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "provider '%s' was built for ABI %u.%u, this core has %d.%d",
                              name, provider->abi_major, provider->abi_minor, COMPUTE_ABI_MAJOR, COMPUTE_ABI_MINOR);
#define CHECK_SLOT(slot)                                                                                               \
  if (!COMPUTE_HAS (provider, slot))                                                                                   \
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "provider '%s' has no %s", name, #slot);
  CHECK_SLOT (name)
  REQUIRED_SLOTS (CHECK_SLOT)
#undef CHECK_SLOT
  return 0;
}
