/* SPDX-License-Identifier: MIT */
#include "shell.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

#define LEVELS_MAX 32u
#define SHOWN_BEFORE 16u
#define SHOWN_ROOM 60 /* bytes */

enum kind
{
  KIND_CODE,
  KIND_SUBSTITUTION, /* code in $(...) */
  KIND_DOUBLE        /* in double quotes */
};

struct level
{
  enum kind kind;
  unsigned open; /* parentheses in code */

  /* Of the word in code that at is in. */
  bool at_word_start;
  bool has_text;     /* something of it is there for certain, so it does not start with what comes */
  bool is_target;    /* of a redirection */
  bool after_arrow;  /* the next word is one */
  bool after_dashes; /* a word of the same command before it is -- */
};

struct scan
{
  const char *script;
  const char *at;
  struct placeholder next; /* the first at or after at; its offset lies past the end where there is none */
  struct level levels[LEVELS_MAX];
  unsigned level;    /* the innermost */
  bool saw_document; /* << was seen: what follows may be the document */
  placeholder_fn found;
  void *user;
  struct compute_error *err;
};

/* ---- Placeholders ------------------------------------------------------------------------------------------------ */

static bool
is_name_character (char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool
read_placeholder (const char *script, const char *at, struct placeholder *ret_placeholder)
{
  const char *name = at + 2;
  const char *end = name;
  bool is_optional;

  while (is_name_character (*end))
    end++;
  is_optional = *end == '?';
  if (end == name || strncmp (end + is_optional, "}}", 2) != 0)
    return false;
  *ret_placeholder = (struct placeholder){
    (size_t) (at - script), (size_t) (end + is_optional + 2 - at), name, (size_t) (end - name), is_optional, true
  };
  return true;
}

/* Finds the next placeholder at or after offset. */
static bool
placeholder_next (const char *script, size_t offset, struct placeholder *ret_placeholder)
{
  for (const char *at = script + offset; (at = strstr (at, "{{")) != NULL; at++)
    if (read_placeholder (script, at, ret_placeholder))
      return true;
  return false;
}

static void
find_next (struct scan *scan)
{
  if (!placeholder_next (scan->script, (size_t) (scan->at - scan->script), &scan->next))
    scan->next.offset = SIZE_MAX;
}

/* What comes after the last one changes nothing about any. */
static bool
is_finished (const struct scan *scan)
{
  return scan->next.offset == SIZE_MAX;
}

static bool
is_at_placeholder (const struct scan *scan)
{
  return scan->next.offset == (size_t) (scan->at - scan->script);
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

/* The message shows the script around the place. */
static int
refuse (const struct scan *scan, const char *at, const char *why)
{
  const char *from = at - scan->script > SHOWN_BEFORE ? at - SHOWN_BEFORE : scan->script;
  char shown[SHOWN_ROOM];

  while (((unsigned char) *from & 0xC0) == 0x80) /* not in the middle of a character */
    from++;
  return compute_error_set (scan->err, COMPUTE_E_INVALID, 0, "at '%s': %s", text_for_people (shown, sizeof shown, from),
                            why);
}

static int
refuse_placeholder (const struct scan *scan, const char *where)
{
  char name[40], why[150];

  snprintf (name, sizeof name, "%.*s", (int) (scan->next.name_bytes < 32 ? scan->next.name_bytes : 32),
            scan->next.name);
  snprintf (why, sizeof why, "{{%s}} is %s, where its quotes do not protect it; write it outside, without quotes", name,
            where);
  return refuse (scan, scan->script + scan->next.offset, why);
}

static int
refuse_dialect (const struct scan *scan)
{
  return refuse (scan, scan->at, "what this means differs from shell to shell; write it in another way");
}

/* Goes on at a place after at; a placeholder on the way is refused. */
static int
skip_to (struct scan *scan, const char *to, const char *where)
{
  if (scan->next.offset < (size_t) (to - scan->script))
    return refuse_placeholder (scan, where);
  scan->at = to;
  return 0;
}

/* ---- What stands in quotes --------------------------------------------------------------------------------------- */

static int
skip_single (struct scan *scan)
{
  const char *end = strchr (scan->at + 1, '\'');

  if (end == NULL)
    return refuse (scan, scan->at, "a single quote has no end");
  scan->levels[scan->level].has_text |= end > scan->at + 1;
  return skip_to (scan, end + 1, "inside single quotes");
}

/* Ends at the first one without a backslash, whatever other quotes are inside. */
static int
skip_backquote (struct scan *scan)
{
  const char *end = scan->at + 1;

  while (*end != '`' && *end != '\0')
    end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
  if (*end == '\0')
    return refuse (scan, scan->at, "a backquote has no end");
  return skip_to (scan, end + 1, "inside backquotes");
}

static int
skip_comment (struct scan *scan)
{
  return skip_to (scan, scan->at + strcspn (scan->at, "\n"), "in a comment");
}

/* ${...}: shells differ in what quotes mean inside. */
static int
skip_parameter (struct scan *scan)
{
  const char *end = scan->at + 2 + strcspn (scan->at + 2, "}'\"`\\$\n");

  if (*end != '}')
    return refuse (scan, scan->at,
                   "quotes, backslashes and $ inside ${...} mean different things to different shells; "
                   "give the value to a variable on a line before");
  return skip_to (scan, end + 1, "inside ${...}");
}

/* $((...)): with the like of quotes inside, shells do not agree where it ends. */
static int
skip_arithmetic (struct scan *scan)
{
  const char *at = scan->at + 3;
  unsigned open = 2;

  for (; open > 0; at++)
    {
      if (*at == '\0' || strchr ("'\"`\\#$<", *at) != NULL)
        return refuse (scan, scan->at,
                       "inside $((...)) only names, numbers and operators can be told apart from the rest; "
                       "give the value to a variable on a line before");
      open += *at == '(';
      open -= *at == ')';
    }
  return skip_to (scan, at, "inside $((...))");
}

/* Goes on inside, behind what opens it. */
static int
enter (struct scan *scan, enum kind kind, size_t bytes)
{
  if (scan->level + 1 == LEVELS_MAX)
    return refuse (scan, scan->at, "quotes and $( are nested too deep");
  scan->level++;
  scan->levels[scan->level] = (struct level){ .kind = kind, .at_word_start = true };
  scan->at += bytes;
  return 0;
}

static int
leave (struct scan *scan)
{
  scan->level--;
  scan->at++;
  return 0;
}

/* What may follow a $ and name a variable. */
static size_t
variable_bytes (const char *at)
{
  size_t bytes = 0;

  if (*at != '\0' && strchr ("@*?!-", *at) != NULL)
    return 1;
  while (is_name_character (at[bytes]) && at[bytes] != '-')
    bytes++;
  return bytes;
}

/* At a $. */
static int
scan_dollar (struct scan *scan)
{
  switch (scan->at[1])
    {
    case '(':
      if (scan->at[2] == '(')
        return skip_arithmetic (scan);
      return enter (scan, KIND_SUBSTITUTION, 2);
    case '{':
      return skip_parameter (scan);
    case '\'':
    case '[':
      return refuse_dialect (scan);
    case '\\':
      if (scan->at[2] == '\n')
        return refuse_dialect (scan);
      break;
    }
  scan->at += 1 + variable_bytes (scan->at + 1);
  return 0;
}

/* One step in double quotes, which are part of a word of the level below. */
static int
step_in_double (struct scan *scan)
{
  if (is_at_placeholder (scan))
    return refuse_placeholder (scan, "inside double quotes");
  if (*scan->at == '"')
    return leave (scan);
  if (*scan->at == '$' && scan->at[1] != '\'' && scan->at[1] != '"')
    return scan_dollar (scan);
  if (*scan->at == '`')
    return skip_backquote (scan);
  scan->levels[scan->level - 1].has_text |= strncmp (scan->at, "\\\n", 2) != 0;
  if (*scan->at == '\\')
    return skip_to (scan, scan->at + 2, "behind a backslash");
  scan->at++;
  return 0;
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */

static bool
ends_word (char c)
{
  return c == '\0' || strchr (" \t\n;|&()<>", c) != NULL;
}

/* At a backslash. A line may go on after a blank; elsewhere it would hide what two characters are together. */
static int
skip_escaped (struct scan *scan)
{
  if (scan->at[1] == '\n' && scan->at > scan->script && strchr (" \t\n", scan->at[-1]) == NULL)
    return refuse (scan, scan->at, "a line that goes on in the middle of a word; put a blank before the backslash");
  return skip_to (scan, scan->at + 2, "behind a backslash");
}

static int
take_placeholder (struct scan *scan)
{
  const struct level *level = &scan->levels[scan->level];

  if (scan->saw_document)
    return refuse_placeholder (scan, "after <<, maybe in the document");
  if (scan->at > scan->script && scan->at[-1] == '[')
    return refuse_placeholder (scan, "an index to some shells");
  scan->next.may_be_option = !level->has_text && !level->is_target && !level->after_dashes;
  scan->found (scan->user, &scan->next);
  scan->at += scan->next.bytes;
  find_next (scan);
  return 0;
}

/* What is no placeholder, in code. */
static int
scan_code (struct scan *scan, bool at_word_start)
{
  switch (*scan->at)
    {
    case '\'':
      return skip_single (scan);
    case '"':
      return enter (scan, KIND_DOUBLE, 1);
    case '`':
      return skip_backquote (scan);
    case '\\':
      scan->levels[scan->level].has_text |= scan->at[1] != '\n';
      return skip_escaped (scan);
    case '$':
      return scan_dollar (scan);
    case '#':
      if (at_word_start)
        return skip_comment (scan);
      break;
    case '(': /* inside a word it is a list for some, an error for others, which go on with the next line */
      if (scan->at[1] == '(' || (!at_word_start && scan->at[1] != ')'))
        return refuse_dialect (scan);
      break;
    case '[':
      if (at_word_start && scan->at[1] == '[')
        return refuse_dialect (scan);
      break;
    case '<':
      scan->saw_document |= scan->at[1] == '<';
      break;
    }
  scan->levels[scan->level].has_text = true; /* or a word has ended, and it means nothing */
  scan->at++;
  return 0;
}

static bool
is_blank (char c)
{
  return c == ' ' || c == '\t';
}

/* Keeps track of words and commands; at is not inside of quotes. */
static void
note_word (const struct scan *scan, struct level *level)
{
  const char *at = scan->at;
  bool is_arrow = *at == '<' || *at == '>';
  bool is_in_arrow = at > scan->script && (at[-1] == '<' || at[-1] == '>') && (*at == '&' || *at == '|');

  if (is_arrow || is_in_arrow)
    level->after_arrow = true;
  else if (ends_word (*at) && !is_blank (*at))
    level->after_arrow = level->after_dashes = false;
  else if (!is_blank (*at) && level->at_word_start && !(at[0] == '\\' && at[1] == '\n'))
    {
      level->has_text = false;
      level->is_target = level->after_arrow;
      level->after_arrow = false;
      level->after_dashes |= !level->is_target && strncmp (at, "--", 2) == 0 && ends_word (at[2]);
    }
}

/* A case has patterns that end in ")", which would seem to end a $(. */
static bool
is_case (const struct scan *scan)
{
  return strncmp (scan->at, "case", 4) == 0 && ends_word (scan->at[4]);
}

/* One step in code outside of quotes. */
static int
step_in_code (struct scan *scan)
{
  struct level *level = &scan->levels[scan->level];
  char c = *scan->at;
  int result;

  if (level->kind == KIND_SUBSTITUTION && c == ')' && level->open == 0)
    return leave (scan);
  if (level->kind == KIND_SUBSTITUTION && level->at_word_start && is_case (scan))
    return refuse (scan, scan->at, "where a $( with a case inside ends is not certain; put the case elsewhere");
  note_word (scan, level);
  level->open += c == '(';
  level->open -= c == ')' && level->open > 0;
  result = is_at_placeholder (scan) ? take_placeholder (scan) : scan_code (scan, level->at_word_start);
  if (result == 0 && (c != '\\' || scan->at[-1] != '\n'))
    level->at_word_start = ends_word (c);
  return result;
}

/* As long as there is a placeholder ahead, there is a character. */
int
shell_check (const char *script, placeholder_fn found, void *user, struct compute_error *err)
{
  struct scan scan = {
    .script = script,
    .at = script,
    .levels = { { .kind = KIND_CODE, .at_word_start = true } },
    .found = found,
    .user = user,
    .err = err,
  };
  int result = 0;

  find_next (&scan);
  while (result == 0 && !is_finished (&scan))
    result = scan.levels[scan.level].kind == KIND_DOUBLE ? step_in_double (&scan) : step_in_code (&scan);
  return result;
}
