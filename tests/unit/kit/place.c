/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <glib/gstdio.h>

Place *
place_new_with_lease (guint lease_ms)
{
  const char *const argv[] = { g_getenv ("COMPUTE_RUNNER"), NULL };
  struct compute_runner_options options = { .size = sizeof options, .lease_ms = lease_ms };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  Place *place = g_new0 (Place, 1);
  int code;

  place->workdir = g_dir_make_tmp ("kit-XXXXXX", NULL);
  code = compute_runner_spawn (argv, NULL, 2, &place->pid, &options.read_fd, &options.write_fd, &err);
  g_assert_cmpstr (err.message, ==, "");
  g_assert_cmpint (code, ==, 0);
  code = compute_runner_open (&options, &place->runner, &err);
  g_assert_cmpstr (err.message, ==, "");
  g_assert_cmpint (code, ==, 0);
  config.workdir = place->workdir;
  g_assert_cmpint (compute_runner_configure (place->runner, &config, &err), ==, 0);
  return place;
}

Place *
place_new (void)
{
  return place_new_with_lease (0);
}

void
place_free (Place *place)
{
  g_autofree char *command = g_strdup_printf ("rm -rf '%s'", place->workdir);

  compute_runner_close (place->runner);
  compute_runner_reap (place->pid, 10000);
  g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL);
  g_free (place->workdir);
  g_free (place);
}

static int
take_output (void *user, uint32_t stream, const void *data, uint64_t bytes)
{
  Run *run = user;

  g_string_append_len (stream == COMPUTE_STDOUT ? run->out : run->error_out, data, (gssize) bytes);
  if (run->on_output != NULL)
    run->on_output (run->user);
  return run->cancel_after > 0 && run->out->len >= run->cancel_after;
}

Run *
run_new (void)
{
  Run *run = g_new0 (Run, 1);

  run->err = (struct compute_error) COMPUTE_ERROR_INIT;
  run->result = (struct compute_result) COMPUTE_RESULT_INIT;
  run->call = (struct compute_call) COMPUTE_CALL_INIT;
  run->call.output = take_output;
  run->call.user = run;
  run->out = g_string_new (NULL);
  run->error_out = g_string_new (NULL);
  return run;
}

void
run_free (Run *run)
{
  g_string_free (run->out, TRUE);
  g_string_free (run->error_out, TRUE);
  g_free (run);
}

void
run_command (Run *run, Place *place, const struct compute_command *command, const struct compute_config *config)
{
  run->code = compute_runner_execute (place->runner, command, config, &run->call, &run->result, &run->err);
}

void
run_script (Run *run, Place *place, const char *script)
{
  struct compute_command command = COMPUTE_COMMAND_INIT;

  command.script = script;
  run_command (run, place, &command, NULL);
}

Run *
run_well (Place *place, const char *script)
{
  Run *run = run_new ();

  run_script (run, place, script);
  assert_exited (run, 0);
  return run;
}

guint
count_descriptors (void)
{
  g_autoptr (GDir) folder = g_dir_open ("/proc/self/fd", 0, NULL);
  guint count = 0;

  while (g_dir_read_name (folder) != NULL)
    count++;
  return count;
}
