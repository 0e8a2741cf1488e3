/* SPDX-License-Identifier: MIT */
#include "bound.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNSTATED "" /* what is left to the provider */

/* ---- What applies ------------------------------------------------------------------------------------------------ */

static int
add_network (GString *text, const struct definition *definition, struct compute_error *err)
{
  (void) err;
  g_string_append (text, definition->config.network != NULL ? definition->config.network : UNSTATED);
  return 0;
}

static int
add_user (GString *text, const struct definition *definition, struct compute_error *err)
{
  (void) err;
  g_string_append (text, definition->config.user != NULL ? definition->config.user : UNSTATED);
  return 0;
}

static int
add_mounts (GString *text, const struct definition *definition, struct compute_error *err)
{
  (void) err;
  for (guint i = 0; i < definition->mounts->len; i++)
    {
      const struct compute_mount *mount = &g_array_index (definition->mounts, struct compute_mount, i);

      g_string_append_printf (text, "%s%s:%s%s", i > 0 ? " " : "", mount->source, mount->target,
                              (mount->flags & COMPUTE_MOUNT_READ_ONLY) != 0 ? ":ro" : "");
    }
  return 0;
}

/* Only their hash: an option may be a secret. */
static int
add_options (GString *text, const struct definition *definition, struct compute_error *err)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  (void) err;
  if (definition->config.option_count == 0)
    return 0;
  for (uint64_t i = 0; i < definition->config.option_count; i++)
    {
      const struct compute_pair *pair = &definition->config.options[i];

      g_checksum_update (sum, (const guchar *) pair->name, (gssize) strlen (pair->name) + 1);
      g_checksum_update (sum, (const guchar *) pair->value, (gssize) strlen (pair->value) + 1);
    }
  g_string_append (text, g_checksum_get_string (sum));
  return 0;
}

static int
add_file (GChecksum *sum, const char *path, struct compute_error *err)
{
  char buffer[65536], shown[120];
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat about;
  ssize_t count = 0;
  int error = fd < 0 || fstat (fd, &about) != 0 ? errno : S_ISREG (about.st_mode) ? 0 : EINVAL;

  g_checksum_update (sum, (const guchar *) path, (gssize) strlen (path) + 1);
  while (error == 0 && (count = read (fd, buffer, sizeof buffer)) != 0)
    if (count > 0)
      g_checksum_update (sum, (const guchar *) buffer, count);
    else if (errno != EINTR)
      error = errno;
  if (fd >= 0)
    close (fd);
  if (error == 0)
    return 0;
  return compute_error_set (err,
                            error == ENOENT   ? COMPUTE_E_NOT_FOUND
                            : error == EACCES ? COMPUTE_E_DENIED
                                              : COMPUTE_E_SYSTEM,
                            error, "could not read the input %s of the environment: %s",
                            text_for_people (shown, sizeof shown, path),
                            error == EINVAL ? "it is no regular file" : text_of_errno (error));
}

/* The content of the files that are stated as inputs, and of those that are mounted. */
static int
add_inputs (GString *text, const struct definition *definition, struct compute_error *err)
{
  const GPtrArray *inputs = definition->environment->inputs;
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  gboolean has_any = inputs->len > 0;
  int rc = 0;

  for (guint i = 0; rc == 0 && i < inputs->len; i++)
    rc = add_file (sum, inputs->pdata[i], err);
  for (guint i = 0; rc == 0 && i < definition->mounts->len; i++)
    {
      const struct compute_mount *mount = &g_array_index (definition->mounts, struct compute_mount, i);

      if (!g_file_test (mount->source, G_FILE_TEST_IS_REGULAR))
        continue;
      has_any = TRUE;
      rc = add_file (sum, mount->source, err);
    }
  if (rc == 0 && has_any)
    g_string_append (text, g_checksum_get_string (sum));
  return rc;
}

static const struct
{
  const char *name;
  int (*add) (GString *text, const struct definition *definition, struct compute_error *err);
} fields[] = {
  { "network", add_network }, { "mounts", add_mounts }, { "user", add_user },
  { "options", add_options }, { "inputs", add_inputs },
};

/* ---- Recording and comparing ------------------------------------------------------------------------------------- */

static void
set_text (cJSON *entry, const char *name, const char *text)
{
  cJSON_DeleteItemFromObjectCaseSensitive (entry, name);
  cJSON_AddStringToObject (entry, name, text);
}

void
bound_record_images (cJSON *entry, const struct compute_image *base, const struct compute_image *image)
{
  set_text (entry, "base", base->id);
  set_text (entry, "platform", base->platform);
  set_text (entry, "image", image->id);
}

int
bound_record (cJSON *entry, const struct definition *definition, struct compute_error *err)
{
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS (fields); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);

      rc = fields[i].add (text, definition, err);
      set_text (entry, fields[i].name, text->str);
    }
  return rc;
}

static gboolean
has_text (const cJSON *entry, const char *name, const char *text)
{
  const char *recorded = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (entry, name));

  return recorded != NULL && strcmp (recorded, text) == 0;
}

int
bound_compare (const cJSON *entry, const struct definition *definition, const char **ret_differs,
               struct compute_error *err)
{
  *ret_differs = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS (fields); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      int rc = fields[i].add (text, definition, err);

      if (rc != 0)
        return rc;
      if (!has_text (entry, fields[i].name, text->str))
        {
          *ret_differs = fields[i].name;
          return 0;
        }
    }
  return 0;
}

gboolean
bound_is_image (const cJSON *entry, const struct compute_image *image)
{
  return has_text (entry, "image", image->id);
}

gboolean
bound_base_moved (const cJSON *entry, const struct compute_image *base)
{
  return !has_text (entry, "base", base->id) || !has_text (entry, "platform", base->platform);
}
