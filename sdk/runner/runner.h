/* SPDX-License-Identifier: MIT */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

/* Ends everything, then the program. */
void runner_stop (void);
int runner_is_stopping (void);

#endif
