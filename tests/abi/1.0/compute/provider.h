/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_PROVIDER_H
#define COMPUTE_PROVIDER_H

/**
 * provider.h: the plugin ABI. A provider runs commands somewhere: on this machine, in a container, on another host.
 *
 * A provider is a file compute-provider-NAME.so that exports one function, compute_provider_init, and carries one ELF
 * note; COMPUTE_PROVIDER_DEFINE makes both. A host application can also register a table from its own code.
 *
 * Rules for everything in this file:
 *  - Structs that cross the boundary start with size: sizeof where the filling side was compiled. Read a later member
 *    only through COMPUTE_HAS. A shorter struct's missing members count as zero; extra bytes are ignored.
 *  - Arguments are borrowed for the call. Results go into caller memory (the caller sets ret->size first) or through
 *    callbacks, whose data is valid only during the callback. Nothing allocated on one side is freed on the other.
 *  - All text is UTF-8, NUL-terminated. Counts are of elements, units are in the names. Unknown flag bits are an error.
 *  - Threads: one open provider may be called from many threads at once; executions on one instance run concurrently.
 *    Callbacks run on the calling thread, before the call returns, with no lock of the provider held.
 *  - A provider leaves the host process alone: no exit, no signal handler, no chdir, umask, setenv or setlocale,
 * nothing on descriptors 0, 1 and 2, no fork without exec, every descriptor close-on-exec.
 *  - A command is never sent twice. What a provider cannot honour is COMPUTE_E_UNSUPPORTED, never silently dropped.
 */

#include <compute/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* A different major is refused; a minor only adds. */
#define COMPUTE_ABI_MAJOR 1
#define COMPUTE_ABI_MINOR 0

/* True when *object was compiled with member and the member is set. */
#define COMPUTE_HAS(object, member)                                                                                    \
  ((object)->size >= (uint32_t) ((const char *) &(object)->member - (const char *) (object)) + sizeof (object)->member \
   && (object)->member)

/* "Not stated", for the members of struct compute_config that say so. */
#define COMPUTE_UNSET INT64_MIN

/* Contract defaults, the same on every provider. */
#define COMPUTE_DEFAULT_TIMEOUT_MS 60000
#define COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES (10 * 1024 * 1024)
#define COMPUTE_GRACE_MS 2000 /* between TERM and KILL when a command is ended */

/* What a provider can do. X (NAME, bit, "word", extension id or NULL); a set bit promises its extension. Append only.
 */
#define COMPUTE_CAPABILITY_MAP(X)                                                                                      \
  X (EXECUTE, 0, "execute", NULL)                                                                                      \
  X (FILES, 1, "files", COMPUTE_FILES_ID)                                                                              \
  X (DETACHED, 2, "detached", NULL)                                                                                    \
  X (CAPTURE, 3, "capture", COMPUTE_CAPTURE_ID)                                                                        \
  X (ISOLATION, 4, "isolation", NULL)

#define COMPUTE_FILES_ID "compute.files/1"
#define COMPUTE_CAPTURE_ID "compute.capture/1"

  enum compute_capability
  {
#define COMPUTE_CAPABILITY_ENUM(name, bit, word, id) COMPUTE_CAP_##name = 1 << (bit),
    COMPUTE_CAPABILITY_MAP (COMPUTE_CAPABILITY_ENUM)
#undef COMPUTE_CAPABILITY_ENUM
        COMPUTE_CAP_NONE
    = 0
  };

  /* ---- What the host offers ------------------------------------------------------------------------------------- */

  enum compute_log_level
  {
    COMPUTE_LOG_ERROR = 1,
    COMPUTE_LOG_WARNING = 2,
    COMPUTE_LOG_INFO = 3,
    COMPUTE_LOG_DEBUG = 4
  };

  /* Host services. Valid from open() until close() returns; every function may be called from any thread. */
  struct compute_host
  {
    uint32_t size;
    uint16_t abi_major;
    uint16_t abi_minor;
    void *context; /* first argument of each function */

    /* One line, without a newline. Never pass a value of an environment variable. */
    void (*log) (void *context, uint32_t level, const char *line);

    /**
     * config_get: the value of a setting, "runner.path" (the runner program's absolute path) or "NAME.key" for provider
     * NAME. Writes at most buffer_bytes with the NUL and sets *ret_bytes to what the whole value with its NUL needs.
     * Returns 0; COMPUTE_E_NOT_FOUND; COMPUTE_E_INVALID when the buffer is too small (*ret_bytes is set then too).
     */
    int (*config_get) (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes);
  };

  /* ---- What a call is given -------------------------------------------------------------------------------------- */

  /* A name and a value: environment, options. The layout is frozen. */
  struct compute_pair
  {
    const char *name;
    const char *value;
  };

#define COMPUTE_MOUNT_READ_ONLY 1u

  /* A folder of the host shown inside. The layout is frozen. */
  struct compute_mount
  {
    const char *source; /* absolute, on the engine's host */
    const char *target; /* absolute, inside */
    uint32_t flags;     /* COMPUTE_MOUNT_READ_ONLY */
    uint32_t reserved;  /* 0 */
  };

/* provision: the instance outlives this process and is used and ended from any other. */
#define COMPUTE_CONFIG_DETACHED 1u
/* The environment is env alone; nothing is inherited. */
#define COMPUTE_CONFIG_ENV_REPLACE 2u

  /**
   * One configuration for provision and execute. What execute is given wins over what the instance was given; env is
   * merged by name. Start from COMPUTE_CONFIG_INIT. execute takes workdir, env, user, timeout_ms and
   * output_limit_bytes; any other member there is COMPUTE_E_UNSUPPORTED.
   */
  struct compute_config
  {
    uint32_t size;
    uint32_t flags;         /* COMPUTE_CONFIG_* */
    const char *image;      /* NULL: the provider's default */
    const char *workdir;    /* absolute; made if missing by provision. NULL: the provider's, or the instance's */
    const char *user;       /* NULL: as the image or the host process has it */
    const char *network;    /* NULL: the provider's default; "unrestricted"; "none" */
    const char *gpu;        /* NULL: none */
    const char *definition; /* definition hash of an environment, for labels and lists; NULL: none */
    const struct compute_pair *env;
    uint64_t env_count;
    const struct compute_pair *options; /* reach the provider untouched; one it does not know is an error */
    uint64_t option_count;
    const struct compute_mount *mounts;
    uint64_t mount_count;
    int64_t timeout_ms;         /* of a command, from its start; 0: no limit; negative: an error; COMPUTE_UNSET: the
                                   instance's, else COMPUTE_DEFAULT_TIMEOUT_MS */
    int64_t output_limit_bytes; /* kept of each stream, the first ones; 0: no limit; COMPUTE_UNSET: the instance's, else
                                   COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES */
    uint64_t memory_bytes;      /* 0: not stated */
    uint64_t cpu_millis;        /* thousandths of a processor; 0: not stated */
  };
/* clang-format off */
#define COMPUTE_CONFIG_INIT { sizeof (struct compute_config), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, \
                              NULL, 0, COMPUTE_UNSET, COMPUTE_UNSET, 0, 0 }
/* clang-format on */

/* stdin_fd is the command's input, read until its end by the call itself; it is not closed. */
#define COMPUTE_COMMAND_STDIN_FD 1u

  /* What to run: either script or argv. Start from COMPUTE_COMMAND_INIT. */
  struct compute_command
  {
    uint32_t size;
    uint32_t flags;          /* COMPUTE_COMMAND_* */
    const char *script;      /* a shell string of any length, run by sh -c; NULL: argv */
    uint64_t script_bytes;   /* its length, so that a NUL byte inside is found and refused; 0: up to its NUL */
    const char *const *argv; /* argc strings, run without a shell; argv[0] is looked up in the command's PATH */
    uint64_t argc;
    const void *stdin_data; /* the command's whole input; NULL without STDIN_FD: /dev/null */
    uint64_t stdin_bytes;
    int32_t stdin_fd;  /* counts only with COMPUTE_COMMAND_STDIN_FD */
    uint32_t reserved; /* 0 */
  };
/* clang-format off */
#define COMPUTE_COMMAND_INIT { sizeof (struct compute_command), 0, NULL, 0, NULL, 0, NULL, 0, -1, 0 }
  /* clang-format on */

  enum compute_stream
  {
    COMPUTE_STDOUT = 1,
    COMPUTE_STDERR = 2
  };

  /* Progress of long work such as a pull: step says what ("pull python:3.11-slim"); total is 0 while unknown. */
  struct compute_progress
  {
    uint32_t size;
    uint32_t reserved;
    const char *step;
    uint64_t done;
    uint64_t total;
  };

  /* What the caller of one call gives besides its arguments; NULL stands for COMPUTE_CALL_INIT. */
  struct compute_call
  {
    uint32_t size;
    int32_t cancel_fd; /* becomes readable: give up. 0 or negative: none. Not read from and not closed. */
    void *user;        /* first argument of the functions below */

    /* Output as it comes, in order within a stream; NULL: dropped. A result other than 0 cancels the command. */
    int (*output) (void *user, uint32_t stream, const void *data, uint64_t bytes);

    void (*progress) (void *user, const struct compute_progress *progress);
  };
/* clang-format off */
#define COMPUTE_CALL_INIT { sizeof (struct compute_call), -1, NULL, NULL, NULL }
/* clang-format on */

/* ---- What a call gives back ------------------------------------------------------------------------------------ */

/* X (NAME, value, "word"): how a command ended. Append only. */
#define COMPUTE_OUTCOME_MAP(X)                                                                                         \
  X (EXITED, 1, "exited")                                                                                              \
  X (SIGNALED, 2, "signaled")                                                                                          \
  X (TIMED_OUT, 3, "timed_out")                                                                                        \
  X (CANCELLED, 4, "cancelled")                                                                                        \
  X (OUT_OF_MEMORY, 5, "out_of_memory")

  enum compute_outcome
  {
#define COMPUTE_OUTCOME_ENUM(name, value, word) COMPUTE_OUTCOME_##name = value,
    COMPUTE_OUTCOME_MAP (COMPUTE_OUTCOME_ENUM)
#undef COMPUTE_OUTCOME_ENUM
        COMPUTE_OUTCOME_NONE
    = 0
  };

#define COMPUTE_RESULT_STDOUT_TRUNCATED 1u
#define COMPUTE_RESULT_STDERR_TRUNCATED 2u
/* Something the command started could not be ended (another user's process, say) and lives on. */
#define COMPUTE_RESULT_SURVIVORS 4u

  /* How a command ended, by the outcome table of every provider:
   *
   *   EXITED         exit_code 0-255, the command's own (124 and 137 included)   signal 0
   *   SIGNALED       exit_code 128 + n                                           signal n
   *   TIMED_OUT      exit_code -1: it has none                                   signal 0
   *   CANCELLED      exit_code -1                                                signal 0
   *   OUT_OF_MEMORY  exit_code 137                                               signal 9
   */
  struct compute_result
  {
    uint32_t size;
    uint32_t outcome; /* COMPUTE_OUTCOME_* */
    int32_t exit_code;
    int32_t signal;
    uint32_t flags; /* COMPUTE_RESULT_* */
    uint32_t reserved;
    uint64_t stdout_bytes; /* produced in all, whether kept or not */
    uint64_t stderr_bytes;
    uint64_t duration_us;   /* monotonic, from the start of the command to its end */
    uint64_t max_rss_bytes; /* of the command and the children it waited for */
    uint64_t user_us;
    uint64_t sys_us;
    int64_t timeout_ms; /* the limits that applied; 0: none */
    int64_t output_limit_bytes;
  };
/* clang-format off */
#define COMPUTE_RESULT_INIT { sizeof (struct compute_result), 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/* X (NAME, value, "word"): state of an instance. A removed or never known one is COMPUTE_E_NOT_FOUND. Append only. */
#define COMPUTE_STATE_MAP(X)                                                                                           \
  X (RUNNING, 1, "running")                                                                                            \
  X (STOPPED, 2, "stopped")                                                                                            \
  X (PAUSED, 3, "paused")                                                                                              \
  X (ERROR, 4, "error")

  enum compute_instance_state
  {
#define COMPUTE_STATE_ENUM(name, value, word) COMPUTE_STATE_##name = value,
    COMPUTE_STATE_MAP (COMPUTE_STATE_ENUM)
#undef COMPUTE_STATE_ENUM
        COMPUTE_STATE_NONE
    = 0
  };

/* X (NAME, value, "word"): the process an instance belongs to. GONE is proven (host, boot, pid, start time), UNKNOWN is
 * all that cannot be proven. NONE: detached. Append only. */
#define COMPUTE_OWNER_MAP(X)                                                                                           \
  X (NONE, 1, "none")                                                                                                  \
  X (SELF, 2, "self")                                                                                                  \
  X (ALIVE, 3, "alive")                                                                                                \
  X (GONE, 4, "gone")                                                                                                  \
  X (UNKNOWN, 5, "unknown")

  enum compute_owner
  {
#define COMPUTE_OWNER_ENUM(name, value, word) COMPUTE_OWNER_##name = value,
    COMPUTE_OWNER_MAP (COMPUTE_OWNER_ENUM)
#undef COMPUTE_OWNER_ENUM
        COMPUTE_OWNER_UNSTATED
    = 0
  };

  struct compute_instance
  {
    uint32_t size;
    uint32_t state;     /* COMPUTE_STATE_* */
    uint32_t owner;     /* COMPUTE_OWNER_* */
    uint32_t flags;     /* COMPUTE_CONFIG_DETACHED or 0 */
    int64_t owner_pid;  /* on its host; 0: none or unknown */
    int64_t created_ms; /* since 1970 UTC; 0: unknown */
    char id[64];
    char definition[32];
    char host[64];   /* where the engine runs it, for people */
    char image[256]; /* cut at a character where longer, like the rest */
    char workdir[256];
    char detail[256]; /* why, when state is ERROR; otherwise for people */
  };
/* clang-format off */
#define COMPUTE_INSTANCE_INIT { sizeof (struct compute_instance), 0, 0, 0, 0, 0, "", "", "", "", "", "" }
  /* clang-format on */

  /* A list's next entry; valid during the callback. A result other than 0 ends the list, which then returns it. */
  typedef int (*compute_instance_fn) (void *user, const struct compute_instance *instance);

  /* ---- The provider's table -------------------------------------------------------------------------------------- */

  /* Defined by the provider: what open() made. */
  struct compute_provider_state;

  /* All slots up to get_status are required. Static storage, const, the same for every open. */
  struct compute_provider
  {
    uint32_t size;
    uint16_t abi_major; /* COMPUTE_ABI_MAJOR and _MINOR where it was compiled */
    uint16_t abi_minor;
    const char *name; /* [a-z0-9][a-z0-9._-]{0,63}, as in the note */
    const char *version;
    const char *description; /* one line for people; says whether it isolates */
    uint64_t capabilities;   /* COMPUTE_CAP_*, as in the note */

    /* open: a state of its own for each call; close ends what its instances own and accepts NULL. */
    int (*open) (const struct compute_host *host, struct compute_provider_state **ret_state, struct compute_error *err);
    void (*close) (struct compute_provider_state *state);

    /* is_available: asks the engine, bounded in time. Returns 0, or COMPUTE_E_UNAVAILABLE with the reason and way out.
     */
    int (*is_available) (struct compute_provider_state *state, const struct compute_call *call,
                         struct compute_error *err);

    /**
     * provision: makes an instance ready to execute. One that fails or is cancelled leaves nothing behind.
     * Errors: INVALID, UNSUPPORTED, UNAVAILABLE, NOT_STARTED, ENGINE, CANCELLED, TIMEOUT, SYSTEM, NO_MEMORY.
     */
    int (*provision) (struct compute_provider_state *state, const struct compute_config *config,
                      const struct compute_call *call, struct compute_instance *ret_instance,
                      struct compute_error *err);

    /**
     * execute: runs one command in an instance and waits for it. @config may be NULL.
     *
     * Returns when the command's own process has ended; background children live on until shutdown. At a timeout or a
     * cancel everything the command started has ended before it returns (TERM, COMPUTE_GRACE_MS, KILL), nothing else is
     * touched, and the output so far is delivered. call->output runs on the calling thread.
     * Errors: INVALID, UNSUPPORTED, NOT_FOUND (instance), NOT_RUNNING, NOT_STARTED (no shell, no working directory),
     * LOST, ENGINE, SYSTEM, NO_MEMORY. A program that is not there is a result: EXITED with 127 and its name on stderr
     * (126 when it may not be run), as a shell has it.
     */
    int (*execute) (struct compute_provider_state *state, const char *instance, const struct compute_command *command,
                    const struct compute_config *config, const struct compute_call *call,
                    struct compute_result *ret_result, struct compute_error *err);

    /* shutdown: ends the instance with all it runs. One already stopped or gone behind our back is 0; unknown is
     * NOT_FOUND. */
    int (*shutdown) (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                     struct compute_error *err);

    /* list_instances: those of this state and the detached ones of every process. An engine's error is an error. */
    int (*list_instances) (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                           const struct compute_call *call, struct compute_error *err);
    int (*get_status) (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                       struct compute_instance *ret_instance, struct compute_error *err);

    /* Optional from here on: may be NULL, or beyond size. */

    /* get_extension: the sized table of an optional feature ("compute.files/1"), static storage; NULL for an unknown
     * id. */
    const void *(*get_extension) (const char *id);
  };
/* clang-format off */
#define COMPUTE_PROVIDER_HEADER .size = (uint32_t) sizeof (struct compute_provider), \
                                .abi_major = COMPUTE_ABI_MAJOR, .abi_minor = COMPUTE_ABI_MINOR
  /* clang-format on */

  /* ---- Optional features ----------------------------------------------------------------------------------------- */

  struct compute_file_info
  {
    uint32_t size;
    uint32_t mode; /* permission bits, 0-07777 */
    uint64_t bytes;
  };
/* clang-format off */
#define COMPUTE_FILE_INFO_INIT { sizeof (struct compute_file_info), 0, 0 }
  /* clang-format on */

  /**
   * compute.files/1: regular files in and out of an instance, streamed, of any size. Relative paths start at the
   * instance's workdir. A folder, a device, a FIFO or a socket is COMPUTE_E_INVALID; a missing file is
   * COMPUTE_E_NOT_FOUND. A symbolic link is never followed: get refuses it as INVALID, put replaces it.
   */
  struct compute_files
  {
    uint32_t size;
    uint32_t reserved;

    /* put: source_fd is read from its position to its end; not closed. The file appears whole, with mode, or not at
     * all. */
    int (*put) (struct compute_provider_state *state, const char *instance, const char *path, uint32_t mode,
                int32_t source_fd, const struct compute_call *call, struct compute_error *err);

    /* get: the file's bytes are written to target_fd; not closed. */
    int (*get) (struct compute_provider_state *state, const char *instance, const char *path, int32_t target_fd,
                const struct compute_call *call, struct compute_file_info *ret_info, struct compute_error *err);
  };

  /* An image that the engine has. The layout is frozen. */
  struct compute_image
  {
    uint64_t bytes;
    char id[128];      /* what the engine never gives to another image; good for struct compute_config's image */
    char platform[64]; /* "linux/amd64" */
  };

/* Make no capture of which a file holds the value of a secret: COMPUTE_E_DENIED instead, which names one. */
#define COMPUTE_CAPTURE_REFUSE_SECRETS 1u

  struct compute_capture_request
  {
    uint32_t size;
    uint32_t flags;  /* COMPUTE_CAPTURE_* */
    const char *ref; /* what it is called: "NAME:TAG"; one that is there of that name is replaced. Never to be logged */

    /* Names that no variable of the capture may have a value for, and the values that are looked for in the files it
     * adds to its image. An empty value is not looked for, nor is one that is shorter than 8 bytes. */
    const struct compute_pair *secrets;
    uint64_t secret_count;
  };
/* clang-format off */
#define COMPUTE_CAPTURE_REQUEST_INIT { sizeof (struct compute_capture_request), 0, NULL, NULL, 0 }
  /* clang-format on */

  /**
   * compute.capture/1: keeps a prepared instance as an image of the engine's, from which later instances start. What
   * the image says of user, working directory, entry and variables is what the instance's own image says. Nothing of
   * the provider is in it, nor what is mounted; a folder with data that it will lack is logged as a warning.
   */
  struct compute_capture
  {
    uint32_t size;
    uint32_t flags; /* COMPUTE_CAPTURE_COSTS */

    /* capture: *ret_base is what the instance was made from, *ret_image what was made of it. A file that holds a secret
     * is logged by its path and the secret's name. */
    int (*capture) (struct compute_provider_state *state, const char *instance,
                    const struct compute_capture_request *request, const struct compute_call *call,
                    struct compute_image *ret_base, struct compute_image *ret_image, struct compute_error *err);

    /* has: fills ret_images[i] with what the engine has under refs[i], an empty id where it has nothing. It is asked
     * once for all. Never fetches any. */
    int (*has) (struct compute_provider_state *state, const char *const *refs, uint64_t count,
                const struct compute_call *call, struct compute_image *ret_images, struct compute_error *err);

    /* remove: COMPUTE_E_BUSY, with why, while an instance uses it; one that is not there is 0. */
    int (*remove) (struct compute_provider_state *state, const char *ref, const struct compute_call *call,
                   struct compute_error *err);
  };

/* A capture costs money where it is kept: made only for an environment that says so. */
#define COMPUTE_CAPTURE_COSTS 1u

  /* ---- The entry and the note ------------------------------------------------------------------------------------ */

  /**
   * The one exported function. host is valid for the call only (open() gets its own): it is here so that a provider can
   * refuse a host that is too old for it. Sets *ret_provider to the provider's static table. May run more than once in
   * a process, never twice at the same time; the file is never unloaded.
   */
  typedef int (*compute_provider_init_fn) (const struct compute_host *host,
                                           const struct compute_provider **ret_provider, struct compute_error *err);

#define COMPUTE_PROVIDER_ENTRY "compute_provider_init"

/**
 * The note: what a provider is, readable without running it. Owner "COMPUTE", type COMPUTE_NOTE_TYPE, in the byte order
 * of its file. The fixed part below is followed by details_bytes of UTF-8 JSON with the keys version, vendor, license
 * and url. Source of the layout: the gABI's Elf_Nhdr with 4-byte alignment.
 */
#define COMPUTE_NOTE_OWNER "COMPUTE"
#define COMPUTE_NOTE_TYPE 0x43505631u
#define COMPUTE_NOTE_MAGIC "CPV1"
#define COMPUTE_NOTE_SECTION ".note.compute-provider"

  struct compute_note
  {
    char magic[4]; /* COMPUTE_NOTE_MAGIC without its NUL */
    uint16_t abi_major;
    uint16_t abi_minor_built;
    uint16_t abi_minor_required;
    uint16_t flags;            /* 0 */
    uint32_t capabilities_low; /* two halves, so that no alignment of 8 is needed */
    uint32_t capabilities_high;
    uint32_t details_bytes; /* with the NUL */
    char name[64];
  };

#define COMPUTE_PROVIDER_DETAILS(version, vendor, license, url)                                                        \
  "{\"version\":\"" version "\",\"vendor\":\"" vendor "\",\"license\":\"" license "\",\"url\":\"" url "\"}"

#ifdef __cplusplus
#define COMPUTE_EXTERN_C extern "C"
#else
#define COMPUTE_EXTERN_C extern
#endif

/**
 * COMPUTE_PROVIDER_DEFINE, once in a provider, at file scope, then the definition of compute_provider_init itself:
 *
 *   COMPUTE_PROVIDER_DEFINE ("acme", "1.0.0", "Acme Ltd", "MIT", "https://acme.example", COMPUTE_CAP_EXECUTE, 0)
 *
 * The texts are string literals without quotes or backslashes. required is the lowest minor of a host that will do.
 */
#define COMPUTE_PROVIDER_DEFINE(provider_name, provider_version, vendor, license, url, provider_capabilities,          \
                                required)                                                                              \
  COMPUTE_EXTERN_C __attribute__ ((visibility ("default"))) int compute_provider_init (                                \
      const struct compute_host *host, const struct compute_provider **ret_provider, struct compute_error *err);       \
  static const struct                                                                                                  \
  {                                                                                                                    \
    uint32_t owner_bytes, note_bytes, type;                                                                            \
    char owner[sizeof COMPUTE_NOTE_OWNER];                                                                             \
    struct compute_note note;                                                                                          \
    char details[(sizeof COMPUTE_PROVIDER_DETAILS (provider_version, vendor, license, url) + 3) / 4 * 4];              \
  } compute_provider_note __attribute__ ((section (COMPUTE_NOTE_SECTION), used, aligned (4)))                          \
  = { sizeof COMPUTE_NOTE_OWNER,                                                                                       \
      (uint32_t) (sizeof (struct compute_note)                                                                         \
                  + (sizeof COMPUTE_PROVIDER_DETAILS (provider_version, vendor, license, url) + 3) / 4 * 4),           \
      COMPUTE_NOTE_TYPE,                                                                                               \
      COMPUTE_NOTE_OWNER,                                                                                              \
      { { 'C', 'P', 'V', '1' },                                                                                        \
        COMPUTE_ABI_MAJOR,                                                                                             \
        COMPUTE_ABI_MINOR,                                                                                             \
        (required),                                                                                                    \
        0,                                                                                                             \
        (uint32_t) (provider_capabilities),                                                                            \
        (uint32_t) ((uint64_t) (provider_capabilities) >> 32),                                                         \
        sizeof COMPUTE_PROVIDER_DETAILS (provider_version, vendor, license, url),                                      \
        provider_name },                                                                                               \
      COMPUTE_PROVIDER_DETAILS (provider_version, vendor, license, url) }

#ifdef __cplusplus
}
#endif

#endif
