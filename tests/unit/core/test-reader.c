/* SPDX-License-Identifier: MIT */

/* The ELF and note reader on every fixture. Without GLib, so that it is built with each C library: argv[1] is the
 * folder of the fixtures. */
#include "elf_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int points, failures;
static const char *folder;

static void
point (bool good, const char *what, const char *name)
{
  printf ("%sok %d %s %s\n", good ? "" : "not ", ++points, what, name);
  failures += !good;
}

static bool
read_file (struct elf_file *elf, const char *file)
{
  char path[4096];
  struct stat found;
  bool good;
  int fd;

  fd = snprintf (path, sizeof path, "%s/%s", folder, file) < (int) sizeof path ? open (path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0 || fstat (fd, &found) != 0)
    {
      printf ("Bail out! cannot open %s\n", path);
      exit (1);
    }
  good = elf_file_read (elf, fd, (uint64_t) found.st_size);
  close (fd);
  return good;
}

/* needed keeps its order. */
static bool
list_contains (const struct elf_list *list, const char *item)
{
  for (size_t i = 0; i < list->count; i++)
    if (strcmp (list->items[i], item) == 0)
      return true;
  return false;
}

/* What is wrong with each; NONE: nothing that the reader can see. */
static const struct
{
  const char *name;
  enum reason reason;
} expected[] = {
  { "bytes/compute-provider-class.so", REASON_NONE },
  { "bytes/compute-provider-endian.so", REASON_NONE },
  { "bytes/compute-provider-machine.so", REASON_NONE },
  { "bytes/compute-provider-type-rel.so", REASON_NOT_DSO },
  { "bytes/compute-provider-type-exec.so", REASON_NOT_DSO },
  { "bytes/compute-provider-type-core.so", REASON_NOT_DSO },
  { "bytes/compute-provider-phnum-0.so", REASON_NOT_DSO },
  { "bytes/compute-provider-phnum-huge.so", REASON_TRUNCATED },
  { "bytes/compute-provider-phentsize.so", REASON_NOT_ELF },
  { "bytes/compute-provider-phoff-eof.so", REASON_TRUNCATED },
  { "bytes/compute-provider-load-eof.so", REASON_TRUNCATED },
  { "bytes/compute-provider-load-overflow.so", REASON_TRUNCATED },
  { "bytes/compute-provider-dynamic-eof.so", REASON_TRUNCATED },
  { "bytes/compute-provider-note-eof.so", REASON_TRUNCATED },
  { "bytes/compute-provider-empty.so", REASON_NOT_ELF },
  { "bytes/compute-provider-text.so", REASON_NOT_ELF },
  { "bytes/compute-provider-short-text.so", REASON_NOT_ELF },
  { "compute-provider-program.so", REASON_NOT_DSO },
  { "compute-provider-ok.so", REASON_NONE },
  { "compute-provider-cxx.so", REASON_NONE },
};

static void
test_faults (void)
{
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    {
      struct elf_file elf;
      bool good = read_file (&elf, expected[i].name);

      point (elf.reason == expected[i].reason && good == (elf.reason == REASON_NONE), "verdict on", expected[i].name);
      elf_file_clear (&elf);
    }
}

/* However much is missing of a file, it is found to be cut off; the note is read as soon as it is there. */
static void
test_cut_files (void)
{
  char path[4096];
  int cut = 0, known = 0, wrong = 0;
  const struct dirent *entry;
  DIR *dir;

  snprintf (path, sizeof path, "%s/bytes", folder);
  dir = opendir (path);
  while (dir != NULL && (entry = readdir (dir)) != NULL)
    {
      struct elf_file elf;

      if (strncmp (entry->d_name, "compute-provider-cut-", strlen ("compute-provider-cut-")) != 0)
        continue;
      snprintf (path, sizeof path, "bytes/%s", entry->d_name);
      read_file (&elf, path);
      cut++;
      known += strcmp (elf.note.name, "ok") == 0;
      /* The end of the file holds sections that nothing needs at run time. */
      wrong += elf.reason != REASON_TRUNCATED && elf.reason != REASON_NONE;
      elf_file_clear (&elf);
    }
  if (dir != NULL)
    closedir (dir);
  point (cut > 50 && wrong == 0, "cut files are cut files:", "bytes/compute-provider-cut-*.so");
  point (known > 20, "the note of a cut file is read:", "bytes/compute-provider-cut-*.so");
}

static void
test_facts (void)
{
  struct elf_file elf;

  read_file (&elf, "compute-provider-ok.so");
  point (elf.note.count == 1 && elf.note.fault == NULL && strcmp (elf.note.name, "ok") == 0
             && strcmp (elf.note.version, "1.0") == 0 && strcmp (elf.note.vendor, "Fixtures Ltd") == 0
             && strcmp (elf.note.license, "MIT") == 0 && strcmp (elf.note.url, "https://fixtures.example") == 0
             && elf.note.capabilities == COMPUTE_CAP_EXECUTE && elf.note.abi_major == COMPUTE_ABI_MAJOR,
         "the note says what the macro was given:", "ok");
  point (elf_list_has (&elf.exports, "compute_provider_init"), "the entry is exported:", "ok");
  point (!elf_list_has (&elf.exports, "fixture_open"), "nothing else is exported:", "ok");
  point (strlen (elf.build_id) == 40, "the build id is read:", "ok");
  point (!elf.exec_stack && !elf.static_tls, "no executable stack, no static TLS:", "ok");
  elf_file_clear (&elf);

  read_file (&elf, "compute-provider-exec-stack.so");
  point (elf.exec_stack, "an executable stack is seen:", "exec-stack");
  elf_file_clear (&elf);

  read_file (&elf, "compute-provider-static-tls.so");
  point (elf.static_tls, "static TLS is seen:", "static-tls");
  elf_file_clear (&elf);

  read_file (&elf, "compute-provider-missing-dep.so");
  point (list_contains (&elf.needed, "libfixture-absent.so.4") && elf.runpath != NULL
             && strstr (elf.runpath, "nothing-here") != NULL,
         "needed libraries and RUNPATH are read:", "missing-dep");
  elf_file_clear (&elf);

  read_file (&elf, "libfixture-newer.so");
  point (elf_list_has (&elf.versions, "FIXTURE_2") && strcmp (elf.soname, "libfixture-symver.so.1") == 0,
         "SONAME and versions are read:", "libfixture-newer");
  elf_file_clear (&elf);
}

static void
test_foreign_files (void)
{
  const struct elf_kind own = elf_kind_of_process ();
  struct elf_file elf;

  read_file (&elf, "compute-provider-ok.so");
  point (elf.bits == own.bits && elf.big_endian == own.big_endian && elf.machine == own.machine,
         "a file of this machine is one:", "ok");
  elf_file_clear (&elf);

  read_file (&elf, "bytes/compute-provider-class.so");
  point (elf.bits == 96 - own.bits && strcmp (elf.note.name, "class") == 0 && strcmp (elf.note.version, "1.0") == 0,
         "another word size is read:", "class");
  elf_file_clear (&elf);

  read_file (&elf, "bytes/compute-provider-endian.so");
  point (elf.big_endian != own.big_endian && strcmp (elf.note.name, "endian") == 0
             && elf.note.capabilities == COMPUTE_CAP_EXECUTE && elf_list_has (&elf.exports, "compute_provider_init"),
         "another byte order is read:", "endian");
  elf_file_clear (&elf);
}

static void
test_notes (void)
{
  static const struct
  {
    const char *name, *fault;
  } notes[] = {
    { "note-truncated", "it is cut off" },
    { "note-too-long", "it is cut off" },
    { "note-bad-magic", "its magic is not \"CPV1\"" },
    { "note-flags", "it has unknown flags" },
    { "note-details-cut", "its details are cut off" },
    { "note-not-utf8", "the details are not UTF-8" },
    { "note-not-json", "the details are no JSON object of strings" },
    { "note-nul", "the details are no JSON object of strings" },
    { "note-no-name", "its name does not match [a-z0-9][a-z0-9._-]{0,63}" },
    { "major-next", NULL },
    { "note-escapes", NULL },
  };
  struct elf_file elf;

  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
    {
      char file[256];

      snprintf (file, sizeof file, "bytes/compute-provider-%s.so", notes[i].name);
      read_file (&elf, file);
      point (elf.note.fault == NULL ? notes[i].fault == NULL
                                    : notes[i].fault != NULL && strcmp (elf.note.fault, notes[i].fault) == 0,
             "fault of", notes[i].name);
      elf_file_clear (&elf);
    }
  read_file (&elf, "bytes/compute-provider-note-escapes.so");
  point (elf.note.vendor != NULL && strcmp (elf.note.vendor, "\xc3\xa9/\"\n") == 0,
         "escapes are decoded:", "note-escapes");
  elf_file_clear (&elf);
}

int
main (int argc, char **argv)
{
  if (argc != 2)
    return 2;
  folder = argv[1];
  test_faults ();
  test_cut_files ();
  test_facts ();
  test_foreign_files ();
  test_notes ();
  printf ("1..%d\n", points);
  return failures != 0;
}
