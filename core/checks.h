/* SPDX-License-Identifier: MIT */
#ifndef CORE_CHECKS_H
#define CORE_CHECKS_H

#include "candidate.h"

/* Makes every check of a candidate's file in order, up to the first that rules it out, and sets its verdict, its name
 * and what was found. candidate->path is absolute. */
void checks_run (struct inspection *inspection, struct candidate *candidate, const struct folder *folder);

#endif
