/* SPDX-License-Identifier: MIT */
#include "local.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A line is key=value; in a value, control bytes and '%' are %XX. Unknown keys are left to newer versions. */

/* One member of struct record: a text of so many bytes, or a number. */
struct field
{
  const char *key;
  size_t offset;
  size_t text_bytes; /* 0: an int64_t */
};

#define TEXT_FIELD(key, member)                                                                                        \
  {                                                                                                                    \
    key, offsetof (struct record, member), sizeof ((struct record *) 0)->member                                        \
  }
#define NUMBER_FIELD(key, member)                                                                                      \
  {                                                                                                                    \
    key, offsetof (struct record, member), 0                                                                           \
  }

static const struct field fields[] = {
  TEXT_FIELD ("id", about.id),
  TEXT_FIELD ("boot", proof.boot),
  TEXT_FIELD ("namespace", proof.namespace),
  NUMBER_FIELD ("pid", proof.pid),
  NUMBER_FIELD ("start_time", proof.start_time),
  NUMBER_FIELD ("created_ms", about.created_ms),
  TEXT_FIELD ("host", about.host),
  TEXT_FIELD ("definition", about.definition),
  TEXT_FIELD ("workdir", about.workdir),
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

static void
print_text (FILE *file, const char *text)
{
  for (; *text != '\0'; text++)
    if ((unsigned char) *text < 0x20 || *text == 0x7F || *text == '%')
      fprintf (file, "%%%02X", (unsigned char) *text);
    else
      putc (*text, file);
}

static void
print_record (FILE *file, const struct record *record)
{
  for (size_t i = 0; i < FIELD_COUNT; i++)
    {
      const char *at = (const char *) record + fields[i].offset;
      int64_t number;

      fprintf (file, "%s=", fields[i].key);
      if (fields[i].text_bytes > 0)
        print_text (file, at);
      else
        {
          memcpy (&number, at, sizeof number);
          fprintf (file, "%" PRId64, number);
        }
      putc ('\n', file);
    }
}

/* Appears whole or not at all. */
int
record_write (const struct folder *folder, const struct record *record, struct compute_error *err)
{
  int fd = openat (folder->fd, RECORD_FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE *file = fd >= 0 ? fdopen (fd, "w") : NULL;
  int failed = file == NULL;

  if (file != NULL)
    {
      print_record (file, record);
      failed = fflush (file) != 0;
      failed = fclose (file) != 0 || failed;
    }
  if (!failed && renameat (folder->fd, RECORD_FILE_NEW, folder->fd, RECORD_FILE) == 0)
    return 0;
  return compute_error_set (err, COMPUTE_E_SYSTEM, errno, "cannot write '%s/%s': %s", folder->path, RECORD_FILE,
                            strerror (errno));
}

static int
hex_digit (char digit)
{
  return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static int
scan_text (char *to, size_t room, const char *text)
{
  size_t used = 0;

  for (; *text != '\0'; used++)
    {
      int high = text[0] == '%' ? hex_digit (text[1]) : 0, low = text[0] == '%' && high >= 0 ? hex_digit (text[2]) : 0;

      if (high < 0 || low < 0 || used + 1 >= room)
        return -1;
      to[used] = text[0] == '%' ? (char) (high * 16 + low) : text[0];
      text += text[0] == '%' ? 3 : 1;
    }
  to[used] = '\0';
  return 0;
}

static int
scan_number (char *to, const char *text)
{
  char *end;
  int64_t number;

  errno = 0;
  number = strtoll (text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < 0)
    return -1;
  memcpy (to, &number, sizeof number);
  return 0;
}

/* Sets the member that a line names. Returns its bit, 0 for one we do not know, -1 when it is malformed. */
static int
scan_line (struct record *record, char *line)
{
  char *value = strchr (line, '=');

  if (value == NULL)
    return -1;
  *value++ = '\0';
  value[strcspn (value, "\n")] = '\0';
  for (size_t i = 0; i < FIELD_COUNT; i++)
    if (strcmp (line, fields[i].key) == 0)
      {
        char *to = (char *) record + fields[i].offset;
        int failed = fields[i].text_bytes > 0 ? scan_text (to, fields[i].text_bytes, value) : scan_number (to, value);

        return failed != 0 ? -1 : 1 << i;
      }
  return 0;
}

static int
scan_record (FILE *file, struct record *record)
{
  char line[2048];
  int seen = 0;

  *record = (struct record){ .about = COMPUTE_INSTANCE_INIT };
  while (fgets (line, sizeof line, file) != NULL)
    {
      int bit = scan_line (record, line);

      if (bit < 0)
        return -1;
      seen |= bit;
    }
  return seen == (1 << FIELD_COUNT) - 1 && record->proof.pid > 0 && record->proof.start_time > 0 ? 0 : -1;
}

int
record_read (const struct folder *folder, const char *id, struct record *ret_record, struct compute_error *err)
{
  int fd = openat (folder->fd, RECORD_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  FILE *file = fd >= 0 ? fdopen (fd, "r") : NULL;
  int failed;

  if (file == NULL)
    return compute_error_set (err, errno == ENOENT ? COMPUTE_E_NOT_FOUND : COMPUTE_E_SYSTEM, errno,
                              "cannot read '%s/%s': %s", folder->path, RECORD_FILE, strerror (errno));
  failed = scan_record (file, ret_record);
  fclose (file);
  if (failed || strcmp (ret_record->about.id, id) != 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, 0, "'%s/%s' is broken", folder->path, RECORD_FILE);
  return 0;
}
