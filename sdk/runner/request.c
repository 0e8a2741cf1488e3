/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "instance.h"

#include <string.h>

int
request_is_file (const struct request *request)
{
  return request->kind == START_PUT || request->kind == START_GET;
}

static void
add_text (struct request *request, const char *text, uint32_t bytes)
{
  writer_bytes (&request->text, text, bytes);
  writer_u8 (&request->text, '\0');
}

static void
read_head (struct reader *reader, struct request *request, uint8_t *ret_env_replace)
{
  uint8_t reserved;

  request->kind = reader_u8 (reader);
  request->has_input = reader_u8 (reader);
  *ret_env_replace = reader_u8 (reader);
  reserved = reader_u8 (reader);
  request->mode = reader_u32 (reader);
  request->timeout_ms = (int64_t) reader_u64 (reader);
  request->output_limit_bytes = (int64_t) reader_u64 (reader);
  request->window = reader_u64 (reader);
  if (request->kind < START_SHELL || request->kind > START_GET || request->has_input > 1 || *ret_env_replace > 1
      || reserved != 0)
    reader->failed = 1;
}

static void
read_workdir (struct reader *reader, struct request *request)
{
  uint32_t bytes;
  const char *text = reader_string (reader, &bytes);

  if (bytes > 0)
    add_text (request, text, bytes);
  else
    add_text (request, instance.workdir, (uint32_t) strlen (instance.workdir));
}

static void
read_words (struct reader *reader, struct request *request)
{
  request->word_count = reader_count (reader, 4);
  for (uint32_t i = 0; i < request->word_count && !reader->failed; i++)
    {
      uint32_t bytes;
      const char *text = reader_string (reader, &bytes);

      add_text (request, text, bytes);
    }
}

/* A command has the instance's limits, a file has none, unless they are stated. */
static int
resolve_limits (struct request *request, struct compute_error *err)
{
  int64_t timeout_ms = request_is_file (request) ? 0 : instance.timeout_ms;
  int64_t limit = request_is_file (request) ? 0 : instance.output_limit_bytes;
  int result = instance_limit ("timeout_ms", request->timeout_ms, timeout_ms, &request->timeout_ms, err);

  if (result == 0)
    result
        = instance_limit ("output_limit_bytes", request->output_limit_bytes, limit, &request->output_limit_bytes, err);
  return result;
}

/* What is well-formed and yet cannot be done. */
static int
check (struct request *request, struct compute_error *err)
{
  const char *workdir = (const char *) request->text.bytes;

  if (request->text.failed || request->text.count > UINT32_MAX)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory for the command's text");
  if (request->word_count == 0 || (request->kind != START_ARGV && request->word_count != 1))
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the command has %u words: it needs %s", request->word_count,
                              request->kind == START_ARGV ? "one or more" : "one");
  if (request_is_file (request) && workdir[strlen (workdir) + 1] == '\0')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the path of the file is empty");
  if (*workdir != '\0' && *workdir != '/')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the working directory '%s' is not an absolute path", workdir);
  return resolve_limits (request, err);
}

int
request_read (const unsigned char *payload, size_t count, struct request *request, struct compute_error *err)
{
  struct env env = { 0 };
  struct reader reader;
  uint8_t env_replace;
  int result;

  *request = (struct request){ 0 };
  reader_init (&reader, payload, count);
  read_head (&reader, request, &env_replace);
  read_workdir (&reader, request);
  result = env_read (&reader, env_replace ? NULL : &instance.env, &env, err);
  read_words (&reader, request);
  writer_bytes (&request->text, env.text.bytes, env.text.count);
  request->env_count = env.count;
  writer_free (&env.text);
  if (!reader_done (&reader))
    return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "malformed START");
  return result != 0 ? result : check (request, err);
}

void
request_free (struct request *request)
{
  writer_free (&request->text);
}
