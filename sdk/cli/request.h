/* SPDX-License-Identifier: MIT */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <compute/compute.h>
#include <glib.h>
#include <stdbool.h>

/* What compute exits with when it is not the command's own status. */
enum exit_status
{
  STATUS_OK = 0,
  STATUS_USAGE = 2,
  STATUS_TIMED_OUT = 124,
  STATUS_FAILED = 125,
  STATUS_SIGNALED = 128 /* and the number of the signal that ended compute */
};

/* How the words that are no options are taken. */
enum operands
{
  OPERANDS_NONE,
  OPERANDS_COMMAND,    /* [--] ARGV..., or -c: the first one ends the options */
  OPERANDS_ID_COMMAND, /* ID, then more options, then as above */
  OPERANDS_ID,
  OPERANDS_IDS,
  OPERANDS_ACTION,
  OPERANDS_ACTION_FILE, /* ACTION [FILE] */
  OPERANDS_FILES,
  OPERANDS_TOOL /* TOOL [ARGUMENTS]; none with --list */
};

struct request;

struct subcommand
{
  const char *name;
  uint32_t bit; /* SUBCOMMAND_*, for the table of options */
  enum operands operands;
  int (*main) (const struct request *request, struct compute_registry *registry); /* returns what to exit with */
  const char *synopsis;                                                           /* what follows the name */
  const char *summary;                                                            /* one line */
  const char *notes;                                                              /* the end of its --help, or NULL */
};

enum
{
  SUBCOMMAND_RUN = 1,
  SUBCOMMAND_UP = 2,
  SUBCOMMAND_EXEC = 4,
  SUBCOMMAND_PS = 8,
  SUBCOMMAND_STATUS = 16,
  SUBCOMMAND_DOWN = 32,
  SUBCOMMAND_REAP = 64,
  SUBCOMMAND_CP = 128,
  SUBCOMMAND_PROVIDERS = 256,
  SUBCOMMAND_ENV = 512,
  SUBCOMMAND_CAPTURES = 1024,
  SUBCOMMAND_TOOL = 2048
};

/* Names and values, each name once. */
struct pairs
{
  GArray *array;     /* struct compute_pair; owns its texts */
  GHashTable *index; /* name -> place in array */
};

/* What the command line asks for. Texts belong to argv where nothing else is said. */
struct request
{
  const struct subcommand *subcommand; /* NULL: the call named none */
  const char *on;
  const char *image;
  const char *workdir;
  const char *script; /* -c */
  const char *environment;
  const char *tools; /* the file of tools */
  char **argv;       /* the command's */
  size_t argc;
  GPtrArray *operands;    /* char *: what is neither option nor command */
  GPtrArray *paths;       /* char *, absolute, owned */
  struct pairs env;       /* all variables, once the command line has been read */
  struct pairs env_files; /* those of --env-file alone */
  struct pairs options;
  int64_t timeout_ms; /* or COMPUTE_UNSET, as below */
  int64_t output_limit_bytes;
  int64_t older_than_ms;
  bool no_environment;
  bool refuse_secrets;
  bool use_stdin;
  bool list;
  bool json;
  bool quiet;
  bool help;
};

#endif
