/* SPDX-License-Identifier: MIT */
#include "env.h"

#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#define ENV_FILE_BYTES_MAX (16 * 1024 * 1024)

int
env_take (struct pairs *env, const char *text, struct compute_error *err)
{
  const char *equals = strchr (text, '=');
  g_autofree char *name = equals != NULL ? g_strndup (text, (size_t) (equals - text)) : g_strdup (text);
  const char *value = equals != NULL ? equals + 1 : getenv (name);

  if (name[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "--env: a variable has no name");
  if (value == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0,
                              "--env '%s': no such variable is set here; set it, or write --env %s=VALUE", name, name);
  pairs_set (env, name, value);
  return 0;
}

/* One line without its end. Whatever is wrong with it, its text may be a secret. */
static int
take_line (struct pairs *env, char *line, const char *path, size_t number, struct compute_error *err)
{
  char *equals = strchr (line, '=');
  const char *value = equals != NULL ? equals + 1 : getenv (line);

  if (line[0] == '\0' || line[0] == '#')
    return 0;
  if (equals != NULL)
    *equals = '\0';
  if (line[0] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s:%zu: the variable has no name", path, number);
  if (strpbrk (line, " \t") != NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s:%zu: a blank in the variable's name", path, number);
  if (value == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0,
                              "%s:%zu: a name without '=' stands for a variable that is set here, and it is not", path,
                              number);
  pairs_set (env, line, value);
  return 0;
}

static int
read_file (const char *path, GString *text, struct compute_error *err)
{
  FILE *file = fopen (path, "re");
  char buffer[4096];
  size_t count;
  int failed;

  if (file == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, errno, "--env-file '%s': %s", path, g_strerror (errno));
  while ((count = fread (buffer, 1, sizeof buffer, file)) > 0 && text->len <= ENV_FILE_BYTES_MAX)
    g_string_append_len (text, buffer, (gssize) count);
  failed = ferror (file) ? errno : 0;
  fclose (file);
  if (failed != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, failed, "--env-file '%s': %s", path, g_strerror (failed));
  if (text->len > ENV_FILE_BYTES_MAX)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "--env-file '%s': larger than %d bytes", path,
                              ENV_FILE_BYTES_MAX);
  return 0;
}

int
env_take_file (struct pairs *env, const char *path, struct compute_error *err)
{
  g_autoptr (GString) text = g_string_new (NULL);
  size_t number = 0;
  int rc = read_file (path, text, err);

  if (g_str_has_prefix (text->str, "\xef\xbb\xbf"))
    g_string_erase (text, 0, 3);
  for (char *line = text->str, *end; rc == 0 && line < text->str + text->len; line = end + 1)
    {
      number++;
      end = memchr (line, '\n', text->len - (size_t) (line - text->str));
      if (end == NULL)
        end = text->str + text->len;
      *end = '\0';
      if (strlen (line) != (size_t) (end - line))
        return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s:%zu: a NUL byte", path, number);
      if (end > line && end[-1] == '\r')
        end[-1] = '\0';
      rc = take_line (env, line + strspn (line, " \t"), path, number, err);
    }
  return rc;
}
