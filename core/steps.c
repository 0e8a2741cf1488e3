/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include "text.h"

#include <string.h>

#define LAST_WORDS 1000 /* bytes kept of a step's output for the error */
#define SHOWN_WORDS 110
#define SHOWN_COMMAND 48
#define SECRET_BYTES 4 /* a shorter value would be found everywhere */
#define MASK "***"

/* The steps of one kind, of which there are count. */
struct steps
{
  struct compute_handle *handle;
  const char *instance;
  const struct definition *definition;
  struct compute_call call;
  const char *kind; /* "setup" */
  guint count;
  guint number;      /* from 1, of the one that runs */
  const char *title; /* what it is called, for people */
  GString *tail;     /* the end of its output */
};

/* ---- Output ------------------------------------------------------------------------------------------------------ */

static int
take_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct steps *steps = user;

  g_string_append_len (steps->tail, data, (gssize) bytes);
  if (steps->tail->len > LAST_WORDS)
    g_string_erase (steps->tail, 0, (gssize) (steps->tail->len - LAST_WORDS));
  return steps->call.output != NULL ? steps->call.output (steps->call.user, stream, data, bytes) : 0;
}

static void
tell (const struct steps *steps, const char *rest)
{
  struct compute_progress progress = { .size = sizeof progress, .done = steps->number, .total = steps->count };
  g_autofree char *step = NULL;

  if (steps->call.progress == NULL)
    return;
  step = g_strdup_printf ("%s %u of %u%s%s", steps->kind, steps->number, steps->count, rest,
                          rest[1] == ' ' ? steps->title : "");
  progress.step = step;
  steps->call.progress (steps->call.user, &progress);
}

/* Takes the values of variables out of a text that is shown. */
static void
mask_values (GString *text, const struct definition *definition)
{
  for (guint i = 0; i < definition->env->len; i++)
    {
      const char *value = g_array_index (definition->env, struct compute_pair, i).value;

      if (strlen (value) >= SECRET_BYTES)
        g_string_replace (text, value, MASK, 0);
    }
}

/* ---- One step ---------------------------------------------------------------------------------------------------- */

static void
append_ending (GString *message, const struct compute_result *result)
{
  switch (result->outcome)
    {
    case COMPUTE_OUTCOME_SIGNALED:
      g_string_append_printf (message, " was ended by signal %d", result->signal);
      return;
    case COMPUTE_OUTCOME_OUT_OF_MEMORY:
      g_string_append (message, " ran out of memory");
      return;
    default:
      g_string_append_printf (message, " failed (exit %d)", result->exit_code);
    }
}

static int
failed (struct steps *steps, const struct compute_result *result, struct compute_error *err)
{
  g_autoptr (GString) message = g_string_new (NULL);
  char shown[SHOWN_WORDS];

  if (result->outcome == COMPUTE_OUTCOME_CANCELLED)
    return compute_error_set (err, COMPUTE_E_CANCELLED, 0, "cancelled by the caller in %s %u of %u", steps->kind,
                              steps->number, steps->count);
  g_string_printf (message, "%s %u of %u '%s'", steps->kind, steps->number, steps->count, steps->title);
  append_ending (message, result);
  mask_values (steps->tail, steps->definition);
  g_strstrip (steps->tail->str);
  /* The last words count: errors come at the end. */
  steps->tail->len = strlen (steps->tail->str);
  if (steps->tail->len > SHOWN_WORDS - 1)
    {
      const char *end = steps->tail->str + steps->tail->len - (SHOWN_WORDS - 1);

      while (((unsigned char) *end & 0xc0) == 0x80)
        end++;
      (void) text_for_people (shown, sizeof shown, end);
    }
  else
    (void) text_for_people (shown, sizeof shown, steps->tail->len > 0 ? steps->tail->str : "no output");
  return compute_error_set (err, COMPUTE_E_PREPARE_FAILED, 0, "%s: %s", message->str, shown);
}

static void
tell_end (const struct steps *steps, const struct compute_result *result)
{
  g_autofree char *rest = g_strdup_printf (" took %.1f s", (double) result->duration_us / 1e6);

  tell (steps, rest);
}

static int
run_step (struct steps *steps, const struct compute_command *command, const char *what, struct compute_error *err)
{
  struct compute_call call = { sizeof call, steps->call.cancel_fd, steps, take_output, NULL };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_result result = COMPUTE_RESULT_INIT;
  g_autoptr (GString) masked = g_string_new (what);
  char title[SHOWN_COMMAND];
  int rc;

  mask_values (masked, steps->definition);
  steps->title = text_for_people (title, sizeof title, masked->str);
  steps->number++;
  config.timeout_ms = 0; /* an installation takes as long as it takes; the caller can cancel it */
  config.output_limit_bytes = 0;
  g_string_truncate (steps->tail, 0);
  tell (steps, ": ");
  rc = compute_execute (steps->handle, steps->instance, command, &config, &call, &result, err);
  if (rc != 0)
    return rc;
  if (result.outcome != COMPUTE_OUTCOME_EXITED || result.exit_code != 0)
    return failed (steps, &result, err);
  tell_end (steps, &result);
  return 0;
}

/* ---- Kinds of steps ---------------------------------------------------------------------------------------------- */

static int
run_scripts (struct steps *steps, const GPtrArray *scripts, const char *kind, struct compute_error *err)
{
  int rc = 0;

  steps->kind = kind;
  steps->count = scripts->len;
  steps->number = 0;
  for (guint i = 0; rc == 0 && i < scripts->len; i++)
    {
      struct compute_command command = COMPUTE_COMMAND_INIT;

      command.script = scripts->pdata[i];
      if (command.script[strspn (command.script, " \t\r\n\v\f")] != '\0') /* an empty step does nothing */
        rc = run_step (steps, &command, command.script, err);
      else
        steps->number++;
    }
  return rc;
}

static int
run_argv (struct steps *steps, const char *const *head, const GPtrArray *rest, const char *what,
          struct compute_error *err)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  struct compute_command command = COMPUTE_COMMAND_INIT;

  for (size_t i = 0; head[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer) head[i]);
  for (guint i = 0; rest != NULL && i < rest->len; i++)
    g_ptr_array_add (argv, rest->pdata[i]);
  command.argv = (const char *const *) argv->pdata;
  command.argc = argv->len;
  return run_step (steps, &command, what, err);
}

/* A package stays one argument, whatever its characters, and none becomes an option. */
static int
install (struct steps *steps, enum package_kind kind, const GPtrArray *packages, struct compute_error *err)
{
  static const char *const apt_update[] = { "apt-get", "update", "-q", NULL };
  static const char *const apt[] = { "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q",
                                     "-y",  "--no-install-recommends",        "--",      NULL };
  static const char *const pip[] = { "pip", "install", "--no-input", "--disable-pip-version-check", "--", NULL };
  static const char *const npm[] = { "npm", "install", "--global", "--no-audit", "--no-fund", "--", NULL };
  static const char *const *const heads[] = { [PACKAGE_APT] = apt, [PACKAGE_PIP] = pip, [PACKAGE_NPM] = npm };
  g_autoptr (GString) what = g_string_new (package_kind_name (kind));
  int rc = 0;

  if (kind == PACKAGE_APT)
    rc = run_argv (steps, apt_update, NULL, "apt-get update", err);
  for (guint i = 0; i < packages->len; i++)
    g_string_append_printf (what, " %s", (const char *) packages->pdata[i]);
  return rc == 0 ? run_argv (steps, heads[kind], packages, what->str, err) : rc;
}

static guint
count_installations (const struct compute_environment *environment)
{
  guint count = 0;

  for (int kind = 0; kind < PACKAGE_KINDS; kind++)
    if (environment->packages[kind] != NULL && environment->packages[kind]->len > 0)
      count += kind == PACKAGE_APT ? 2 : 1;
  return count;
}

static int
run_packages (struct steps *steps, struct compute_error *err)
{
  const struct compute_environment *environment = steps->definition->environment;
  int rc = 0;

  steps->kind = "packages";
  steps->count = count_installations (environment);
  steps->number = 0;
  for (int kind = 0; rc == 0 && kind < PACKAGE_KINDS; kind++)
    if (environment->packages[kind] != NULL && environment->packages[kind]->len > 0)
      rc = install (steps, kind, environment->packages[kind], err);
  return rc;
}

static void
steps_init (struct steps *steps, struct compute_handle *handle, const char *instance,
            const struct definition *definition, const struct compute_call *call)
{
  *steps = (struct steps){ handle, instance, definition, *call, "", 0, 0, "", g_string_new (NULL) };
}

int
steps_prepare (struct compute_handle *handle, const char *instance, const struct definition *definition,
               const struct compute_call *call, struct compute_error *err)
{
  struct steps steps;
  int rc;

  steps_init (&steps, handle, instance, definition, call);
  rc = run_packages (&steps, err);
  if (rc == 0)
    rc = run_scripts (&steps, definition->environment->setup, "setup", err);
  g_string_free (steps.tail, TRUE);
  return rc;
}

int
steps_refresh (struct compute_handle *handle, const char *instance, const struct definition *definition,
               const struct compute_call *call, struct compute_error *err)
{
  struct steps steps;
  int rc;

  steps_init (&steps, handle, instance, definition, call);
  rc = run_scripts (&steps, definition->environment->refresh, "refresh", err);
  g_string_free (steps.tail, TRUE);
  return rc;
}
