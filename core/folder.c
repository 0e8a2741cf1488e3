/* SPDX-License-Identifier: MIT */
#include "folder.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static gboolean
is_candidate (const char *name)
{
  size_t length = strlen (name);

  return length > strlen (CANDIDATE_PREFIX CANDIDATE_SUFFIX) && g_str_has_prefix (name, CANDIDATE_PREFIX)
         && g_str_has_suffix (name, CANDIDATE_SUFFIX);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Sorts, and keeps the first CANDIDATES_MAX. */
static gboolean
cut (GPtrArray *names)
{
  gboolean too_many = names->len > CANDIDATES_MAX;

  g_ptr_array_sort (names, compare_names);
  if (too_many)
    g_ptr_array_set_size (names, CANDIDATES_MAX);
  return too_many;
}

/* The candidates of a folder, sorted by bytes. Memory stays bounded however many there are. */
static GPtrArray *
read_names (int fd, gboolean *ret_too_many)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  DIR *dir = fdopendir (fcntl (fd, F_DUPFD_CLOEXEC, 3));
  const struct dirent *entry;

  *ret_too_many = FALSE;
  if (dir == NULL)
    return names;
  while ((entry = readdir (dir)) != NULL)
    {
      if (!is_candidate (entry->d_name))
        continue;
      g_ptr_array_add (names, g_strdup (entry->d_name));
      if (names->len >= 2 * CANDIDATES_MAX)
        *ret_too_many |= cut (names);
    }
  closedir (dir);
  *ret_too_many |= cut (names);
  return names;
}

/* ---- One folder -------------------------------------------------------------------------------------------------- */

static void
set_state (struct folder *folder, enum compute_folder_state state, char *why)
{
  g_free (folder->why);
  folder->why = why;
  folder->view.state = state;
  folder->view.why = why;
}

static void
set_missing (struct folder *folder, int sys_errno)
{
  folder->view.sys_errno = sys_errno;
  if (sys_errno == ENOENT)
    set_state (folder, COMPUTE_FOLDER_MISSING, g_strdup ("no such folder"));
  else if (sys_errno == ENOTDIR)
    set_state (folder, COMPUTE_FOLDER_NOT_DIR, g_strdup ("not a folder"));
  else
    set_state (folder, COMPUTE_FOLDER_UNREADABLE, g_strdup (text_of_errno (sys_errno)));
}

/* A library that others can change has been loaded already: a build tree, say. What lies beside it is no worse. */
static gboolean
is_vouched (const struct place *place, const struct compute_registry *registry)
{
  struct walk walk;
  gboolean vouched;

  if (!place->beside)
    return place->source == COMPUTE_SOURCE_HOST;
  walk_path (&walk, registry->services.own_folder);
  vouched = walk.distrust != NULL;
  walk_clear (&walk);
  return vouched;
}

static gboolean
is_duplicate (struct search *search, const struct stat *found)
{
  for (guint i = 0; i < search->seen->len; i++)
    {
      const struct stat *seen = &g_array_index (search->seen, struct stat, i);

      if (seen->st_dev == found->st_dev && seen->st_ino == found->st_ino)
        return TRUE;
    }
  g_array_append_val (search->seen, *found);
  return FALSE;
}

/* Opens what the path leads to, when it is a folder; sets the state where that is all there is to say. */
static void
enter (struct folder *folder, const struct place *place)
{
  struct stat found;

  walk_path (&folder->walk, place->path);
  if (folder->walk.sys_errno != 0)
    {
      set_missing (folder, folder->walk.sys_errno);
      return;
    }
  folder->fd = open (folder->walk.real, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder->fd < 0 && errno == ENOTDIR && place->source == COMPUTE_SOURCE_HOST)
    {
      set_state (folder, COMPUTE_FOLDER_FILE, NULL);
      folder->vouched = TRUE;
      folder->view.candidates = 1;
      folder->view.trusted = folder->walk.distrust == NULL;
      g_ptr_array_add (folder->names, g_strdup (place->path));
    }
  else if (folder->fd < 0)
    set_missing (folder, errno);
  if (stat (folder->walk.real, &found) == 0)
    {
      folder->view.owner_uid = found.st_uid;
      folder->view.mode = found.st_mode & 07777;
    }
}

/* What is wrong with a folder that could be read; NULL: nothing. */
static char *
describe (const char *distrust, gboolean too_many)
{
  if (!too_many)
    return g_strdup (distrust);
  return g_strdup_printf ("more than %d candidates, the rest is left out%s%s", CANDIDATES_MAX,
                          distrust != NULL ? "; " : "", distrust != NULL ? distrust : "");
}

static void
look (struct search *search, struct folder *folder, const struct place *place)
{
  gboolean too_many = FALSE, skipped;
  struct stat found;

  folder->vouched = is_vouched (place, search->registry);
  if (fstat (folder->fd, &found) != 0)
    {
      set_missing (folder, errno);
      return;
    }
  if (is_duplicate (search, &found))
    {
      set_state (folder, COMPUTE_FOLDER_DUPLICATE, g_strdup ("the same folder came before"));
      return;
    }
  skipped = folder->walk.distrust != NULL && !folder->vouched && trust_is_strict ();
  g_ptr_array_unref (folder->names);
  folder->names = read_names (folder->fd, &too_many);
  folder->view.candidates = folder->names->len;
  folder->view.trusted = folder->walk.distrust == NULL;
  if (skipped)
    g_ptr_array_set_size (folder->names, 0);
  set_state (folder, folder->walk.distrust != NULL && !folder->vouched ? COMPUTE_FOLDER_UNTRUSTED : COMPUTE_FOLDER_OK,
             describe (folder->walk.distrust, too_many));
  folder->view.loud = place->beside && folder->vouched ? too_many : folder->why != NULL;
}

static void
folder_open (struct search *search, struct place *place)
{
  struct folder *folder = &search->folder;

  *folder = (struct folder){ .fd = -1, .names = g_ptr_array_new_with_free_func (g_free) };
  folder->view = (struct compute_folder){
    .size = sizeof folder->view,
    .source = place->source,
    .state = place->state,
    .element = place->element,
    .path = place->path,
    .why = place->why,
  };
  if (place->state == COMPUTE_FOLDER_NONE)
    enter (folder, place);
  if (folder->fd >= 0)
    look (search, folder, place);
  else
    folder->view.loud = folder->view.why != NULL && place->named;
}

static void
folder_close (struct folder *folder)
{
  if (folder->fd >= 0)
    close (folder->fd);
  if (folder->names != NULL)
    g_ptr_array_unref (folder->names);
  walk_clear (&folder->walk);
  g_free (folder->why);
  *folder = (struct folder){ .fd = -1 };
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* The host application's log hears of each once. */
static void
warn (struct compute_registry *registry, struct place *place, const struct compute_folder *view)
{
  char shown[256];

  if (!view->loud || !g_atomic_int_compare_and_exchange (&place->warned, 0, 1))
    return;
  services_log (&registry->services, COMPUTE_LOG_WARNING, "providers in '%s': %s",
                text_for_people (shown, sizeof shown, view->path), view->why);
}

void
search_begin (struct search *search, struct compute_registry *registry)
{
  *search = (struct search){ .registry = registry, .folder.fd = -1 };
  search->seen = g_array_new (FALSE, FALSE, sizeof (struct stat));
}

gboolean
search_next (struct search *search)
{
  struct place *place;

  folder_close (&search->folder);
  if (g_atomic_int_get (&search->registry->frozen) || search->next == search->registry->search->len)
    return FALSE;
  place = search->registry->search->pdata[search->next++];
  folder_open (search, place);
  warn (search->registry, place, &search->folder.view);
  return TRUE;
}

void
search_end (struct search *search)
{
  folder_close (&search->folder);
  g_array_unref (search->seen);
}
