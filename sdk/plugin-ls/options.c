/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "display.h"

#include <compute/compute.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "Usage: plugin-ls [OPTION...] [NAME|FILE...]\n"
                            "       plugin-ls --exists NAME [--min-version V] [--cap CAP]\n"
                            "       plugin-ls --why FILE\n"
                            "\n"
                            "Lists the compute providers that are installed, and says what is wrong with the\n"
                            "broken ones. Runs no provider's code unless --probe is given. A FILE has a slash.\n"
                            "\n"
                            "      --probe            also load each one, in a helper process\n"
                            "      --timeout SECONDS  how long one may take to load (default 5)\n"
                            "      --no-cache         neither use nor keep earlier results of --probe\n"
                            "      --clear-cache      forget the results of --probe\n"
                            "      --deps             libraries wanted and where they are, name clashes,\n"
                            "                         undefined symbols, RUNPATH, executable stack, static TLS\n"
                            "      --paths            the folders searched, in order\n"
                            "      --all              also what is shadowed, of another architecture\n"
                            "                         or no provider\n"
                            "      --exists NAME      no output: exit with 0 if the provider is there, else 1\n"
                            "      --min-version V    with --exists: of at least this version\n"
                            "      --cap CAP          with --exists: and with this capability (repeatable)\n"
                            "      --why FILE         every check of one file, passed or failed, in order\n"
                            "      --path DIR         search this folder first (repeatable)\n"
                            "      --only             search only the folders given with --path\n"
                            "      --json             one JSON document\n"
                            "      --color=WHEN       auto (default) or never\n"
                            "      --version          print the version\n"
                            "      --help             print this\n"
                            "\n"
                            "Exit status: 0 all is well, 1 something failed, 2 wrong usage, 3 a provider or\n"
                            "file that was named does not exist, 4 there is no provider, 5 internal error.\n";

/* The options, in the order of the help. Each has a bit, so that wrong combinations are found by a mask. */
enum
{
  OPTION_PROBE,
  OPTION_TIMEOUT,
  OPTION_NO_CACHE,
  OPTION_CLEAR_CACHE,
  OPTION_DEPS,
  OPTION_PATHS,
  OPTION_ALL,
  OPTION_EXISTS,
  OPTION_MIN_VERSION,
  OPTION_CAP,
  OPTION_WHY,
  OPTION_PATH,
  OPTION_ONLY,
  OPTION_JSON,
  OPTION_COLOR,
  OPTION_VERSION,
  OPTION_HELP,
  OPTION_COUNT
};

static const struct option long_options[] = {
  [OPTION_PROBE] = { "probe", no_argument, NULL, OPTION_PROBE },
  [OPTION_TIMEOUT] = { "timeout", required_argument, NULL, OPTION_TIMEOUT },
  [OPTION_NO_CACHE] = { "no-cache", no_argument, NULL, OPTION_NO_CACHE },
  [OPTION_CLEAR_CACHE] = { "clear-cache", no_argument, NULL, OPTION_CLEAR_CACHE },
  [OPTION_DEPS] = { "deps", no_argument, NULL, OPTION_DEPS },
  [OPTION_PATHS] = { "paths", no_argument, NULL, OPTION_PATHS },
  [OPTION_ALL] = { "all", no_argument, NULL, OPTION_ALL },
  [OPTION_EXISTS] = { "exists", required_argument, NULL, OPTION_EXISTS },
  [OPTION_MIN_VERSION] = { "min-version", required_argument, NULL, OPTION_MIN_VERSION },
  [OPTION_CAP] = { "cap", required_argument, NULL, OPTION_CAP },
  [OPTION_WHY] = { "why", required_argument, NULL, OPTION_WHY },
  [OPTION_PATH] = { "path", required_argument, NULL, OPTION_PATH },
  [OPTION_ONLY] = { "only", no_argument, NULL, OPTION_ONLY },
  [OPTION_JSON] = { "json", no_argument, NULL, OPTION_JSON },
  [OPTION_COLOR] = { "color", required_argument, NULL, OPTION_COLOR },
  [OPTION_VERSION] = { "version", no_argument, NULL, OPTION_VERSION },
  [OPTION_HELP] = { "help", no_argument, NULL, OPTION_HELP },
  [OPTION_COUNT] = { NULL, 0, NULL, 0 },
};

#define BIT(option) (1u << (option))
#define BITS_EVERYWHERE (BIT (OPTION_PATH) | BIT (OPTION_ONLY) | BIT (OPTION_COLOR))
#define BITS_PROBE (BIT (OPTION_PROBE) | BIT (OPTION_TIMEOUT) | BIT (OPTION_NO_CACHE))

/* What goes with each mode. The mode's own option, if it has one, comes first. */
static const struct
{
  enum mode mode;
  int option; /* -1: none asks for it */
  uint32_t allowed;
} modes[] = {
  { MODE_PATHS, OPTION_PATHS, BITS_EVERYWHERE | BIT (OPTION_PATHS) | BIT (OPTION_JSON) },
  { MODE_EXISTS, OPTION_EXISTS, BITS_EVERYWHERE | BIT (OPTION_EXISTS) | BIT (OPTION_MIN_VERSION) | BIT (OPTION_CAP) },
  { MODE_WHY, OPTION_WHY, BITS_EVERYWHERE | BITS_PROBE | BIT (OPTION_WHY) | BIT (OPTION_JSON) },
  { MODE_CLEAR_CACHE, OPTION_CLEAR_CACHE, BIT (OPTION_CLEAR_CACHE) },
  { MODE_LIST, -1, BITS_EVERYWHERE | BITS_PROBE | BIT (OPTION_DEPS) | BIT (OPTION_ALL) | BIT (OPTION_JSON) },
};

/* These mean nothing without another. */
static const struct
{
  int option;
  int wants;
} companions[] = {
  { OPTION_TIMEOUT, OPTION_PROBE }, { OPTION_NO_CACHE, OPTION_PROBE }, { OPTION_MIN_VERSION, OPTION_EXISTS },
  { OPTION_CAP, OPTION_EXISTS },    { OPTION_ONLY, OPTION_PATH },
};

static int
wrong (const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  complain ("%s; see 'plugin-ls --help'", text);
  return STATUS_USAGE;
}

static int
parse_timeout (const char *text, int64_t *ret_ms)
{
  char *end;
  double seconds = g_ascii_strtod (text, &end);

  if (end == text || *end != '\0' || !(seconds >= 0.001 && seconds <= 86400))
    return wrong ("--timeout '%s': give seconds, from 0.001 to 86400", text);
  *ret_ms = (int64_t) (seconds * 1000);
  return -1;
}

static int
parse_capability (const char *word, uint64_t *capabilities)
{
#define CAPABILITY_MATCH(name, bit, text, id)                                                                          \
  if (strcmp (word, text) == 0)                                                                                        \
    {                                                                                                                  \
      *capabilities |= COMPUTE_CAP_##name;                                                                             \
      return -1;                                                                                                       \
    }
#define CAPABILITY_WORD(name, bit, text, id) " " text
  COMPUTE_CAPABILITY_MAP (CAPABILITY_MATCH)
  return wrong ("--cap '%s': no such capability; there are:%s", word, "" COMPUTE_CAPABILITY_MAP (CAPABILITY_WORD));
}

static int
parse_color (const char *when, bool *ret_color)
{
  const char *terminal = getenv ("TERM");

  if (strcmp (when, "auto") != 0 && strcmp (when, "never") != 0)
    return wrong ("--color '%s': give auto or never", when);
  *ret_color = when[0] == 'a' && isatty (STDOUT_FILENO) && getenv ("NO_COLOR") == NULL && terminal != NULL
               && strcmp (terminal, "dumb") != 0;
  return -1;
}

static int
take_option (int option, const char *value, struct options *options)
{
  switch (option)
    {
    case OPTION_PROBE:
      options->probe = true;
      return -1;
    case OPTION_TIMEOUT:
      return parse_timeout (value, &options->timeout_ms);
    case OPTION_NO_CACHE:
      options->no_cache = true;
      return -1;
    case OPTION_DEPS:
      options->deps = true;
      return -1;
    case OPTION_ALL:
      options->all = true;
      return -1;
    case OPTION_EXISTS:
    case OPTION_WHY:
      options->subject = value;
      return -1;
    case OPTION_MIN_VERSION:
      options->min_version = value;
      return g_ascii_isdigit (value[0]) ? -1 : wrong ("--min-version '%s': a version starts with a digit", value);
    case OPTION_CAP:
      return parse_capability (value, &options->capabilities);
    case OPTION_PATH:
      /* On a command line a relative path is the user's own; the library refuses them. */
      g_ptr_array_add (options->paths, value[0] == '\0' ? g_strdup ("") : g_canonicalize_filename (value, NULL));
      return -1;
    case OPTION_ONLY:
      options->only = true;
      return -1;
    case OPTION_JSON:
      options->json = true;
      return -1;
    case OPTION_COLOR:
      return parse_color (value, &options->color);
    default: /* a mode */
      return -1;
    }
}

/* The first option of a set, for a message. */
static const char *
option_word (uint32_t bits)
{
  return long_options[__builtin_ctz (bits)].name;
}

static int
choose_mode (uint32_t given, struct options *options)
{
  size_t i = 0;

  while (modes[i].option >= 0 && (given & BIT (modes[i].option)) == 0)
    i++;
  options->mode = modes[i].mode;

  for (size_t k = 0; k < G_N_ELEMENTS (companions); k++)
    if ((given & BIT (companions[k].option)) != 0 && (given & BIT (companions[k].wants)) == 0)
      return wrong ("--%s goes with --%s only", long_options[companions[k].option].name,
                    long_options[companions[k].wants].name);
  if ((given & ~modes[i].allowed) != 0)
    return modes[i].option < 0 ? wrong ("--%s cannot be used here", option_word (given & ~modes[i].allowed))
                               : wrong ("--%s does not go with --%s", option_word (given & ~modes[i].allowed),
                                        long_options[modes[i].option].name);
  if (options->mode != MODE_LIST && options->names[0] != NULL)
    return wrong ("--%s takes no '%s'", long_options[modes[i].option].name, options->names[0]);
  return -1;
}

static int
unknown_option (int option, char **argv)
{
  const char *word = argv[optind - 1];

  if (option == ':')
    return wrong ("%s needs a value", word);
  if (optopt >= OPTION_COUNT)
    return wrong ("unknown option '-%c'", optopt);
  if (strchr (word, '=') != NULL)
    return wrong ("option '%s' is unknown, or takes no value", word);
  return wrong ("unknown option '%s'", word);
}

int
options_parse (int argc, char **argv, struct options *options)
{
  uint32_t given = 0;
  int option;

  *options = (struct options){ .timeout_ms = 5000, .paths = g_ptr_array_new_with_free_func (g_free) };
  parse_color ("auto", &options->color);
  opterr = 0;
  while ((option = getopt_long (argc, argv, ":", long_options, NULL)) != -1)
    {
      int status;

      if (option == OPTION_HELP)
        return fputs (usage, stdout), STATUS_OK;
      if (option == OPTION_VERSION)
        return printf ("plugin-ls %s\n", compute_version ()), STATUS_OK;
      if (option == '?' || option == ':')
        return unknown_option (option, argv);
      given |= BIT (option);
      status = take_option (option, optarg, options);
      if (status >= 0)
        return status;
    }
  options->names = argv + optind;
  return choose_mode (given, options);
}

void
options_clear (struct options *options)
{
  g_ptr_array_unref (options->paths);
}
