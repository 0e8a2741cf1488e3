/* SPDX-License-Identifier: MIT */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a provider's name with its NUL, as provider.h allows it. */
#define NAME_BYTES 65

/* True for [a-z0-9][a-z0-9._-]{0,63}. */
bool name_is_valid (const char *name);

/* Copies name with ASCII letters in lower case. False, with nothing written, when that is no valid name. */
bool name_fold (char to[NAME_BYTES], const char *name);

/* Fits text of unknown origin into a message: control characters and bytes that are not UTF-8 become \xNN, and what
 * does not fit ends in "...". Always NUL-terminated; returns to. room is at least 8. */
char *text_for_people (char *to, size_t room, const char *from);

bool text_is_utf8 (const char *text);

/* The English text of an errno, whatever locale the host application has set. Static storage. */
const char *text_of_errno (int sys_errno);

#endif
