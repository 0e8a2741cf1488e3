/* SPDX-License-Identifier: MIT */
#ifndef CLI_LOCAL_FILE_H
#define CLI_LOCAL_FILE_H

#include <compute/error.h>
#include <stdbool.h>

/* The file "-" is stdin or stdout. Errors are INVALID, SYSTEM and CANCELLED, and name the path. */

/* Opens a file of this machine, a pipe or device too, to be closed by the caller; *ret_mode is what a copy should have.
 */
int local_file_open (const char *path, int *ret_fd, uint32_t *ret_mode, struct compute_error *err);

/* A file of this machine that is being written: a regular or new one appears whole or not at all. */
struct local_file
{
  int fd;
  char *path;
  char *temporary;   /* renamed to path at the end; NULL: fd writes to the place itself */
  int existing_mode; /* of what is replaced; -1: nothing */
};

int local_file_create (struct local_file *file, const char *path, struct compute_error *err);

/* Ends the writing and makes the file appear, with the permissions of the one it replaces, or else with mode less the
 * umask. Never setuid, setgid or sticky. Frees file, also on failure. */
int local_file_commit (struct local_file *file, uint32_t mode, struct compute_error *err);

/* Leaves nothing behind. */
void local_file_discard (struct local_file *file);

#endif
