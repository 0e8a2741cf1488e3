/* SPDX-License-Identifier: MIT */
#include "elf_file.h"
#include "bytes.h"
#include "text.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* Read in one call: the headers, the note and the symbols of a small provider. */
#define HEAD_BYTES 8192
/* Nothing of an honest file is longer; a hostile one shall not cost more memory. */
#define STRINGS_MAX (64 << 20)
#define NOTES_MAX (1 << 20)
#define DYNAMIC_MAX (1 << 20)
#define SYMBOLS_MAX (1 << 21)
#define VERSIONS_MAX 8192

/* Where the members lie, for each word size. */
struct layout
{
  uint8_t ehdr, phoff, phentsize, phnum;
  uint8_t phdr, p_flags, p_offset, p_vaddr, p_filesz, p_memsz, p_align;
  uint8_t word, sym, st_info, st_other, st_shndx;
};
#define LAYOUT(bits)                                                                                                   \
  {                                                                                                                    \
    sizeof (Elf##bits##_Ehdr), offsetof (Elf##bits##_Ehdr, e_phoff), offsetof (Elf##bits##_Ehdr, e_phentsize),         \
        offsetof (Elf##bits##_Ehdr, e_phnum), sizeof (Elf##bits##_Phdr), offsetof (Elf##bits##_Phdr, p_flags),         \
        offsetof (Elf##bits##_Phdr, p_offset), offsetof (Elf##bits##_Phdr, p_vaddr),                                   \
        offsetof (Elf##bits##_Phdr, p_filesz), offsetof (Elf##bits##_Phdr, p_memsz),                                   \
        offsetof (Elf##bits##_Phdr, p_align), bits / 8, sizeof (Elf##bits##_Sym), offsetof (Elf##bits##_Sym, st_info), \
        offsetof (Elf##bits##_Sym, st_other), offsetof (Elf##bits##_Sym, st_shndx)                                     \
  }
static const struct layout layout_32 = LAYOUT (32);
static const struct layout layout_64 = LAYOUT (64);

struct segment
{
  uint32_t type, flags;
  uint64_t offset, address, file_bytes, memory_bytes, align;
};

/* One file while it is read. */
struct source
{
  struct elf_file *elf;
  int fd;
  uint64_t bytes;
  const struct layout *layout;
  struct segment *segments;
  uint16_t segment_count;
  size_t head_bytes;
  unsigned char head[HEAD_BYTES];
};

/* The first fault counts. Returns false, so that a step ends with "return fail (...)". */
COMPUTE_PRINTF (3, 4)
static bool
fail (struct source *source, enum reason reason, const char *format, ...)
{
  struct elf_file *elf = source->elf;
  va_list args;

  if (elf->reason != REASON_NONE)
    return false;
  elf->reason = reason;
  va_start (args, format);
  vsnprintf (elf->fault, sizeof elf->fault, format, args);
  va_end (args);
  return false;
}

static uint64_t
get (const struct source *source, const unsigned char *from, size_t count)
{
  return bytes_get (from, count, source->elf->big_endian);
}

/* Reads exactly that many bytes, within the file. */
static bool
read_at (struct source *source, uint64_t offset, void *to, uint64_t count)
{
  if (offset > source->bytes || count > source->bytes - offset)
    return fail (source, REASON_TRUNCATED, "the file ends at byte %llu of %llu", (unsigned long long) source->bytes,
                 (unsigned long long) (offset + count));
  if (offset + count <= source->head_bytes)
    {
      memcpy (to, source->head + offset, count);
      return true;
    }
  while (count > 0)
    {
      ssize_t got = pread (source->fd, to, count, (off_t) offset);

      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return fail (source, REASON_OPEN, "cannot read it: %s", text_of_errno (errno));
      if (got == 0)
        return fail (source, REASON_TRUNCATED, "the file became shorter while it was read");
      to = (char *) to + got;
      offset += (uint64_t) got;
      count -= (uint64_t) got;
    }
  return true;
}

/* A copy of that part of the file, to be freed, with a NUL after it; NULL when it cannot be had. */
static unsigned char *
load (struct source *source, uint64_t offset, uint64_t count, uint64_t limit, const char *what)
{
  unsigned char *copy;

  if (count > limit)
    {
      fail (source, REASON_NOT_ELF, "its %s is said to be %llu bytes long", what, (unsigned long long) count);
      return NULL;
    }
  /* Before the memory is taken: a short file that claims much costs nothing. */
  if (offset > source->bytes || count > source->bytes - offset)
    {
      fail (source, REASON_TRUNCATED, "its %s lies beyond the end of the file", what);
      return NULL;
    }
  copy = malloc (count + 1);
  if (copy == NULL)
    {
      fail (source, REASON_OPEN, "no memory for its %s", what);
      return NULL;
    }
  if (!read_at (source, offset, copy, count))
    {
      free (copy);
      return NULL;
    }
  copy[count] = '\0';
  return copy;
}

static bool
list_add (struct source *source, struct elf_list *list, const char *item)
{
  if ((list->count & (list->count - 1)) == 0) /* full: room for twice as many */
    {
      size_t room = list->count == 0 ? 1 : 2 * list->count;
      const char **items = realloc (list->items, room * sizeof *items);

      if (items == NULL)
        return fail (source, REASON_OPEN, "no memory for its lists");
      list->items = items;
    }
  list->items[list->count++] = item;
  return true;
}

static int
compare_texts (const void *a, const void *b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
list_sort (struct elf_list *list)
{
  if (list->count > 1)
    qsort (list->items, list->count, sizeof *list->items, compare_texts);
}

bool
elf_list_has (const struct elf_list *sorted, const char *item)
{
  return sorted->count != 0
         && bsearch (&item, sorted->items, sorted->count, sizeof *sorted->items, compare_texts) != NULL;
}

/* ---- Header and segments ---------------------------------------------------------------------------------------- */

static struct segment
get_segment (const struct source *source, const unsigned char *from)
{
  const struct layout *layout = source->layout;

  return (struct segment){
    .type = (uint32_t) get (source, from, 4),
    .flags = (uint32_t) get (source, from + layout->p_flags, 4),
    .offset = get (source, from + layout->p_offset, layout->word),
    .address = get (source, from + layout->p_vaddr, layout->word),
    .file_bytes = get (source, from + layout->p_filesz, layout->word),
    .memory_bytes = get (source, from + layout->p_memsz, layout->word),
    .align = get (source, from + layout->p_align, layout->word),
  };
}

static bool
read_segments (struct source *source, uint64_t offset, uint16_t count)
{
  const size_t bytes = source->layout->phdr;
  unsigned char *headers = load (source, offset, count * bytes, UINT32_MAX, "program header table");

  if (headers == NULL)
    return false;
  source->segments = calloc (count, sizeof *source->segments);
  for (uint16_t i = 0; i < count && source->segments != NULL; i++)
    source->segments[i] = get_segment (source, headers + i * bytes);
  free (headers);
  if (source->segments == NULL)
    return fail (source, REASON_OPEN, "no memory for its segments");
  source->segment_count = count;
  return true;
}

static bool
read_header (struct source *source)
{
  struct elf_file *elf = source->elf;
  unsigned char header[sizeof (Elf64_Ehdr)];

  if (source->bytes == 0)
    return fail (source, REASON_NOT_ELF, "the file is empty");
  if (source->head_bytes < SELFMAG || memcmp (source->head, ELFMAG, SELFMAG) != 0)
    return fail (source, REASON_NOT_ELF, "it does not begin as an ELF file does");
  if (!read_at (source, 0, header, EI_NIDENT))
    return false;
  if (header[EI_CLASS] != ELFCLASS32 && header[EI_CLASS] != ELFCLASS64)
    return fail (source, REASON_NOT_ELF, "unknown ELF class %u", header[EI_CLASS]);
  if (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB)
    return fail (source, REASON_NOT_ELF, "unknown byte order %u", header[EI_DATA]);
  elf->bits = header[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  elf->big_endian = header[EI_DATA] == ELFDATA2MSB;
  source->layout = elf->bits == 64 ? &layout_64 : &layout_32;
  if (!read_at (source, 0, header, source->layout->ehdr))
    return false;
  elf->type = (uint16_t) get (source, header + offsetof (Elf64_Ehdr, e_type), 2);
  elf->machine = (uint16_t) get (source, header + offsetof (Elf64_Ehdr, e_machine), 2);
  elf->exec_stack = elf->machine != EM_AARCH64; /* what a file without PT_GNU_STACK means */
  if (elf->type != ET_DYN)
    return fail (source, REASON_NOT_DSO, "it is %s",
                 elf->type == ET_REL    ? "an object file"
                 : elf->type == ET_EXEC ? "an executable"
                 : elf->type == ET_CORE ? "a core dump"
                                        : "of an unknown ELF type");
  if (get (source, header + source->layout->phnum, 2) == 0)
    return fail (source, REASON_NOT_DSO, "it has no segments");
  if (get (source, header + source->layout->phentsize, 2) != source->layout->phdr)
    return fail (source, REASON_NOT_ELF, "its program headers have a wrong size");
  return read_segments (source, get (source, header + source->layout->phoff, source->layout->word),
                        (uint16_t) get (source, header + source->layout->phnum, 2));
}

/* The first segment of a type; NULL when there is none. */
static const struct segment *
find_segment (const struct source *source, uint32_t type)
{
  for (uint16_t i = 0; i < source->segment_count; i++)
    if (source->segments[i].type == type)
      return &source->segments[i];
  return NULL;
}

static bool
check_segments (struct source *source)
{
  const struct segment *stack = find_segment (source, PT_GNU_STACK);

  if (stack != NULL)
    source->elf->exec_stack = (stack->flags & PF_X) != 0;
  if (find_segment (source, PT_INTERP) != NULL)
    return fail (source, REASON_NOT_DSO, "it is a program, not a library");
  if (find_segment (source, PT_LOAD) == NULL)
    return fail (source, REASON_NOT_DSO, "it has nothing to load");
  for (uint16_t i = 0; i < source->segment_count; i++)
    {
      const struct segment *segment = &source->segments[i];

      if (segment->type != PT_LOAD)
        continue;
      if (segment->offset > source->bytes || segment->file_bytes > source->bytes - segment->offset)
        return fail (source, REASON_TRUNCATED, "the file ends at byte %llu, within segment %u",
                     (unsigned long long) source->bytes, i);
      if (segment->file_bytes > segment->memory_bytes)
        return fail (source, REASON_NOT_ELF, "segment %u is larger in the file than in memory", i);
    }
  return true;
}

/* ---- Notes ------------------------------------------------------------------------------------------------------ */

static uint64_t
align_up (uint64_t value, uint64_t to)
{
  return (value + to - 1) / to * to;
}

static void
read_build_id (struct elf_file *elf, const unsigned char *bytes, size_t count)
{
  static const char digits[] = "0123456789abcdef";

  for (size_t i = 0; i < count && 2 * i + 2 < sizeof elf->build_id; i++)
    {
      elf->build_id[2 * i] = digits[bytes[i] >> 4];
      elf->build_id[2 * i + 1] = digits[bytes[i] & 15];
    }
}

/* Walks one segment of notes. A walk that leaves the segment ends it, and is a fault where the note was ours. */
static void
walk_notes (struct source *source, const unsigned char *bytes, uint64_t count, uint64_t align)
{
  static const char ours[] = COMPUTE_NOTE_OWNER, gnu[] = ELF_NOTE_GNU;
  const uint64_t header = 3 * sizeof (uint32_t);
  struct elf_file *elf = source->elf;
  uint64_t at = 0;

  while (count - at >= header)
    {
      uint64_t owner_bytes = get (source, bytes + at, 4);
      uint64_t content_bytes = get (source, bytes + at + 4, 4);
      uint64_t type = get (source, bytes + at + 8, 4);
      const char *owner = (const char *) bytes + at + header;
      uint64_t content = align_up (at + header + owner_bytes, align);
      uint64_t fits = content < count ? count - content : 0;

      if (owner_bytes > count - at - header)
        return;
      if (owner_bytes == sizeof ours && memcmp (owner, ours, sizeof ours) == 0 && type == COMPUTE_NOTE_TYPE)
        note_read (&elf->note, content_bytes <= fits ? bytes + content : bytes,
                   content_bytes <= fits ? content_bytes : 0, elf->big_endian);
      if (content_bytes > fits)
        return;
      if (owner_bytes == sizeof gnu && memcmp (owner, gnu, sizeof gnu) == 0 && type == NT_GNU_BUILD_ID)
        read_build_id (elf, bytes + content, content_bytes);
      at = align_up (content + content_bytes, align);
      if (at > count)
        return;
    }
}

static void
read_notes (struct source *source)
{
  for (uint16_t i = 0; i < source->segment_count; i++)
    {
      const struct segment *segment = &source->segments[i];
      unsigned char *bytes;

      if (segment->type != PT_NOTE)
        continue;
      bytes = load (source, segment->offset, segment->file_bytes, NOTES_MAX, "note segment");
      if (bytes == NULL)
        continue;
      walk_notes (source, bytes, segment->file_bytes, segment->align == 8 ? 8 : 4);
      free (bytes);
    }
}

/* ---- Dynamic section --------------------------------------------------------------------------------------------- */

/* The entries, and the values of those that tell where something lies; 0: not stated. */
struct dynamic
{
  unsigned char *entries;
  size_t count;
  uint64_t strings, string_bytes, symbols, hash, gnu_hash, defined_versions, wanted_versions;
};

static uint64_t
get_tag (const struct source *source, const struct dynamic *dynamic, size_t index)
{
  return get (source, dynamic->entries + index * 2 * source->layout->word, source->layout->word);
}

static uint64_t
get_value (const struct source *source, const struct dynamic *dynamic, size_t index)
{
  return get (source, dynamic->entries + (index * 2 + 1) * source->layout->word, source->layout->word);
}

static void
keep_address (struct dynamic *dynamic, uint64_t tag, uint64_t value)
{
  uint64_t *place = tag == DT_STRTAB     ? &dynamic->strings
                    : tag == DT_STRSZ    ? &dynamic->string_bytes
                    : tag == DT_SYMTAB   ? &dynamic->symbols
                    : tag == DT_HASH     ? &dynamic->hash
                    : tag == DT_GNU_HASH ? &dynamic->gnu_hash
                    : tag == DT_VERDEF   ? &dynamic->defined_versions
                    : tag == DT_VERNEED  ? &dynamic->wanted_versions
                                         : NULL;

  if (place != NULL)
    *place = value;
}

/* Where an address of the loaded library lies in the file, and how many bytes of its segment follow. */
static bool
find_address (struct source *source, uint64_t address, const char *what, uint64_t *ret_offset, uint64_t *ret_bytes)
{
  for (uint16_t i = 0; i < source->segment_count; i++)
    {
      const struct segment *segment = &source->segments[i];

      if (segment->type != PT_LOAD || address < segment->address || address - segment->address >= segment->file_bytes)
        continue;
      *ret_offset = segment->offset + (address - segment->address);
      *ret_bytes = segment->file_bytes - (address - segment->address);
      return true;
    }
  return fail (source, REASON_TRUNCATED, "its %s lies outside of what is loaded", what);
}

static bool
load_dynamic (struct source *source, struct dynamic *dynamic)
{
  const struct segment *segment = find_segment (source, PT_DYNAMIC);
  size_t room;

  if (segment == NULL)
    return fail (source, REASON_NOT_DSO, "it has no dynamic section");
  dynamic->entries = load (source, segment->offset, segment->file_bytes, DYNAMIC_MAX, "dynamic section");
  if (dynamic->entries == NULL)
    return false;
  room = segment->file_bytes / (2 * (size_t) source->layout->word);
  while (dynamic->count < room && get_tag (source, dynamic, dynamic->count) != DT_NULL)
    {
      keep_address (dynamic, get_tag (source, dynamic, dynamic->count), get_value (source, dynamic, dynamic->count));
      dynamic->count++;
    }
  return true;
}

static bool
load_strings (struct source *source, const struct dynamic *dynamic)
{
  struct elf_file *elf = source->elf;
  uint64_t bytes = dynamic->string_bytes, offset = 0, fits = 0;

  if (!find_address (source, dynamic->strings, "string table", &offset, &fits))
    return false;
  if (bytes > fits)
    return fail (source, REASON_TRUNCATED, "its string table leaves its segment");
  elf->strings = (char *) load (source, offset, bytes, STRINGS_MAX, "string table");
  elf->string_bytes = elf->strings != NULL ? bytes : 0;
  return elf->strings != NULL;
}

/* A text of the string table; "" where the index lies outside. */
static const char *
get_string (const struct elf_file *elf, uint64_t index)
{
  return index < elf->string_bytes ? elf->strings + index : "";
}

static bool
read_entries (struct source *source, const struct dynamic *dynamic)
{
  struct elf_file *elf = source->elf;

  for (size_t i = 0; i < dynamic->count; i++)
    {
      uint64_t value = get_value (source, dynamic, i);

      switch (get_tag (source, dynamic, i))
        {
        case DT_NEEDED:
          if (!list_add (source, &elf->needed, get_string (elf, value)))
            return false;
          break;
        case DT_SONAME:
          elf->soname = get_string (elf, value);
          break;
        case DT_RUNPATH:
          elf->runpath = get_string (elf, value);
          break;
        case DT_RPATH:
          elf->rpath = get_string (elf, value);
          break;
        case DT_FLAGS:
          elf->static_tls = (value & DF_STATIC_TLS) != 0;
          break;
        case DT_FLAGS_1:
          if ((value & DF_1_PIE) != 0)
            return fail (source, REASON_NOT_DSO, "it is a program, not a library");
          break;
        default:
          break;
        }
    }
  return true;
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

/* The symbol after the last of the hash chain that begins with first. */
static bool
end_of_chain (struct source *source, uint64_t chains, uint64_t symbol_base, uint64_t first, uint64_t *ret_end)
{
  for (uint64_t symbol = first; symbol < SYMBOLS_MAX; symbol++)
    {
      unsigned char hash[4];

      if (!read_at (source, chains + (symbol - symbol_base) * sizeof hash, hash, sizeof hash))
        return false;
      if ((get (source, hash, sizeof hash) & 1) != 0)
        {
          *ret_end = symbol + 1;
          return true;
        }
    }
  return fail (source, REASON_NOT_ELF, "it is said to have more than %d symbols", SYMBOLS_MAX);
}

/* A GNU hash table names the last symbol only as the end of the chain of its highest bucket. */
static bool
count_by_gnu_hash (struct source *source, uint64_t offset, uint64_t *ret_count)
{
  unsigned char header[16], *buckets;
  uint64_t bucket_count, base, bloom_count, at, highest = 0;

  if (!read_at (source, offset, header, sizeof header))
    return false;
  bucket_count = get (source, header, 4);
  base = get (source, header + 4, 4);
  bloom_count = get (source, header + 8, 4);
  at = offset + sizeof header + bloom_count * source->layout->word;
  buckets = load (source, at, bucket_count * 4, SYMBOLS_MAX * 4, "hash table");
  if (buckets == NULL)
    return false;
  for (uint64_t i = 0; i < bucket_count; i++)
    {
      uint64_t first = get (source, buckets + 4 * i, 4);

      highest = first > highest ? first : highest;
    }
  free (buckets);
  if (highest < base) /* nothing is exported; all up to base are wanted */
    {
      *ret_count = base;
      return true;
    }
  return end_of_chain (source, at + bucket_count * 4, base, highest, ret_count);
}

static bool
count_symbols (struct source *source, const struct dynamic *dynamic, uint64_t *ret_count)
{
  const uint64_t sysv = dynamic->hash, gnu = dynamic->gnu_hash;
  uint64_t offset = 0, fits = 0;
  unsigned char header[8];

  if (sysv == 0 && gnu == 0)
    return fail (source, REASON_NOT_DSO, "it has no symbol hash table");
  if (!find_address (source, sysv != 0 ? sysv : gnu, "hash table", &offset, &fits))
    return false;
  if (sysv == 0)
    return count_by_gnu_hash (source, offset, ret_count);
  if (!read_at (source, offset, header, sizeof header))
    return false;
  *ret_count = get (source, header + 4, 4); /* nchain */
  return true;
}

static bool
add_symbol (struct source *source, const unsigned char *symbol)
{
  const struct layout *layout = source->layout;
  struct elf_file *elf = source->elf;
  const char *name = get_string (elf, get (source, symbol, 4));
  unsigned binding = symbol[layout->st_info] >> 4, type = symbol[layout->st_info] & 15;
  unsigned visibility = symbol[layout->st_other] & 3;
  uint64_t section = get (source, symbol + layout->st_shndx, 2);

  if (name[0] == '\0' || binding == STB_LOCAL || type == STT_SECTION || type == STT_FILE)
    return true;
  if (section == SHN_UNDEF)
    return binding == STB_WEAK || list_add (source, &elf->undefined, name);
  if (section == SHN_ABS || visibility == STV_HIDDEN || visibility == STV_INTERNAL)
    return true; /* SHN_ABS: the names of symbol versions */
  return list_add (source, &elf->exports, name);
}

static bool
read_symbols (struct source *source, const struct dynamic *dynamic)
{
  struct elf_file *elf = source->elf;
  const size_t symbol_bytes = source->layout->sym;
  uint64_t count = 0, offset = 0, fits = 0;
  unsigned char *symbols;
  bool good = true;

  if (!count_symbols (source, dynamic, &count)
      || !find_address (source, dynamic->symbols, "symbol table", &offset, &fits))
    return false;
  symbols = load (source, offset, count * symbol_bytes, SYMBOLS_MAX * (uint64_t) symbol_bytes, "symbol table");
  if (symbols == NULL)
    return false;
  for (uint64_t i = 0; i < count && good; i++)
    good = add_symbol (source, symbols + i * symbol_bytes);
  free (symbols);
  list_sort (&elf->exports);
  return good;
}

/* ---- Symbol versions ----------------------------------------------------------------------------------------------
 */

static bool
read_defined_versions (struct source *source, const struct dynamic *dynamic)
{
  uint64_t address = dynamic->defined_versions, at = 0, fits = 0, next;
  struct elf_list *versions = &source->elf->versions;

  if (address == 0)
    return true;
  if (!find_address (source, address, "version table", &at, &fits))
    return false;
  do
    {
      unsigned char entry[sizeof (Elf64_Verdef)], name[sizeof (Elf64_Verdaux)];

      if (versions->count == VERSIONS_MAX)
        return fail (source, REASON_NOT_ELF, "it defines more than %d symbol versions", VERSIONS_MAX);
      if (!read_at (source, at, entry, sizeof entry)
          || !read_at (source, at + get (source, entry + offsetof (Elf64_Verdef, vd_aux), 4), name, sizeof name)
          || !list_add (source, versions, get_string (source->elf, get (source, name, 4))))
        return false;
      next = get (source, entry + offsetof (Elf64_Verdef, vd_next), 4);
      at += next;
    }
  while (next != 0);
  list_sort (versions);
  return true;
}

static bool
add_wanted (struct source *source, struct elf_version version)
{
  struct elf_file *elf = source->elf;
  struct elf_version *wanted;

  if (elf->wanted_count == VERSIONS_MAX)
    return fail (source, REASON_NOT_ELF, "it wants more than %d symbol versions", VERSIONS_MAX);
  wanted = realloc (elf->wanted, (elf->wanted_count + 1) * sizeof *wanted);
  if (wanted == NULL)
    return fail (source, REASON_OPEN, "no memory for its versions");
  elf->wanted = wanted;
  wanted[elf->wanted_count++] = version;
  return true;
}

/* The versions wanted of one file: a chain of entries from offset on. */
static bool
read_wanted_of_file (struct source *source, const char *file, uint64_t at)
{
  uint64_t next;

  do
    {
      unsigned char entry[sizeof (Elf64_Vernaux)];
      struct elf_version version = { .file = file };

      if (!read_at (source, at, entry, sizeof entry))
        return false;
      version.name = get_string (source->elf, get (source, entry + offsetof (Elf64_Vernaux, vna_name), 4));
      version.weak = (get (source, entry + offsetof (Elf64_Vernaux, vna_flags), 2) & VER_FLG_WEAK) != 0;
      if (!add_wanted (source, version))
        return false;
      next = get (source, entry + offsetof (Elf64_Vernaux, vna_next), 4);
      at += next;
    }
  while (next != 0);
  return true;
}

static bool
read_wanted_versions (struct source *source, const struct dynamic *dynamic)
{
  uint64_t address = dynamic->wanted_versions, at = 0, fits = 0, next;

  if (address == 0)
    return true;
  if (!find_address (source, address, "version table", &at, &fits))
    return false;
  do
    {
      unsigned char entry[sizeof (Elf64_Verneed)];
      const char *file;

      if (!read_at (source, at, entry, sizeof entry))
        return false;
      file = get_string (source->elf, get (source, entry + offsetof (Elf64_Verneed, vn_file), 4));
      if (!read_wanted_of_file (source, file, at + get (source, entry + offsetof (Elf64_Verneed, vn_aux), 4)))
        return false;
      next = get (source, entry + offsetof (Elf64_Verneed, vn_next), 4);
      at += next;
    }
  while (next != 0);
  return true;
}

static void
read_dynamic (struct source *source)
{
  struct dynamic dynamic = { .entries = NULL };

  (void) (load_dynamic (source, &dynamic) && load_strings (source, &dynamic) && read_entries (source, &dynamic)
          && read_symbols (source, &dynamic) && read_defined_versions (source, &dynamic)
          && read_wanted_versions (source, &dynamic));
  free (dynamic.entries);
}

/* ---- The whole ----------------------------------------------------------------------------------------------------
 */

bool
elf_file_read (struct elf_file *elf, int fd, uint64_t file_bytes)
{
  struct source *source = malloc (sizeof *source);
  size_t head_bytes = file_bytes < HEAD_BYTES ? (size_t) file_bytes : HEAD_BYTES;

  memset (elf, 0, sizeof *elf);
  if (source == NULL)
    {
      elf->reason = REASON_OPEN;
      snprintf (elf->fault, sizeof elf->fault, "no memory to read it");
      return false;
    }
  source->elf = elf;
  source->fd = fd;
  source->bytes = file_bytes;
  source->segments = NULL;
  source->head_bytes = 0;
  if (read_at (source, 0, source->head, head_bytes))
    {
      source->head_bytes = head_bytes;
      if (read_header (source))
        {
          read_notes (source);
          check_segments (source);
          read_dynamic (source);
        }
    }
  free (source->segments);
  free (source);
  return elf->reason == REASON_NONE;
}

void
elf_file_clear (struct elf_file *elf)
{
  note_clear (&elf->note);
  free (elf->needed.items);
  free (elf->exports.items);
  free (elf->undefined.items);
  free (elf->versions.items);
  free (elf->wanted);
  free (elf->strings);
  memset (elf, 0, sizeof *elf);
}
