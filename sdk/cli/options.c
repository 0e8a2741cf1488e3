/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "env.h"
#include "pairs.h"
#include "suggest.h"
#include "values.h"

#include <string.h>

enum kind
{
  KIND_SWITCH, /* bool */
  KIND_TEXT,   /* const char *, not empty */
  KIND_SCRIPT, /* const char * */
  KIND_SECONDS,
  KIND_DAYS,
  KIND_BYTES,
  KIND_ENV,
  KIND_ENV_FILE,
  KIND_PAIR,
  KIND_PATH
};

struct option
{
  const char *word;
  const char *value; /* what its value is called; NULL: it has none */
  enum kind kind;
  size_t offset; /* in struct request */
  uint32_t subcommands;
  const char *help;
};

#define MAKES_PLACE (SUBCOMMAND_RUN | SUBCOMMAND_UP | SUBCOMMAND_TOOL)
#define RUNS_COMMAND (SUBCOMMAND_RUN | SUBCOMMAND_EXEC)
#define NAMES_ENVIRONMENT (MAKES_PLACE | SUBCOMMAND_CAPTURES)
#define DEFINES (MAKES_PLACE | SUBCOMMAND_ENV | SUBCOMMAND_CAPTURES)
#define ALL (SUBCOMMAND_TOOL * 2 - 1)
#define INTO(member) offsetof (struct request, member)

static const struct option options[] = {
  { "--on", "PROVIDER", KIND_TEXT, INTO (on), ALL & ~(SUBCOMMAND_PROVIDERS | SUBCOMMAND_ENV), "the provider, by name" },
  { "--tools", "FILE", KIND_TEXT, INTO (tools), SUBCOMMAND_TOOL, "the file of tools, YAML or JSON" },
  { "--list", NULL, KIND_SWITCH, INTO (list), SUBCOMMAND_TOOL, "list the tools and run none" },
  { "-c", "SCRIPT", KIND_SCRIPT, INTO (script), RUNS_COMMAND, "run a shell string instead of a program" },
  { "--image", "IMAGE", KIND_TEXT, INTO (image), DEFINES, "what to start from, where the provider has images" },
  { "--workdir", "DIR", KIND_TEXT, INTO (workdir), DEFINES | RUNS_COMMAND, "working directory inside, absolute" },
  { "--env", "NAME=VALUE", KIND_ENV, INTO (env), DEFINES | RUNS_COMMAND,
    "set a variable; NAME alone passes on its value here" },
  { "--env-file", "FILE", KIND_ENV_FILE, INTO (env_files), DEFINES | RUNS_COMMAND, "set variables, one a line" },
  { "--timeout", "SECONDS", KIND_SECONDS, INTO (timeout_ms), MAKES_PLACE | RUNS_COMMAND,
    "end a command after this long (60; 0: never)" },
  { "--max-output", "BYTES", KIND_BYTES, INTO (output_limit_bytes), MAKES_PLACE | RUNS_COMMAND,
    "keep so much of each stream (10M; 0: all)" },
  { "--option", "NAME=VALUE", KIND_PAIR, INTO (options), DEFINES, "an option of the provider's own" },
  { "--environment", "FILE", KIND_TEXT, INTO (environment), NAMES_ENVIRONMENT,
    "how to prepare it (" COMPUTE_ENVIRONMENT_FILE ")" },
  { "--no-environment", NULL, KIND_SWITCH, INTO (no_environment), MAKES_PLACE, "look for no such file" },
  { "--refuse-secrets", NULL, KIND_SWITCH, INTO (refuse_secrets), MAKES_PLACE,
    "capture nothing that holds a value of env in a file" },
  { "--older-than", "DAYS", KIND_DAYS, INTO (older_than_ms), SUBCOMMAND_CAPTURES,
    "prune what was not used for so long (14)" },
  { "--stdin", NULL, KIND_SWITCH, INTO (use_stdin), RUNS_COMMAND,
    "give the command this input; it has none otherwise" },
  { "--json", NULL, KIND_SWITCH, INTO (json), ALL, "print one JSON object" },
  { "--quiet", NULL, KIND_SWITCH, INTO (quiet), ALL, "no progress and no notes; a list is names alone" },
  { "--path", "DIR", KIND_PATH, INTO (paths), ALL, "look for providers here first" },
  { "--help", NULL, KIND_SWITCH, INTO (help), ALL, "print this" },
};

void
request_init (struct request *request, const struct subcommand *subcommand)
{
  *request = (struct request){
    .subcommand = subcommand,
    .operands = g_ptr_array_new (),
    .paths = g_ptr_array_new_with_free_func (g_free),
    .timeout_ms = COMPUTE_UNSET,
    .older_than_ms = COMPUTE_DEFAULT_PRUNE_AGE_MS,
    .output_limit_bytes = COMPUTE_UNSET,
  };
  pairs_init (&request->env);
  pairs_init (&request->env_files);
  pairs_init (&request->options);
}

void
request_clear (struct request *request)
{
  g_ptr_array_unref (request->operands);
  g_ptr_array_unref (request->paths);
  pairs_clear (&request->env);
  pairs_clear (&request->env_files);
  pairs_clear (&request->options);
}

static int
take_pair (const struct option *option, struct pairs *pairs, const char *value, struct compute_error *err)
{
  const char *equals = strchr (value, '=');
  g_autofree char *name = NULL;

  if (equals == NULL || equals == value)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s '%s': give %s", option->word, value, option->value);
  name = g_strndup (value, (size_t) (equals - value));
  pairs_add (pairs, name, equals + 1);
  return 0;
}

static int
take (struct request *request, const struct option *option, const char *value, struct compute_error *err)
{
  void *into = G_STRUCT_MEMBER_P (request, option->offset);

  if (value[0] == '\0' && option->kind != KIND_SCRIPT)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s '': the value is empty; give %s", option->word,
                              option->value);
  switch (option->kind)
    {
    case KIND_SWITCH: /* it takes no value */
      break;
    case KIND_TEXT:
    case KIND_SCRIPT:
      *(const char **) into = value;
      return 0;
    case KIND_SECONDS:
      return value_seconds (option->word, value, into, err);
    case KIND_DAYS:
      return value_days (option->word, value, into, err);
    case KIND_BYTES:
      return value_bytes (option->word, value, into, err);
    case KIND_ENV:
      return env_take (into, value, err);
    case KIND_ENV_FILE:
      return env_take_file (into, value, err);
    case KIND_PAIR:
      return take_pair (option, into, value, err);
    case KIND_PATH:
      /* A relative one is the caller's own here; the library refuses it. */
      g_ptr_array_add (*(GPtrArray **) into, g_canonicalize_filename (value, NULL));
      return 0;
    }
  g_assert_not_reached ();
}

static int
unknown_option (const struct request *request, const char *word, size_t length, struct compute_error *err)
{
  g_autofree char *typed = g_strndup (word, length);
  const char *name = request->subcommand->name;
  struct suggestion nearest = SUGGESTION_INIT (typed);

  for (size_t i = 0; i < G_N_ELEMENTS (options); i++)
    {
      if (strcmp (typed, options[i].word) == 0)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "'%s' does not go with %s; see 'compute %s --help'", typed,
                                  name, name);
      if ((options[i].subcommands & request->subcommand->bit) != 0)
        suggestion_consider (&nearest, options[i].word);
    }
  if (nearest.best != NULL && length > 2)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown option '%s'; did you mean '%s'?", typed,
                              nearest.best);
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown option '%s'; see 'compute %s --help'", typed, name);
}

/* Takes the option at words[0] and sets *ret_used to the words it was. */
static int
take_option (struct request *request, int count, char **words, int *ret_used, struct compute_error *err)
{
  const char *word = words[0];
  size_t length = strcspn (word, "=");
  const char *value = word[length] == '=' ? word + length + 1 : NULL;
  const struct option *option = NULL;

  for (size_t i = 0; option == NULL && i < G_N_ELEMENTS (options); i++)
    if ((options[i].subcommands & request->subcommand->bit) != 0 && strlen (options[i].word) == length
        && memcmp (options[i].word, word, length) == 0)
      option = &options[i];
  if (option == NULL)
    return unknown_option (request, word, length, err);

  *ret_used = 1;
  if (option->kind == KIND_SWITCH)
    {
      if (value != NULL)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s takes no value", option->word);
      G_STRUCT_MEMBER (bool, request, option->offset) = true;
      return 0;
    }
  if (value == NULL)
    {
      if (count < 2)
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s needs a value: %s", option->word, option->value);
      value = words[1];
      *ret_used = 2;
    }
  return take (request, option, value, err);
}

/* True when the command starts with the next word that is no option. */
static bool
command_is_next (const struct request *request)
{
  enum operands operands = request->subcommand->operands;

  return operands == OPERANDS_COMMAND || (operands == OPERANDS_ID_COMMAND && request->operands->len > 0);
}

static int
check_command (const struct request *request, struct compute_error *err)
{
  if (request->script != NULL && request->argc > 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "both -c and '%s': give one command", request->argv[0]);
  if (request->script == NULL && request->argc == 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no command; give one after --, or -c 'SHELL STRING'");
  return 0;
}

static int
check_tool (const struct request *request, struct compute_error *err)
{
  if (request->tools == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no file of tools was named; add --tools FILE");
  if (request->list && request->operands->len > 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "both --list and '%s': give one",
                              (char *) request->operands->pdata[0]);
  if (!request->list && request->operands->len == 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no tool was named; --list lists what there is");
  return 0;
}

static int
check_options (const struct request *request, struct compute_error *err)
{
  if (request->environment != NULL && request->no_environment)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "both --environment and --no-environment: give one");
  return 0;
}

static int
check_operands (const struct request *request, struct compute_error *err)
{
  static const struct
  {
    guint min, max;
    const char *missing;
  } counts[] = {
    [OPERANDS_NONE] = { 0, 0, NULL },
    [OPERANDS_COMMAND] = { 0, 0, NULL },
    [OPERANDS_ID_COMMAND] = { 1, 1, "no instance was named; give its ID, then the command" },
    [OPERANDS_ID] = { 1, 1, "no instance was named; give its ID" },
    [OPERANDS_IDS] = { 1, G_MAXUINT, "no instance was named; give its ID" },
    [OPERANDS_ACTION] = { 1, 1, "nothing was asked for; give list, prune or explain" },
    [OPERANDS_ACTION_FILE] = { 1, 2, "nothing was asked for; give show, hash or check" },
    [OPERANDS_FILES] = { 2, 2, "two files are needed: FILE ID:PATH, or ID:PATH FILE" },
    [OPERANDS_TOOL] = { 0, 2, NULL },
  };
  enum operands operands = request->subcommand->operands;
  guint count = request->operands->len;

  if (count < counts[operands].min)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s", counts[operands].missing);
  if (count > counts[operands].max)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "'%s' is one word too many; see 'compute %s --help'",
                              (char *) request->operands->pdata[counts[operands].max], request->subcommand->name);
  if (operands == OPERANDS_COMMAND || operands == OPERANDS_ID_COMMAND)
    return check_command (request, err);
  return operands == OPERANDS_TOOL ? check_tool (request, err) : 0;
}

int
options_parse (struct request *request, int count, char **words, struct compute_error *err)
{
  bool only_operands = false;

  for (int i = 0, used; i < count; i += used)
    {
      bool is_dashes = !only_operands && strcmp (words[i], "--") == 0;
      bool is_option = !only_operands && !is_dashes && words[i][0] == '-' && words[i][1] != '\0';

      used = 1;
      if (is_option)
        {
          int rc = take_option (request, count - i, words + i, &used, err);

          if (rc != 0)
            return rc;
        }
      else if (command_is_next (request))
        {
          request->argv = words + i + is_dashes;
          request->argc = (size_t) (count - i - is_dashes);
          break;
        }
      else if (is_dashes)
        only_operands = true;
      else
        g_ptr_array_add (request->operands, words[i]);
    }
  pairs_add_missing (&request->env, &request->env_files);
  if (request->help)
    return 0;
  return check_options (request, err) != 0 ? COMPUTE_E_INVALID : check_operands (request, err);
}

void
options_describe (const struct subcommand *subcommand, GString *text)
{
  for (size_t i = 0; i < G_N_ELEMENTS (options); i++)
    if ((options[i].subcommands & subcommand->bit) != 0)
      {
        g_autofree char *left = g_strjoin (" ", options[i].word, options[i].value, NULL);

        g_string_append_printf (text, "  %-22s  %s\n", left, options[i].help);
      }
}
