/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <string.h>

#define DAY_SECONDS 86400

/* Moves *text over digits and gives their value. Returns false where there are none, or the value is over max. */
static bool
take_digits (const char **text, int64_t max, int64_t *ret)
{
  const char *start = *text;
  int64_t value = 0;

  for (; **text >= '0' && **text <= '9'; (*text)++)
    {
      int digit = **text - '0';

      if (value > (max - digit) / 10)
        return false;
      value = value * 10 + digit;
    }
  *ret = value;
  return *text > start;
}

/* Moves *text over the digits behind the point and gives them as thousandths, rounded up. Returns false where there are
 * none. */
static bool
take_thousandths (const char **text, int64_t *ret)
{
  int64_t value = 0;
  bool rest = false;
  int count = 0;

  for (; **text >= '0' && **text <= '9'; (*text)++, count++)
    if (count < 3)
      value = value * 10 + (**text - '0');
    else
      rest |= **text != '0';
  if (count == 0)
    return false;
  for (; count < 3; count++)
    value *= 10;
  *ret = value + rest;
  return true;
}

/* A number of units as thousandths of one. False when it is no number, or over max units. */
static bool
take_number (const char *text, int64_t max, int64_t *ret_thousandths)
{
  int64_t whole, part = 0;

  if (!take_digits (&text, max, &whole))
    return false;
  if (*text == '.')
    {
      text++;
      if (!take_thousandths (&text, &part))
        return false;
    }
  *ret_thousandths = whole * 1000 + part;
  return *text == '\0';
}

int
value_seconds (const char *option, const char *text, int64_t *ret_ms, struct compute_error *err)
{
  if (take_number (text, INT64_MAX / 1000 - 1, ret_ms))
    return 0;
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s '%s': give seconds, such as 30 or 0.5; 0 for no limit",
                            option, text);
}

int
value_days (const char *option, const char *text, int64_t *ret_ms, struct compute_error *err)
{
  int64_t thousandths;

  if (take_number (text, INT64_MAX / 1000 / DAY_SECONDS - 1, &thousandths))
    {
      *ret_ms = thousandths * DAY_SECONDS;
      return 0;
    }
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s '%s': give days, such as 14 or 0.5; 0 for any age", option,
                            text);
}

int
value_bytes (const char *option, const char *text, int64_t *ret_bytes, struct compute_error *err)
{
  static const char units[] = "KMG";
  const char *p = text;
  int shift = 0;
  int64_t value;

  if (!take_digits (&p, INT64_MAX, &value))
    goto invalid;
  if (*p != '\0')
    {
      const char *unit = strchr (units, *p);

      if (unit == NULL || p[1] != '\0')
        goto invalid;
      shift = 10 * (int) (unit - units + 1);
    }
  if (value > INT64_MAX >> shift)
    goto invalid;
  *ret_bytes = value << shift;
  return 0;

invalid:
  return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s '%s': give bytes, such as 65536, 64K or 10M; 0 for no limit",
                            option, text);
}
