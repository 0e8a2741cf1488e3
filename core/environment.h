/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENVIRONMENT_H
#define CORE_ENVIRONMENT_H

#include <compute/compute.h>
#include <glib.h>

/* Where commands run when nothing is stated. */
#define DEFAULT_WORKING_DIR "/workspace"

/* The kinds of packages, in the order in which they are installed. */
enum package_kind
{
  PACKAGE_APT,
  PACKAGE_PIP,
  PACKAGE_NPM,
  PACKAGE_KINDS
};

const char *package_kind_name (enum package_kind kind);

/* What a file says. A text that it does not state is NULL, a number 0. Never changes once it is made. */
struct compute_environment
{
  char *folder; /* the project's: relative paths of the file start here */
  char *image;
  char *network;
  char *backend;
  char *working_dir;
  char *gpu;
  char *cpu; /* as the hash has it: "1" or "0.5" */
  uint64_t cpu_millis;
  uint64_t memory_mb;
  GPtrArray *packages[PACKAGE_KINDS]; /* char *; NULL: not stated, which is another definition than an empty list */
  GPtrArray *setup;                   /* char * */
  GPtrArray *refresh;                 /* char * */
  GArray *env;                        /* struct compute_pair, owning its texts; each name once */
  GArray *mounts;                     /* struct compute_mount, owning its texts */
  GPtrArray *inputs;                  /* char *: files whose content counts; absolute */
  gboolean may_cost;                  /* a capture is wanted even where it costs money */
};

struct compute_environment *environment_new (const char *folder);

/* As compute_environment_open, from text that is there already. path is what messages call it. */
int environment_parse (const char *path, const char *folder, const char *text, size_t bytes,
                       struct compute_environment **ret_environment, struct compute_error *err);

#endif
