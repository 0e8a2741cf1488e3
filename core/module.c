/* SPDX-License-Identifier: MIT */
#include "module.h"
#include "table.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

/* A library that dlopen has loaded, known by the linker's own record of it. Never freed, as it is never unloaded. */
struct module
{
  const struct link_map *map;
  uint64_t dev, ino; /* of the file it was */
  int64_t mtime_ns;
  const struct compute_provider *provider; /* NULL until its init succeeded */
  gboolean busy;                           /* a thread is in its init */
};

static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER; /* never held in a provider's code */
static pthread_cond_t modules_changed = PTHREAD_COND_INITIALIZER;
static GPtrArray *modules;

/* This thread is in a provider's constructor or init: what it asks for could wait for itself. */
static _Thread_local gboolean loading;

static void
begin (const struct stages *stages, const char *stage)
{
  if (stages->stage != NULL)
    stages->stage (stages->user, stage);
}

int
module_error (const struct candidate *candidate, enum reason reason, const char *why, struct compute_error *err)
{
  char path[160], text[sizeof err->message];

  return compute_error_set (err, COMPUTE_E_PLUGIN, 0, "provider '%s': %s: %s (%s)",
                            candidate->name[0] != '\0' ? candidate->name : "?", reason_code (reason),
                            text_for_people (text, sizeof text, why),
                            text_for_people (path, sizeof path, candidate->path));
}

/* ---- One thread at a time for each library ------------------------------------------------------------------------
 */

static struct module *
find_module (const struct link_map *map, const struct candidate *candidate)
{
  struct module *module;

  if (modules == NULL)
    modules = g_ptr_array_new ();
  for (guint i = 0; i < modules->len; i++)
    {
      module = modules->pdata[i];
      if (module->map == map)
        return module;
    }
  module = g_new0 (struct module, 1);
  module->map = map;
  module->dev = candidate->view.dev;
  module->ino = candidate->view.ino;
  module->mtime_ns = candidate->view.mtime_ns;
  g_ptr_array_add (modules, module);
  return module;
}

/* The library's module, for this thread alone until module_leave. */
static struct module *
module_enter (const struct link_map *map, const struct candidate *candidate)
{
  struct module *module;

  pthread_mutex_lock (&modules_lock);
  module = find_module (map, candidate);
  while (module->busy)
    pthread_cond_wait (&modules_changed, &modules_lock);
  module->busy = TRUE;
  pthread_mutex_unlock (&modules_lock);
  return module;
}

static void
module_leave (struct module *module)
{
  pthread_mutex_lock (&modules_lock);
  module->busy = FALSE;
  pthread_cond_broadcast (&modules_changed);
  pthread_mutex_unlock (&modules_lock);
}

/* False when another file has taken the place of the one that was loaded; the linker still gives the old one. */
static gboolean
is_same_file (const struct module *module, const struct candidate *candidate)
{
  return module->dev == candidate->view.dev && module->ino == candidate->view.ino
         && module->mtime_ns == candidate->view.mtime_ns;
}

/* ---- The steps of a load ------------------------------------------------------------------------------------------
 */

/* One load on its way. */
struct load
{
  struct compute_registry *registry;
  struct candidate *candidate;
  const struct stages *stages;
  void *library;
  struct link_map *map;
  compute_provider_init_fn init;
  enum reason reason; /* why it failed */
  char why[512];
};

COMPUTE_PRINTF (3, 4)
static gboolean
fail (struct load *load, enum reason reason, const char *format, ...)
{
  va_list args;

  load->reason = reason;
  va_start (args, format);
  g_vsnprintf (load->why, sizeof load->why, format, args);
  va_end (args);
  return FALSE;
}

/* What the linker says, where our own reading found nothing: glibc's words, and musl's. */
static enum reason
reason_of_text (const char *text)
{
  static const struct
  {
    const char *words;
    enum reason reason;
  } known[] = {
    { "static TLS", REASON_STATIC_TLS },
    { "initial-exec TLS", REASON_STATIC_TLS },
    { "executable stack", REASON_EXECSTACK },
    { "version `", REASON_SYMBOL_VERSION },
    { "undefined symbol", REASON_UNDEFINED_SYMBOL },
    { "symbol not found", REASON_UNDEFINED_SYMBOL },
    { "cannot open shared object file", REASON_MISSING_DEP },
    { "Error loading shared library", REASON_MISSING_DEP },
  };

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (strstr (text, known[i].words) != NULL)
      return known[i].reason;
  return REASON_DLOPEN;
}

/* Why the linker refused a file that seemed good: by a closer look first, since its text is translated and names the
 * missing library alone. */
static void
explain (struct load *load, const char *text)
{
  struct inspection closer = { .registry = load->registry, .depth = DEPTH_SYMBOLS };
  struct candidate *again = candidate_new (&closer, NULL, load->candidate->path);

  if (again->view.state == COMPUTE_CANDIDATE_FAILED)
    fail (load, again->reason, "%s", again->message);
  else
    fail (load, reason_of_text (text), "%s", text);
  candidate_free (again);
  inspection_clear (&closer);
}

static gboolean
open_library (struct load *load)
{
  const struct candidate *candidate = load->candidate;
  struct stat found;

  begin (load->stages, "dlopen");
  /* NOW: an undefined symbol is found here and not in mid-call. LOCAL: providers do not see each other's symbols. */
  load->library = dlopen (candidate->real, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (load->library == NULL)
    {
      g_autofree char *text = g_strdup (dlerror ());

      explain (load, text != NULL ? text : "no reason was given");
      return FALSE;
    }
  if (stat (candidate->real, &found) != 0 || found.st_dev != candidate->view.dev || found.st_ino != candidate->view.ino)
    return fail (load, REASON_DLOPEN, "the file was replaced while it was loaded");
  if (dlinfo (load->library, RTLD_DI_LINKMAP, &load->map) != 0)
    return fail (load, REASON_DLOPEN, "the linker does not know it");
  return TRUE;
}

static gboolean
find_entry (struct load *load)
{
  Dl_info info;

  begin (load->stages, "entry");
  load->init = (compute_provider_init_fn) dlsym (load->library, COMPUTE_PROVIDER_ENTRY);
  if (load->init == NULL)
    return fail (load, REASON_NO_ENTRY, "it does not export " COMPUTE_PROVIDER_ENTRY);
  /* dlsym looks into the libraries that the file wants, too. */
  if (dladdr ((void *) load->init, &info) == 0 || strcmp (info.dli_fname, load->map->l_name) != 0)
    return fail (load, REASON_FOREIGN_ENTRY, COMPUTE_PROVIDER_ENTRY " is not its own, but that of '%s'",
                 info.dli_fname != NULL ? info.dli_fname : "?");
  return TRUE;
}

/* The table that init gave, against the contract and against the note. */
static gboolean
check_table (struct load *load, const struct compute_provider *provider)
{
  const struct note *note = &load->candidate->elf.note;
  struct compute_error err = COMPUTE_ERROR_INIT;

  if (provider == NULL)
    return fail (load, REASON_INIT_FAILED, "its init gave no table");
  if (provider->size >= offsetof (struct compute_provider, name) && provider->abi_major != COMPUTE_ABI_MAJOR)
    return fail (load, REASON_ABI_MAJOR, "its table is for ABI %u.%u, this core has %d.%d", provider->abi_major,
                 provider->abi_minor, COMPUTE_ABI_MAJOR, COMPUTE_ABI_MINOR);
  if (table_check (provider, load->candidate->name, &err) != 0)
    return fail (load, REASON_INCONSISTENT, "%s", err.message);
  if (note->count == 0)
    return TRUE;
  if (strcmp (provider->name, note->name) != 0)
    return fail (load, REASON_INCONSISTENT, "its note says name '%s', its table '%s'", note->name, provider->name);
  if (provider->version != NULL && note->version != NULL && strcmp (provider->version, note->version) != 0)
    return fail (load, REASON_INCONSISTENT, "its note says version '%s', its table '%s'", note->version,
                 provider->version);
  if (provider->capabilities != note->capabilities)
    return fail (load, REASON_INCONSISTENT,
                 "its note says capabilities 0x%" G_GINT64_MODIFIER "x, its table 0x%" G_GINT64_MODIFIER "x",
                 note->capabilities, provider->capabilities);
  return TRUE;
}

static gboolean
run_init (struct load *load, const struct compute_provider **ret_provider)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  int rc;

  begin (load->stages, "init");
  rc = load->init (&load->registry->services.host, ret_provider, &err);
  err.message[sizeof err.message - 1] = '\0';
  if (rc > 0)
    return fail (load, REASON_INIT_FAILED, "its init returned %d, which is no error code", rc);
  if (rc < 0)
    return fail (load, REASON_INIT_FAILED, "%s", err.message[0] != '\0' ? err.message : compute_error_text (rc));
  return TRUE;
}

/* The process keeps what it has loaded, also when a newer file has taken its place. */
static gboolean
use_older (struct load *load, const struct module *module)
{
  if (module->provider == NULL || strcmp (module->provider->name, load->candidate->name) != 0)
    return fail (load, REASON_DLOPEN,
                 "an older file in its place is loaded already; only a new process can load this one");
  services_log (&load->registry->services, COMPUTE_LOG_WARNING,
                "provider '%s' was replaced on disk; this process goes on with the one it has loaded",
                load->candidate->name);
  return TRUE;
}

static gboolean
start_module (struct load *load, struct module *module)
{
  const struct compute_provider *provider = NULL;

  if (!is_same_file (module, load->candidate))
    return use_older (load, module);
  if (module->provider != NULL)
    return TRUE;
  if (!find_entry (load) || !run_init (load, &provider))
    return FALSE;
  begin (load->stages, "table");
  if (!check_table (load, provider))
    return FALSE;
  module->provider = provider;
  return TRUE;
}

static gboolean
run_load (struct load *load, const struct compute_provider **ret_provider)
{
  struct module *module;
  gboolean good;

  if (g_atomic_int_get (&load->registry->frozen))
    return fail (load, REASON_DLOPEN, "loading is frozen");
  if (!open_library (load))
    return FALSE;
  module = module_enter (load->map, load->candidate);
  good = start_module (load, module);
  if (good)
    *ret_provider = module->provider;
  module_leave (module);
  return good;
}

int
module_load (struct compute_registry *registry, struct candidate *candidate, const struct stages *stages,
             enum reason *ret_reason, const struct compute_provider **ret_provider, struct compute_error *err)
{
  struct load load = { .registry = registry, .candidate = candidate, .stages = stages };
  char text[sizeof err->message];
  gboolean good;

  *ret_reason = candidate->reason;
  if (!candidate->loadable)
    return compute_error_set (err, COMPUTE_E_PLUGIN, 0, "%s", text_for_people (text, sizeof text, candidate->message));
  if (loading)
    {
      *ret_reason = REASON_INIT_FAILED;
      return compute_error_set (err, COMPUTE_E_BUSY, 0,
                                "a provider asked for provider '%s' while it was being loaded itself", candidate->name);
    }
  loading = TRUE;
  good = run_load (&load, ret_provider);
  loading = FALSE;
  if (good)
    {
      begin (stages, "done");
      return 0;
    }
  *ret_reason = load.reason;
  return compute_error_set (err, COMPUTE_E_PLUGIN, 0, "%s", text_for_people (text, sizeof text, load.why));
}
