/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "json.h"
#include "output.h"
#include "signals.h"

#include <string.h>

/* What goes wrong here has nowhere to be told. */
static void
print_line (const char *what, const char *why)
{
  g_autofree char *shown_what = output_printable (what);
  g_autofree char *shown_why = output_printable (why);
  g_autofree char *line = g_strconcat ("compute: ", shown_what, shown_why, "\n", NULL);

  (void) output_write (2, line, strlen (line), NULL);
}

static void
tell (const struct request *request, const char *provider, const struct compute_error *err)
{
  const struct subcommand *subcommand = request->subcommand;
  g_autofree char *what = subcommand != NULL ? g_strconcat (subcommand->name, ": ", NULL) : g_strdup ("");
  struct compute_error failure = COMPUTE_ERROR_INIT;

  if (!request->json)
    print_line (what, err->message);
  else if (json_print (json_failure (provider, err), &failure) != 0)
    {
      print_line (what, err->message);
      print_line (what, failure.message);
    }
}

/* A signal's number when it is why the work was given up; 0 otherwise. */
static int
ending_signal (const struct compute_error *err)
{
  return err->code == COMPUTE_E_CANCELLED ? signals_caught () : 0;
}

int
report_status (const struct compute_error *err)
{
  return ending_signal (err) != 0 ? STATUS_SIGNALED + ending_signal (err) : STATUS_FAILED;
}

int
report_failure (const struct request *request, const char *provider, const struct compute_error *err)
{
  if (ending_signal (err) == 0 || request->json) /* who sent a signal need not be told */
    tell (request, provider, err);
  return report_status (err);
}

int
report_usage (const struct request *request, const struct compute_error *err)
{
  tell (request, NULL, err);
  return STATUS_USAGE;
}

void
report_warning (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  print_line ("", text);
}

void
report_note (const struct request *request, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (request->quiet)
    return;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  print_line ("", text);
}
