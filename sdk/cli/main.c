/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "output.h"
#include "report.h"
#include "signals.h"
#include "subcommands.h"
#include "suggest.h"

#include <fcntl.h>
#include <unistd.h>

#define LOCAL_NOTE "The provider local runs on this machine, as you: it does not isolate.\n"
#define STATUS_NOTE                                                                                                    \
  "Exit status: the command's own; 128 + n when signal n ended it; 124 when it ran\n"                                  \
  "out of time; 125 when compute failed; 2 when it was called wrongly.\n"

static const struct subcommand subcommands[] = {
  { "run", SUBCOMMAND_RUN, OPERANDS_COMMAND, run_main, "--on PROVIDER [OPTION]... [--] COMMAND [ARGUMENT]...",
    "run a command in a new instance and end it", LOCAL_NOTE STATUS_NOTE },
  { "up", SUBCOMMAND_UP, OPERANDS_NONE, up_main, "--on PROVIDER [OPTION]...",
    "make an instance that lives on, and print its ID", LOCAL_NOTE },
  { "exec", SUBCOMMAND_EXEC, OPERANDS_ID_COMMAND, exec_main, "ID [OPTION]... [--] COMMAND [ARGUMENT]...",
    "run a command in an instance", STATUS_NOTE },
  { "ps", SUBCOMMAND_PS, OPERANDS_NONE, ps_main, "[OPTION]...", "list the instances", NULL },
  { "status", SUBCOMMAND_STATUS, OPERANDS_ID, status_main, "ID [OPTION]...", "show one instance", NULL },
  { "down", SUBCOMMAND_DOWN, OPERANDS_IDS, down_main, "ID... [OPTION]...", "end instances with all they run", NULL },
  { "reap", SUBCOMMAND_REAP, OPERANDS_NONE, reap_main, "[OPTION]...",
    "end the instances whose owner died, and no others", NULL },
  { "cp", SUBCOMMAND_CP, OPERANDS_FILES, cp_main, "[OPTION]... FILE ID:PATH | ID:PATH FILE",
    "copy a file into an instance, or out of it",
    "A relative PATH starts at the instance's workdir. FILE may be - for stdin or\n"
    "stdout; one with a colon is written ./a:b.\n" },
  { "env", SUBCOMMAND_ENV, OPERANDS_ACTION_FILE, env_main, "show|hash|check [FILE] [OPTION]...",
    "show an environment, its definition hash, or whether it is right",
    "Without FILE it is " COMPUTE_ENVIRONMENT_FILE " of this folder or one above.\n" },
  { "captures", SUBCOMMAND_CAPTURES, OPERANDS_ACTION, captures_main, "list|prune|explain [OPTION]...",
    "list or remove kept environments, or say why one is not used", NULL },
  { "providers", SUBCOMMAND_PROVIDERS, OPERANDS_NONE, providers_main, "[OPTION]...",
    "list the providers, and why one is not available", NULL },
  { "tool", SUBCOMMAND_TOOL, OPERANDS_TOOL, tool_main, "--on PROVIDER --tools FILE [OPTION]... TOOL [ARGUMENTS]",
    "run a tool of a file in a new instance and end it",
    "ARGUMENTS is a JSON object, or - for one on stdin; {} where it is left out.\n" LOCAL_NOTE STATUS_NOTE },
};

static int
print (const GString *text)
{
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (output_write (1, text->str, text->len, &err) == 0)
    return STATUS_OK;
  report_warning ("%s", err.message);
  return report_status (&err);
}

static int
print_help (void)
{
  g_autoptr (GString) text
      = g_string_new ("Usage: compute SUBCOMMAND [OPTION]... [ARGUMENT]...\n"
                      "       compute --help | --version\n\n"
                      "Runs commands where you say: on this machine, in a container, elsewhere.\n\n");

  for (size_t i = 0; i < G_N_ELEMENTS (subcommands); i++)
    g_string_append_printf (text, "  %-10s  %s\n", subcommands[i].name, subcommands[i].summary);
  g_string_append (text, "\n'compute SUBCOMMAND --help' tells more; compute(1) tells all.\n\n" LOCAL_NOTE STATUS_NOTE);
  return print (text);
}

static int
print_subcommand_help (const struct subcommand *subcommand)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "Usage: compute %s %s\n", subcommand->name, subcommand->synopsis);
  if (subcommand->operands == OPERANDS_COMMAND || subcommand->operands == OPERANDS_ID_COMMAND)
    g_string_append_printf (text, "       compute %s ... -c 'SHELL STRING'\n", subcommand->name);
  if (subcommand->operands == OPERANDS_TOOL)
    g_string_append_printf (text, "       compute %s --tools FILE --list [OPTION]...\n", subcommand->name);
  g_string_append_printf (text, "\n%c%s.\n\n", g_ascii_toupper (subcommand->summary[0]), subcommand->summary + 1);
  options_describe (subcommand, text);
  if (subcommand->notes != NULL)
    g_string_append_printf (text, "\n%s", subcommand->notes);
  return print (text);
}

static int
print_version (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "compute %s\n", compute_version ());
  return print (text);
}

static const struct subcommand *
subcommand_find (const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS (subcommands); i++)
    if (g_str_equal (subcommands[i].name, name))
      return &subcommands[i];
  return NULL;
}

static void
unknown_subcommand (const char *word, struct compute_error *err)
{
  struct suggestion nearest = SUGGESTION_INIT (word);

  for (size_t i = 0; i < G_N_ELEMENTS (subcommands); i++)
    suggestion_consider (&nearest, subcommands[i].name);
  if (nearest.best != NULL)
    (void) compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown subcommand '%s'; did you mean '%s'?", word,
                              nearest.best);
  else
    (void) compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown subcommand '%s'; see 'compute --help'", word);
}

/* How a wrong call is reported is asked for by the call itself. */
static int
wrong_call (struct request *request, int count, char **words, const struct compute_error *err)
{
  for (int i = 0; i < count && !g_str_equal (words[i], "--"); i++)
    request->json |= g_str_equal (words[i], "--json");
  return report_usage (request, err);
}

static void
on_log (void *context, uint32_t level, const char *line)
{
  if (level <= COMPUTE_LOG_WARNING)
    report_note (context, "%s", line);
}

static int
run_subcommand (const struct request *request)
{
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  int status;

  options.paths = (const char *const *) request->paths->pdata;
  options.path_count = request->paths->len;
  options.context = (void *) request;
  options.log = on_log;
  if (compute_registry_open (&options, &registry, &err) != 0)
    return report_failure (request, NULL, &err);
  status = request->subcommand->main (request, registry);
  compute_registry_close (registry);
  return status;
}

static int
dispatch (int count, char **words)
{
  const struct subcommand *subcommand = count > 0 ? subcommand_find (words[0]) : NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct request request;
  int status;

  request_init (&request, subcommand);
  if (count == 0)
    (void) compute_error_set (&err, COMPUTE_E_INVALID, 0, "no subcommand; see 'compute --help'");
  else if (subcommand == NULL)
    unknown_subcommand (words[0], &err);
  else
    (void) options_parse (&request, count - 1, words + 1, &err);

  if (subcommand == NULL || err.code != 0)
    status = wrong_call (&request, count, words, &err);
  else if (request.help)
    status = print_subcommand_help (subcommand);
  else
    status = run_subcommand (&request);
  request_clear (&request);
  return status;
}

/* A standard descriptor that is closed would be the next file opened, and get what is meant for stdout. The wrong
 * direction makes using it the error that it was. */
static void
fill_standard_descriptors (void)
{
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl (fd, F_GETFD) < 0)
      (void) !open ("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int
main (int argc, char **argv)
{
  fill_standard_descriptors ();
  signals_watch ();
  if (argc > 1 && g_str_equal (argv[1], "--help"))
    return print_help ();
  if (argc > 1 && g_str_equal (argv[1], "--version"))
    return print_version ();
  return dispatch (argc - 1, argv + 1);
}
