/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "local_file.h"
#include "places.h"
#include "report.h"
#include "subcommands.h"

#include <string.h>
#include <unistd.h>

/* One of the two operands. */
struct side
{
  char *id; /* NULL: a file here */
  char *path;
};

static void
side_clear (struct side *side)
{
  g_free (side->id);
  g_free (side->path);
}

/* "ID:PATH" is inside; what has a slash before its first colon, or no colon, is a file here. */
static void
side_init (struct side *side, const char *word)
{
  size_t length = strcspn (word, ":/");
  bool inside = length > 0 && word[length] == ':';

  side->id = inside ? g_strndup (word, length) : NULL;
  side->path = g_strdup (inside ? word + length + 1 : word);
}

/* A target that is a folder takes the file under its own name, as with cp: whether one here is, can be looked up;
 * inside it is one when it ends with a slash. */
static void
name_in_folder (struct side *target, const struct side *source)
{
  bool is_folder = target->id != NULL ? target->path[0] == '\0' || g_str_has_suffix (target->path, "/")
                                      : g_file_test (target->path, G_FILE_TEST_IS_DIR);
  g_autofree char *name = g_path_get_basename (source->path);
  char *path;

  if (!is_folder)
    return;
  path = target->path[0] != '\0' ? g_build_filename (target->path, name, NULL) : g_strdup (name);
  g_free (target->path);
  target->path = path;
}

static int
copy_in (const struct request *request, struct compute_handle *handle, const struct side *source,
         const struct side *target, struct compute_error *err)
{
  struct compute_call call = place_call (request);
  uint32_t mode;
  int fd;
  int rc = local_file_open (source->path, &fd, &mode, err);

  if (rc != 0)
    return rc;
  rc = compute_put (handle, target->id, target->path, mode, fd, &call, err);
  close (fd);
  return rc;
}

static int
copy_out (const struct request *request, struct compute_handle *handle, const struct side *source,
          const struct side *target, struct compute_error *err)
{
  struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
  struct compute_call call = place_call (request);
  struct local_file file;
  int rc = local_file_create (&file, target->path, err);

  if (rc != 0)
    return rc;
  rc = compute_get (handle, source->id, source->path, file.fd, &call, &info, err);
  if (rc == 0)
    return local_file_commit (&file, info.mode, err);
  local_file_discard (&file);
  return rc;
}

static int
check (const struct request *request, const struct side *source, const struct side *target, struct compute_error *err)
{
  if ((source->id == NULL) == (target->id == NULL))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "one of the two files must be ID:PATH, and one a file here");
  if (source->path[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "'%s:' names no file", source->id);
  if (source->id == NULL && g_str_equal (source->path, "-")
      && (target->path[0] == '\0' || g_str_has_suffix (target->path, "/")))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "stdin has no name; give '%s:%s' a file's", target->id,
                              target->path);
  if (request->json && source->id != NULL && g_str_equal (target->path, "-"))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "both --json and '-' are for stdout; give one");
  return 0;
}

static int
print_result (const struct request *request, const char *provider, const char *id, struct compute_error *err)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddItemToObject (object, "from", json_text (request->operands->pdata[0]));
  cJSON_AddItemToObject (object, "to", json_text (request->operands->pdata[1]));
  cJSON_AddItemToObject (object, "provider", json_text (provider));
  cJSON_AddItemToObject (object, "instance", json_text (id));
  return json_print (object, err);
}

static int
copy (const struct request *request, struct compute_registry *registry, const struct side *source,
      const struct side *target)
{
  const char *id = source->id != NULL ? source->id : target->id;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_handle *handle;
  int status = STATUS_OK;
  int rc = place_find (request, registry, id, &handle, NULL, &err);

  if (rc != 0)
    return report_failure (request, request->on, &err);
  rc = source->id != NULL ? copy_out (request, handle, source, target, &err)
                          : copy_in (request, handle, source, target, &err);
  if (rc == 0 && request->json)
    rc = print_result (request, place_provider_name (handle), id, &err);
  if (rc != 0)
    status = report_failure (request, place_provider_name (handle), &err);
  compute_close (handle);
  return status;
}

int
cp_main (const struct request *request, struct compute_registry *registry)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct side source, target;
  int status;

  side_init (&source, request->operands->pdata[0]);
  side_init (&target, request->operands->pdata[1]);
  if (check (request, &source, &target, &err) != 0)
    status = report_usage (request, &err);
  else
    {
      name_in_folder (&target, &source);
      status = copy (request, registry, &source, &target);
    }
  side_clear (&source);
  side_clear (&target);
  return status;
}
