/* SPDX-License-Identifier: MIT */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H

#include <compute/compute.h>
#include <glib.h>

/* One element of the search, as it was given. */
struct place
{
  enum compute_source source;
  uint32_t element; /* from 1, within its source */
  char *path;
};

/* The elements in search order. Reads the environment, no file. */
GPtrArray *search_new (const struct compute_registry_options *options, const char *library_folder);

#endif
