/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_FOLDER_H
#define RUNNER_FOLDER_H

#include <compute/error.h>

/* Makes a folder with all that lead to it, and checks that it can be entered. The path is taken apart meanwhile.
 * Returns 0 or COMPUTE_E_NOT_STARTED. */
int folder_make (char *path, struct compute_error *err);

#endif
