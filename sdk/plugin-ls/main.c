/* SPDX-License-Identifier: MIT */

/**
 * plugin-ls: lists the compute providers, and says what is wrong with the broken ones. No setlocale anywhere: what it
 * prints is the same in every locale.
 */

#include "cache.h"
#include "display.h"
#include "exists.h"
#include "listing.h"
#include "options.h"
#include "print.h"
#include "probing.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A closed standard descriptor must not become a file of ours. What stands in for it fails when it is used: 0 can only
 * be written, 1 and 2 only be read. */
static void
fill_standard_descriptors (void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) < 0)
      (void) open ("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Output that could not be written is a failure, whatever was found. */
static int
finish_output (int status)
{
  bool failed = fflush (stdout) != 0 || ferror (stdout) != 0;

  if (!failed || status == STATUS_USAGE)
    return status;
  complain ("standard output: %s", g_strerror (errno));
  return STATUS_INTERNAL;
}

static int
open_registry (const struct options *options, struct compute_registry **ret_registry, struct compute_error *err)
{
  struct compute_registry_options registry_options = COMPUTE_REGISTRY_OPTIONS_INIT;

  registry_options.flags = options->only ? COMPUTE_REGISTRY_ONLY_PATHS : 0;
  registry_options.paths = (const char *const *) options->paths->pdata;
  registry_options.path_count = options->paths->len;
  return compute_registry_open (&registry_options, ret_registry, err);
}

static enum status
folders_status (const struct listing *listing)
{
  for (guint i = 0; i < listing->folders->len; i++)
    if (((const struct compute_folder *) listing->folders->pdata[i])->loud)
      return STATUS_FAILED;
  return STATUS_OK;
}

static int
collect (struct listing *listing, struct compute_registry *registry, const struct options *options,
         struct compute_error *err)
{
  int code = listing_add_folders (listing, registry, err);

  if (code == 0 && options->mode == MODE_LIST)
    code = listing_add_candidates (listing, registry, options->names, options->deps ? COMPUTE_INSPECT_DEPS : 0, err);
  if (code == 0 && options->mode == MODE_WHY)
    code = listing_add_file (listing, registry, options->subject, COMPUTE_INSPECT_DEPS, err);
  if (code == 0 && options->probe)
    code = probe_rows (listing, options, err);
  return code;
}

static enum status
print (const struct listing *listing, const struct options *options)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < listing->missing->len; i++)
    complain ("'%s': no such %s", (const char *) listing->missing->pdata[i],
              strchr (listing->missing->pdata[i], '/') != NULL || options->mode == MODE_WHY ? "file" : "provider");
  if (options->json)
    json_print (out, listing, options);
  else if (options->mode == MODE_PATHS)
    text_print_folders (out, listing);
  else if (options->mode == MODE_WHY && listing->rows->len > 0)
    text_print_checks (out, listing, options);
  else if (listing->rows->len > 0 || listing->missing->len == 0)
    text_print_listing (out, listing, options);
  fwrite (out->str, 1, out->len, stdout);
  g_string_free (out, TRUE);
  return options->mode == MODE_PATHS ? folders_status (listing) : listing_status (listing);
}

static int
show (struct compute_registry *registry, const struct options *options, struct compute_error *err)
{
  struct listing listing;
  int code;

  listing_init (&listing);
  code = collect (&listing, registry, options, err);
  if (code == 0)
    code = (int) print (&listing, options);
  listing_clear (&listing);
  return code;
}

static int
clear_cache (void)
{
  g_autofree char *path = cache_default_path ();

  if (path == NULL || unlink (path) == 0 || errno == ENOENT || errno == ENOTDIR)
    return STATUS_OK;
  complain ("'%s': cannot remove: %s", path, g_strerror (errno));
  return STATUS_INTERNAL;
}

/* Returns a status, or a negative code with *err filled. */
static int
run (const struct options *options, struct compute_error *err)
{
  struct compute_registry *registry;
  bool there = false;
  int code;

  if (options->mode == MODE_CLEAR_CACHE)
    return clear_cache ();
  code = open_registry (options, &registry, err);
  if (code != 0)
    return code;
  if (options->mode != MODE_EXISTS)
    code = show (registry, options, err);
  else
    {
      code = exists (registry, options, &there, err);
      if (code == 0)
        code = there ? STATUS_OK : STATUS_FAILED;
    }
  compute_registry_close (registry);
  return code;
}

int
main (int argc, char **argv)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct options options;
  int status;

  fill_standard_descriptors ();
  status = options_parse (argc, argv, &options);
  if (status < 0)
    status = run (&options, &err);
  if (status < 0)
    {
      complain ("%s", err.message);
      status = STATUS_INTERNAL;
    }
  options_clear (&options);
  return finish_output (status);
}
