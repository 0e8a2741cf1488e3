/* SPDX-License-Identifier: MIT */
/* A tool's command: where a placeholder may stand, what takes its place, and that no shell ever sees more in a value
 * than a word. */
#include "template.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEMPLATES 100 /* random ones, that are accepted */
#define CANARY_FD 9

static char *
fill (const char *script, const char *arguments)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  g_autoptr (GString) filled = g_string_new (NULL);
  cJSON *values = cJSON_Parse (arguments);
  struct template *template = NULL;

  g_assert_nonnull (values);
  if (template_new (script, &template, &err) != 0 || template_fill (template, values, filled, &err) != 0)
    g_string_printf (filled, "error: %s", err.message);
  template_free (template);
  cJSON_Delete (values);
  return g_string_free (g_steal_pointer (&filled), FALSE);
}

static void
test_values (void)
{
  static const struct
  {
    const char *script, *arguments, *filled;
  } rows[] = {
    { "echo {{who}}", "{\"who\":\"world\"}", "echo 'world'" },
    { "{{a}}{{b}} x{{a}}y", "{\"a\":\"1\",\"b\":\"it's\"}", "'1''it'\\''s' x'1'y" },
    { "echo {{a}}", "{\"a\":\"'\"}", "echo ''\\'''" },
    { "echo {{a}}", "{\"a\":\"\"}", "echo ''" },
    { "echo {{a}} {{b}}", "{\"a\":\"{{b}}\",\"b\":\"{{a}}\"}", "echo '{{b}}' '{{a}}'" },
    { "echo {{a}} {{b}} {{c}}", "{\"a\":1.5,\"b\":true,\"c\":100000}", "echo '1.5' 'true' '100000'" },
    { "echo {{a}} {{b}}", "{\"a\":{\"k\":[1,\"x y\"]},\"b\":[]}", "echo '{\"k\":[1,\"x y\"]}' '[]'" },
    { "ls {{path?}}", "{}", "ls " },
    { "ls {{path?}}", "{\"path\":null}", "ls " },
    { "ls {{path?}}", "{\"path\":\"a b\"}", "ls 'a b'" },
    { "ls {{path}}", "{\"paths\":\"a\"}", "error: the argument 'path' is missing" },
    { "ls {{path}}", "{\"path\":null}", "error: the argument 'path' is missing" },
    { "f --format '{{.Names}}' {{a}}", "{\"a\":\"x\"}", "f --format '{{.Names}}' 'x'" },
    { "echo {{ a }} {{}} {{a!}} {{{a}}}", "{\"a\":\"x\"}", "echo {{ a }} {{}} {{a!}} {'x'}" },
    { "echo none", "{}", "echo none" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *filled = fill (rows[i].script, rows[i].arguments);

      g_assert_cmpstr (filled, ==, rows[i].filled);
    }
}

/* A value that starts with "-" is no option that somebody else has chosen. */
static void
test_options (void)
{
  static const struct
  {
    const char *script;
    gboolean is_refused;
  } rows[] = {
    { "cat {{a}}", TRUE },
    { "cat -n {{a}}", TRUE },
    { "cat -- {{a}}", FALSE },
    { "cat --\t{{b}} x {{a}}", FALSE },
    { "cat -- \\\n {{a}}", FALSE },
    { "cat --x {{a}}", TRUE },
    { "cat x-- {{a}}", TRUE },
    { "cat -- x; cat {{a}}", TRUE },
    { "cat -- x | cat {{a}}", TRUE },
    { "cat -- x &\ncat {{a}}", TRUE },
    { "cat -- x\ncat {{a}}", TRUE },
    { "cat -- $(cat {{a}})", TRUE },
    { "cat -- $(cat x) {{a}}", FALSE },
    { "cat $(cat -- x) {{a}}", TRUE },
    { "(cat -- x) {{a}}", TRUE },
    { "cat -- x 2>&1 {{a}}", FALSE },
    { "cat > -- {{a}}", TRUE },
    { "cat < {{a}}", FALSE },
    { "cat 2>{{a}}", FALSE },
    { "cat <x {{a}}", TRUE },
    { "x={{a}}; cat", FALSE },
    { "cat --file={{a}}", FALSE },
    { "cat ./{{a}}", FALSE },
    { "cat {{b}}{{a}}", TRUE },
    { "cat {{b?}}{{a}}", TRUE },
    { "cat ''{{a}}", TRUE },
    { "cat 'x'{{a}}", FALSE },
    { "cat \"\"{{a}}", TRUE },
    { "cat \"\\\n\"{{a}}", TRUE },
    { "cat \"$x\"{{a}}", TRUE },
    { "cat \"x$x\"{{a}}", FALSE },
    { "cat $x{{a}}", TRUE },
    { "cat $@{{a}}", TRUE },
    { "cat ${x}{{a}}", TRUE },
    { "cat $(x){{a}}", TRUE },
    { "cat `x`{{a}}", TRUE },
    { "cat \\x{{a}}", FALSE },
    { "{{a}}", TRUE },
    { "# --\ncat {{a}}", TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *option = fill (rows[i].script, "{\"a\":\"-n\",\"b\":\"\"}");
      g_autofree char *number = fill (rows[i].script, "{\"a\":-3,\"b\":\"\"}");

      if (g_str_has_prefix (option, "error: the argument 'a' starts with '-'") != rows[i].is_refused)
        g_error ("'%s' became '%s'", rows[i].script, option);
      if (strstr (number, "'-3'") == NULL)
        g_error ("'%s' became '%s'", rows[i].script, number);
    }
}

static void
test_numbers_are_exact (void)
{
  static const char *const bad[] = { "{\"a\":9007199254740993000}", "{\"a\":-1e300}", "{\"a\":1e999}" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *filled = fill ("echo {{a}}", bad[i]);

      g_assert_cmpstr (filled, ==, "error: the argument 'a' is a number too large to be exact; give it as a string");
    }
}

static void
test_places_that_protect (void)
{
  static const char *const scripts[] = {
    "echo 'fixed' \"$HOME\" {{a}} # it's {",
    "x={{a}}; echo \"$x\"",
    "echo \"$(printf %s {{a}})\"",
    "echo $(cat {{a}} | (sort; uniq)) {{a}}",
    "if test -n {{a}}; then echo ${x#y} $((1 + 2)) {{a}}; fi",
    "echo one \\\n  {{a}}",
    "# it's a comment\necho {{a}}",
    "case {{a}} in x) echo {{a}};; esac",
    "echo {{a}} <<E\nit's\nE\n",
    "echo it\\'s {{a}} \\\\{{a}}",
    "echo `date` {{a}} \"5$\" \"\\\"\"",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (scripts); i++)
    {
      g_autofree char *filled = fill (scripts[i], "{\"a\":\"v\"}");

      if (strstr (filled, "'v'") == NULL || strstr (filled, "{{a}}") != NULL)
        g_error ("'%s' became '%s'", scripts[i], filled);
    }
}

static void
test_places_that_do_not (void)
{
  static const struct
  {
    const char *script, *why;
  } rows[] = {
    { "echo '{{a}}'", "at 'echo '{{a}}'': {{a}} is inside single quotes" },
    { "echo \"{{a}}\"", "inside double quotes" },
    { "echo \"x $(y) {{a}}\"", "inside double quotes" },
    { "echo `echo {{a}}`", "inside backquotes" },
    { "echo x # {{a}}", "in a comment" },
    { "cat <<E\n{{a}}\nE\n", "after <<" },
    { "cat <\\\n<E\n{{a}}\nE\n", "in the middle of a word" },
    { "echo \\{{a}}", "behind a backslash" },
    { "\\{{a}}", "behind a backslash" },
    { "echo ${{a}}", "inside ${...}" },
    { "echo ${x:-{{a}}}", "inside ${...}" },
    { "echo ${x:-'} {{a}} '}", "inside ${...} mean different things" },
    { "echo $((1 + {{a}}))", "inside $((...))" },
    { "echo $(\\\n(1 + {{a}}))", "in the middle of a word" },
    { "echo $[{{a}}]", "differs from shell to shell" },
    { "echo $'\\'{{a}}'", "differs from shell to shell" },
    { "(( {{a}} ))", "differs from shell to shell" },
    { "[[ {{a}} -eq 1 ]]", "differs from shell to shell" },
    { "x[{{a}}]=1", "an index" },
    { "x=({{a}})", "differs from shell to shell" },
    { "x=\\\n(if :; then {{a}}\\", "in the middle of a word" },
    { "echo \"$(case x in x) echo\" {{a}} \"esac)\"", "a case inside" },
    { "echo \"it {{a}}", "inside double quotes" },
    { "echo 'it {{a}}", "a single quote has no end" },
    { "echo `it {{a}}", "a backquote has no end" },
    { "echo \"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$(\"$({{a}}", "nested too deep" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      struct template *template = NULL;

      g_assert_cmpint (template_new (rows[i].script, &template, &err), ==, COMPUTE_E_INVALID);
      g_assert_null (template);
      if (strstr (err.message, rows[i].why) == NULL)
        g_error ("'%s' gave '%s'", rows[i].script, err.message);
    }
}

/* ---- Against real shells ----------------------------------------------------------------------------------------- */

static const char *const pieces[] = {
  "{{a}}",
  "{{a}}",
  "{{a}}",
  " {{a}} ",
  "echo ",
  "x=",
  " ",
  "\n",
  ";",
  " | ",
  " && ",
  "'",
  "'it",
  "\"",
  "\"y ",
  "`",
  "$(",
  "$( ",
  ")",
  "(",
  "$((",
  "))",
  "$((1+2))",
  "${x}",
  "${x:-",
  "}",
  "#",
  " # ",
  "\\",
  "\\\n",
  " \\\n",
  "<<E\n",
  "\nE\n",
  "<<'E'\n",
  "<",
  "case x in x) ",
  ";; esac ",
  "case ",
  "[[ ",
  " ]]",
  "$",
  "$'",
  "$\"",
  "{",
  "~",
  "if :; then ",
  "; fi\n",
  "for i in ",
  "; do :; done\n",
  "[",
  "]",
  "\t",
  "\\'",
  "\\\"",
  "$\\\n(",
  "!",
  ">&2 ",
  "$#",
  "$x",
};

/* Each of them says so where it becomes a command. */
static const char *const hostile[] = {
  "'; echo P >&9; '",
  "$(echo P >&9)`echo P >&9`",
  "\"; echo P >&9; \"$(echo P >&9)\"",
  "\necho P >&9\nE\necho P >&9\n",
  "\\'; echo P >&9 #\\",
  "x[$(echo P >&9)]}; echo P >&9; {",
  ")); echo P >&9; ((",
};

static char *
random_script (GRand *random)
{
  GString *script = g_string_new (NULL);
  gint count = g_rand_int_range (random, 1, 14);

  for (gint i = 0; i < count; i++)
    g_string_append (script, pieces[g_rand_int_range (random, 0, G_N_ELEMENTS (pieces))]);
  return g_string_free (script, FALSE);
}

/* Whether a shell finds a command in what was a value. It can run nothing but what is built in. */
static gboolean
runs_a_value (const char *const *shell, const char *script)
{
  const char *const env[] = { "PATH=/nowhere", NULL };
  const char *words[6] = { 0 };
  posix_spawn_file_actions_t actions;
  int canary[2], status;
  pid_t pid;
  char byte;
  gboolean found;

  for (gsize i = 0; shell[i] != NULL; i++)
    words[i] = shell[i], words[i + 1] = "-c", words[i + 2] = script;
  g_assert_cmpint (pipe2 (canary, O_CLOEXEC), ==, 0);
  posix_spawn_file_actions_init (&actions);
  for (int fd = 0; fd <= 2; fd++)
    posix_spawn_file_actions_addopen (&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2 (&actions, canary[1], CANARY_FD);
  g_assert_cmpint (posix_spawn (&pid, words[0], &actions, NULL, (char **) words, (char **) env), ==, 0);
  posix_spawn_file_actions_destroy (&actions);
  close (canary[1]);
  found = read (canary[0], &byte, 1) == 1;
  close (canary[0]);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return found;
}

static void
try_values (const char *const *const *shells, const char *script)
{
  for (gsize i = 0; i < G_N_ELEMENTS (hostile); i++)
    {
      cJSON *arguments = cJSON_CreateObject ();
      g_autofree char *text
          = (cJSON_AddStringToObject (arguments, "a", hostile[i]), cJSON_PrintUnformatted (arguments));
      g_autofree char *filled = fill (script, text);

      cJSON_Delete (arguments);
      for (gsize k = 0; shells[k] != NULL; k++)
        if (runs_a_value (shells[k], filled))
          g_error ("%s ran a value of '%s': '%s'", shells[k][0], script, filled);
    }
}

static void
test_no_value_becomes_a_command (void)
{
  static const char *const dash[] = { "/bin/sh", NULL }, *const bash[] = { "/bin/bash", NULL };
  static const char *const busybox[] = { "/bin/busybox", "sh", NULL };
  static const char *const *const all[] = { dash, bash, busybox };
  const char *const *shells[G_N_ELEMENTS (all) + 1] = { 0 };
  g_autofree char *folder = g_dir_make_tmp ("compute-template-XXXXXX", NULL);
  GRand *random = g_rand_new_with_seed (g_test_rand_int_range (0, G_MAXINT32));
  gsize count = 0, accepted = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (all); i++)
    if (g_file_test (all[i][0], G_FILE_TEST_IS_EXECUTABLE))
      shells[count++] = all[i];
  g_assert_cmpint (g_chdir (folder), ==, 0);
  while (accepted < TEMPLATES)
    {
      struct compute_error err = COMPUTE_ERROR_INIT;
      g_autofree char *script = random_script (random);
      struct template *template = NULL;

      if (strstr (script, "{{a}}") == NULL || template_new (script, &template, &err) != 0)
        continue;
      template_free (template);
      accepted++;
      try_values (shells, script);
    }
  g_rand_free (random);
  g_assert_cmpint (g_chdir ("/"), ==, 0);
  g_assert_true (g_spawn_sync (NULL, (char *[]){ (char *) "rm", (char *) "-rf", (char *) "--", folder, NULL }, NULL,
                               G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/template/values", test_values);
  g_test_add_func ("/template/options", test_options);
  g_test_add_func ("/template/numbers", test_numbers_are_exact);
  g_test_add_func ("/template/places-that-protect", test_places_that_protect);
  g_test_add_func ("/template/places-that-do-not", test_places_that_do_not);
  g_test_add_func ("/template/no-value-becomes-a-command", test_no_value_becomes_a_command);
  return g_test_run ();
}
