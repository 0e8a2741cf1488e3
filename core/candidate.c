/* SPDX-License-Identifier: MIT */
#include "candidate.h"
#include "checks.h"

#include <string.h>

void
candidate_set (struct candidate *candidate, enum compute_candidate_state state, enum reason reason, char *message)
{
  g_free (candidate->message);
  candidate->message = message;
  candidate->reason = reason;
  candidate->view.state = state;
  candidate->view.reason = reason_code (reason);
  candidate->view.hint = reason_hint (reason);
  candidate->view.message = message;
}

static void
fill_view (struct candidate *candidate)
{
  struct compute_candidate *view = &candidate->view;
  const struct elf_file *elf = &candidate->elf;

  view->name = candidate->name[0] != '\0' ? candidate->name : NULL;
  view->path = candidate->path;
  view->realpath = candidate->real;
  view->has_note = elf->note.count != 0;
  view->build_id = elf->build_id[0] != '\0' ? elf->build_id : NULL;
  view->abi_major = elf->note.abi_major;
  view->abi_minor_built = elf->note.abi_minor_built;
  view->abi_minor_required = elf->note.abi_minor_required;
  view->capabilities = elf->note.capabilities;
  view->version = elf->note.version;
  view->vendor = elf->note.vendor;
  view->license = elf->note.license;
  view->url = elf->note.url;
  view->elf_class = elf->bits;
  view->elf_machine = elf->machine;
  view->exec_stack = elf->exec_stack;
  view->static_tls = elf->static_tls;
  view->big_endian = elf->big_endian;
  view->soname = elf->soname;
  view->runpath = elf->runpath != NULL ? elf->runpath : elf->rpath;
  view->exports = elf->exports.items;
  view->export_count = elf->exports.count;
  for (size_t i = 0; i < elf->undefined.count; i++)
    view->asan |= strcmp (elf->undefined.items[i], "__asan_init") == 0;
}

/* What it needs itself, as far as that was looked up. */
static void
fill_needed (struct candidate *candidate)
{
  const struct elf_list *needed = &candidate->elf.needed;

  candidate->needed = g_array_new (FALSE, FALSE, sizeof (struct compute_needed));
  for (size_t i = 0; i < needed->count; i++)
    {
      const struct library *library = candidate->wants != NULL ? wants_find (candidate->wants, needed->items[i]) : NULL;
      struct compute_needed entry = { needed->items[i], library != NULL ? library->path : NULL, NULL };

      g_array_append_val (candidate->needed, entry);
    }
  candidate->view.needed = (const struct compute_needed *) (gpointer) candidate->needed->data;
  candidate->view.needed_count = candidate->needed->len;
  if (candidate->undefined != NULL)
    {
      candidate->view.undefined = (const char *const *) candidate->undefined->pdata;
      candidate->view.undefined_count = candidate->undefined->len;
    }
}

static char *
absolute (const char *path)
{
  g_autofree char *current = path[0] == '/' ? NULL : g_get_current_dir ();

  return current == NULL ? g_strdup (path) : g_build_filename (current, path, NULL);
}

struct candidate *
candidate_new (struct inspection *inspection, const struct folder *folder, const char *name)
{
  struct candidate *candidate = g_new0 (struct candidate, 1);

  candidate->path
      = folder != NULL && folder->fd >= 0 ? g_build_filename (folder->view.path, name, NULL) : absolute (name);
  candidate->view.size = sizeof candidate->view;
  candidate->view.state = COMPUTE_CANDIDATE_OK;
  candidate->view.source = folder != NULL ? folder->view.source : COMPUTE_SOURCE_HOST;
  candidate->loadable = TRUE;
  checks_run (inspection, candidate, folder);
  fill_view (candidate);
  fill_needed (candidate);
  return candidate;
}

void
candidate_free (gpointer data)
{
  struct candidate *candidate = data;

  if (candidate == NULL)
    return;
  elf_file_clear (&candidate->elf);
  g_clear_pointer (&candidate->wants, g_array_unref);
  g_clear_pointer (&candidate->needed, g_array_unref);
  g_clear_pointer (&candidate->undefined, g_ptr_array_unref);
  g_free (candidate->path);
  g_free (candidate->real);
  g_free (candidate->message);
  g_free (candidate);
}

void
inspection_clear (struct inspection *inspection)
{
  g_clear_pointer (&inspection->libraries, libraries_free);
}
