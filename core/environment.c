/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include "document.h"
#include "text.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * environment.c: from a document to an environment, key by key. Everything that is refused says where it stands and
 * what is allowed instead.
 */

#define MAX_CPUS 4096
#define MAX_MEMORY_MB (1 << 24)

/* What a reader of a key is given. */
struct reading
{
  const struct document *document;
  struct compute_environment *environment;
  struct compute_error *err;
};

static void
free_pair (gpointer pair)
{
  g_free ((char *) ((struct compute_pair *) pair)->name);
  g_free ((char *) ((struct compute_pair *) pair)->value);
}

static void
free_mount (gpointer mount)
{
  g_free ((char *) ((struct compute_mount *) mount)->source);
  g_free ((char *) ((struct compute_mount *) mount)->target);
}

struct compute_environment *
environment_new (const char *folder)
{
  struct compute_environment *environment = g_new0 (struct compute_environment, 1);

  environment->folder = g_strdup (folder);
  environment->setup = g_ptr_array_new_with_free_func (g_free);
  environment->refresh = g_ptr_array_new_with_free_func (g_free);
  environment->inputs = g_ptr_array_new_with_free_func (g_free);
  environment->env = g_array_new (FALSE, TRUE, sizeof (struct compute_pair));
  g_array_set_clear_func (environment->env, free_pair);
  environment->mounts = g_array_new (FALSE, TRUE, sizeof (struct compute_mount));
  g_array_set_clear_func (environment->mounts, free_mount);
  return environment;
}

void
compute_environment_close (struct compute_environment *environment)
{
  if (environment == NULL)
    return;
  g_free (environment->folder);
  g_free (environment->image);
  g_free (environment->network);
  g_free (environment->backend);
  g_free (environment->working_dir);
  g_free (environment->gpu);
  g_free (environment->cpu);
  for (int kind = 0; kind < PACKAGE_KINDS; kind++)
    if (environment->packages[kind] != NULL)
      g_ptr_array_unref (environment->packages[kind]);
  g_ptr_array_unref (environment->setup);
  g_ptr_array_unref (environment->refresh);
  g_ptr_array_unref (environment->inputs);
  g_array_unref (environment->env);
  g_array_unref (environment->mounts);
  g_free (environment);
}

const char *
compute_environment_backend (const struct compute_environment *environment)
{
  return environment->backend;
}

const char *
package_kind_name (enum package_kind kind)
{
  static const char *const names[] = { [PACKAGE_APT] = "apt", [PACKAGE_PIP] = "pip", [PACKAGE_NPM] = "npm" };

  return names[kind];
}

/* ---- Kinds of values --------------------------------------------------------------------------------------------- */

static int
take_text (struct reading *reading, const struct node *node, char **ret)
{
  if (node->kind != NODE_TEXT || node->text[0] == '\0')
    return document_refuse (reading->document, node, reading->err, "'%s' is %s; it must be a text", node->key,
                            node->kind == NODE_TEXT ? "empty" : node_kind_name (node));
  g_free (*ret);
  *ret = g_strdup (node->text);
  return 0;
}

static int
take_absolute (struct reading *reading, const struct node *node, char **ret)
{
  int rc = take_text (reading, node, ret);

  if (rc == 0 && (*ret)[0] != '/')
    rc = document_refuse (reading->document, node, reading->err, "'%s' is no absolute path", node->key);
  return rc;
}

/* A list of texts; one text is a list of one. An element of a list has no key: the list's is passed. */
static int
take_texts (struct reading *reading, const struct node *node, const char *key, GPtrArray *texts)
{
  if (node->kind == NODE_TEXT)
    {
      g_ptr_array_add (texts, g_strdup (node->text));
      return 0;
    }
  if (node->kind != NODE_LIST)
    return document_refuse (reading->document, node, reading->err,
                            "'%s' is %s; it must be a list of texts, or one (quote it)", key, node_kind_name (node));
  for (size_t i = 0; i < node->count; i++)
    {
      const struct node *member = node->members[i];

      if (member->kind != NODE_TEXT)
        return document_refuse (reading->document, member, reading->err, "'%s' has %s in its list; quote it", key,
                                node_kind_name (member));
      g_ptr_array_add (texts, g_strdup (member->text));
    }
  return 0;
}

static int
take_bool (struct reading *reading, const struct node *node, gboolean *ret)
{
  if (node->kind != NODE_BOOL)
    return document_refuse (reading->document, node, reading->err, "'%s' is %s; it must be true or false", node->key,
                            node_kind_name (node));
  *ret = g_ascii_strcasecmp (node->text, "true") == 0;
  return 0;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static int
take_image (struct reading *reading, const struct node *node)
{
  return take_text (reading, node, &reading->environment->image);
}

static int
take_backend (struct reading *reading, const struct node *node)
{
  return take_text (reading, node, &reading->environment->backend);
}

static int
take_network (struct reading *reading, const struct node *node)
{
  int rc = take_text (reading, node, &reading->environment->network);

  if (rc == 0 && strcmp (node->text, "none") != 0 && strcmp (node->text, "unrestricted") != 0)
    rc = document_refuse (reading->document, node, reading->err, "'network' must be unrestricted or none");
  return rc;
}

static int
take_working_dir (struct reading *reading, const struct node *node)
{
  return take_absolute (reading, node, &reading->environment->working_dir);
}

/* A package that looks like an option is none: what it would do belongs into setup, where it can be read. */
static int
check_packages (struct reading *reading, const struct node *node, const GPtrArray *packages)
{
  for (guint i = 0; i < packages->len; i++)
    {
      const char *package = packages->pdata[i];
      char shown[64];

      if (package[0] == '-' || package[strspn (package, " \t\r\n")] == '\0')
        return document_refuse (reading->document, node, reading->err,
                                "'%s' is no package of %s; a command with options is a step of setup",
                                text_for_people (shown, sizeof shown, package), node->key);
    }
  return 0;
}

static int
take_packages (struct reading *reading, const struct node *node)
{
  static const char *const kinds[] = { "apt", "npm", "pip", NULL };
  int rc = document_check_keys (reading->document, node, "packages", kinds, reading->err);

  for (int kind = 0; rc == 0 && kind < PACKAGE_KINDS; kind++)
    {
      const struct node *list = node_member (node, package_kind_name (kind));

      if (list == NULL)
        continue;
      reading->environment->packages[kind] = g_ptr_array_new_with_free_func (g_free);
      rc = take_texts (reading, list, list->key, reading->environment->packages[kind]);
      if (rc == 0)
        rc = check_packages (reading, list, reading->environment->packages[kind]);
    }
  return rc;
}

static int
take_setup (struct reading *reading, const struct node *node)
{
  return take_texts (reading, node, node->key, reading->environment->setup);
}

static int
take_refresh (struct reading *reading, const struct node *node)
{
  return take_texts (reading, node, node->key, reading->environment->refresh);
}

static int
take_env (struct reading *reading, const struct node *node)
{
  if (node->kind != NODE_MAP)
    return document_refuse (reading->document, node, reading->err, "'env' is %s; it must be a map of names to values",
                            node_kind_name (node));
  for (size_t i = 0; i < node->count; i++)
    {
      const struct node *value = node->members[i];
      struct compute_pair pair;

      if (value->kind >= NODE_LIST || value->kind == NODE_NULL)
        return document_refuse (reading->document, value, reading->err,
                                "the value of '%s' is %s; it must be a text (\"\" for an empty one)", value->key,
                                node_kind_name (value));
      if (value->key[0] == '\0' || strchr (value->key, '=') != NULL)
        return document_refuse (reading->document, value, reading->err, "'%s' cannot be the name of a variable",
                                value->key);
      pair = (struct compute_pair){ g_strdup (value->key), g_strdup (value->text) };
      g_array_append_val (reading->environment->env, pair);
    }
  return 0;
}

static int
take_cpu (struct reading *reading, const struct node *node)
{
  double cpus = node->kind == NODE_INTEGER || node->kind == NODE_FLOAT ? g_ascii_strtod (node->text, NULL) : -1;
  uint64_t millis = cpus > 0 && cpus <= MAX_CPUS ? (uint64_t) (cpus * 1000 + 0.5) : 0;
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (millis == 0)
    return document_refuse (reading->document, node, reading->err,
                            "'cpu' must be a number of processors, such as 2 or 0.5");
  reading->environment->cpu_millis = millis;
  if (node->kind == NODE_INTEGER)
    reading->environment->cpu = g_strdup_printf ("%d", (int) cpus);
  else if (millis % 1000 == 0)
    reading->environment->cpu = g_strdup_printf ("%d.0", (int) cpus);
  else
    reading->environment->cpu = g_strdup (g_ascii_dtostr (digits, sizeof digits, (double) millis / 1000));
  return 0;
}

static int
take_memory (struct reading *reading, const struct node *node)
{
  gint64 megabytes = node->kind == NODE_INTEGER ? g_ascii_strtoll (node->text, NULL, 10) : 0;

  if (megabytes <= 0 || megabytes > MAX_MEMORY_MB)
    return document_refuse (reading->document, node, reading->err, "'memory_mb' must be a whole number of MiB");
  reading->environment->memory_mb = (uint64_t) megabytes;
  return 0;
}

static int
take_resources (struct reading *reading, const struct node *node)
{
  static const char *const keys[] = { "cpu", "gpu", "memory_mb", NULL };
  int rc = document_check_keys (reading->document, node, "resources", keys, reading->err);
  const struct node *member;

  if (rc == 0 && (member = node_member (node, "cpu")) != NULL)
    rc = take_cpu (reading, member);
  if (rc == 0 && (member = node_member (node, "memory_mb")) != NULL)
    rc = take_memory (reading, member);
  if (rc == 0 && (member = node_member (node, "gpu")) != NULL && member->kind != NODE_NULL)
    rc = take_text (reading, member, &reading->environment->gpu);
  return rc;
}

/* "SOURCE:TARGET", "SOURCE:TARGET:ro", or "PATH" alone, which lies inside where it lies here: below the working
 * directory when it is relative. */
static int
take_mount (struct reading *reading, const struct node *node, const char *text)
{
  const struct compute_environment *environment = reading->environment;
  g_auto (GStrv) parts = g_strsplit (text, ":", 4);
  guint count = g_strv_length (parts);
  gboolean is_read_only = count == 3 && strcmp (parts[2], "ro") == 0;
  struct compute_mount mount = { .flags = is_read_only ? COMPUTE_MOUNT_READ_ONLY : 0 };

  if (count < 1 || count > 3 || (count == 3 && !is_read_only) || parts[0][0] == '\0'
      || (count > 1 && parts[1][0] != '/'))
    return document_refuse (reading->document, node, reading->err,
                            "a mount is SOURCE:TARGET or SOURCE:TARGET:ro, with an absolute TARGET, or one PATH");
  mount.source = g_canonicalize_filename (parts[0], environment->folder);
  if (count > 1)
    mount.target = g_strdup (parts[1]);
  else
    mount.target = g_canonicalize_filename (parts[0], environment->working_dir != NULL ? environment->working_dir
                                                                                       : DEFAULT_WORKING_DIR);
  g_array_append_val (reading->environment->mounts, mount);
  return 0;
}

static int
take_mount_paths (struct reading *reading, const struct node *node)
{
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  int rc = take_texts (reading, node, node->key, texts);

  for (guint i = 0; rc == 0 && i < texts->len; i++)
    rc = take_mount (reading, node->kind == NODE_LIST ? node->members[i] : node, texts->pdata[i]);
  return rc;
}

/* Whether a capture is wanted where it costs money, or a map that says so and which files count for it. */
static int
take_capture (struct reading *reading, const struct node *node)
{
  static const char *const keys[] = { "enabled", "inputs", NULL };
  struct compute_environment *environment = reading->environment;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func (g_free);
  const struct node *member;
  int rc;

  if (node->kind != NODE_MAP)
    return take_bool (reading, node, &environment->may_cost);
  rc = document_check_keys (reading->document, node, "capture", keys, reading->err);
  if (rc == 0 && (member = node_member (node, "enabled")) != NULL)
    rc = take_bool (reading, member, &environment->may_cost);
  if (rc == 0 && (member = node_member (node, "inputs")) != NULL)
    rc = take_texts (reading, member, member->key, inputs);
  for (guint i = 0; rc == 0 && i < inputs->len; i++)
    g_ptr_array_add (environment->inputs, g_canonicalize_filename (inputs->pdata[i], environment->folder));
  return rc;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* In the order in which they are read: mounts start at the working directory. */
static const struct
{
  const char *key;
  int (*take) (struct reading *reading, const struct node *node);
} keys[] = {
  { "image", take_image },
  { "packages", take_packages },
  { "setup", take_setup },
  { "refresh", take_refresh },
  { "env", take_env },
  { "resources", take_resources },
  { "network", take_network },
  { "backend", take_backend },
  { "working_dir", take_working_dir },
  { "mount_paths", take_mount_paths },
  { "capture", take_capture },
};

static int
take_keys (struct reading *reading, const struct node *root)
{
  const char *allowed[G_N_ELEMENTS (keys) + 1] = { NULL };
  int rc = 0;

  if (root->kind == NODE_NULL)
    return 0;
  for (size_t i = 0; i < G_N_ELEMENTS (keys); i++)
    allowed[i] = keys[i].key;
  rc = document_check_keys (reading->document, root, "an environment", allowed, reading->err);
  for (size_t i = 0; rc == 0 && i < G_N_ELEMENTS (keys); i++)
    {
      const struct node *node = node_member (root, keys[i].key);

      if (node != NULL && node->kind != NODE_NULL)
        rc = keys[i].take (reading, node);
    }
  return rc;
}

static int
take_document (const struct document *document, const char *folder, struct compute_environment **ret_environment,
               struct compute_error *err)
{
  struct reading reading = { document, environment_new (folder), err };
  int rc = take_keys (&reading, document_root (document));

  if (rc == 0)
    *ret_environment = reading.environment;
  else
    compute_environment_close (reading.environment);
  return rc;
}

int
environment_parse (const char *path, const char *folder, const char *text, size_t bytes,
                   struct compute_environment **ret_environment, struct compute_error *err)
{
  struct document *document;
  int rc = document_parse (path, text, bytes, &document, err);

  if (rc != 0)
    return rc;
  rc = take_document (document, folder, ret_environment, err);
  document_free (document);
  return rc;
}

/* The folder that a project's file speaks of is the one above .praisonai. */
static char *
project_folder (const char *path)
{
  g_autofree char *whole = g_canonicalize_filename (path, NULL);
  g_autofree char *folder = g_path_get_dirname (whole);

  return g_str_has_suffix (whole, "/" COMPUTE_ENVIRONMENT_FILE) ? g_path_get_dirname (folder)
                                                                : g_steal_pointer (&folder);
}

int
compute_environment_open (const char *path, struct compute_environment **ret_environment, struct compute_error *err)
{
  g_autofree char *folder = NULL;
  struct document *document;
  int rc;

  if (path == NULL || path[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the environment's file has no name");
  rc = document_load (path, &document, err);
  if (rc != 0)
    return rc;
  folder = project_folder (path);
  rc = take_document (document, folder, ret_environment, err);
  document_free (document);
  return rc;
}

static int
give_path (const char *path, char *buffer, uint64_t buffer_bytes, struct compute_error *err)
{
  size_t bytes = strlen (path) + 1;

  if (bytes > buffer_bytes)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the path of the environment's file takes %zu bytes", bytes);
  memcpy (buffer, path, bytes);
  return 0;
}

static gboolean
is_ours (const char *path)
{
  struct stat about;

  return stat (path, &about) == 0 && (about.st_uid == geteuid () || about.st_uid == 0)
         && (about.st_mode & S_IWOTH) == 0;
}

/* What a file that is merely found says is done in the name of its finder: another user's, in /tmp perhaps, is not. */
static int
check_found (const char *path, struct compute_error *err)
{
  g_autofree char *folder = g_path_get_dirname (path);
  char shown[120];

  if (is_ours (path) && is_ours (folder))
    return 0;
  return compute_error_set (err, COMPUTE_E_DENIED, 0,
                            "%s was found, but others can write it; name it (--environment) to use it",
                            text_for_people (shown, sizeof shown, path));
}

int
compute_environment_find (const char *folder, char *buffer, uint64_t buffer_bytes, struct compute_error *err)
{
  g_autofree char *here = g_canonicalize_filename (folder != NULL ? folder : ".", NULL);

  for (;;)
    {
      g_autofree char *path = g_build_filename (here, COMPUTE_ENVIRONMENT_FILE, NULL);
      char *above;

      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return check_found (path, err) == 0 ? give_path (path, buffer, buffer_bytes, err) : COMPUTE_E_DENIED;
      above = g_path_get_dirname (here);
      if (strcmp (above, here) == 0)
        {
          g_free (above);
          return compute_error_set (err, COMPUTE_E_NOT_FOUND, 0, "no %s in this folder or above",
                                    COMPUTE_ENVIRONMENT_FILE);
        }
      g_free (here);
      here = above;
    }
}
