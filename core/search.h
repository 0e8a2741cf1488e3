/* SPDX-License-Identifier: MIT */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H

#include <compute/compute.h>
#include <glib.h>

/**
 * search.h: the elements of the search, in order: what the host application gives, COMPUTE_PROVIDER_PATH, the user's
 * folder, the system's. Read once, from the options and the environment; no file is touched.
 */

struct place
{
  enum compute_source source;
  uint32_t element; /* from 1, within its source */
  char *path;
  enum compute_folder_state state; /* NONE: to be looked at; else not searched, for the reason why */
  const char *why;
  gboolean named;  /* somebody asked for it: worth a warning when it is no good */
  gboolean beside; /* the folder beside libcompute.so */
  gint warned;     /* the host application's log has heard of it */
};

GPtrArray *search_new (const struct compute_registry_options *options, const char *library_folder);

#endif
