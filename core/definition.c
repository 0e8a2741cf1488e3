/* SPDX-License-Identifier: MIT */
#include "definition.h"

#include <string.h>

/**
 * definition.c: merges an environment with what its caller states, and names the outcome by two hashes. Both are the
 * first 12 hexadecimal digits of the SHA-256 over canonical JSON (keys sorted, no blanks, nothing but ASCII), byte for
 * byte as the PraisonAI package for Python computes them, so that either finds what the other has captured.
 */

/* What a definition that does not state it is hashed with. */
#define HASHED_CPU "1"
#define HASHED_MEMORY_MB 1024
#define MEBIBYTE (1024 * 1024)

/* ---- Merging ----------------------------------------------------------------------------------------------------- */

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (((const struct compute_pair *) a)->name, ((const struct compute_pair *) b)->name);
}

/* Each name once; the caller's value wins. */
static void
merge_env (struct definition *definition, const struct compute_config *config)
{
  g_autoptr (GHashTable) given = g_hash_table_new (g_str_hash, g_str_equal);
  const GArray *stated = definition->environment->env;

  if (config->env_count > 0)
    g_array_append_vals (definition->env, config->env, (guint) config->env_count);
  for (uint64_t i = 0; i < config->env_count; i++)
    g_hash_table_add (given, (gpointer) config->env[i].name);
  for (guint i = 0; i < stated->len; i++)
    {
      const struct compute_pair *pair = &g_array_index (stated, struct compute_pair, i);

      if (!g_hash_table_contains (given, pair->name))
        g_array_append_vals (definition->env, pair, 1);
    }
  g_array_sort (definition->env, compare_names);
}

/* A target once; the caller's mount wins. */
static void
merge_mounts (struct definition *definition, const struct compute_config *config)
{
  g_autoptr (GHashTable) given = g_hash_table_new (g_str_hash, g_str_equal);
  const GArray *stated = definition->environment->mounts;

  if (config->mount_count > 0)
    g_array_append_vals (definition->mounts, config->mounts, (guint) config->mount_count);
  for (uint64_t i = 0; i < config->mount_count; i++)
    g_hash_table_add (given, (gpointer) config->mounts[i].target);
  for (guint i = 0; i < stated->len; i++)
    {
      const struct compute_mount *mount = &g_array_index (stated, struct compute_mount, i);

      if (!g_hash_table_contains (given, mount->target))
        g_array_append_vals (definition->mounts, mount, 1);
    }
}

static void
merge_scalars (struct compute_config *config, const struct compute_environment *environment)
{
  if (config->image == NULL)
    config->image = environment->image;
  if (config->workdir == NULL)
    config->workdir = environment->working_dir;
  if (config->network == NULL)
    config->network = environment->network;
  if (config->gpu == NULL)
    config->gpu = environment->gpu;
  if (config->memory_bytes == 0)
    config->memory_bytes = environment->memory_mb * MEBIBYTE;
  if (config->cpu_millis == 0)
    config->cpu_millis = environment->cpu_millis;
}

/* ---- Canonical JSON ---------------------------------------------------------------------------------------------- */

/* cJSON writes UTF-8 as it is; the canonical form escapes all that is not printable ASCII. */
static char *
escape_to_ascii (const char *json)
{
  GString *ascii = g_string_new (NULL);

  for (const char *p = json; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c >= 0x20 && c < 0x7f)
        g_string_append_c (ascii, (char) c);
      else if (c < 0x10000)
        g_string_append_printf (ascii, "\\u%04x", c);
      else
        g_string_append_printf (ascii, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                                0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  return g_string_free (ascii, FALSE);
}

static void
hash_json (const cJSON *object, char hash[DEFINITION_BYTES])
{
  char *json = cJSON_PrintUnformatted (object);
  g_autofree char *ascii = escape_to_ascii (json);
  g_autofree char *digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, ascii, -1);

  cJSON_free (json);
  g_strlcpy (hash, digest, DEFINITION_BYTES);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static cJSON *
json_texts (const GPtrArray *texts, gboolean is_sorted)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new ();
  cJSON *array = cJSON_CreateArray ();

  for (guint i = 0; i < texts->len; i++)
    g_ptr_array_add (list, texts->pdata[i]);
  if (is_sorted)
    g_ptr_array_sort (list, compare_texts);
  for (guint i = 0; i < list->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (list->pdata[i]));
  return array;
}

static cJSON *
json_packages (const struct compute_environment *environment)
{
  static const enum package_kind sorted[] = { PACKAGE_APT, PACKAGE_NPM, PACKAGE_PIP };
  cJSON *packages = cJSON_CreateObject ();

  for (size_t i = 0; i < G_N_ELEMENTS (sorted); i++)
    if (environment->packages[sorted[i]] != NULL)
      cJSON_AddItemToObject (packages, package_kind_name (sorted[i]),
                             json_texts (environment->packages[sorted[i]], TRUE));
  return packages;
}

static cJSON *
json_cpu (const struct definition *definition)
{
  const struct compute_environment *environment = definition->environment;
  uint64_t millis = definition->config.cpu_millis;
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (millis == 0)
    return cJSON_CreateRaw (HASHED_CPU);
  if (environment->cpu != NULL && millis == environment->cpu_millis)
    return cJSON_CreateRaw (environment->cpu);
  return cJSON_CreateRaw (g_ascii_dtostr (digits, sizeof digits, (double) millis / 1000));
}

static cJSON *
json_text_or_null (const char *text)
{
  return text != NULL ? cJSON_CreateString (text) : cJSON_CreateNull ();
}

static void
add_env (cJSON *object, const struct definition *definition, gboolean with_values)
{
  cJSON *names = cJSON_AddArrayToObject (object, "env_names");
  cJSON *values = with_values ? cJSON_AddObjectToObject (object, "env_values") : NULL;

  for (guint i = 0; i < definition->env->len; i++)
    {
      const struct compute_pair *pair = &g_array_index (definition->env, struct compute_pair, i);

      cJSON_AddItemToArray (names, cJSON_CreateString (pair->name));
      if (with_values)
        cJSON_AddItemToObject (values, pair->name, cJSON_CreateString (pair->value));
    }
}

/* Members in the order of their names. */
static cJSON *
json_definition (const struct definition *definition, gboolean with_values)
{
  const struct compute_config *config = &definition->config;
  uint64_t megabytes = config->memory_bytes != 0 ? config->memory_bytes / MEBIBYTE : HASHED_MEMORY_MB;
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddItemToObject (object, "cpu", json_cpu (definition));
  add_env (object, definition, with_values);
  cJSON_AddItemToObject (object, "gpu", json_text_or_null (config->gpu));
  cJSON_AddStringToObject (object, "image", config->image != NULL ? config->image : DEFINITION_IMAGE);
  cJSON_AddNumberToObject (object, "memory_mb", (double) megabytes);
  cJSON_AddItemToObject (object, "packages", json_packages (definition->environment));
  cJSON_AddItemToObject (object, "setup", json_texts (definition->environment->setup, FALSE));
  cJSON_AddStringToObject (object, "working_dir", config->workdir != NULL ? config->workdir : DEFAULT_WORKING_DIR);
  return object;
}

static void
compute_hashes (struct definition *definition)
{
  cJSON *shown = json_definition (definition, FALSE);
  cJSON *bound = json_definition (definition, TRUE);

  hash_json (shown, definition->hash);
  hash_json (bound, definition->key);
  cJSON_Delete (shown);
  cJSON_Delete (bound);
}

/* ---- Definitions ------------------------------------------------------------------------------------------------- */

void
definition_init (struct definition *definition, const struct compute_environment *environment,
                 const struct compute_config *config)
{
  *definition = (struct definition){ .environment = environment, .config = *config };
  definition->env = g_array_new (FALSE, FALSE, sizeof (struct compute_pair));
  definition->mounts = g_array_new (FALSE, FALSE, sizeof (struct compute_mount));
  merge_env (definition, config);
  merge_mounts (definition, config);
  merge_scalars (&definition->config, environment);
  compute_hashes (definition);
  definition->config.env = (const struct compute_pair *) definition->env->data;
  definition->config.env_count = definition->env->len;
  definition->config.mounts = (const struct compute_mount *) definition->mounts->data;
  definition->config.mount_count = definition->mounts->len;
  definition->config.definition = definition->hash;
}

void
definition_clear (struct definition *definition)
{
  g_array_unref (definition->env);
  g_array_unref (definition->mounts);
}

cJSON *
definition_to_json (const struct definition *definition)
{
  return json_definition (definition, FALSE);
}

gboolean
definition_is_prepared (const struct definition *definition)
{
  const struct compute_environment *environment = definition->environment;

  for (int kind = 0; kind < PACKAGE_KINDS; kind++)
    if (environment->packages[kind] != NULL && environment->packages[kind]->len > 0)
      return TRUE;
  return environment->setup->len > 0;
}
