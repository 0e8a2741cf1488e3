/* SPDX-License-Identifier: MIT */
#include "module.h"
#include "table.h"

#include <dlfcn.h>
#include <stdlib.h>

int
module_load (const char *path, const struct compute_host *host, const struct compute_provider **ret_provider,
             struct compute_error *err)
{
  char *real = realpath (path, NULL);
  void *library = dlopen (real != NULL ? real : path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const struct compute_provider *provider = NULL;
  compute_provider_init_fn init;
  int rc;

  free (real);
  if (library == NULL)
    return compute_error_set (err, COMPUTE_E_PLUGIN, 0, "E_DLOPEN: %s", dlerror ());
  init = (compute_provider_init_fn) dlsym (library, COMPUTE_PROVIDER_ENTRY);
  if (init == NULL)
    return compute_error_set (err, COMPUTE_E_PLUGIN, 0, "E_NO_ENTRY: %s", path);
  rc = init (host, &provider, err);
  if (rc != 0)
    return compute_error_prefix (err, COMPUTE_E_PLUGIN, "E_INIT_FAILED: ");
  if (table_check (provider, path, err) != 0)
    return COMPUTE_E_PLUGIN;
  *ret_provider = provider;
  return 0;
}
