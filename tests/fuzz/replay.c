/* SPDX-License-Identifier: MIT */

/* Stands in for libFuzzer where the compiler is not clang: feeds every file of the folders given to the fuzzer once,
 * so that an input that was found once is tried in every build. */

#include <glib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
replay (gconstpointer path)
{
  g_autofree char *data = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;
  uint8_t *exact;

  g_file_get_contents (path, &data, &size, &error);
  g_assert_no_error (error);
  exact = g_memdup2 (data, size); /* without the NUL behind it, so that a read too far is found */
  g_assert_cmpint (LLVMFuzzerTestOneInput (exact, size), ==, 0);
  g_free (exact);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (int i = 1; i < argc; i++)
    {
      g_autoptr (GDir) folder = g_dir_open (argv[i], 0, NULL);
      const char *name;

      g_assert_nonnull (folder);
      while ((name = g_dir_read_name (folder)) != NULL)
        {
          g_autofree char *test = g_strconcat ("/corpus/", name, NULL);

          g_test_add_data_func_full (test, g_build_filename (argv[i], name, NULL), replay, g_free);
        }
    }
  return g_test_run ();
}
