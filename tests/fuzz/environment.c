/* SPDX-License-Identifier: MIT */

/* The loader of an environment's file, and the hashes of what it says. */
#include "definition.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t count)
{
  struct compute_environment *environment = NULL;
  struct compute_config config = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct definition definition;

  if (environment_parse ("e.yaml", "/project", (const char *) bytes, count, &environment, &err) != 0)
    {
      if (err.code == 0 || strncmp (err.message, "e.yaml:", 7) != 0)
        abort ();
      return 0;
    }
  definition_init (&definition, environment, &config);
  if (strlen (definition.hash) != DEFINITION_BYTES - 1 || strlen (definition.key) != DEFINITION_BYTES - 1)
    abort ();
  definition_clear (&definition);
  compute_environment_close (environment);
  return 0;
}
