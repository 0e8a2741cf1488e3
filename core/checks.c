/* SPDX-License-Identifier: MIT */
#include "checks.h"
#include "registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- Verdicts ---------------------------------------------------------------------------------------------------- */

enum outcome
{
  PASS,
  WARN,     /* passes, with a reason */
  DOUBTFUL, /* fails by our own search for libraries; the linker has the last word */
  FOREIGN,  /* fails quietly: made for another machine */
  NOTHING,  /* fails quietly: no provider, and not named like one */
  FAIL
};

/* One file while it is checked. */
struct checking
{
  struct inspection *inspection;
  struct candidate *candidate;
  const struct folder *folder; /* NULL: the path was given */
  const char *file;            /* the last part of the path */
  int fd;
  struct stat found;
  char *distrust;

  enum outcome outcome; /* of the check under way */
  enum reason reason;
  char text[400];
};

/* The outcome of a check, in words. Nobody reads the words of one that passed unless there is a callback. */
COMPUTE_PRINTF (4, 5)
static void
conclude (struct checking *checking, enum outcome outcome, enum reason reason, const char *format, ...)
{
  char raw[sizeof checking->text];
  va_list args;

  checking->outcome = outcome;
  checking->reason = reason;
  if (outcome == PASS && checking->inspection->check == NULL)
    return;
  va_start (args, format);
  g_vsnprintf (raw, sizeof raw, format, args);
  va_end (args);
  text_for_people (checking->text, sizeof checking->text, raw);
}

/* ---- The checks, in order -----------------------------------------------------------------------------------------
 */

static const char *
type_name (mode_t mode)
{
  return S_ISREG (mode)    ? "regular file"
         : S_ISDIR (mode)  ? "folder"
         : S_ISFIFO (mode) ? "FIFO"
         : S_ISSOCK (mode) ? "socket"
         : S_ISCHR (mode)  ? "character device"
         : S_ISBLK (mode)  ? "block device"
                           : "symbolic link";
}

/* Opens path once links are followed; without blocking, since a FIFO may have that name. */
static void
check_open (struct checking *checking)
{
  struct candidate *candidate = checking->candidate;
  const struct folder *folder = checking->folder;
  int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  int sys_errno = ELOOP;

  if (folder != NULL && folder->fd >= 0)
    {
      checking->fd = openat (folder->fd, checking->file, flags);
      sys_errno = checking->fd < 0 ? errno : 0;
      candidate->real = g_strconcat (folder->walk.real, "/", checking->file, NULL);
      checking->distrust = g_strdup (folder->walk.distrust);
    }
  if (sys_errno == ELOOP) /* a link, or a path whose links are not known */
    {
      struct walk walk;

      walk_path (&walk, candidate->path);
      sys_errno = walk.sys_errno;
      if (sys_errno == 0)
        {
          checking->fd = open (walk.real, flags);
          sys_errno = checking->fd < 0 ? errno : 0;
          g_free (candidate->real);
          g_free (checking->distrust);
          candidate->real = g_steal_pointer (&walk.real);
          checking->distrust = g_steal_pointer (&walk.distrust);
        }
      walk_clear (&walk);
    }
  if (sys_errno == 0)
    conclude (checking, PASS, REASON_NONE, "it can be read");
  else if (sys_errno == ENOENT && folder != NULL && folder->fd >= 0)
    conclude (checking, FAIL, REASON_OPEN, "it is a link that leads nowhere");
  else if (sys_errno == ENXIO)
    conclude (checking, FAIL, REASON_NOT_REGULAR, "it is a socket, or a device without a driver");
  else
    conclude (checking, FAIL, sys_errno == EACCES || sys_errno == EPERM ? REASON_PERM : REASON_OPEN, "%s",
              text_of_errno (sys_errno));
}

static void
check_type (struct checking *checking)
{
  struct compute_candidate *view = &checking->candidate->view;
  const struct stat *found = &checking->found;

  if (fstat (checking->fd, &checking->found) != 0)
    {
      conclude (checking, FAIL, REASON_OPEN, "%s", text_of_errno (errno));
      return;
    }
  view->dev = found->st_dev;
  view->ino = found->st_ino;
  view->file_bytes = (uint64_t) found->st_size;
  view->mtime_ns = (int64_t) found->st_mtim.tv_sec * 1000000000 + found->st_mtim.tv_nsec;
  conclude (checking, S_ISREG (found->st_mode) ? PASS : FAIL,
            S_ISREG (found->st_mode) ? REASON_NONE : REASON_NOT_REGULAR, "it is a %s", type_name (found->st_mode));
}

static void
check_trust (struct checking *checking)
{
  gboolean vouched = checking->folder == NULL || checking->folder->vouched;

  if (checking->distrust == NULL)
    checking->distrust = distrust_of (&checking->found, checking->candidate->path);
  if (checking->distrust == NULL)
    conclude (checking, PASS, REASON_NONE, "only root and this user can change it");
  else if (vouched)
    conclude (checking, PASS, REASON_NONE, "%s; vouched for", checking->distrust);
  else
    conclude (checking, trust_is_strict () ? FAIL : WARN, REASON_UNTRUSTED, "%s", checking->distrust);
}

/* What the reader found wrong is told by the check that it belongs to. */
static void
check_format (struct checking *checking)
{
  struct elf_file *elf = &checking->candidate->elf;

  elf_file_read (elf, checking->fd, (uint64_t) checking->found.st_size);
  if (elf->bits == 0)
    conclude (checking, FAIL, elf->reason, "%s", elf->fault);
  else
    conclude (checking, PASS, REASON_NONE, "it is an ELF file");
}

static void
check_class (struct checking *checking)
{
  uint32_t bits = checking->candidate->elf.bits, own = elf_kind_of_process ().bits;

  if (bits == own)
    conclude (checking, PASS, REASON_NONE, "%u bits", bits);
  else
    conclude (checking, FOREIGN, REASON_CLASS, "it is for %u bits, this process has %u", bits, own);
}

static void
check_endian (struct checking *checking)
{
  gboolean big = checking->candidate->elf.big_endian, own = elf_kind_of_process ().big_endian;

  if (big == own)
    conclude (checking, PASS, REASON_NONE, "%s", big ? "big-endian" : "little-endian");
  else
    conclude (checking, FOREIGN, REASON_ENDIAN, "it is %s-endian, this machine is %s-endian", big ? "big" : "little",
              own ? "big" : "little");
}

/* "x86-64", or "machine 999". */
static char *
describe_machine (uint16_t machine)
{
  const char *name = elf_machine_name (machine);

  return name != NULL ? g_strdup (name) : g_strdup_printf ("machine %u", machine);
}

static void
check_machine (struct checking *checking)
{
  uint16_t machine = checking->candidate->elf.machine, own = elf_kind_of_process ().machine;
  g_autofree char *name = describe_machine (machine), *own_name = describe_machine (own);

  if (machine == own)
    conclude (checking, PASS, REASON_NONE, "%s", name);
  else
    conclude (checking, FOREIGN, REASON_MACHINE, "it is for %s, this process runs on %s", name, own_name);
}

static void
check_whole (struct checking *checking)
{
  const struct elf_file *elf = &checking->candidate->elf;

  if (elf->reason != REASON_NONE)
    conclude (checking, FAIL, elf->reason, "%s", elf->fault);
  else
    conclude (checking, PASS, REASON_NONE, "it is a whole shared library");
}

static gboolean
has_entry (const struct elf_file *elf)
{
  return elf_list_has (&elf->exports, COMPUTE_PROVIDER_ENTRY);
}

static gboolean
is_named_like_one (const char *file)
{
  return g_str_has_prefix (file, CANDIDATE_PREFIX) && g_str_has_suffix (file, CANDIDATE_SUFFIX);
}

static void
check_note (struct checking *checking)
{
  const struct elf_file *elf = &checking->candidate->elf;
  gboolean named = is_named_like_one (checking->file);

  if (elf->note.count != 0 && elf->note.fault != NULL)
    conclude (checking, FAIL, REASON_BAD_NOTE, "its note is broken: %s", elf->note.fault);
  else if (elf->note.count != 0)
    conclude (checking, PASS, REASON_NONE, "its note names provider '%s'", elf->note.name);
  else if (!named)
    conclude (checking, NOTHING, REASON_NO_NOTE,
              "it has no note, and is not named " CANDIDATE_PREFIX "NAME" CANDIDATE_SUFFIX);
  else if (has_entry (elf))
    conclude (checking, WARN, REASON_NO_NOTE, "it has no note: its details are unknown until it is loaded");
  else
    conclude (checking, FAIL, REASON_NO_NOTE, "it has no note, and no entry");
}

static void
check_abi (struct checking *checking)
{
  const struct note *note = &checking->candidate->elf.note;

  if (note->count == 0)
    conclude (checking, PASS, REASON_NONE, "unknown until it is loaded");
  else if (note->abi_major != COMPUTE_ABI_MAJOR)
    conclude (checking, FAIL, REASON_ABI_MAJOR, "built for ABI %u.%u, this core has %d.%d: the %s is older",
              note->abi_major, note->abi_minor_built, COMPUTE_ABI_MAJOR, COMPUTE_ABI_MINOR,
              note->abi_major < COMPUTE_ABI_MAJOR ? "provider" : "core");
  else if (note->abi_minor_required > COMPUTE_ABI_MINOR)
    conclude (checking, FAIL, REASON_ABI_TOO_NEW, "built for %u.%u, needs at least %u.%u, this core is %d.%d",
              note->abi_major, note->abi_minor_built, note->abi_major, note->abi_minor_required, COMPUTE_ABI_MAJOR,
              COMPUTE_ABI_MINOR);
  else
    conclude (checking, PASS, REASON_NONE, "built for %u.%u, needs %u.%u, this core has %d.%d", note->abi_major,
              note->abi_minor_built, note->abi_major, note->abi_minor_required, COMPUTE_ABI_MAJOR, COMPUTE_ABI_MINOR);
}

/* The provider's name by its file's. */
static gboolean
name_of_file (char name[NAME_BYTES], const char *file)
{
  g_autofree char *stem = NULL;

  if (!is_named_like_one (file))
    return FALSE;
  stem = g_strndup (file + strlen (CANDIDATE_PREFIX), strlen (file) - strlen (CANDIDATE_PREFIX CANDIDATE_SUFFIX));
  return name_fold (name, stem);
}

static gboolean
is_reserved (const char *name)
{
  return strcmp (name, "local") == 0 || strcmp (name, "docker") == 0;
}

static void
check_name (struct checking *checking)
{
  const struct candidate *candidate = checking->candidate;
  uint32_t source = candidate->view.source;
  char by_file[NAME_BYTES];

  if (candidate->name[0] == '\0')
    conclude (checking, FAIL, REASON_NO_NOTE, "it has no note, and '%s' gives no valid name", checking->file);
  else if (is_reserved (candidate->name) && (source == COMPUTE_SOURCE_ENVIRONMENT || source == COMPUTE_SOURCE_USER)
           && (checking->inspection->registry->flags & COMPUTE_REGISTRY_ALLOW_OVERRIDE) == 0)
    conclude (checking, FAIL, REASON_RESERVED_NAME, "the name '%s' is reserved", candidate->name);
  else if (is_named_like_one (checking->file)
           && (!name_of_file (by_file, checking->file) || strcmp (by_file, candidate->name) != 0))
    conclude (checking, WARN, REASON_NONE, "its name is '%s', its file is named '%s'", candidate->name, checking->file);
  else
    conclude (checking, PASS, REASON_NONE, "its name is '%s'", candidate->name);
}

static GArray *
get_wants (struct checking *checking)
{
  struct candidate *candidate = checking->candidate;
  struct inspection *inspection = checking->inspection;

  if (inspection->libraries == NULL)
    inspection->libraries = libraries_new ();
  if (candidate->wants == NULL)
    candidate->wants = libraries_find (inspection->libraries, &candidate->elf, candidate->real);
  return candidate->wants;
}

static void
check_entry (struct checking *checking)
{
  GArray *wants;

  if (has_entry (&checking->candidate->elf))
    {
      conclude (checking, PASS, REASON_NONE, "it exports " COMPUTE_PROVIDER_ENTRY);
      return;
    }
  conclude (checking, FAIL, REASON_NO_ENTRY, "it does not export " COMPUTE_PROVIDER_ENTRY);
  wants = get_wants (checking);
  for (guint i = 0; i < wants->len; i++)
    {
      const struct want *want = &g_array_index (wants, struct want, i);

      if (want->found != NULL && has_entry (library_elf (want->found)))
        conclude (checking, FAIL, REASON_FOREIGN_ENTRY, COMPUTE_PROVIDER_ENTRY " is not its own, but that of '%s'",
                  want->found->path);
    }
}

static void
check_stack (struct checking *checking)
{
  if (checking->candidate->elf.exec_stack)
    conclude (checking, WARN, REASON_EXECSTACK, "it makes the process's stack executable");
  else
    conclude (checking, PASS, REASON_NONE, "the stack stays data");
}

static void
check_tls (struct checking *checking)
{
  if (checking->candidate->elf.static_tls)
    conclude (checking, WARN, REASON_STATIC_TLS, "its thread-local storage must fit into what the process has spare");
  else
    conclude (checking, PASS, REASON_NONE, "its thread-local storage is made as needed");
}

static void
check_mount (struct checking *checking)
{
  struct statvfs mount;

  if (fstatvfs (checking->fd, &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0)
    conclude (checking, FAIL, REASON_NOEXEC, "its file system is mounted noexec");
  else
    conclude (checking, PASS, REASON_NONE, "its file system may hold programs");
}

/* The runtime of a sanitizer ends a process that was not built with it. */
static void
check_sanitizer (struct checking *checking)
{
  static const char *const runtimes[][2]
      = { { "__asan_init", "AddressSanitizer" }, { "__tsan_init", "ThreadSanitizer" } };
  const struct elf_list *undefined = &checking->candidate->elf.undefined;

  conclude (checking, PASS, REASON_NONE, "nothing that this process lacks");
  for (size_t i = 0; i < undefined->count; i++)
    for (guint j = 0; j < G_N_ELEMENTS (runtimes); j++)
      if (strcmp (undefined->items[i], runtimes[j][0]) == 0 && dlsym (RTLD_DEFAULT, runtimes[j][0]) == NULL)
        conclude (checking, FAIL, REASON_UNDEFINED_SYMBOL, "it was built with %s (%s), this process was not",
                  runtimes[j][1], runtimes[j][0]);
}

/* "libbeta.so.4 not found (wanted by ...; RUNPATH ..., searched 3 places)". */
static void
describe_missing (struct checking *checking, const struct want *want)
{
  const struct elf_file *elf = &checking->candidate->elf;
  gboolean own = want->wanted_by == checking->candidate->real;
  const char *runpath = !own ? NULL : elf->runpath != NULL ? elf->runpath : elf->rpath;
  g_autofree char *wanted_by = g_path_get_basename (want->wanted_by);

  conclude (checking, DOUBTFUL, REASON_MISSING_DEP, "%s not found (wanted by %s; %s%s%ssearched %u places)", want->name,
            wanted_by, runpath != NULL ? "RUNPATH " : "", runpath != NULL ? runpath : "", runpath != NULL ? ", " : "",
            libraries_count_folders (checking->inspection->libraries, elf));
}

static void
check_libraries (struct checking *checking)
{
  GArray *wants;

  conclude (checking, PASS, REASON_NONE, "all that it wants are there");
  if (checking->inspection->depth == DEPTH_FILE)
    return;
  wants = get_wants (checking);
  for (guint i = 0; i < wants->len && checking->outcome == PASS; i++)
    {
      const struct want *want = &g_array_index (wants, struct want, i);

      if (want->found == NULL)
        describe_missing (checking, want);
    }
}

static void
check_versions (struct checking *checking)
{
  const struct elf_file *elf = &checking->candidate->elf;

  conclude (checking, PASS, REASON_NONE, "all that it wants are there");
  if (checking->inspection->depth == DEPTH_FILE)
    return;
  for (size_t i = 0; i < elf->wanted_count && checking->outcome == PASS; i++)
    {
      const struct elf_version *version = &elf->wanted[i];
      const struct library *library = wants_find (get_wants (checking), version->file);
      const struct elf_list *defined = library != NULL ? &library_elf (library)->versions : NULL;

      /* A library without versions is taken as it is, by the linker too. */
      if (version->weak || defined == NULL || defined->count == 0 || elf_list_has (defined, version->name))
        continue;
      conclude (checking, DOUBTFUL, REASON_SYMBOL_VERSION, "it needs version %s of %s, which '%s' does not have",
                version->name, version->file, library->path);
    }
}

static gboolean
is_defined (const struct candidate *candidate, const char *symbol)
{
  if (elf_list_has (&candidate->elf.exports, symbol))
    return TRUE;
  for (guint i = 0; i < candidate->wants->len; i++)
    {
      const struct library *library = g_array_index (candidate->wants, struct want, i).found;

      if (library != NULL && elf_list_has (&library_elf (library)->exports, symbol))
        return TRUE;
    }
  return FALSE;
}

static void
check_symbols (struct checking *checking)
{
  struct candidate *candidate = checking->candidate;
  const struct elf_list *undefined = &candidate->elf.undefined;

  conclude (checking, PASS, REASON_NONE, "%zu, all defined", undefined->count);
  if (checking->inspection->depth != DEPTH_SYMBOLS)
    return;
  get_wants (checking);
  candidate->undefined = g_ptr_array_new ();
  for (size_t i = 0; i < undefined->count; i++)
    if (!is_defined (candidate, undefined->items[i]))
      g_ptr_array_add (candidate->undefined, (gpointer) undefined->items[i]);
  if (candidate->undefined->len != 0)
    conclude (checking, DOUBTFUL, REASON_UNDEFINED_SYMBOL, "no library that it wants defines %s%s",
              (const char *) candidate->undefined->pdata[0], candidate->undefined->len > 1 ? " and others" : "");
}

static const struct
{
  const char *what;
  void (*run) (struct checking *checking);
  enum depth depth; /* made from that depth on */
} checks[] = {
  { "open", check_open, DEPTH_FILE },
  { "regular file", check_type, DEPTH_FILE },
  { "trust", check_trust, DEPTH_FILE },
  { "ELF file", check_format, DEPTH_FILE },
  { "word size", check_class, DEPTH_FILE },
  { "byte order", check_endian, DEPTH_FILE },
  { "processor", check_machine, DEPTH_FILE },
  { "shared library", check_whole, DEPTH_FILE },
  { "note", check_note, DEPTH_FILE },
  { "ABI", check_abi, DEPTH_FILE },
  { "name", check_name, DEPTH_FILE },
  { "entry", check_entry, DEPTH_FILE },
  { "stack", check_stack, DEPTH_FILE },
  { "thread-local storage", check_tls, DEPTH_FILE },
  { "file system", check_mount, DEPTH_FILE },
  { "sanitizer", check_sanitizer, DEPTH_FILE },
  { "libraries", check_libraries, DEPTH_LIBRARIES },
  { "symbol versions", check_versions, DEPTH_LIBRARIES },
  { "symbols", check_symbols, DEPTH_SYMBOLS },
};

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* The first failure is the verdict; the first warning where there is none. */
static void
judge (struct checking *checking)
{
  static const enum compute_candidate_state states[] = {
    [WARN] = COMPUTE_CANDIDATE_OK,
    [DOUBTFUL] = COMPUTE_CANDIDATE_FAILED,
    [FOREIGN] = COMPUTE_CANDIDATE_OTHER_ARCH,
    [NOTHING] = COMPUTE_CANDIDATE_NOT_PROVIDER,
    [FAIL] = COMPUTE_CANDIDATE_FAILED,
  };
  struct candidate *candidate = checking->candidate;
  gboolean first_warning = checking->outcome == WARN && candidate->message == NULL;
  gboolean first_failure = checking->outcome > WARN && candidate->view.state == COMPUTE_CANDIDATE_OK;

  if (first_warning || first_failure)
    candidate_set (candidate, states[checking->outcome], checking->reason, g_strdup (checking->text));
  if (checking->outcome > DOUBTFUL)
    candidate->loadable = FALSE;
}

static void
tell (struct checking *checking, const char *what)
{
  struct inspection *inspection = checking->inspection;
  const struct compute_check check = {
    .size = sizeof check,
    .passed = checking->outcome <= WARN,
    .what = what,
    .found = checking->text,
    .reason = reason_code (checking->reason),
  };

  if (inspection->check != NULL)
    inspection->stopped = inspection->check (inspection->user, &check);
}

/* As soon as the note has been read, failed or not, the file has a name. */
static void
find_name (struct candidate *candidate, const char *file)
{
  if (candidate->elf.note.name[0] != '\0')
    g_strlcpy (candidate->name, candidate->elf.note.name, sizeof candidate->name);
  else if (!name_of_file (candidate->name, file))
    candidate->name[0] = '\0';
}

void
checks_run (struct inspection *inspection, struct candidate *candidate, const struct folder *folder)
{
  struct checking checking = { .inspection = inspection, .candidate = candidate, .folder = folder, .fd = -1 };

  checking.file = strrchr (candidate->path, '/') + 1;
  find_name (candidate, checking.file);
  for (guint i = 0; i < G_N_ELEMENTS (checks) && inspection->stopped == 0 && checking.outcome <= DOUBTFUL; i++)
    {
      if (checks[i].depth > inspection->depth)
        continue;
      checks[i].run (&checking);
      if (checks[i].run == check_format)
        find_name (candidate, checking.file);
      judge (&checking);
      tell (&checking, checks[i].what);
    }
  if (checking.fd >= 0)
    close (checking.fd);
  g_free (checking.distrust);
}
