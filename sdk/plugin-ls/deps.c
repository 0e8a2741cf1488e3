/* SPDX-License-Identifier: MIT */
#include "print.h"

/* --deps: what a provider wants from the system, one fact a line. */

static void
print_needed (GString *out, const struct compute_needed *needed, const char *runpath)
{
  if (needed->path == NULL)
    print_note (out, "needs %s => not found%s%s", needed->name, runpath != NULL ? "; RUNPATH " : "",
                runpath != NULL ? runpath : "");
  else
    print_note (out, "needs %s => %s", needed->name, needed->path);
  if (needed->provided_by != NULL)
    print_note (out, "clash: wanted %s from %s, already provided by %s", needed->name,
                needed->path != NULL ? needed->path : "nowhere", needed->provided_by);
}

void
deps_print (GString *out, const struct compute_candidate *candidate)
{
  if (candidate->elf_class == 0)
    return;
  if (candidate->needed_count == 0)
    print_note (out, "needs no library");
  for (uint64_t i = 0; i < candidate->needed_count; i++)
    print_needed (out, &candidate->needed[i], candidate->runpath);
  for (uint64_t i = 0; i < candidate->undefined_count; i++)
    print_note (out, "undefined symbol %s", candidate->undefined[i]);
  if (candidate->runpath != NULL)
    print_note (out, "RUNPATH %s", candidate->runpath);
  if (candidate->exec_stack)
    print_note (out, "wants an executable stack");
  if (candidate->static_tls)
    print_note (out, "uses static TLS");
}
