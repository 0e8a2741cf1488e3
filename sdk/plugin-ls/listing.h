/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_LISTING_H
#define PLUGIN_LS_LISTING_H

#include "core-info.h"
#include "options.h"

#include <cjson/cJSON.h>
#include <compute/compute.h>

/* One candidate, kept beyond its callback. */
struct row
{
  struct compute_candidate candidate; /* its texts are the listing's */
  bool named;                         /* an argument asked for it: shown whatever its state */
  cJSON *probe;                       /* of probe.h; NULL: not probed */
  int64_t probe_age_s;                /* -1: probed just now, else how old the kept report is */
  GPtrArray *shadows;                 /* paths that this one hides; NULL: none */
};

/* Everything that the printers show. */
struct listing
{
  struct core_info core;
  GPtrArray *rows;       /* struct row, in search order */
  GPtrArray *folders;    /* struct compute_folder */
  GPtrArray *checks;     /* struct compute_check, of --why */
  GPtrArray *missing;    /* names and files that were asked for and are not there; borrowed */
  bool unusable;         /* something that was asked for is there, and none of it is OK */
  GStringChunk *strings; /* the texts of all of them */
  GPtrArray *arrays;     /* and their arrays */
};

void listing_init (struct listing *listing);
void listing_clear (struct listing *listing);

int listing_add_folders (struct listing *listing, struct compute_registry *registry, struct compute_error *err);

/* The candidates of the search; with names, only those (a name with a slash is a file). */
int listing_add_candidates (struct listing *listing, struct compute_registry *registry, char *const *names,
                            uint32_t flags, struct compute_error *err);

/* One file with its checks. One that does not exist becomes missing. */
int listing_add_file (struct listing *listing, struct compute_registry *registry, const char *path, uint32_t flags,
                      struct compute_error *err);

bool row_is_shown (const struct row *row, bool all);
bool row_knows_abi (const struct row *row);
int listing_count (const struct listing *listing, uint32_t state);
enum status listing_status (const struct listing *listing);

/* A folder that was passed over, and deserves a word. */
bool folder_is_ignored (const struct compute_folder *folder);

#endif
