/* SPDX-License-Identifier: MIT */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <compute/error.h>
#include <glib.h>

/* A text table, columns as wide as they need. The last column is given as it is. */
struct table
{
  guint columns;
  GPtrArray *cells; /* char *, row by row */
};

/* Starts with the row of titles, a NULL-terminated list. */
void table_init (struct table *table, const char *const *titles);
void table_clear (struct table *table);

/* Texts of any origin; NULL and "" are shown as "-". */
void table_add_row (struct table *table, const char *const *cells);
int table_print (const struct table *table, struct compute_error *err);

#endif
