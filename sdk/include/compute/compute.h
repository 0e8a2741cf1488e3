/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_COMPUTE_H
#define COMPUTE_COMPUTE_H

/**
 * compute.h: the host API of libcompute. Find providers, open one, run commands in a place that it makes.
 *
 *   struct compute_error err = COMPUTE_ERROR_INIT;
 *   struct compute_registry *registry;
 *   struct compute_handle *handle;
 *
 *   if (compute_registry_open (NULL, &registry, &err) == 0 && compute_resolve (registry, "local", &handle, &err) == 0)
 *     ...
 *
 * Ownership, errors and threads are those of provider.h: arguments are borrowed, data comes through callbacks or into
 * the caller's memory, each opaque handle has one open and one close, and close accepts NULL. A registry and a handle
 * may be used from many threads at once; close one only when no call on it is running. Handles close before their
 * registry.
 */

#include <compute/provider.h>

#ifdef __cplusplus
extern "C"
{
#endif

#if defined __GNUC__
#define COMPUTE_API __attribute__ ((visibility ("default")))
#else
#define COMPUTE_API
#endif

  /* "1.0.0", of the library at run time. Static storage. */
  COMPUTE_API const char *compute_version (void);

  /* ---- Registry -------------------------------------------------------------------------------------------------- */

  struct compute_registry;

/* Only the folders of paths are searched: neither the environment, the user's folder nor the system's. */
#define COMPUTE_REGISTRY_ONLY_PATHS 1u
/* A provider from the environment or the user's folder may take the name "local" or "docker". */
#define COMPUTE_REGISTRY_ALLOW_OVERRIDE 2u
/* The user's folder counts for root too. */
#define COMPUTE_REGISTRY_USER_FOLDER_AS_ROOT 4u

  struct compute_registry_options
  {
    uint32_t size;
    uint32_t flags;           /* COMPUTE_REGISTRY_* */
    const char *const *paths; /* folders searched first, or provider files; copied. The caller vouches for them. */
    uint64_t path_count;
    void *context; /* first argument of log and config_get */

    /* As in struct compute_host; may be NULL. log may be called from any thread. */
    void (*log) (void *context, uint32_t level, const char *line);
    int (*config_get) (void *context, const char *key, char *buffer, uint64_t buffer_bytes, uint64_t *ret_bytes);
  };
/* clang-format off */
#define COMPUTE_REGISTRY_OPTIONS_INIT { sizeof (struct compute_registry_options), 0, NULL, 0, NULL, NULL, NULL }
  /* clang-format on */

  /* options may be NULL. Reads the environment (COMPUTE_PROVIDER_PATH, COMPUTE_PROVIDER_PATH_ONLY, XDG_DATA_HOME,
   * HOME), not when the process runs with raised privileges. Touches no file yet. Errors: INVALID, NO_MEMORY. */
  COMPUTE_API int compute_registry_open (const struct compute_registry_options *options,
                                         struct compute_registry **ret_registry, struct compute_error *err);
  COMPUTE_API void compute_registry_close (struct compute_registry *registry);

  /* Adds a table of the host's own; it wins over every file. The name is lower-cased and copied, the table stays the
   * caller's and must live as long as the registry. Errors: INVALID (bad name, a required slot missing, another ABI),
   * BUSY (the name is registered already). */
  COMPUTE_API int compute_register (struct compute_registry *registry, const char *name,
                                    const struct compute_provider *provider, struct compute_error *err);

  /* A result other than 0 ends the list, which then returns it. */
  typedef int (*compute_name_fn) (void *user, const char *name);

  /* The names that compute_resolve would take, sorted, each once. Runs no provider's code. */
  COMPUTE_API int compute_list (struct compute_registry *registry, compute_name_fn emit, void *user,
                                struct compute_error *err);

  /* ---- One open provider ----------------------------------------------------------------------------------------- */

  struct compute_handle;

  /**
   * compute_resolve: opens the provider of that name (case-insensitive), loading only what is asked for. Each call
   * gives a new handle with instances of its own. NULL or "" gives *ret_handle = NULL and 0: no provider was asked for.
   * Errors: UNKNOWN_PROVIDER (the message lists what there is), PLUGIN (it is there but cannot be loaded: why), and
   * what the provider's open gives.
   */
  COMPUTE_API int compute_resolve (struct compute_registry *registry, const char *name,
                                   struct compute_handle **ret_handle, struct compute_error *err);

  /* Wraps a table and a state that the caller opened itself; both are used as they are, and compute_close leaves the
   * state open. Errors: INVALID (a required slot is missing, another ABI). */
  COMPUTE_API int compute_adopt (const struct compute_provider *provider, struct compute_provider_state *state,
                                 struct compute_handle **ret_handle, struct compute_error *err);

  /* Ends the instances the handle owns, then frees it. Detached instances live on. */
  COMPUTE_API void compute_close (struct compute_handle *handle);

  /* The provider's table, for its name, version and description. Borrowed. */
  COMPUTE_API const struct compute_provider *compute_get_provider (const struct compute_handle *handle);

  /* The slots of provider.h, under their rules; call and config may be NULL. On top of the slots, the core refuses, the
   * same for every provider: unknown flags; a script and an argv both or neither; an empty or blank script; a NUL byte
   * in it; an invalid environment name; a negative timeout or limit; two kinds of input. */
  COMPUTE_API int compute_is_available (struct compute_handle *handle, const struct compute_call *call,
                                        struct compute_error *err);
  COMPUTE_API int compute_provision (struct compute_handle *handle, const struct compute_config *config,
                                     const struct compute_call *call, struct compute_instance *ret_instance,
                                     struct compute_error *err);
  COMPUTE_API int compute_execute (struct compute_handle *handle, const char *instance,
                                   const struct compute_command *command, const struct compute_config *config,
                                   const struct compute_call *call, struct compute_result *ret_result,
                                   struct compute_error *err);
  COMPUTE_API int compute_shutdown (struct compute_handle *handle, const char *instance,
                                    const struct compute_call *call, struct compute_error *err);
  COMPUTE_API int compute_list_instances (struct compute_handle *handle, compute_instance_fn emit, void *user,
                                          const struct compute_call *call, struct compute_error *err);
  COMPUTE_API int compute_get_status (struct compute_handle *handle, const char *instance,
                                      const struct compute_call *call, struct compute_instance *ret_instance,
                                      struct compute_error *err);

  /* compute.files/1; COMPUTE_E_UNSUPPORTED where the provider has none. */
  COMPUTE_API int compute_put (struct compute_handle *handle, const char *instance, const char *path, uint32_t mode,
                               int32_t source_fd, const struct compute_call *call, struct compute_error *err);
  COMPUTE_API int compute_get (struct compute_handle *handle, const char *instance, const char *path, int32_t target_fd,
                               const struct compute_call *call, struct compute_file_info *ret_info,
                               struct compute_error *err);

  /* ---- Environments and captures ----------------------------------------------------------------------------------
   */

  /**
   * An environment says what an instance is made from and how it is prepared: image, packages, setup, refresh,
   * variables, limits, network, mounts. It is read once and never changes; any number of threads may use it.
   */
  struct compute_environment;

#define COMPUTE_ENVIRONMENT_FILE ".praisonai/environment.yaml"

  /* Looks for COMPUTE_ENVIRONMENT_FILE in a folder (NULL: the working directory) and in those above, and writes its
   * path. Errors: NOT_FOUND, which is no mishap; DENIED, when others than the user and root could have written it;
   * INVALID, when the buffer is too small. */
  COMPUTE_API int compute_environment_find (const char *folder, char *buffer, uint64_t buffer_bytes,
                                            struct compute_error *err);

  /* Reads a file. Errors: INVALID, "FILE:LINE: ..." with what is allowed there; NOT_FOUND; DENIED; SYSTEM. */
  COMPUTE_API int compute_environment_open (const char *path, struct compute_environment **ret_environment,
                                            struct compute_error *err);
  COMPUTE_API void compute_environment_close (struct compute_environment *environment);

  /* The provider that the file names, or NULL. Borrowed. */
  COMPUTE_API const char *compute_environment_backend (const struct compute_environment *environment);

  /* A text, whole, once. A result other than 0 is handed on. */
  typedef int (*compute_text_fn) (void *user, const void *text, uint64_t bytes);

  /* Gives what the file comes to, defaults included, as a JSON object: all but the values of its variables, and with
   * its definition hash. config, which may be NULL, is what compute_prepare would be given. */
  COMPUTE_API int compute_environment_show (const struct compute_environment *environment,
                                            const struct compute_config *config, compute_text_fn emit, void *user,
                                            struct compute_error *err);

/* Make no capture of which a file holds the value of a variable of the environment. */
#define COMPUTE_PREPARE_REFUSE_SECRETS 1u

/* The instance was made from a capture. */
#define COMPUTE_PREPARED_REUSED 1u
/* It was prepared from the start, and kept for the next time. */
#define COMPUTE_PREPARED_CAPTURED 2u

  struct compute_prepared
  {
    uint32_t size;
    uint32_t flags;      /* COMPUTE_PREPARED_* */
    char definition[16]; /* the definition hash: may be shown */
    char why[232];       /* why no capture was used, or none made; "" where there is nothing to say */
  };
/* clang-format off */
#define COMPUTE_PREPARED_INIT { sizeof (struct compute_prepared), 0, "", "" }
  /* clang-format on */

  /**
   * compute_prepare: provisions an instance as an environment says, ready for use. Where the provider keeps captures
   * and there is one of the same definition and the same values, the instance starts from it and only refresh runs;
   * otherwise packages and setup run, and the instance is captured. What config states wins over the file, its env is
   * merged by name. Steps and their time are told to call->progress, what they print to call->output. ret_about may be
   * NULL. One that fails leaves nothing behind.
   *
   * Errors: those of compute_provision; PREPARE_FAILED, which names the step and how its output ended; CANCELLED. That
   * an instance cannot be captured is a warning in the log, and no error.
   */
  COMPUTE_API int compute_prepare (struct compute_handle *handle, const struct compute_environment *environment,
                                   const struct compute_config *config, uint32_t flags, const struct compute_call *call,
                                   struct compute_instance *ret_instance, struct compute_prepared *ret_about,
                                   struct compute_error *err);

  /* What compute_prepare would do, without doing it: REUSED, or why not. */
  COMPUTE_API int compute_explain_capture (struct compute_handle *handle, const struct compute_environment *environment,
                                           const struct compute_config *config, const struct compute_call *call,
                                           struct compute_prepared *ret_about, struct compute_error *err);

/* X (NAME, value, "word"): what became of a capture that was to be pruned. Append only. */
#define COMPUTE_PRUNE_MAP(X)                                                                                           \
  X (KEPT, 1, "kept")                                                                                                  \
  X (REMOVED, 2, "removed")                                                                                            \
  X (FAILED, 3, "failed")

  enum compute_prune
  {
#define COMPUTE_PRUNE_ENUM(name, value, word) COMPUTE_PRUNE_##name = value,
    COMPUTE_PRUNE_MAP (COMPUTE_PRUNE_ENUM)
#undef COMPUTE_PRUNE_ENUM
        COMPUTE_PRUNE_NONE
    = 0
  };

  /* A capture of the record. key and ref bind the values of variables: for programs, not for people and logs. */
  struct compute_capture_entry
  {
    uint32_t size;
    uint32_t pruned;        /* COMPUTE_PRUNE_*; NONE in a list */
    const char *key;        /* of the record */
    const char *backend;    /* the provider */
    const char *ref;        /* what the provider calls it */
    const char *definition; /* the definition hash; NULL: not known */
    const char *why;        /* it was kept, or could not be removed; else NULL */
    int64_t created_ms;     /* since 1970 UTC; 0: not known */
    int64_t last_used_ms;
  };

  typedef int (*compute_capture_fn) (void *user, const struct compute_capture_entry *entry);

  /* The captures on record (HOME/.praisonai/environments/registry.json), sorted by key. */
  COMPUTE_API int compute_list_captures (struct compute_registry *registry, compute_capture_fn emit, void *user,
                                         struct compute_error *err);

#define COMPUTE_DEFAULT_PRUNE_AGE_MS (INT64_C (14) * 24 * 60 * 60 * 1000)

  /* Removes the captures that were not used for so long, with their images; one in use, and one whose image cannot be
   * removed, stays on record. emit is told of each that is old enough. */
  COMPUTE_API int compute_prune_captures (struct compute_registry *registry, int64_t age_ms, compute_capture_fn emit,
                                          void *user, const struct compute_call *call, struct compute_error *err);

  /* ---- Tool places ------------------------------------------------------------------------------------------------
   */

  /**
   * A place runs the tools of an agent: each tool that has a command runs it on the place's provider, in one instance
   * that is made at the first such call and ends with the place. Every provider is a place by its name. All functions
   * but compute_place_close may be called from any thread at once.
   */
  struct compute_place;

  /* Makes a place on the provider of that name, which is checked here and not at the first call; NULL or "": a place
   * without a provider, where every tool runs locally. config is what the instance is made of; it may be NULL and is
   * copied. The registry has to outlive the place. Errors: those of compute_resolve; UNAVAILABLE, which says why;
   * INVALID. */
  COMPUTE_API int compute_place_open (struct compute_registry *registry, const char *provider,
                                      const struct compute_config *config, struct compute_place **ret_place,
                                      struct compute_error *err);

  /* The same on a handle of the caller's, which stays the caller's and has to outlive the place. */
  COMPUTE_API int compute_place_adopt (struct compute_handle *handle, const struct compute_config *config,
                                       struct compute_place **ret_place, struct compute_error *err);

  /* Ends the instance, unless it is detached, then frees the place. Accepts NULL. */
  COMPUTE_API void compute_place_close (struct compute_place *place);

  /* Ends the instance now; a later call makes another. 0 when there is none. */
  COMPUTE_API int compute_place_shutdown (struct compute_place *place, const struct compute_call *call,
                                          struct compute_error *err);

  /**
   * Declares the command of a tool, or replaces it; NULL: the tool runs locally again. In the command, a shell script,
   * {{NAME}} stands for the argument of that name, as one word or a part of one: it is quoted by itself, whatever its
   * bytes, and never looked at again. {{NAME?}} may be missing, and is nothing then. A string is taken as it is,
   * anything else as JSON text. A string that starts with "-" is refused where it would be an option: at the start of a
   * word, unless a word -- comes before it in the same simple command ("cat -- {{NAME}}") or it is where a redirection
   * goes. timeout_ms as in struct compute_config. Errors: INVALID, for a placeholder inside quotes, backquotes,
   * comments and wherever else its own quotes would not protect it: the message shows the place.
   */
  COMPUTE_API int compute_place_set_command (struct compute_place *place, const char *tool, const char *command,
                                             int64_t timeout_ms, struct compute_error *err);

  /* Instances of the place are made as the environment says from now on (see compute_prepare); NULL: of config alone.
   * It has to outlive the place. flags are COMPUTE_PREPARE_*. */
  COMPUTE_API int compute_place_set_environment (struct compute_place *place,
                                                 const struct compute_environment *environment, uint32_t flags,
                                                 struct compute_error *err);

  /**
   * Declares the tools of a file, YAML or JSON: a map from each tool's name to a map of description, parameters (the
   * JSON Schema of its arguments), command and timeout (seconds), of which command is required. All of it or, after an
   * error, nothing. Names are 1 to 64 of A-Z a-z 0-9 _ -. Where parameters state properties, the command takes no other
   * arguments. Of the schema, required, properties, additionalProperties and each property's type and enum are checked
   * when the tool is called; what else it has is for the model. Errors: INVALID, "FILE:LINE: ..."; NOT_FOUND; DENIED;
   * SYSTEM.
   */
  COMPUTE_API int compute_place_load_tools (struct compute_place *place, const char *path, struct compute_error *err);

  /* A declared tool; valid during the callback. */
  struct compute_tool_info
  {
    uint32_t size;
    uint32_t reserved;
    const char *name;
    const char *description; /* NULL: none */
    const char *parameters;  /* JSON Schema of the arguments, an object's; NULL: not stated */
    const char *command;     /* as declared */
    int64_t timeout_ms;      /* as in struct compute_config */
  };

  typedef int (*compute_tool_fn) (void *user, const struct compute_tool_info *tool);

  /* The tools that have a command, sorted by name. */
  COMPUTE_API int compute_list_tools (struct compute_place *place, compute_tool_fn emit, void *user,
                                      struct compute_error *err);

/* The tool has no command: the caller's function ran. */
#define COMPUTE_TOOL_RAN_LOCALLY 1u
/* The instance was made for this call. */
#define COMPUTE_TOOL_PROVISIONED 2u
/* It was, because the one before it has died: what that held is lost. */
#define COMPUTE_TOOL_INSTANCE_LOST 4u
/* The text was cut at the place's limit of output. */
#define COMPUTE_TOOL_TEXT_CUT 8u

  /* Where and how a tool ran. Start from COMPUTE_TOOL_RESULT_INIT. */
  struct compute_tool_result
  {
    uint32_t size;
    uint32_t flags;                /* COMPUTE_TOOL_* */
    struct compute_result *result; /* in: NULL, or where the command's result is to go, also when the tool failed */
    char instance[64];             /* where it ran; "" locally */
  };
/* clang-format off */
#define COMPUTE_TOOL_RESULT_INIT { sizeof (struct compute_tool_result), 0, NULL, "" }
  /* clang-format on */

  /* Runs a tool that has no command; it gives its text to emit. arguments is the JSON object of the call. */
  typedef int (*compute_local_tool_fn) (void *user, const char *tool, const char *arguments, compute_text_fn emit,
                                        const struct compute_call *call, struct compute_error *err);

  /**
   * Runs a tool. arguments is a JSON object, NULL for none. A command that exits with 0 gives its standard output to
   * emit; call->output has both streams as they come. local, which may be NULL, runs a tool without a command; both are
   * called with call->user on the calling thread. *ret_result may be NULL.
   *
   * Errors: TOOL_FAILED, with the tool, the place and how its command ended, whose last words the message has;
   * UNKNOWN_TOOL, where there is neither a command nor local; INVALID, for arguments that are no object, lack what the
   * command needs, would be options or are not what the tool's parameters say; CANCELLED; and those of
   * compute_provision and compute_execute.
   */
  COMPUTE_API int compute_run_tool (struct compute_place *place, const char *tool, const char *arguments,
                                    compute_local_tool_fn local, compute_text_fn emit, const struct compute_call *call,
                                    struct compute_tool_result *ret_result, struct compute_error *err);

/* ---- Diagnosis: what plugin-ls shows --------------------------------------------------------------------------- */

/* X (NAME, value, "word"): where a folder of the search comes from, in search order. Append only. */
#define COMPUTE_SOURCE_MAP(X)                                                                                          \
  X (HOST, 1, "api")                                                                                                   \
  X (ENVIRONMENT, 2, "env")                                                                                            \
  X (USER, 3, "user")                                                                                                  \
  X (SYSTEM, 4, "system")                                                                                              \
  X (REGISTERED, 5, "registered")

  enum compute_source
  {
#define COMPUTE_SOURCE_ENUM(name, value, word) COMPUTE_SOURCE_##name = value,
    COMPUTE_SOURCE_MAP (COMPUTE_SOURCE_ENUM)
#undef COMPUTE_SOURCE_ENUM
        COMPUTE_SOURCE_NONE
    = 0
  };

/* X (NAME, value, "word"): what became of an element of the search path. Append only. */
#define COMPUTE_FOLDER_MAP(X)                                                                                          \
  X (OK, 1, "ok")                                                                                                      \
  X (MISSING, 2, "missing")                                                                                            \
  X (UNREADABLE, 3, "unreadable")                                                                                      \
  X (NOT_DIR, 4, "not_dir")                                                                                            \
  X (UNTRUSTED, 5, "untrusted")                                                                                        \
  X (DUPLICATE, 6, "duplicate")                                                                                        \
  X (EMPTY, 7, "empty")                                                                                                \
  X (RELATIVE, 8, "relative")                                                                                          \
  X (IGNORED, 9, "ignored")                                                                                            \
  X (FILE, 10, "file")

  enum compute_folder_state
  {
#define COMPUTE_FOLDER_ENUM(name, value, word) COMPUTE_FOLDER_##name = value,
    COMPUTE_FOLDER_MAP (COMPUTE_FOLDER_ENUM)
#undef COMPUTE_FOLDER_ENUM
        COMPUTE_FOLDER_NONE
    = 0
  };

  /* One element of the search, in order. */
  struct compute_folder
  {
    uint32_t size;
    uint32_t source;     /* COMPUTE_SOURCE_* */
    uint32_t state;      /* COMPUTE_FOLDER_*; only OK, FILE and (not as root) UNTRUSTED ones are searched */
    uint32_t element;    /* from 1, within its source */
    int32_t sys_errno;   /* 0: none */
    uint32_t trusted;    /* 1: nobody but root and the user can put files there */
    uint32_t owner_uid;  /* where it exists */
    uint32_t mode;       /* permission bits, where it exists */
    uint32_t candidates; /* files named compute-provider-*.so */
    uint32_t loud;       /* 1: worth a warning */
    const char *path;    /* as given */
    const char *why;     /* one phrase for people; NULL when there is nothing to say */
  };

  typedef int (*compute_folder_fn) (void *user, const struct compute_folder *folder);
  COMPUTE_API int compute_list_folders (struct compute_registry *registry, compute_folder_fn emit, void *user,
                                        struct compute_error *err);

/* X (NAME, value, "word"): state of a candidate; none is 4. OTHER_ARCH, NOT_PROVIDER and SHADOWED are quiet. Append
 * only. */
#define COMPUTE_CANDIDATE_MAP(X)                                                                                       \
  X (OK, 1, "ok")                                                                                                      \
  X (FAILED, 2, "failed")                                                                                              \
  X (SHADOWED, 3, "shadowed")                                                                                          \
  X (OTHER_ARCH, 5, "other_arch")                                                                                      \
  X (NOT_PROVIDER, 6, "not_provider")

  enum compute_candidate_state
  {
#define COMPUTE_CANDIDATE_ENUM(name, value, word) COMPUTE_CANDIDATE_##name = value,
    COMPUTE_CANDIDATE_MAP (COMPUTE_CANDIDATE_ENUM)
#undef COMPUTE_CANDIDATE_ENUM
        COMPUTE_CANDIDATE_NONE
    = 0
  };

/* X (NAME, hint): the machine-readable reasons, given as the text "E_NAME", each with its way out. Append only. */
#define COMPUTE_REASON_MAP(X)                                                                                          \
  X (OPEN, "Check that the file exists and that its links lead somewhere.")                                            \
  X (PERM, "Give the user of this process the right to read the file.")                                                \
  X (NOT_REGULAR, "A provider is a regular file; remove this one or install the real library.")                        \
  X (NOT_ELF, "The file is no library; install the real one.")                                                         \
  X (TRUNCATED, "The file is incomplete; install it again.")                                                           \
  X (CLASS, "Install the provider that was built for this machine's word size.")                                       \
  X (ENDIAN, "Install the provider that was built for this machine's byte order.")                                     \
  X (MACHINE, "Install the provider that was built for this processor.")                                               \
  X (NOT_DSO, "A provider is a shared library; build it with -shared.")                                                \
  X (NO_NOTE,                                                                                                          \
     "Not a provider, or built without COMPUTE_PROVIDER_DEFINE; if it has the entry, it can be loaded by name.")       \
  X (BAD_NOTE, "Ask the vendor for a file whose note is intact.")                                                      \
  X (ABI_MAJOR, "Use a provider and a core of the same ABI major.")                                                    \
  X (ABI_TOO_NEW, "Update the core, or ask the vendor for a build against its ABI.")                                   \
  X (UNTRUSTED, "Take away other users' right to write to the folder and its parents, or pass the folder yourself.")   \
  X (DUPLICATE, "Remove one of the two files.")                                                                        \
  X (RESERVED_NAME, "'local' and 'docker' come from the system only; rename the provider, or allow overriding.")       \
  X (NOEXEC, "The file lies on a file system mounted noexec; install it elsewhere.")                                   \
  X (MISSING_DEP, "Install the library that is named.")                                                                \
  X (UNDEFINED_SYMBOL, "The provider needs a library that it does not link, or another version of one.")               \
  X (SYMBOL_VERSION, "The provider was built against a newer library than the one installed.")                         \
  X (STATIC_TLS, "Ask the vendor to build without -ftls-model=initial-exec.")                                          \
  X (EXECSTACK, "Ask the vendor to build with -Wl,-z,noexecstack.")                                                    \
  X (DLOPEN, "See the system's message.")                                                                              \
  X (NO_ENTRY, "Export compute_provider_init.")                                                                        \
  X (FOREIGN_ENTRY, "The entry comes from another library; define compute_provider_init in the provider itself.")      \
  X (INIT_FAILED, "See the provider's message.")                                                                       \
  X (INCONSISTENT, "The note and the table disagree; ask the vendor.")                                                 \
  X (INIT_SIGNAL, "The provider crashed while it was loaded; ask the vendor.")                                         \
  X (INIT_EXIT, "The provider ended the process while it was loaded; ask the vendor.")                                 \
  X (INIT_TIMEOUT, "The provider did not finish loading in time; ask the vendor, or allow more with --timeout.")

  /* A library that a candidate wants. path is NULL where it was not found; provided_by is another candidate's file
   * whose library of the same name would be used instead, NULL where there is none. */
  struct compute_needed
  {
    const char *name;
    const char *path;
    const char *provided_by;
  };

  /* A text that does not apply is NULL; all are valid during the callback only. */
  struct compute_candidate
  {
    uint32_t size;
    uint32_t state;  /* COMPUTE_CANDIDATE_* */
    uint32_t source; /* COMPUTE_SOURCE_* */
    uint32_t has_note;
    const char *name;   /* from the note, else from the file's name */
    const char *reason; /* "E_..." of COMPUTE_REASON_MAP; NULL when OK. On an OK one: a warning's reason */
    const char *message;
    const char *hint;
    const char *path; /* as found; bytes, perhaps not UTF-8 */
    const char *realpath;
    const char *shadowed_by; /* the path of the one that wins */
    uint64_t dev;
    uint64_t ino;
    uint64_t file_bytes;
    int64_t mtime_ns;     /* since 1970 */
    const char *build_id; /* hexadecimal */
    uint32_t abi_major;
    uint32_t abi_minor_built;
    uint32_t abi_minor_required;
    uint32_t reserved;
    uint64_t capabilities; /* COMPUTE_CAP_* */
    const char *version;
    const char *vendor;
    const char *license;
    const char *url;
    /* ELF; elf_class is 0 where the file is none */
    uint32_t elf_class;
    uint32_t elf_machine;
    uint32_t exec_stack;
    uint32_t static_tls;
    uint32_t asan;
    uint32_t big_endian;
    const char *soname;
    const char *runpath;
    const struct compute_needed *needed;
    uint64_t needed_count;
    const char *const *exports;
    uint64_t export_count;
    const char *const *undefined; /* strong undefined symbols that no found library defines; only with _DEPS */
    uint64_t undefined_count;
  };

/* Also look the symbols up in the libraries wanted. */
#define COMPUTE_INSPECT_DEPS 1u

  typedef int (*compute_candidate_fn) (void *user, const struct compute_candidate *candidate);

  /* Every candidate of the search, in search order, and the registered tables. Runs no provider's code. */
  COMPUTE_API int compute_list_candidates (struct compute_registry *registry, uint32_t flags, compute_candidate_fn emit,
                                           void *user, struct compute_error *err);

  /* One check of a file, in the order they are made. */
  struct compute_check
  {
    uint32_t size;
    uint32_t passed;    /* 1, or 0; a warning is passed with a reason */
    const char *what;   /* "regular file" */
    const char *found;  /* "type is FIFO" */
    const char *reason; /* "E_NOT_REGULAR"; NULL when all is well */
  };

  typedef int (*compute_check_fn) (void *user, const struct compute_check *check);

  /* One file, whatever its name: every check in order (check may be NULL), then the verdict. Runs none of its code. A
   * bad file is a verdict, not an error. */
  COMPUTE_API int compute_inspect_file (struct compute_registry *registry, const char *path, uint32_t flags,
                                        compute_check_fn check, compute_candidate_fn emit, void *user,
                                        struct compute_error *err);

  /* Called before each step of a load: "check", "dlopen", "entry", "init", "table", "done". */
  typedef void (*compute_stage_fn) (void *user, const char *stage);

  /* Loads one file and runs its init, as compute_resolve would, in this process; a prober calls it in a helper process.
   * *ret_reason is set on failure (static storage), and the message is what it means for this file. Errors: PLUGIN. */
  COMPUTE_API int compute_load_file (struct compute_registry *registry, const char *path, compute_stage_fn stage,
                                     void *user, const char **ret_reason, const struct compute_provider **ret_provider,
                                     struct compute_error *err);

  /* From now on nothing is loaded any more: call it before chroot or setns, so that no library comes from a container.
   */
  COMPUTE_API void compute_freeze (struct compute_registry *registry);

#ifdef __cplusplus
}
#endif

#endif
