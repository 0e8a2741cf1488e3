/* SPDX-License-Identifier: MIT */

/* A small host application: prints the folders of the search and the names it finds. */
#include <compute/compute.h>

static int
print_folder (void *user, const struct compute_folder *folder)
{
  static const char *const sources[] = { "?", "api", "env", "user", "system", "registered" };

  (void) user;
  printf ("folder %s %u %s: %s\n", sources[folder->source], folder->state, folder->path,
          folder->why != NULL ? folder->why : "good");
  return 0;
}

static int
print_name (void *user, const char *name)
{
  (void) user;
  printf ("name %s\n", name);
  return 0;
}

int
main (void)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct compute_registry *registry;
  struct compute_handle *handle = NULL;

  if (compute_registry_open (NULL, &registry, &err) != 0)
    return 1;
  compute_list_folders (registry, print_folder, NULL, &err);
  compute_list (registry, print_name, NULL, &err);
  printf ("resolve %d\n", compute_resolve (registry, "ok", &handle, &err));
  compute_close (handle);
  compute_registry_close (registry);
  return 0;
}
