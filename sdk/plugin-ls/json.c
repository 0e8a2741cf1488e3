/* SPDX-License-Identifier: MIT */
#include "print.h"

#include "display.h"
#include "words.h"

#include <string.h>

#define SCHEMA 1

static void
add_text (cJSON *object, const char *key, const char *text)
{
  g_autofree char *safe = text != NULL ? display_json (text) : NULL;

  if (safe != NULL)
    cJSON_AddStringToObject (object, key, safe);
  else
    cJSON_AddNullToObject (object, key);
}

/* cJSON's numbers are doubles, which times in nanoseconds are too long for. */
static void
add_integer (cJSON *object, const char *key, int64_t number)
{
  char digits[32];

  g_snprintf (digits, sizeof digits, "%lld", (long long) number);
  cJSON_AddRawToObject (object, key, digits);
}

static void
append_text (cJSON *array, const char *text)
{
  g_autofree char *safe = display_json (text);

  cJSON_AddItemToArray (array, cJSON_CreateString (safe));
}

/* A path, and its exact bytes in "KEY_hex" where they are not UTF-8. */
static void
add_path (cJSON *object, const char *key, const char *path)
{
  GString *hex;
  g_autofree char *hex_key = g_strconcat (key, "_hex", NULL);

  add_text (object, key, path);
  if (path == NULL || g_utf8_validate (path, -1, NULL))
    return;
  hex = g_string_new (NULL);
  for (; *path != '\0'; path++)
    g_string_append_printf (hex, "%02x", (unsigned char) *path);
  cJSON_AddStringToObject (object, hex_key, hex->str);
  g_string_free (hex, TRUE);
}

static void
add_core (cJSON *document, const struct core_info *core)
{
  cJSON *object = cJSON_AddObjectToObject (document, "core");

  add_text (object, "version", core->version);
  add_text (object, "abi", core->abi);
  add_text (object, "libc", core->libc);
  add_text (object, "arch", core->arch);
  add_path (object, "path", core->path);
  cJSON_AddBoolToObject (document, "secure_mode", core->secure);
}

/* The elements of variables that do not count. */
static void
add_ignored (cJSON *document, const struct listing *listing)
{
  cJSON *array = cJSON_AddArrayToObject (document, "ignored_env");

  for (guint i = 0; i < listing->folders->len; i++)
    {
      const struct compute_folder *folder = listing->folders->pdata[i];
      cJSON *object;

      if (folder->source != COMPUTE_SOURCE_ENVIRONMENT || !folder_is_ignored (folder))
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", "COMPUTE_PROVIDER_PATH");
      add_integer (object, "element", folder->element);
      add_text (object, "why", folder->why != NULL ? folder->why : folder_state_word (folder->state));
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_folders (cJSON *document, const struct listing *listing)
{
  cJSON *array = cJSON_AddArrayToObject (document, "search");

  for (guint i = 0; i < listing->folders->len; i++)
    {
      const struct compute_folder *folder = listing->folders->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      add_path (object, "dir", folder->path);
      add_text (object, "source", source_word (folder->source));
      add_text (object, "state", folder_state_word (folder->state));
      add_text (object, "why", folder->why);
      add_integer (object, "errno", folder->sys_errno);
      add_integer (object, "candidates", folder->candidates);
      cJSON_AddBoolToObject (object, "trusted", folder->trusted != 0);
      add_integer (object, "owner_uid", folder->owner_uid);
      add_integer (object, "mode", folder->mode);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_abi (cJSON *object, const struct row *row)
{
  const struct compute_candidate *candidate = &row->candidate;
  char number[32];
  cJSON *abi;

  if (!row_knows_abi (row))
    {
      cJSON_AddNullToObject (object, "abi");
      return;
    }
  abi = cJSON_AddObjectToObject (object, "abi");
  g_snprintf (number, sizeof number, "%u.%u", candidate->abi_major, candidate->abi_minor_built);
  cJSON_AddStringToObject (abi, "built", number);
  g_snprintf (number, sizeof number, "%u.%u", candidate->abi_major, candidate->abi_minor_required);
  cJSON_AddStringToObject (abi, "required", number);
}

static void
add_capabilities (cJSON *object, uint64_t capabilities)
{
  cJSON *words = cJSON_AddArrayToObject (object, "capabilities");
  cJSON *ids = cJSON_AddArrayToObject (object, "extensions");

#define CAPABILITY_ADD(name, bit, word, id)                                                                            \
  if ((capabilities & COMPUTE_CAP_##name) != 0)                                                                        \
    {                                                                                                                  \
      const char *extension = id;                                                                                      \
                                                                                                                       \
      append_text (words, word);                                                                                       \
      if (extension != NULL)                                                                                           \
        append_text (ids, extension);                                                                                  \
    }
  COMPUTE_CAPABILITY_MAP (CAPABILITY_ADD)
}

static void
add_needed (cJSON *elf, const struct compute_candidate *candidate)
{
  cJSON *array = cJSON_AddArrayToObject (elf, "needed");

  for (uint64_t i = 0; i < candidate->needed_count; i++)
    {
      cJSON *object = cJSON_CreateObject ();

      add_text (object, "name", candidate->needed[i].name);
      add_path (object, "path", candidate->needed[i].path);
      add_path (object, "provided_by", candidate->needed[i].provided_by);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_texts (cJSON *object, const char *key, const char *const *texts, uint64_t count)
{
  cJSON *array = cJSON_AddArrayToObject (object, key);

  for (uint64_t i = 0; i < count; i++)
    append_text (array, texts[i]);
}

static void
add_elf (cJSON *object, const struct compute_candidate *candidate, bool deps)
{
  char machine[32];
  cJSON *elf;

  if (candidate->elf_class == 0)
    {
      cJSON_AddNullToObject (object, "elf");
      return;
    }
  elf = cJSON_AddObjectToObject (object, "elf");
  machine_word (candidate->elf_machine, machine);
  add_integer (elf, "class", candidate->elf_class);
  add_text (elf, "machine", machine);
  cJSON_AddBoolToObject (elf, "big_endian", candidate->big_endian != 0);
  add_text (elf, "soname", candidate->soname);
  add_text (elf, "runpath", candidate->runpath);
  add_needed (elf, candidate);
  add_texts (elf, "exports", candidate->exports, candidate->export_count);
  if (deps)
    add_texts (elf, "undefined", candidate->undefined, candidate->undefined_count);
  cJSON_AddBoolToObject (elf, "execstack", candidate->exec_stack != 0);
  cJSON_AddBoolToObject (elf, "static_tls", candidate->static_tls != 0);
  cJSON_AddBoolToObject (elf, "asan", candidate->asan != 0);
}

static void
add_file (cJSON *object, const struct compute_candidate *candidate)
{
  add_path (object, "path", candidate->path);
  add_path (object, "realpath", candidate->realpath);
  add_integer (object, "dev", (int64_t) candidate->dev);
  add_integer (object, "ino", (int64_t) candidate->ino);
  add_integer (object, "size", (int64_t) candidate->file_bytes);
  add_integer (object, "mtime_ns", candidate->mtime_ns);
  add_text (object, "build_id", candidate->build_id);
}

static void
add_probe (cJSON *object, const struct row *row)
{
  cJSON *probe;

  if (row->probe == NULL)
    {
      cJSON_AddNullToObject (object, "probe");
      return;
    }
  probe = cJSON_Duplicate (row->probe, true);
  cJSON_AddBoolToObject (probe, "cached", row->probe_age_s >= 0);
  cJSON_AddItemToObject (object, "probe", probe);
}

static void
add_shadows (cJSON *object, const struct row *row)
{
  add_texts (object, "shadows", row->shadows != NULL ? (const char *const *) row->shadows->pdata : NULL,
             row->shadows != NULL ? row->shadows->len : 0);
  add_path (object, "shadowed_by", row->candidate.shadowed_by);
}

static cJSON *
make_provider (const struct row *row, bool deps)
{
  const struct compute_candidate *candidate = &row->candidate;
  cJSON *object = cJSON_CreateObject ();

  add_text (object, "name", candidate->name);
  add_text (object, "state", candidate_state_word (candidate->state));
  add_text (object, "reason", candidate->reason);
  add_text (object, "message", candidate->message);
  add_text (object, "hint", candidate->hint);
  add_text (object, "source", source_word (candidate->source));
  add_file (object, candidate);
  add_abi (object, row);
  add_text (object, "version", candidate->version);
  add_text (object, "vendor", candidate->vendor);
  add_text (object, "license", candidate->license);
  add_text (object, "url", candidate->url);
  add_capabilities (object, candidate->capabilities);
  add_elf (object, candidate, deps);
  add_probe (object, row);
  add_shadows (object, row);
  return object;
}

static void
add_providers (cJSON *document, const struct listing *listing, const struct options *options)
{
  cJSON *array = cJSON_AddArrayToObject (document, "providers");
  cJSON *summary;

  for (guint i = 0; i < listing->rows->len; i++)
    if (row_is_shown (listing->rows->pdata[i], options->all))
      cJSON_AddItemToArray (array, make_provider (listing->rows->pdata[i], options->deps));
  add_texts (document, "not_found", (const char *const *) listing->missing->pdata, listing->missing->len);
  summary = cJSON_AddObjectToObject (document, "summary");
#define SUMMARY_ADD(name, value, word) add_integer (summary, word, listing_count (listing, value));
  COMPUTE_CANDIDATE_MAP (SUMMARY_ADD)
}

static void
add_checks (cJSON *document, const struct listing *listing)
{
  cJSON *array = cJSON_AddArrayToObject (document, "checks");

  for (guint i = 0; i < listing->checks->len; i++)
    {
      const struct compute_check *check = listing->checks->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      add_text (object, "what", check->what);
      cJSON_AddBoolToObject (object, "passed", check->passed != 0);
      add_text (object, "found", check->found);
      add_text (object, "reason", check->reason);
      cJSON_AddItemToArray (array, object);
    }
}

void
json_print (GString *out, const struct listing *listing, const struct options *options)
{
  cJSON *document = cJSON_CreateObject ();
  char *text;

  add_integer (document, "schema", SCHEMA);
  add_core (document, &listing->core);
  add_ignored (document, listing);
  add_folders (document, listing);
  if (options->mode == MODE_WHY)
    add_checks (document, listing);
  if (options->mode != MODE_PATHS)
    add_providers (document, listing, options);
  text = cJSON_Print (document);
  g_string_append (out, text);
  g_string_append_c (out, '\n');
  cJSON_free (text);
  cJSON_Delete (document);
}
