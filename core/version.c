/* SPDX-License-Identifier: MIT */
#include <compute/compute.h>

const char *
compute_version (void)
{
  return COMPUTE_VERSION;
}
