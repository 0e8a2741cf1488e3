/* SPDX-License-Identifier: MIT */
#include "pairs.h"

static void
pair_clear (gpointer data)
{
  struct compute_pair *pair = data;

  g_free ((char *) pair->name);
  g_free ((char *) pair->value);
}

void
pairs_init (struct pairs *pairs)
{
  pairs->array = g_array_new (FALSE, FALSE, sizeof (struct compute_pair));
  g_array_set_clear_func (pairs->array, pair_clear);
  pairs->index = g_hash_table_new (g_str_hash, g_str_equal);
}

void
pairs_clear (struct pairs *pairs)
{
  g_hash_table_unref (pairs->index);
  g_array_unref (pairs->array);
}

void
pairs_add (struct pairs *pairs, const char *name, const char *value)
{
  struct compute_pair pair = { g_strdup (name), g_strdup (value) };

  g_hash_table_insert (pairs->index, (gpointer) pair.name, GUINT_TO_POINTER (pairs->array->len));
  g_array_append_val (pairs->array, pair);
}

void
pairs_set (struct pairs *pairs, const char *name, const char *value)
{
  gpointer place;

  if (g_hash_table_lookup_extended (pairs->index, name, NULL, &place))
    {
      struct compute_pair *old = &g_array_index (pairs->array, struct compute_pair, GPOINTER_TO_UINT (place));

      g_free ((char *) old->value);
      old->value = g_strdup (value);
    }
  else
    pairs_add (pairs, name, value);
}

void
pairs_add_missing (struct pairs *pairs, const struct pairs *from)
{
  for (guint i = 0; i < from->array->len; i++)
    {
      const struct compute_pair *pair = &g_array_index (from->array, struct compute_pair, i);

      if (!g_hash_table_contains (pairs->index, pair->name))
        pairs_set (pairs, pair->name, pair->value);
    }
}
