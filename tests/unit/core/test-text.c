/* SPDX-License-Identifier: MIT */
#include "support.h"
#include "text.h"

#include <errno.h>
#include <glib.h>
#include <locale.h>
#include <string.h>

static void
test_name_is_lower_case_letters_digits_and_some_signs (void)
{
  static const char *const good[]
      = { "a", "0", "docker", "a.b_c-d", "9.", "n23456789-123456789-123456789-123456789-123456789-123456789-1234" };
  static const char *const bad[]
      = { "",    ".a",  "-a",  "_a",       "A",
          "a b", "a/b", "a\n", "\xc3\xa9", "n23456789-123456789-123456789-123456789-123456789-123456789-12345" };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    g_assert_true (name_is_valid (good[i]));
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_false (name_is_valid (bad[i]));
}

static void
test_name_is_folded_then_checked (void)
{
  char name[NAME_BYTES] = "untouched";

  g_assert_false (name_fold (name, "not a name"));
  g_assert_cmpstr (name, ==, "untouched");
  g_assert_true (name_fold (name, "DocKer.2"));
  g_assert_cmpstr (name, ==, "docker.2");
}

static void
check_shown (const char *given, gsize room, const char *shown)
{
  char text[256];

  g_assert_cmpstr (text_for_people (text, room, given), ==, shown);
}

static void
test_text_for_people_has_no_controls_and_is_utf8 (void)
{
  check_shown ("plain caf\xc3\xa9 \xf0\x9f\x98\x80", 100, "plain caf\xc3\xa9 \xf0\x9f\x98\x80");
  check_shown ("a\nb\x1b[31m\x7f", 100, "a\\x0ab\\x1b[31m\\x7f");
  check_shown ("\xff\xfe", 100, "\\xff\\xfe");
  check_shown ("\xc2\x9b", 100, "\\xc2\\x9b");          /* a control of its own */
  check_shown ("\xc0\xaf", 100, "\\xc0\\xaf");          /* a slash in disguise */
  check_shown ("\xed\xa0\x80", 100, "\\xed\\xa0\\x80"); /* half a pair */
  check_shown ("\xe2\x82", 100, "\\xe2\\x82");          /* cut off */
}

static void
test_text_for_people_is_cut_at_a_character (void)
{
  check_shown ("12345678", 9, "12345678");
  check_shown ("123456789", 9, "12345...");
  check_shown ("1234\xc3\xa9xyz", 9, "1234...");
  check_shown ("123\xc3\xa9xyzw", 9, "123\xc3\xa9...");
  check_shown ("1234\n6789", 9, "1234...");
  check_shown ("", 9, "");
}

static void
test_errno_text_is_english_in_any_locale (void)
{
  setlocale (LC_ALL, "");
  g_assert_cmpstr (text_of_errno (EACCES), ==, "Permission denied");
  g_assert_cmpstr (text_of_errno (99999), ==, "unknown error");
}

#define AREA "text"
#define TESTS(X)                                                                                                       \
  X (name_is_lower_case_letters_digits_and_some_signs)                                                                 \
  X (name_is_folded_then_checked)                                                                                      \
  X (text_for_people_has_no_controls_and_is_utf8)                                                                      \
  X (text_for_people_is_cut_at_a_character) X (errno_text_is_english_in_any_locale)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  TESTS (ADD_TEST)
  return g_test_run ();
}
