/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_CACHE_H
#define PLUGIN_LS_CACHE_H

#include <cjson/cJSON.h>
#include <compute/compute.h>

/**
 * The reports of --probe, kept in $XDG_CACHE_HOME/compute/probe.json (~/.cache without it), one for each file. A report
 * counts for the very file it was made of, the same core and C library: a failure for an hour, a success for 30 days.
 * What another file can mend (a missing library) and what is a matter of luck (a timeout) is not kept at all. A cache
 * that cannot be read is an empty one.
 */
struct cache;

/* NULL where there is no place for a cache: no home, or raised privileges. */
char *cache_default_path (void);

/* path is taken. context is what every entry depends on besides its file: the core, its ABI, the C library. */
struct cache *cache_open (char *path, const char *context, int64_t now_s);

/* Writes what is new, unless nothing is. Errors: SYSTEM. */
int cache_save (struct cache *cache, struct compute_error *err);
void cache_close (struct cache *cache);

/* What makes a file that file; NULL where it cannot be told. */
char *cache_identity (const struct compute_candidate *candidate);

/* The report kept, borrowed, and how old it is; NULL: none that counts. */
const cJSON *cache_find (struct cache *cache, const char *realpath, const char *identity, int64_t *ret_age_s);

/* Keeps a copy, if it is one to keep. */
void cache_keep (struct cache *cache, const char *realpath, const char *identity, const cJSON *report);

#endif
