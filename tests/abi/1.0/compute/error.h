/* SPDX-License-Identifier: MIT */
#ifndef COMPUTE_ERROR_H
#define COMPUTE_ERROR_H

/**
 * error.h: the error convention of every libcompute interface.
 *
 * A function returns 0, or one of the negative codes below with *err filled. On failure every ret_ output is left
 * alone; on success *err is left alone. The record belongs to the caller, lives inline (no heap, no destructor) and may
 * be NULL. Branch on the code only, and treat an unknown negative code as a failure; the message is for people.
 *
 * A command that fails, is killed or runs out of time is a result (struct compute_result), never an error.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
{
#endif

#if defined __GNUC__
#define COMPUTE_PRINTF(format_index, first_index) __attribute__ ((format (printf, format_index, first_index)))
#else
#define COMPUTE_PRINTF(format_index, first_index)
#endif

/* X (name, value, token, text). Values are ABI and wire format, tokens appear in JSON: append, never
 * renumber, never rename; a retired code keeps its line with the text "retired". */
#define COMPUTE_ERROR_MAP(X)                                                                                           \
  X (INVALID, -1, "invalid_argument", "invalid argument")                                                              \
  X (NOT_FOUND, -2, "not_found", "no such thing")                                                                      \
  X (UNSUPPORTED, -3, "unsupported", "operation not supported")                                                        \
  X (UNKNOWN_PROVIDER, -4, "unknown_provider", "unknown compute provider")                                             \
  X (NO_MEMORY, -5, "no_memory", "out of memory")                                                                      \
  X (SYSTEM, -6, "system", "system call failed")                                                                       \
  X (UNAVAILABLE, -7, "unavailable", "provider not available")                                                         \
  X (NOT_RUNNING, -8, "not_running", "instance not running")                                                           \
  X (NOT_STARTED, -9, "not_started", "command could not be started")                                                   \
  X (ENGINE, -10, "engine", "the provider's engine failed")                                                            \
  X (LOST, -11, "lost", "connection lost; whether the command finished is unknown")                                    \
  X (CANCELLED, -12, "cancelled", "cancelled by the caller")                                                           \
  X (TIMEOUT, -13, "timeout", "no answer in time")                                                                     \
  X (DENIED, -14, "denied", "permission denied")                                                                       \
  X (BUSY, -15, "busy", "busy")                                                                                        \
  X (PLUGIN, -16, "plugin", "provider plugin could not be loaded")                                                     \
  X (PROTOCOL, -17, "protocol", "the runner's protocol was broken")                                                    \
  X (UNKNOWN_TOOL, -18, "unknown_tool", "no such tool")                                                                \
  X (TOOL_FAILED, -19, "tool_failed", "the tool failed")                                                               \
  X (PREPARE_FAILED, -20, "prepare_failed", "the environment could not be prepared")

  enum compute_error_code
  {
#define COMPUTE_ERROR_ENUM(name, value, token, text) COMPUTE_E_##name = value,
    COMPUTE_ERROR_MAP (COMPUTE_ERROR_ENUM)
#undef COMPUTE_ERROR_ENUM
        COMPUTE_OK
    = 0
  };

  struct compute_error
  {
    uint32_t size;     /* bytes; sizeof (struct compute_error) where the caller was compiled */
    int32_t code;      /* 0, or one of COMPUTE_E_* */
    int32_t sys_errno; /* errno where it failed, 0 if none; to show, not to branch on */
    char message[244]; /* UTF-8, NUL-terminated, cut at a character if too long */
  };
/* clang-format off */
#define COMPUTE_ERROR_INIT { sizeof (struct compute_error), 0, 0, "" }
  /* clang-format on */

  /* The stable word for a code, for JSON and logs: "not_found". "unknown" for a code of a newer library. Static
   * storage. */
  static inline const char *
  compute_error_token (int code)
  {
    switch (code)
      {
#define COMPUTE_ERROR_TOKEN(name, value, token, text)                                                                  \
  case value:                                                                                                          \
    return token;
        COMPUTE_ERROR_MAP (COMPUTE_ERROR_TOKEN)
#undef COMPUTE_ERROR_TOKEN
      case 0:
        return "ok";
      default:
        return "unknown";
      }
  }

  /* One English phrase for a code. Static storage. */
  static inline const char *
  compute_error_text (int code)
  {
    switch (code)
      {
#define COMPUTE_ERROR_TEXT(name, value, token, text)                                                                   \
  case value:                                                                                                          \
    return text;
        COMPUTE_ERROR_MAP (COMPUTE_ERROR_TEXT)
#undef COMPUTE_ERROR_TEXT
      case 0:
        return "no error";
      default:
        return "unknown error";
      }
  }

  /* Internal to this header: ends message before a UTF-8 character that was cut in two. */
  static inline void
  compute_error_end_at_character (char *message, size_t length)
  {
    size_t start = length;

    while (start > 0 && ((unsigned char) message[start - 1] & 0xC0) == 0x80)
      start--;
    if (start > 0 && (unsigned char) message[start - 1] >= 0xC0)
      {
        unsigned char lead = (unsigned char) message[start - 1];
        size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;

        if (length - (start - 1) < want)
          message[start - 1] = '\0';
      }
  }

  /* Fills *err (which may be NULL) and returns code, so that a caller writes "return compute_error_set (...)".
   * No heap. Keeps errno. */
  COMPUTE_PRINTF (4, 5)
  static inline int
  compute_error_set (struct compute_error *err, int code, int sys_errno, const char *format, ...)
  {
    int saved = errno;
    int length;
    va_list args;

    if (err == NULL)
      return code;
    err->code = code;
    err->sys_errno = sys_errno;
    va_start (args, format);
    length = vsnprintf (err->message, sizeof err->message, format, args);
    va_end (args);
    if (length < 0)
      err->message[0] = '\0';
    else if ((size_t) length >= sizeof err->message)
      compute_error_end_at_character (err->message, sizeof err->message - 1);
    errno = saved;
    return code;
  }

  /* Puts what a layer was doing in front of the message: "provision: no shell". Returns code, and fills nothing
   * when err is NULL. Keeps errno. */
  COMPUTE_PRINTF (3, 4)
  static inline int
  compute_error_prefix (struct compute_error *err, int code, const char *format, ...)
  {
    char old[sizeof ((struct compute_error *) 0)->message];
    size_t used, room;
    va_list args;
    int saved = errno;
    int length;

    if (err == NULL)
      return code;
    memcpy (old, err->message, sizeof old);
    old[sizeof old - 1] = '\0';
    va_start (args, format);
    length = vsnprintf (err->message, sizeof err->message, format, args);
    va_end (args);
    used = length < 0 ? 0 : (size_t) length;
    if (used > sizeof err->message - 1)
      used = sizeof err->message - 1;
    room = sizeof err->message - 1 - used;
    if (strlen (old) < room)
      room = strlen (old);
    memcpy (err->message + used, old, room);
    err->message[used + room] = '\0';
    if (used + room == sizeof err->message - 1)
      compute_error_end_at_character (err->message, used + room);
    errno = saved;
    return code;
  }

#ifdef __cplusplus
}
#endif

#endif
