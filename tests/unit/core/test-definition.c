/* SPDX-License-Identifier: MIT */
#include "definition.h"
#include "support.h"

#include <string.h>

/* Definitions and their hashes. */

#define AREA "definition"

/* What the PraisonAI package for Python says of 40 definitions. */
static char *vectors_path;

static char *
text_of (const cJSON *object, const char *name)
{
  return g_strdup (cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (object, name)));
}

static void
read_list (GPtrArray *list, const cJSON *array)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, array) g_ptr_array_add (list, g_strdup (item->valuestring));
}

static void
read_packages (struct compute_environment *environment, const cJSON *packages)
{
  for (int kind = 0; kind < PACKAGE_KINDS; kind++)
    {
      const cJSON *list = cJSON_GetObjectItemCaseSensitive (packages, package_kind_name (kind));

      if (list == NULL)
        continue;
      environment->packages[kind] = g_ptr_array_new_with_free_func (g_free);
      read_list (environment->packages[kind], list);
    }
}

static struct compute_environment *
read_config (const cJSON *config)
{
  struct compute_environment *environment = environment_new ("/");
  const cJSON *variable;

  environment->image = text_of (config, "image");
  environment->gpu = text_of (config, "gpu");
  environment->working_dir = text_of (config, "working_dir");
  environment->memory_mb = (uint64_t) cJSON_GetObjectItemCaseSensitive (config, "memory_mb")->valuedouble;
  environment->cpu_millis = (uint64_t) cJSON_GetObjectItemCaseSensitive (config, "cpu")->valuedouble * 1000;
  environment->cpu = g_strdup_printf ("%d", (int) environment->cpu_millis / 1000);
  read_packages (environment, cJSON_GetObjectItemCaseSensitive (config, "packages"));
  read_list (environment->setup, cJSON_GetObjectItemCaseSensitive (config, "setup"));
  cJSON_ArrayForEach (variable, cJSON_GetObjectItemCaseSensitive (config, "env"))
  {
    struct compute_pair pair = { g_strdup (variable->string), g_strdup (variable->valuestring) };

    g_array_append_val (environment->env, pair);
  }
  return environment;
}

static void
assert_hashes (const struct compute_environment *environment, const char *hash, const char *key)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct definition definition;

  definition_init (&definition, environment, &config);
  g_assert_cmpstr (definition.hash, ==, hash);
  g_assert_cmpstr (definition.key, ==, key);
  definition_clear (&definition);
}

static void
test_hashes_are_those_of_the_python_package (void)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  int count = 0;

  g_assert_true (g_file_get_contents (vectors_path, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", 0);
  for (size_t i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++, count++)
    {
      cJSON *vector = cJSON_Parse (lines[i]);
      g_autofree char *hash = text_of (vector, "definition_hash");
      g_autofree char *key = text_of (vector, "capture_key");
      struct compute_environment *environment = read_config (cJSON_GetObjectItemCaseSensitive (vector, "config"));

      assert_hashes (environment, hash, key);
      compute_environment_close (environment);
      cJSON_Delete (vector);
    }
  g_assert_cmpint (count, ==, 40);
}

/* ---- What counts, and what does not ------------------------------------------------------------------------------ */

static struct definition
define (const char *yaml, struct compute_environment **ret_environment)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct definition definition;

  g_assert_cmpint (environment_parse ("e.yaml", "/project", yaml, strlen (yaml), ret_environment, &err), ==, 0);
  definition_init (&definition, *ret_environment, &config);
  return definition;
}

static gboolean
keys_equal (const char *one, const char *other)
{
  struct compute_environment *first_environment, *second_environment;
  struct definition first = define (one, &first_environment), second = define (other, &second_environment);
  gboolean equal = strcmp (first.key, second.key) == 0;

  definition_clear (&first);
  definition_clear (&second);
  compute_environment_close (first_environment);
  compute_environment_close (second_environment);
  return equal;
}

static void
test_case_C07_order_counts_for_steps_alone (void)
{
  g_assert_true (keys_equal ("env: {A: '1', B: '2'}\nsetup: [x]", "setup: [x]\nenv: {B: '2', A: '1'}"));
  g_assert_true (keys_equal ("packages: {pip: [a, b]}", "packages: {pip: [b, a]}"));
  g_assert_false (keys_equal ("setup: [a, b]", "setup: [b, a]"));
  g_assert_false (keys_equal ("setup: [a b]", "setup: [a, b]"));
}

static void
test_values_count_for_the_key_alone (void)
{
  struct compute_environment *first_environment, *second_environment;
  struct definition first = define ("env: {A: one}", &first_environment);
  struct definition second = define ("env: {A: two}", &second_environment);

  g_assert_cmpstr (first.hash, ==, second.hash);
  g_assert_cmpstr (first.key, !=, second.key);
  definition_clear (&first);
  definition_clear (&second);
  compute_environment_close (first_environment);
  compute_environment_close (second_environment);
}

static void
test_an_empty_file_gives_defaults (void)
{
  g_assert_true (keys_equal ("", "image: 'python:3.11-slim'\nresources: {cpu: 1, memory_mb: 1024}\n"
                                 "working_dir: /workspace"));
}

static void
test_what_the_caller_states_wins (void)
{
  const struct compute_pair env[] = { { "A", "mine" }, { "C", "3" } };
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_environment *environment;
  struct definition definition = define ("image: file\nenv: {A: one, B: two}\nworking_dir: /file", &environment);

  definition_clear (&definition);
  config.image = "caller";
  config.env = env;
  config.env_count = 2;
  definition_init (&definition, environment, &config);
  g_assert_cmpstr (definition.config.image, ==, "caller");
  g_assert_cmpstr (definition.config.workdir, ==, "/file");
  g_assert_cmpint (definition.config.env_count, ==, 3);
  g_assert_cmpstr (definition.config.env[0].value, ==, "mine");
  g_assert_cmpstr (definition.config.env[1].value, ==, "two");
  g_assert_cmpstr (definition.config.env[2].name, ==, "C");
  definition_clear (&definition);
  compute_environment_close (environment);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  vectors_path = argv[1];
  ADD_TEST (hashes_are_those_of_the_python_package);
  ADD_TEST (case_C07_order_counts_for_steps_alone);
  ADD_TEST (values_count_for_the_key_alone);
  ADD_TEST (an_empty_file_gives_defaults);
  ADD_TEST (what_the_caller_states_wins);
  return g_test_run ();
}
