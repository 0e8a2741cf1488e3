/* SPDX-License-Identifier: MIT */
#include <compute/runner.h>
