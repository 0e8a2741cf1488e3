/* SPDX-License-Identifier: MIT */
#include "search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_ (x)
/* The ABI's major is part of the path, so that two can be installed together. */
#define PROVIDERS "compute/providers/" STRINGIFY (COMPUTE_ABI_MAJOR)

static void
place_free (gpointer data)
{
  struct place *place = data;

  g_free (place->path);
  g_free (place);
}

static struct place *
add (GPtrArray *search, enum compute_source source, uint32_t element, const char *path)
{
  struct place *place = g_new0 (struct place, 1);

  place->source = source;
  place->element = element;
  place->path = g_strdup (path);
  place->named = source == COMPUTE_SOURCE_HOST;
  g_ptr_array_add (search, place);
  return place;
}

static void
set_aside (struct place *place, enum compute_folder_state state, const char *why)
{
  if (place->state != COMPUTE_FOLDER_NONE)
    return;
  place->state = state;
  place->why = why;
}

/* Nothing is ever relative to the current folder, and no shell has been here. */
static void
check_absolute (struct place *place)
{
  if (place->path[0] == '\0')
    set_aside (place, COMPUTE_FOLDER_EMPTY, "an empty element stands for nothing");
  else if (place->path[0] == '~')
    set_aside (place, COMPUTE_FOLDER_RELATIVE, "not an absolute path: '~' is not expanded");
  else if (place->path[0] != '/')
    set_aside (place, COMPUTE_FOLDER_RELATIVE, "not an absolute path");
}

static void
add_environment (GPtrArray *search, const char *ignored, gboolean warn)
{
  const char *variable = getenv ("COMPUTE_PROVIDER_PATH");
  g_auto (GStrv) elements = NULL;

  if (variable == NULL || variable[0] == '\0') /* set to nothing is the usual way to switch it off */
    return;
  elements = g_strsplit (variable, ":", -1);
  for (uint32_t i = 0; elements[i] != NULL; i++)
    {
      struct place *place = add (search, COMPUTE_SOURCE_ENVIRONMENT, i + 1, elements[i]);

      if (ignored != NULL)
        set_aside (place, COMPUTE_FOLDER_IGNORED, ignored);
      check_absolute (place);
      place->named = warn;
    }
}

static void
add_user (GPtrArray *search, const char *ignored)
{
  const char *data = getenv ("XDG_DATA_HOME"), *home = getenv ("HOME");
  gboolean has_data = data != NULL && data[0] != '\0', has_home = home != NULL && home[0] != '\0';
  g_autofree char *path = has_data   ? g_strconcat (data, "/" PROVIDERS, NULL)
                          : has_home ? g_strconcat (home, "/.local/share/" PROVIDERS, NULL)
                                     : g_strdup ("");
  struct place *place = add (search, COMPUTE_SOURCE_USER, 1, path);

  if (ignored != NULL)
    set_aside (place, COMPUTE_FOLDER_IGNORED, ignored);
  if (!has_data && !has_home)
    set_aside (place, COMPUTE_FOLDER_IGNORED, "neither XDG_DATA_HOME nor HOME is set");
  check_absolute (place);
}

static void
add_system (GPtrArray *search, const char *library_folder, const char *ignored)
{
  g_autofree char *path = g_strconcat (library_folder, "/" PROVIDERS, NULL);
  struct place *local = add (search, COMPUTE_SOURCE_SYSTEM, 1, "/usr/local/lib/" PROVIDERS);
  struct place *beside = add (search, COMPUTE_SOURCE_SYSTEM, 2, path);

  beside->beside = TRUE;
  if (ignored == NULL)
    return;
  set_aside (local, COMPUTE_FOLDER_IGNORED, ignored);
  set_aside (beside, COMPUTE_FOLDER_IGNORED, ignored);
}

GPtrArray *
search_new (const struct compute_registry_options *options, const char *library_folder)
{
  GPtrArray *search = g_ptr_array_new_with_free_func (place_free);
  const gboolean raised = getauxval (AT_SECURE) != 0; /* not a comparison of user ids: capabilities raise them too */
  const char *replaced = raised ? NULL : getenv ("COMPUTE_PROVIDER_PATH_ONLY");
  const char *only = NULL, *environment, *user;

  if ((options->flags & COMPUTE_REGISTRY_ONLY_PATHS) != 0)
    only = "only the host application's paths are searched";
  environment = only != NULL ? only : raised ? "the process has raised privileges" : NULL;
  if (only == NULL && replaced != NULL && strcmp (replaced, "1") == 0)
    only = "COMPUTE_PROVIDER_PATH_ONLY is set";
  user = only != NULL ? only : raised ? "the process has raised privileges" : NULL;
  if (user == NULL && geteuid () == 0 && (options->flags & COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT) == 0)
    user = "not searched as root";

  for (uint64_t i = 0; i < options->path_count; i++)
    check_absolute (add (search, COMPUTE_SOURCE_HOST, (uint32_t) i + 1, options->paths[i]));
  add_environment (search, environment, only == NULL || environment != only);
  add_user (search, user);
  add_system (search, library_folder, only);
  return search;
}
