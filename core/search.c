/* SPDX-License-Identifier: MIT */
#include "search.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static void
place_free (gpointer data)
{
  struct place *place = data;

  g_free (place->path);
  g_free (place);
}

static void
add (GPtrArray *search, enum compute_source source, uint32_t element, const char *path)
{
  struct place *place = g_new0 (struct place, 1);

  place->source = source;
  place->element = element;
  place->path = g_strdup (path);
  g_ptr_array_add (search, place);
}

GPtrArray *
search_new (const struct compute_registry_options *options, const char *library_folder)
{
  GPtrArray *search = g_ptr_array_new_with_free_func (place_free);
  g_autofree char *beside = g_build_filename (library_folder, "compute", "providers", "1", NULL);
  const char *env = getauxval (AT_SECURE) != 0 ? NULL : getenv ("COMPUTE_PROVIDER_PATH");

  for (uint64_t i = 0; i < options->path_count; i++)
    add (search, COMPUTE_SOURCE_HOST, (uint32_t) i + 1, options->paths[i]);
  if ((options->flags & COMPUTE_REGISTRY_ONLY_PATHS) != 0)
    return search;
  if (env != NULL)
    {
      g_auto (GStrv) elements = g_strsplit (env, ":", -1);

      for (uint32_t i = 0; elements[i] != NULL; i++)
        if (elements[i][0] == '/')
          add (search, COMPUTE_SOURCE_ENVIRONMENT, i + 1, elements[i]);
    }
  add (search, COMPUTE_SOURCE_SYSTEM, 1, "/usr/local/lib/compute/providers/1");
  add (search, COMPUTE_SOURCE_SYSTEM, 2, beside);
  return search;
}
