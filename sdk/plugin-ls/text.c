/* SPDX-License-Identifier: MIT */
#include "print.h"

#include "display.h"
#include "probe.h"
#include "words.h"

#include <pwd.h>
#include <stdarg.h>
#include <string.h>

#define NOTE_INDENT "           "
#define COLUMNS_MAX 7
#define WIDTH_MAX 40 /* one long cell does not stretch the whole table */
#define NOISE_LINES_MAX 5
#define NOISE_BYTES_MAX 200

void
print_note (GString *out, const char *format, ...)
{
  va_list args;
  g_autofree char *line = NULL;
  g_autofree char *safe = NULL;

  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  safe = display_text (line);
  g_string_append_printf (out, NOTE_INDENT "%s\n", safe);
}

/* ---- A table ---------------------------------------------------------------------------------------------------- */

/* Rows of cells, the first one the titles; the last column is as wide as it likes. Notes go below their row. */
struct table
{
  int columns;
  int widths[COLUMNS_MAX]; /* minimal at first */
  GPtrArray *lines;        /* struct line */
};

struct line
{
  char *cells[COLUMNS_MAX];
  const char *color; /* of the state's cell; NULL: none */
  int color_column;
  GString *notes;
};

static void
line_free (gpointer data)
{
  struct line *line = data;

  for (int i = 0; i < COLUMNS_MAX; i++)
    g_free (line->cells[i]);
  g_string_free (line->notes, TRUE);
  g_free (line);
}

/* cells holds a text for each column, borrowed. */
static struct line *
table_add (struct table *table, const char *const *cells)
{
  struct line *line = g_new0 (struct line, 1);

  line->notes = g_string_new (NULL);
  for (int i = 0; i < table->columns; i++)
    {
      line->cells[i] = display_text (cells[i]);
      if (i < table->columns - 1)
        table->widths[i] = MAX (table->widths[i], MIN (display_width (line->cells[i]), WIDTH_MAX));
    }
  g_ptr_array_add (table->lines, line);
  return line;
}

static void
print_cell (GString *out, const struct line *line, int column, int width)
{
  const char *text = line->cells[column];
  bool colored = line->color != NULL && line->color_column == column;

  g_string_append_printf (out, "%s%s%s%*s ", colored ? line->color : "", text, colored ? "\033[0m" : "",
                          MAX (0, width - display_width (text)), "");
}

static void
table_print (GString *out, struct table *table)
{
  for (guint i = 0; i < table->lines->len; i++)
    {
      const struct line *line = table->lines->pdata[i];

      for (int column = 0; column < table->columns - 1; column++)
        print_cell (out, line, column, table->widths[column]);
      g_string_append_printf (out, "%s\n%s", line->cells[table->columns - 1], line->notes->str);
    }
  g_ptr_array_unref (table->lines);
}

/* ---- The providers ---------------------------------------------------------------------------------------------- */

static char *
abi_text (const struct row *row)
{
  const struct compute_candidate *candidate = &row->candidate;

  if (!row_knows_abi (row))
    return g_strdup ("-");
  if (candidate->abi_major == COMPUTE_ABI_MAJOR && candidate->abi_minor_built > COMPUTE_ABI_MINOR)
    return g_strdup_printf ("%u.%u>=%u.%u", candidate->abi_major, candidate->abi_minor_built, candidate->abi_major,
                            candidate->abi_minor_required);
  return g_strdup_printf ("%u.%u", candidate->abi_major, candidate->abi_minor_built);
}

static char *
capability_text (uint64_t capabilities)
{
  GString *text = g_string_new (NULL);

#define CAPABILITY_APPEND(name, bit, word, id)                                                                         \
  if ((capabilities & COMPUTE_CAP_##name) != 0)                                                                        \
    g_string_append_printf (text, "%s%s", text->len > 0 ? " " : "", word);
  COMPUTE_CAPABILITY_MAP (CAPABILITY_APPEND)
  return text->len > 0 ? g_string_free (text, FALSE) : (g_string_free (text, TRUE), g_strdup ("-"));
}

static char *
file_text (const struct compute_candidate *candidate)
{
  if (candidate->path == NULL)
    return g_strdup ("(built in)");
  if (candidate->shadowed_by != NULL)
    return g_strdup_printf ("%s  (by %s)", candidate->path, candidate->shadowed_by);
  return g_strdup (candidate->path);
}

/* The last lines that the provider wrote while it was loaded: it should have written none. */
static void
note_noise (GString *out, const char *tail)
{
  g_autofree char *text = g_strchomp (g_strdup (tail));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint count = g_strv_length (lines);

  for (guint i = count > NOISE_LINES_MAX ? count - NOISE_LINES_MAX : 0; i < count; i++)
    print_note (out, "it wrote: %.*s", NOISE_BYTES_MAX, lines[i]);
}

static void
note_reason (GString *out, const struct row *row)
{
  const struct compute_candidate *candidate = &row->candidate;
  const char *message = candidate->message != NULL ? candidate->message : "";
  const char *stop = message[0] == '\0' || g_str_has_suffix (message, ".") ? "" : ".";

  print_note (out, "%s%s: %s%s%s%s", candidate->state == COMPUTE_CANDIDATE_FAILED ? "" : "warning: ", candidate->reason,
              message, stop, candidate->hint != NULL ? " " : "", candidate->hint != NULL ? candidate->hint : "");
  if (row->probe != NULL && row->probe_age_s >= 0)
    print_note (out, "so it was %d minutes ago; --no-cache tries again", (int) (row->probe_age_s / 60));
}

static void
add_row (struct table *table, const struct row *row, const struct options *options)
{
  const struct compute_candidate *candidate = &row->candidate;
  bool failed = candidate->state == COMPUTE_CANDIDATE_FAILED;
  g_autofree char *abi = abi_text (row);
  g_autofree char *capabilities = capability_text (candidate->capabilities);
  g_autofree char *file = file_text (candidate);
  g_autofree char *state = g_strdelimit (g_strdup (candidate_state_word (candidate->state)), "_", ' ');
  const char *tail = row->probe != NULL ? probe_text (row->probe, "stderr_tail") : NULL;
  struct line *line = table_add (table, (const char *[]){ candidate->name != NULL ? candidate->name : "-",
                                                          candidate->version != NULL ? candidate->version : "-", abi,
                                                          failed ? "FAILED" : state, capabilities, file });

  line->color_column = 3;
  if (options->color)
    line->color = failed ? "\033[31m" : candidate->state == COMPUTE_CANDIDATE_OK ? "\033[32m" : "\033[2m";
  if (candidate->reason != NULL)
    note_reason (line->notes, row);
  if (tail != NULL && tail[0] != '\0')
    note_noise (line->notes, tail);
  if (options->deps)
    deps_print (line->notes, candidate);
}

static void
print_core (GString *out, const struct core_info *core)
{
  g_autofree char *path = display_text (core->path);

  g_string_append_printf (out, "core %s (ABI %s) %s %s %s\n", core->version, core->abi, core->libc, core->arch, path);
}

static void
count_state (GString *out, const struct listing *listing, uint32_t state)
{
  g_autofree char *word = g_strdelimit (g_strdup (candidate_state_word (state)), "_", ' ');
  int count = listing_count (listing, state);

  if (count > 0)
    g_string_append_printf (out, ", %d %s", count, word);
}

/* Everything that was passed over is named: "COMPUTE_PROVIDER_PATH element 2 "" (empty)". */
static void
print_ignored (GString *out, const struct listing *listing)
{
  static const char *const words[] = {
    [COMPUTE_SOURCE_HOST] = "--path",
    [COMPUTE_SOURCE_ENVIRONMENT] = "COMPUTE_PROVIDER_PATH",
    [COMPUTE_SOURCE_USER] = "user's folder",
    [COMPUTE_SOURCE_SYSTEM] = "system's folders",
  };
  const char *between = " Ignored: ";

  for (guint i = 0; i < listing->folders->len; i++)
    {
      const struct compute_folder *folder = listing->folders->pdata[i];
      g_autofree char *path = display_text (folder->path != NULL ? folder->path : "");
      g_autofree char *why = display_text (folder->why != NULL ? folder->why : folder_state_word (folder->state));

      if (!folder_is_ignored (folder) || folder->source >= G_N_ELEMENTS (words))
        continue;
      g_string_append_printf (out, "%s%s element %u \"%s\" (%s)", between, words[folder->source], folder->element, path,
                              why);
      between = ", ";
    }
  if (between[0] == ',')
    g_string_append_c (out, '.');
}

static void
print_summary (GString *out, const struct listing *listing, const struct options *options)
{
  int ok = listing_count (listing, COMPUTE_CANDIDATE_OK);
  int providers = ok + listing_count (listing, COMPUTE_CANDIDATE_FAILED);
  bool hidden = false;

  for (guint i = 0; i < listing->rows->len; i++)
    hidden = hidden || !row_is_shown (listing->rows->pdata[i], options->all);
  g_string_append_printf (out, "%d provider%s: %d ok", providers, providers == 1 ? "" : "s", ok);
  for (uint32_t state = COMPUTE_CANDIDATE_FAILED; state <= COMPUTE_CANDIDATE_NOT_PROVIDER; state++)
    count_state (out, listing, state);
  g_string_append (out, hidden ? " (--all shows every one)." : ".");
  print_ignored (out, listing);
  if (listing->rows->len == 0 && listing->missing->len == 0)
    g_string_append (out, " See plugin-ls --paths for where they are looked for.");
  g_string_append_c (out, '\n');
}

/* Folders that are searched although something is wrong with them. */
static void
print_folder_warnings (GString *out, const struct listing *listing)
{
  for (guint i = 0; i < listing->folders->len; i++)
    {
      const struct compute_folder *folder = listing->folders->pdata[i];
      g_autofree char *path = display_text (folder->path != NULL ? folder->path : "");
      g_autofree char *why = display_text (folder->why != NULL ? folder->why : folder_state_word (folder->state));

      if (folder->loud && !folder_is_ignored (folder))
        g_string_append_printf (out, "Warning: folder \"%s\": %s\n", path, why);
    }
}

void
text_print_listing (GString *out, const struct listing *listing, const struct options *options)
{
  struct table table = { .columns = 6, .widths = { 8, 8, 8, 9, 12 } };

  table.lines = g_ptr_array_new_with_free_func (line_free);
  print_core (out, &listing->core);
  if (listing->core.secure)
    g_string_append (out, "Raised privileges: the environment, the user's folder and the cache do not count.\n");
  table_add (&table, (const char *[]){ "NAME", "VERSION", "ABI", "STATE", "CAPABILITIES", "FILE" });
  for (guint i = 0; i < listing->rows->len; i++)
    if (row_is_shown (listing->rows->pdata[i], options->all))
      add_row (&table, listing->rows->pdata[i], options);
  table_print (out, &table);
  print_folder_warnings (out, listing);
  print_summary (out, listing, options);
}

/* ---- The folders ------------------------------------------------------------------------------------------------ */

static void
add_folder (struct table *table, const struct compute_folder *folder)
{
  bool exists = folder->mode != 0;
  const struct passwd *owner = exists ? getpwuid (folder->owner_uid) : NULL;
  g_autofree char *owner_text = !exists         ? g_strdup ("-")
                                : owner != NULL ? g_strdup (owner->pw_name)
                                                : g_strdup_printf ("%u", folder->owner_uid);
  g_autofree char *mode = exists ? g_strdup_printf ("%04o", folder->mode) : g_strdup ("-");
  g_autofree char *candidates = g_strdup_printf ("%u", folder->candidates);
  struct line *line = table_add (table, (const char *[]){ source_word (folder->source),
                                                          folder_state_word (folder->state), owner_text, mode,
                                                          !exists           ? "-"
                                                          : folder->trusted ? "yes"
                                                                            : "no",
                                                          candidates, folder->path != NULL ? folder->path : "" });

  if (folder->why != NULL)
    print_note (line->notes, "%s", folder->why);
}

void
text_print_folders (GString *out, const struct listing *listing)
{
  struct table table = { .columns = 7, .widths = { 6, 9, 8, 4 } };

  table.lines = g_ptr_array_new_with_free_func (line_free);
  print_core (out, &listing->core);
  table_add (&table, (const char *[]){ "SOURCE", "STATE", "OWNER", "MODE", "TRUSTED", "CANDIDATES", "FOLDER" });
  for (guint i = 0; i < listing->folders->len; i++)
    add_folder (&table, listing->folders->pdata[i]);
  table_print (out, &table);
}

/* ---- The checks of one file ------------------------------------------------------------------------------------- */

void
text_print_checks (GString *out, const struct listing *listing, const struct options *options)
{
  struct table table = { .columns = 3, .widths = { 4, 16 } };

  table.lines = g_ptr_array_new_with_free_func (line_free);
  for (guint i = 0; i < listing->checks->len; i++)
    {
      const struct compute_check *check = listing->checks->pdata[i];
      const char *found = check->found != NULL ? check->found : "";
      g_autofree char *with_reason
          = check->reason != NULL ? g_strdup_printf ("%s  %s", found, check->reason) : g_strdup (found);

      table_add (&table, (const char *[]){ !check->passed          ? "FAIL"
                                           : check->reason != NULL ? "warn"
                                                                   : "pass",
                                           check->what, with_reason });
    }
  table_print (out, &table);
  g_string_append_c (out, '\n');
  text_print_listing (out, listing, options);
}
