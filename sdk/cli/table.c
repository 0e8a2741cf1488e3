/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "output.h"

void
table_init (struct table *table, const char *const *titles)
{
  table->columns = g_strv_length ((char **) titles);
  table->cells = g_ptr_array_new_with_free_func (g_free);
  table_add_row (table, titles);
}

void
table_clear (struct table *table)
{
  g_ptr_array_unref (table->cells);
}

void
table_add_row (struct table *table, const char *const *cells)
{
  for (guint i = 0; i < table->columns; i++)
    g_ptr_array_add (table->cells, output_printable (cells[i] != NULL && cells[i][0] != '\0' ? cells[i] : "-"));
}

static glong
column_width (const struct table *table, guint column)
{
  glong width = 0;

  for (guint i = column; i < table->cells->len; i += table->columns)
    width = MAX (width, g_utf8_strlen (table->cells->pdata[i], -1));
  return width;
}

int
table_print (const struct table *table, struct compute_error *err)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree glong *widths = g_new0 (glong, table->columns);

  for (guint i = 0; i + 1 < table->columns; i++)
    widths[i] = column_width (table, i);
  for (guint i = 0; i < table->cells->len; i++)
    {
      const char *cell = table->cells->pdata[i];
      guint column = i % table->columns;

      g_string_append (text, cell);
      if (column + 1 == table->columns)
        g_string_append_c (text, '\n');
      else
        for (glong width = g_utf8_strlen (cell, -1); width < widths[column] + 2; width++)
          g_string_append_c (text, ' ');
    }
  return output_write (1, text->str, text->len, err);
}
