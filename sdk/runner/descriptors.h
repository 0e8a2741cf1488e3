/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_DESCRIPTORS_H
#define RUNNER_DESCRIPTORS_H

/* Closes all descriptors from first on but kept (-1: none). For a process just forked. */
void descriptors_close_from (int first, int kept);

#endif
