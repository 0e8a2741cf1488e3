/* SPDX-License-Identifier: MIT */
#include "environment.h"
#include "support.h"

#include <cjson/cJSON.h>
#include <string.h>

/* When a capture is made, used and removed, on an engine of the test's own in which all of this is a table. */

#define AREA "capture"
#define YAML "image: base\nsetup: make\nrefresh: pull\nenv: {TOKEN: canary-value}\n"

struct compute_provider_state
{
  int nothing;
};

/* What the engine has and does. */
static struct
{
  GHashTable *images; /* name -> id */
  int provisions, commands, captures, shutdowns;
  const char *started; /* the image of the last instance; owned */
  int provision_fails; /* so many times */
  int capture_code;    /* what capture returns */
  uint32_t secrets;    /* names that the last capture was given */
  GString *log;
  const char *platform;
  struct compute_capture table;
} engine;

static char *home;

static int
engine_open (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err)
{
  static struct compute_provider_state state;

  (void) host;
  (void) err;
  *ret_state = &state;
  return 0;
}

static void
engine_close (struct compute_provider_state *state)
{
  (void) state;
}

static int
engine_available (struct compute_provider_state *state, const struct compute_call *call, struct compute_error *err)
{
  (void) state;
  (void) call;
  (void) err;
  return 0;
}

static int
engine_provision (struct compute_provider_state *state, const struct compute_config *config,
                  const struct compute_call *call, struct compute_instance *ret_instance, struct compute_error *err)
{
  (void) state;
  (void) call;
  engine.provisions++;
  g_free ((char *) engine.started);
  engine.started = g_strdup (config->image);
  if (engine.provision_fails > 0 && engine.provision_fails-- > 0)
    return compute_error_set (err, COMPUTE_E_ENGINE, 0, "the layers are broken");
  g_strlcpy (ret_instance->id, "engine-1", sizeof ret_instance->id);
  return 0;
}

static int
engine_execute (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
                const struct compute_config *config, const struct compute_call *call, struct compute_result *ret_result,
                struct compute_error *err)
{
  (void) state;
  (void) instance;
  (void) config;
  (void) call;
  (void) err;
  g_assert_cmpstr (command->script, ==, engine.started[0] == '#' ? "pull" : "make");
  engine.commands++;
  ret_result->outcome = COMPUTE_OUTCOME_EXITED;
  ret_result->exit_code = 0;
  return 0;
}

static int
engine_shutdown (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                 struct compute_error *err)
{
  (void) state;
  (void) instance;
  (void) call;
  (void) err;
  engine.shutdowns++;
  return 0;
}

static int
engine_list (struct compute_provider_state *state, compute_instance_fn emit, void *user,
             const struct compute_call *call, struct compute_error *err)
{
  (void) state;
  (void) emit;
  (void) user;
  (void) call;
  (void) err;
  return 0;
}

static int
engine_status (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
               struct compute_instance *ret_instance, struct compute_error *err)
{
  (void) state;
  (void) call;
  (void) ret_instance;
  return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no instance '%s'", instance);
}

static void
describe_image (const char *name, struct compute_image *ret_image)
{
  g_strlcpy (ret_image->id, g_hash_table_lookup (engine.images, name), sizeof ret_image->id);
  g_strlcpy (ret_image->platform, engine.platform, sizeof ret_image->platform);
}

static int
engine_capture (struct compute_provider_state *state, const char *instance,
                const struct compute_capture_request *request, const struct compute_call *call,
                struct compute_image *ret_base, struct compute_image *ret_image, struct compute_error *err)
{
  (void) state;
  (void) instance;
  (void) call;
  if (engine.capture_code != 0)
    return compute_error_set (err, engine.capture_code, 0, "no room for %s", request->ref);
  engine.captures++;
  engine.secrets = (uint32_t) request->secret_count;
  g_hash_table_insert (engine.images, g_strdup (request->ref), g_strdup_printf ("#%d", engine.captures));
  describe_image (request->ref, ret_image);
  describe_image ("base", ret_base);
  return 0;
}

static int
engine_has (struct compute_provider_state *state, const char *const *refs, uint64_t count,
            const struct compute_call *call, struct compute_image *ret_images, struct compute_error *err)
{
  (void) state;
  (void) call;
  (void) err;
  for (uint64_t i = 0; i < count; i++)
    if (g_hash_table_contains (engine.images, refs[i]))
      describe_image (refs[i], &ret_images[i]);
  return 0;
}

static int
engine_remove (struct compute_provider_state *state, const char *ref, const struct compute_call *call,
               struct compute_error *err)
{
  (void) state;
  (void) call;
  (void) err;
  g_hash_table_remove (engine.images, ref);
  return 0;
}

static const void *
engine_extension (const char *id)
{
  return strcmp (id, COMPUTE_CAPTURE_ID) == 0 ? &engine.table : NULL;
}

static const struct compute_provider engine_provider = {
  COMPUTE_PROVIDER_HEADER,
  .name = "engine",
  .version = "1",
  .description = "A table",
  .capabilities = COMPUTE_CAP_EXECUTE | COMPUTE_CAP_CAPTURE,
  .open = engine_open,
  .close = engine_close,
  .is_available = engine_available,
  .provision = engine_provision,
  .execute = engine_execute,
  .shutdown = engine_shutdown,
  .list_instances = engine_list,
  .get_status = engine_status,
  .get_extension = engine_extension,
};

/* ---- One test's world -------------------------------------------------------------------------------------------- */

struct world
{
  struct compute_registry *registry;
  struct compute_handle *handle;
  struct compute_environment *environment;
};

static void
take_log (void *context, uint32_t level, const char *line)
{
  (void) context;
  (void) level;
  g_string_append_printf (engine.log, "%s\n", line);
}

static struct compute_environment *
parse (const char *yaml)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_environment *environment;
  g_autofree char *path = g_build_filename (home, "environment.yaml", NULL);

  g_assert_true (g_file_set_contents (path, yaml, -1, NULL));
  if (compute_environment_open (path, &environment, &err) != 0)
    g_error ("%s", err.message);
  return environment;
}

static void
begin (struct world *world, const char *yaml)
{
  struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  memset (&engine, 0, sizeof engine);
  engine.images = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_hash_table_insert (engine.images, g_strdup ("base"), g_strdup ("base-1"));
  engine.log = g_string_new (NULL);
  engine.platform = "linux/test";
  engine.table = (struct compute_capture){
    .size = sizeof engine.table, .capture = engine_capture, .has = engine_has, .remove = engine_remove
  };
  home = g_dir_make_tmp ("compute-capture-XXXXXX", NULL);
  g_assert_true (g_setenv ("HOME", home, TRUE));
  options.flags = COMPUTE_REGISTRY_ONLY_PATHS;
  options.log = take_log;
  g_assert_cmpint (compute_registry_open (&options, &world->registry, &err), ==, 0);
  g_assert_cmpint (compute_register (world->registry, "engine", &engine_provider, &err), ==, 0);
  g_assert_cmpint (compute_resolve (world->registry, "engine", &world->handle, &err), ==, 0);
  world->environment = parse (yaml);
}

static void
end (struct world *world)
{
  compute_environment_close (world->environment);
  compute_close (world->handle);
  compute_registry_close (world->registry);
  g_hash_table_unref (engine.images);
  g_string_free (engine.log, TRUE);
  g_free ((char *) engine.started);
  g_assert_cmpint (g_chmod (home, 0700), ==, 0);
  remove_folder (home);
  g_free (home);
}

static struct compute_prepared
prepare (struct world *world)
{
  struct compute_prepared about = COMPUTE_PREPARED_INIT;
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (compute_prepare (world->handle, world->environment, NULL, 0, NULL, &instance, &about, &err) != 0)
    g_error ("%s", err.message);
  g_assert_cmpstr (instance.id, ==, "engine-1");
  return about;
}

static cJSON *
read_record (void)
{
  g_autofree char *path = g_build_filename (home, ".praisonai/environments/registry.json", NULL);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? cJSON_Parse (text) : cJSON_CreateObject ();
}

static void
write_record (const cJSON *record)
{
  g_autofree char *path = g_build_filename (home, ".praisonai/environments/registry.json", NULL);
  char *text = cJSON_Print (record);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  cJSON_free (text);
}

static void
assert_why (struct world *world, const char *why)
{
  struct compute_prepared about = COMPUTE_PREPARED_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_explain_capture (world->handle, world->environment, NULL, NULL, &about, &err), ==, 0);
  g_assert_cmpstr (about.why, ==, why);
  g_assert_cmpint (about.flags, ==, why[0] == '\0' ? COMPUTE_PREPARED_REUSED : 0);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void
test_a_capture_is_used_until_something_differs (void)
{
  struct world world;

  begin (&world, YAML);
  assert_why (&world, "there is no capture of this definition and these values yet");
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_CAPTURED);
  g_assert_cmpint (engine.secrets, ==, 1 + 19);
  assert_why (&world, "");
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_REUSED);
  g_assert_cmpstr (engine.started, ==, "#1");
  g_assert_cmpint (engine.commands, ==, 2);
  g_hash_table_insert (engine.images, g_strdup ("base"), g_strdup ("base-2"));
  assert_why (&world, "the base image base is another one now");
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_CAPTURED);
  assert_why (&world, "");
  g_hash_table_remove (engine.images, "base");
  assert_why (&world, "");
  g_hash_table_remove_all (engine.images);
  assert_why (&world, "the image of the capture is gone");
  end (&world);
}

static void
assert_why_with (struct world *world, const struct compute_config *config, const char *why)
{
  struct compute_prepared about = COMPUTE_PREPARED_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;

  g_assert_cmpint (compute_explain_capture (world->handle, world->environment, config, NULL, &about, &err), ==, 0);
  g_assert_cmpstr (about.why, ==, why);
}

static void
test_what_the_key_does_not_bind_is_named_when_it_differs (void)
{
  const struct compute_mount mount = { .source = "/a", .target = "/b" };
  const struct compute_pair option = { "name", "value" };
  struct compute_config user = COMPUTE_CONFIG_INIT, network = COMPUTE_CONFIG_INIT, mounts = COMPUTE_CONFIG_INIT,
                        options = COMPUTE_CONFIG_INIT;
  struct world world;

  begin (&world, YAML);
  (void) prepare (&world);
  user.user = "1000";
  network.network = "none";
  mounts.mounts = &mount;
  mounts.mount_count = 1;
  options.options = &option;
  options.option_count = 1;
  assert_why_with (&world, &user, "the capture was made with other user");
  assert_why_with (&world, &network, "the capture was made with other network");
  assert_why_with (&world, &mounts, "the capture was made with other mounts");
  assert_why_with (&world, &options, "the capture was made with other options");
  engine.platform = "linux/other";
  assert_why_with (&world, NULL, "the base image base is another one now");
  end (&world);
}

static void
test_without_an_image_it_is_made_from_the_one_that_its_key_says (void)
{
  struct world world;

  begin (&world, "setup: make\n");
  g_hash_table_insert (engine.images, g_strdup ("python:3.11-slim"), g_strdup ("base-1"));
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_CAPTURED);
  g_assert_cmpstr (engine.started, ==, "python:3.11-slim");
  assert_why (&world, "");
  g_hash_table_insert (engine.images, g_strdup ("python:3.11-slim"), g_strdup ("base-2"));
  assert_why (&world, "the base image python:3.11-slim is another one now");
  end (&world);
}

static void
test_a_capture_that_costs_money_is_made_when_the_environment_says_so (void)
{
  struct world world;

  begin (&world, YAML);
  engine.table.flags = COMPUTE_CAPTURE_COSTS;
  assert_why (&world, "a capture costs money on engine; the environment needs 'capture: true'");
  g_assert_cmpint (prepare (&world).flags, ==, 0);
  compute_environment_close (world.environment);
  world.environment = parse (YAML "capture: true\n");
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_CAPTURED);
  g_assert_cmpint (engine.captures, ==, 1);
  end (&world);
}

static void
test_a_capture_that_fails_is_told_without_its_name_and_not_recorded (void)
{
  struct world world;
  cJSON *record;

  begin (&world, YAML);
  engine.capture_code = COMPUTE_E_ENGINE;
  g_assert_cmpint (prepare (&world).flags, ==, 0);
  g_assert_cmpstr (
      engine.log->str, ==,
      "[engine_compute] capture failed for engine-1 (ephemeral fallback): no room for praisonai-env:...\n");
  record = read_record ();
  g_assert_cmpint (cJSON_GetArraySize (record), ==, 0);
  cJSON_Delete (record);
  g_assert_cmpint (engine.shutdowns, ==, 0);
  end (&world);
}

static void
test_a_cancelled_capture_leaves_no_instance (void)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct world world;

  begin (&world, YAML);
  engine.capture_code = COMPUTE_E_CANCELLED;
  g_assert_cmpint (compute_prepare (world.handle, world.environment, NULL, 0, NULL, &instance, NULL, &err), ==,
                   COMPUTE_E_CANCELLED);
  g_assert_cmpint (engine.shutdowns, ==, 1);
  end (&world);
}

static void
test_a_capture_that_does_not_start_is_built_again (void)
{
  struct world world;

  begin (&world, YAML);
  (void) prepare (&world);
  engine.provision_fails = 2; /* before and after the turn was waited for */
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_CAPTURED);
  g_assert_cmpint (engine.captures, ==, 2);
  g_assert_cmpstr (engine.started, ==, "base");
  end (&world);
}

static void
test_an_entry_of_another_program_is_built_again_and_keeps_its_members (void)
{
  struct world world;
  cJSON *record, *entry;

  begin (&world, YAML);
  (void) prepare (&world);
  record = read_record ();
  entry = record->child;
  cJSON_DeleteItemFromObjectCaseSensitive (entry, "base");
  cJSON_AddStringToObject (entry, "note", "theirs");
  write_record (record);
  cJSON_Delete (record);
  assert_why (&world, "the capture was made by a program that does not say what it was made from");
  g_assert_cmpint (prepare (&world).flags, ==, COMPUTE_PREPARED_CAPTURED);
  record = read_record ();
  g_assert_cmpstr (cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (record->child, "note")), ==, "theirs");
  cJSON_Delete (record);
  end (&world);
}

static void
test_without_a_place_for_the_record_the_run_goes_on (void)
{
  g_autofree char *path = NULL;
  struct world world;

  begin (&world, YAML);
  path = g_build_filename (home, ".praisonai", NULL);
  g_assert_true (g_file_set_contents (path, "a file", -1, NULL));
  g_assert_cmpint (prepare (&world).flags, ==, 0);
  g_assert_nonnull (strstr (engine.log->str, "(ephemeral fallback): could not make"));
  end (&world);
}

static int
count_pruned (void *user, const struct compute_capture_entry *entry)
{
  int *counts = user;

  counts[entry->pruned]++;
  g_assert_true ((entry->why == NULL) == (entry->pruned == COMPUTE_PRUNE_REMOVED));
  return 0;
}

static void
test_prune_leaves_on_record_what_it_could_not_remove (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  int counts[4] = { 0 };
  struct world world;
  cJSON *record, *other;

  begin (&world, YAML);
  (void) prepare (&world);
  record = read_record ();
  other = cJSON_AddObjectToObject (record, "ffffffffffff");
  cJSON_AddStringToObject (other, "backend", "nowhere");
  cJSON_AddStringToObject (other, "ref", "x");
  cJSON_AddStringToObject (record, "odd", "no entry");
  write_record (record);
  cJSON_Delete (record);
  g_assert_cmpint (
      compute_prune_captures (world.registry, COMPUTE_DEFAULT_PRUNE_AGE_MS, count_pruned, counts, NULL, &err), ==, 0);
  g_assert_cmpint (counts[COMPUTE_PRUNE_REMOVED], ==, 0);
  g_assert_cmpint (counts[COMPUTE_PRUNE_FAILED], ==, 1);
  g_assert_cmpint (compute_prune_captures (world.registry, 0, count_pruned, counts, NULL, &err), ==, 0);
  g_assert_cmpint (counts[COMPUTE_PRUNE_REMOVED], ==, 1);
  record = read_record ();
  g_assert_cmpint (cJSON_GetArraySize (record), ==, 2);
  g_assert_true (cJSON_HasObjectItem (record, "ffffffffffff"));
  cJSON_Delete (record);
  g_assert_cmpint (compute_prune_captures (world.registry, -1, count_pruned, counts, NULL, &err), ==,
                   COMPUTE_E_INVALID);
  end (&world);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD_TEST (a_capture_is_used_until_something_differs);
  ADD_TEST (what_the_key_does_not_bind_is_named_when_it_differs);
  ADD_TEST (without_an_image_it_is_made_from_the_one_that_its_key_says);
  ADD_TEST (a_capture_that_costs_money_is_made_when_the_environment_says_so);
  ADD_TEST (a_capture_that_fails_is_told_without_its_name_and_not_recorded);
  ADD_TEST (a_cancelled_capture_leaves_no_instance);
  ADD_TEST (a_capture_that_does_not_start_is_built_again);
  ADD_TEST (an_entry_of_another_program_is_built_again_and_keeps_its_members);
  ADD_TEST (without_a_place_for_the_record_the_run_goes_on);
  ADD_TEST (prune_leaves_on_record_what_it_could_not_remove);
  return g_test_run ();
}
