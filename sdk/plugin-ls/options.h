/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_OPTIONS_H
#define PLUGIN_LS_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What plugin-ls exits with: documented, never an errno. */
enum status
{
  STATUS_OK = 0,
  STATUS_FAILED = 1, /* a loud failure, or --exists is false */
  STATUS_USAGE = 2,
  STATUS_NOT_FOUND = 3, /* a provider or file that was named */
  STATUS_NONE = 4,      /* no provider at all */
  STATUS_INTERNAL = 5
};

enum mode
{
  MODE_LIST,
  MODE_PATHS,
  MODE_EXISTS,
  MODE_WHY,
  MODE_CLEAR_CACHE
};

struct options
{
  enum mode mode;
  bool probe;
  bool deps;
  bool all;
  bool json;
  bool only;
  bool no_cache;
  bool color;
  int64_t timeout_ms;
  uint64_t capabilities; /* --cap: all of COMPUTE_CAP_* that must be there */
  const char *subject;   /* of --exists and --why */
  const char *min_version;
  GPtrArray *paths; /* --path: char * */
  char **names;     /* NAME|FILE..., ends with NULL */
};

/* Returns -1 to go on, or the status to end with: --help and --version were answered, a fault was told. */
int options_parse (int argc, char **argv, struct options *options);
void options_clear (struct options *options);

#endif
