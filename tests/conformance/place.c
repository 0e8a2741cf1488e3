/* SPDX-License-Identifier: MIT */
#include "conformance.h"
#include <glib/gstdio.h>
#include <unistd.h>

int
place_provision (struct place *place, struct compute_handle *handle, const struct compute_config *config,
                 struct compute_error *err)
{
  static const struct compute_config nothing_stated = COMPUTE_CONFIG_INIT;
  static gint count;
  struct compute_config stated = config != NULL ? *config : nothing_stated;

  *place = (struct place){ handle, COMPUTE_INSTANCE_INIT, NULL };
  place->workdir = stated.workdir != NULL ? g_strdup (stated.workdir)
                                          : g_strdup_printf ("%s/w%d", private_dir (), g_atomic_int_add (&count, 1));
  stated.workdir = place->workdir;
  if (stated.network == NULL && strcmp (provider_name (), "docker") == 0)
    stated.network = "none"; /* starts in less time */
  return compute_provision (handle, &stated, NULL, &place->instance, err);
}

struct place
place_open (const struct compute_config *config)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place place;

  assert_code (place_provision (&place, handle_open (), config, &err), 0, &err);
  return place;
}

void
place_close (struct place *place)
{
  compute_close (place->handle);
  g_free (place->workdir);
  *place = (struct place){ 0 };
}

char *
place_path (const struct place *place, const char *name)
{
  return g_build_filename (place->workdir, name, NULL);
}

gboolean
place_runs (struct place *place, const char *mark)
{
  /* The pattern "[1]23" finds 123 and not itself. */
  g_autofree char *script
      = g_strdup_printf ("for file in /proc/[0-9]*/cmdline; do tr '\\000' ' ' < $file; echo; done 2>/dev/null"
                         " | grep -q '[%c]%s'",
                         mark[0], mark + 1);
  auto_run found = run_script (place, script, 30 * SECOND);

  assert_code (found.code, 0, &found.error);
  g_assert_cmpstr (found.err->str, ==, "");
  g_assert_cmpint (found.result.exit_code, <=, 1);
  return found.result.exit_code == 0;
}

struct run
run_new (void)
{
  return (struct run){ 0, COMPUTE_ERROR_INIT, COMPUTE_RESULT_INIT, g_string_new (NULL), g_string_new (NULL), 0 };
}

void
run_clear (struct run *run)
{
  g_string_free (run->out, TRUE);
  g_string_free (run->err, TRUE);
}

int
run_collect (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  struct run *run = user;

  g_assert_true (stream == COMPUTE_STDOUT || stream == COMPUTE_STDERR);
  g_string_append_len (stream == COMPUTE_STDOUT ? run->out : run->err, data, (gssize) bytes);
  return 0;
}

struct run
run_command (struct place *place, const struct compute_command *command, const struct compute_config *config)
{
  struct compute_call call = COMPUTE_CALL_INIT;
  struct run run = run_new ();
  gint64 start = g_get_monotonic_time ();

  call.user = &run;
  call.output = run_collect;
  run.code = compute_execute (place->handle, place->instance.id, command, config, &call, &run.result, &run.error);
  run.wall_ms = (g_get_monotonic_time () - start) / 1000;
  return run;
}

struct run
run_script (struct place *place, const char *script, gint64 timeout_ms)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;
  struct compute_config config = COMPUTE_CONFIG_INIT;

  command.script = script;
  config.timeout_ms = timeout_ms;
  return run_command (place, &command, &config);
}

struct run
X (const char *script, gint64 timeout_ms)
{
  auto_place place = place_open (NULL);

  return run_script (&place, script, timeout_ms);
}

const char *
outcome_word (uint32_t outcome)
{
  switch (outcome)
    {
#define OUTCOME_WORD(name, value, word)                                                                                \
  case value:                                                                                                          \
    return word;
      COMPUTE_OUTCOME_MAP (OUTCOME_WORD)
#undef OUTCOME_WORD
    default:
      return "none of the outcomes";
    }
}
