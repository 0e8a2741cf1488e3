/* SPDX-License-Identifier: MIT */
#include "libraries.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deeper than any honest configuration includes itself. */
#define INCLUDES_MAX 8

struct libraries
{
  GHashTable *by_path;    /* path -> struct library *, or NULL where there is none */
  GHashTable *in_process; /* file name -> struct library * */
  GPtrArray *environment; /* folders of LD_LIBRARY_PATH */
  GPtrArray *system;      /* folders of /etc/ld.so.conf and the linker's own */
  char *lib;              /* what $LIB stands for */
};

static void
library_free (gpointer data)
{
  struct library *library = data;

  if (library == NULL)
    return;
  if (library->read)
    elf_file_clear (&library->elf);
  g_free (library->path);
  g_free (library);
}

static struct library *
library_new (const char *path, const struct stat *found)
{
  struct library *library = g_new0 (struct library, 1);

  library->path = g_strdup (path);
  library->dev = found->st_dev;
  library->ino = found->st_ino;
  return library;
}

/* Looks at one file; not kept open. NULL when it is no library for this process. */
static struct library *
library_open (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const struct elf_kind own = elf_kind_of_process ();
  struct library *library = NULL;
  struct stat found;

  if (fd < 0)
    return NULL;
  if (fstat (fd, &found) == 0 && S_ISREG (found.st_mode))
    {
      library = library_new (path, &found);
      library->read = TRUE;
      elf_file_read (&library->elf, fd, (uint64_t) found.st_size);
    }
  close (fd);
  if (library != NULL
      && (library->elf.bits != own.bits || library->elf.big_endian != own.big_endian
          || library->elf.machine != own.machine))
    g_clear_pointer (&library, library_free);
  return library;
}

static struct library *
find_path (struct libraries *libraries, const char *path)
{
  gpointer known;

  if (!g_hash_table_lookup_extended (libraries->by_path, path, NULL, &known))
    {
      known = library_open (path);
      g_hash_table_insert (libraries->by_path, g_strdup (path), known);
    }
  return known;
}

const struct elf_file *
library_elf (const struct library *library)
{
  struct library *own = (struct library *) library; /* filled when first asked for */
  struct stat found;
  int fd;

  if (own->read)
    return &own->elf;
  own->read = TRUE;
  fd = open (own->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && fstat (fd, &found) == 0)
    elf_file_read (&own->elf, fd, (uint64_t) found.st_size);
  if (fd >= 0)
    close (fd);
  return &own->elf;
}

/* ---- Where the linker looks ---------------------------------------------------------------------------------------
 */

/* A library of the process satisfies every want of its name, wherever it was found. */
static int
add_of_process (struct dl_phdr_info *info, size_t bytes, void *user)
{
  struct libraries *libraries = user;
  const char *slash = info->dlpi_name != NULL ? strrchr (info->dlpi_name, '/') : NULL;
  struct library *library;
  struct stat found;

  (void) bytes;
  if (slash == NULL || g_hash_table_contains (libraries->in_process, slash + 1) || stat (info->dlpi_name, &found) != 0)
    return 0;
  library = library_new (info->dlpi_name, &found);
  library->loaded = TRUE;
  g_hash_table_insert (libraries->in_process, g_strdup (slash + 1), library);
  return 0;
}

static void
add_folder (GPtrArray *folders, const char *folder)
{
  if (folder[0] == '/' && !g_ptr_array_find_with_equal_func (folders, folder, g_str_equal, NULL))
    g_ptr_array_add (folders, g_strdup (folder));
}

#ifdef __GLIBC__
/* Included files may include others; depth bounds it. */
static void
read_conf (GPtrArray *folders, const char *file, int depth) /* NOLINT(misc-no-recursion) */
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (depth == INCLUDES_MAX || !g_file_get_contents (file, &text, NULL, NULL))
    return;
  lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      glob_t found;

      *strchrnul (*line, '#') = '\0';
      g_strstrip (*line);
      if (!g_str_has_prefix (*line, "include") || !g_ascii_isspace ((*line)[strlen ("include")]))
        {
          add_folder (folders, *line);
          continue;
        }
      if (glob (g_strchug (*line + strlen ("include")), 0, NULL, &found) != 0)
        continue;
      for (size_t i = 0; i < found.gl_pathc; i++)
        read_conf (folders, found.gl_pathv[i], depth + 1);
      globfree (&found);
    }
}

/* The linker's own folders are those of the C library it came with. */
static void
add_system_folders (struct libraries *libraries)
{
  GPtrArray *folders = libraries->system;
  Dl_info libc;

  read_conf (folders, "/etc/ld.so.conf", 0);
  if (dladdr ((void *) getauxval, &libc) != 0 && libc.dli_fname != NULL && libc.dli_fname[0] == '/')
    {
      g_autofree char *folder = g_path_get_dirname (libc.dli_fname);
      g_autofree char *below_usr = g_strconcat ("/usr", folder, NULL);

      add_folder (folders, folder);
      add_folder (folders, below_usr);
      libraries->lib = g_strdup (folder + (g_str_has_prefix (folder, "/usr/") ? strlen ("/usr/") : strlen ("/")));
    }
  add_folder (folders, sizeof (void *) == 8 ? "/lib64" : "/lib32");
  add_folder (folders, sizeof (void *) == 8 ? "/usr/lib64" : "/usr/lib32");
  add_folder (folders, "/lib");
  add_folder (folders, "/usr/lib");
}
#else
static void
add_system_folders (struct libraries *libraries)
{
  add_folder (libraries->system, "/lib");
  add_folder (libraries->system, "/usr/local/lib");
  add_folder (libraries->system, "/usr/lib");
}
#endif

struct libraries *
libraries_new (void)
{
  struct libraries *libraries = g_new0 (struct libraries, 1);
  const char *environment = getauxval (AT_SECURE) != 0 ? NULL : getenv ("LD_LIBRARY_PATH");

  libraries->by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, library_free);
  libraries->in_process = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, library_free);
  libraries->environment = g_ptr_array_new_with_free_func (g_free);
  libraries->system = g_ptr_array_new_with_free_func (g_free);
  dl_iterate_phdr (add_of_process, libraries);
  if (environment != NULL)
    {
      g_auto (GStrv) folders = g_strsplit_set (environment, ":;", -1);

      for (char **folder = folders; *folder != NULL; folder++)
        add_folder (libraries->environment, *folder);
    }
  add_system_folders (libraries);
  return libraries;
}

void
libraries_free (struct libraries *libraries)
{
  if (libraries == NULL)
    return;
  g_hash_table_unref (libraries->by_path);
  g_hash_table_unref (libraries->in_process);
  g_ptr_array_unref (libraries->environment);
  g_ptr_array_unref (libraries->system);
  g_free (libraries->lib);
  g_free (libraries);
}

/* ---- One name ---------------------------------------------------------------------------------------------------- */

/* A file that wants libraries, and the one that wanted it: an RPATH counts for all below. */
struct wanting
{
  const struct elf_file *elf;
  const char *path;
  const struct wanting *by;
};

static struct library *
find_in (struct libraries *libraries, const GPtrArray *folders, const char *name)
{
  for (guint i = 0; i < folders->len; i++)
    {
      g_autofree char *path = g_build_filename (folders->pdata[i], name, NULL);
      struct library *library = find_path (libraries, path);

      if (library != NULL)
        return library;
    }
  return NULL;
}

/* Puts the file's own folder and the system's names in place of $ORIGIN, $LIB and $PLATFORM. */
static char *
expand (const struct libraries *libraries, const char *text, const char *file)
{
  g_autofree char *origin = g_path_get_dirname (file);
  const char *platform = (const char *) getauxval (AT_PLATFORM);
  const char *names[][2] = { { "ORIGIN", origin }, { "LIB", libraries->lib }, { "PLATFORM", platform } };
  GString *expanded = g_string_new (text);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *plain = g_strconcat ("$", names[i][0], NULL);
      g_autofree char *braced = g_strconcat ("${", names[i][0], "}", NULL);

      g_string_replace (expanded, braced, names[i][1] != NULL ? names[i][1] : "", 0);
      g_string_replace (expanded, plain, names[i][1] != NULL ? names[i][1] : "", 0);
    }
  return g_string_free (expanded, FALSE);
}

static struct library *
find_in_list (struct libraries *libraries, const char *list, const char *file, const char *name)
{
  g_auto (GStrv) folders = list != NULL ? g_strsplit (list, ":", -1) : NULL;

  for (char **folder = folders; folder != NULL && *folder != NULL; folder++)
    {
      g_autofree char *expanded = expand (libraries, *folder, file);
      g_autofree char *path = g_build_filename (expanded, name, NULL);
      struct library *library = expanded[0] == '/' ? find_path (libraries, path) : NULL;

      if (library != NULL)
        return library;
    }
  return NULL;
}

static const struct library *
find_name (struct libraries *libraries, const struct wanting *wanting, const char *name)
{
  struct library *library = g_hash_table_lookup (libraries->in_process, name);

  if (library != NULL)
    return library;
  if (strchr (name, '/') != NULL)
    {
      g_autofree char *path = expand (libraries, name, wanting->path);

      return find_path (libraries, path);
    }
  if (wanting->elf->runpath == NULL)
    for (const struct wanting *above = wanting; above != NULL && library == NULL; above = above->by)
      if (above->elf->runpath == NULL)
        library = find_in_list (libraries, above->elf->rpath, above->path, name);
  if (library == NULL)
    library = find_in (libraries, libraries->environment, name);
  if (library == NULL)
    library = find_in_list (libraries, wanting->elf->runpath, wanting->path, name);
  return library != NULL ? library : find_in (libraries, libraries->system, name);
}

guint
libraries_count_folders (struct libraries *libraries, const struct elf_file *elf)
{
  const char *list = elf->runpath != NULL ? elf->runpath : elf->rpath;
  g_auto (GStrv) folders = g_strsplit (list != NULL ? list : "", ":", -1);

  return g_strv_length (folders) + libraries->environment->len + libraries->system->len;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

GArray *
libraries_find (struct libraries *libraries, const struct elf_file *elf, const char *path)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) queue = g_ptr_array_new_with_free_func (g_free);
  GArray *wants = g_array_new (FALSE, FALSE, sizeof (struct want));

  g_ptr_array_add (queue, g_memdup2 (&(struct wanting){ elf, path, NULL }, sizeof (struct wanting)));
  for (guint i = 0; i < queue->len; i++)
    {
      const struct wanting *wanting = queue->pdata[i];

      for (size_t j = 0; j < wanting->elf->needed.count; j++)
        {
          const char *name = wanting->elf->needed.items[j];
          struct want want = { name, wanting->path, NULL };

          if (!g_hash_table_add (names, (gpointer) name))
            continue;
          want.found = find_name (libraries, wanting, name);
          g_array_append_val (wants, want);
          if (want.found != NULL && !want.found->loaded)
            g_ptr_array_add (queue, g_memdup2 (&(struct wanting){ library_elf (want.found), want.found->path, wanting },
                                               sizeof (struct wanting)));
        }
    }
  return wants;
}

const struct library *
wants_find (const GArray *wants, const char *name)
{
  for (guint i = 0; i < wants->len; i++)
    if (strcmp (g_array_index (wants, struct want, i).name, name) == 0)
      return g_array_index (wants, struct want, i).found;
  return NULL;
}
