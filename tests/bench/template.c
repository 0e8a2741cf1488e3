/* SPDX-License-Identifier: MIT */
/* template: what filling in a tool's command costs, beside copying the same bytes. */
#include "bench.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_BYTES (40 * 1024)
#define ARGUMENTS 10
#define VALUE_BYTES 1000
#define FILLS 200 /* in a sample */
#define SAMPLES 21
#define MB_PER_S_MIN 200.0
#define RATIO_MAX 150.0 /* the copy stays within the processor's caches */

static struct template *
make_template (void)
{
  GString *script = g_string_new (NULL);
  struct template *template = NULL;
  struct compute_error err = COMPUTE_ERROR_INIT;

  for (int i = 0; i < ARGUMENTS; i++)
    {
      while (script->len < (size_t) SCRIPT_BYTES / ARGUMENTS * (size_t) (i + 1))
        g_string_append (script, "echo \"a line of $HOME\" 'and more' | cat -n\n");
      g_string_append_printf (script, "echo -- {{value%d}}\n", i);
    }
  if (template_new (script->str, &template, &err) != 0)
    {
      fprintf (stderr, "template: %s\n", err.message);
      exit (2);
    }
  g_string_free (script, TRUE);
  return template;
}

/* Text with a quote here and there. */
static cJSON *
make_arguments (void)
{
  cJSON *arguments = cJSON_CreateObject ();

  for (int i = 0; i < ARGUMENTS; i++)
    {
      g_autofree char *name = g_strdup_printf ("value%d", i), *value = g_strnfill (VALUE_BYTES, 'v');

      for (int k = 50; k < VALUE_BYTES; k += 50)
        value[k] = '\'';
      cJSON_AddStringToObject (arguments, name, value);
    }
  return arguments;
}

/* Microseconds for all of a sample. */
static double
fill_us (const struct template *template, const cJSON *arguments, size_t *ret_bytes)
{
  double start = bench_now_us ();

  for (int i = 0; i < FILLS; i++)
    {
      GString *script = g_string_new (NULL);

      if (template_fill (template, arguments, script, NULL) != 0)
        exit (2);
      *ret_bytes = script->len;
      g_string_free (script, TRUE);
    }
  return bench_now_us () - start;
}

static double
copy_us (const char *from, size_t bytes)
{
  double start = bench_now_us ();

  for (int i = 0; i < FILLS; i++)
    {
      char *to = g_malloc (bytes);

      memcpy (to, from, bytes);
      __asm__ volatile("" : : "r"(to) : "memory"); /* it is needed */
      g_free (to);
    }
  return bench_now_us () - start;
}

int
main (void)
{
  struct template *template = make_template ();
  cJSON *arguments = make_arguments ();
  double fills[SAMPLES], copies[SAMPLES], fill, mb_per_s;
  size_t bytes = 0;
  char *same;
  int failed;

  fill_us (template, arguments, &bytes);
  same = g_malloc0 (bytes);
  for (int i = 0; i < SAMPLES; i++)
    {
      fills[i] = fill_us (template, arguments, &bytes);
      copies[i] = copy_us (same, bytes);
    }
  fill = bench_median (fills, SAMPLES);
  mb_per_s = (double) bytes * FILLS / fill; /* bytes in a microsecond are MB in a second */
  printf ("template fill: %.0f MB/s of output, at least %.0f%s\n", mb_per_s, MB_PER_S_MIN,
          mb_per_s < MB_PER_S_MIN ? ": TOO SLOW" : "");
  failed = mb_per_s < MB_PER_S_MIN;
  failed |= bench_report ("template fill, beside memcpy", fill, bench_median (copies, SAMPLES), RATIO_MAX);
  g_free (same);
  cJSON_Delete (arguments);
  template_free (template);
  return failed;
}
