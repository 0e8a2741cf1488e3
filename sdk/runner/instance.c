/* SPDX-License-Identifier: MIT */
#include "instance.h"

#include "folder.h"

#include <compute/provider.h>
#include <stdlib.h>

struct instance instance;

static void
clear (struct instance *old)
{
  free (old->workdir);
  writer_free (&old->env.text);
}

int
instance_open (struct compute_error *err)
{
  instance.timeout_ms = COMPUTE_DEFAULT_TIMEOUT_MS;
  instance.output_limit_bytes = COMPUTE_DEFAULT_OUTPUT_LIMIT_BYTES;
  instance.workdir = strdup ("");
  if (instance.workdir == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory");
  return env_own (&instance.env, err);
}

void
instance_close (void)
{
  clear (&instance);
  instance = (struct instance){ 0 };
}

int
instance_limit (const char *name, int64_t stated, int64_t inherited, int64_t *ret_value, struct compute_error *err)
{
  if (stated < 0 && stated != COMPUTE_UNSET)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "%s is %lld: it must be 0 (none) or more", name,
                              (long long) stated);
  *ret_value = stated != COMPUTE_UNSET ? stated : inherited;
  return 0;
}

static int
malformed (struct compute_error *err)
{
  return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "malformed CONFIGURE");
}

static int
configure (struct reader *reader, struct instance *to, struct compute_error *err)
{
  int64_t timeout_ms = (int64_t) reader_u64 (reader);
  int64_t limit = (int64_t) reader_u64 (reader);
  uint8_t replace = reader_u8 (reader);
  uint32_t bytes;
  const char *workdir = reader_string (reader, &bytes);
  int result = env_read (reader, replace ? NULL : &instance.env, &to->env, err);

  if (!reader_done (reader) || replace > 1)
    return malformed (err);
  if (result == 0)
    result = instance_limit ("timeout_ms", timeout_ms, instance.timeout_ms, &to->timeout_ms, err);
  if (result == 0)
    result = instance_limit ("output_limit_bytes", limit, instance.output_limit_bytes, &to->output_limit_bytes, err);
  if (result != 0)
    return result;
  to->workdir = strndup (workdir, bytes);
  if (to->workdir == NULL)
    return compute_error_set (err, COMPUTE_E_NO_MEMORY, ENOMEM, "no memory");
  if (bytes > 0 && *workdir != '/')
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "the working directory '%s' is not an absolute path",
                              to->workdir);
  return bytes > 0 ? folder_make (to->workdir, err) : 0;
}

int
instance_configure (const unsigned char *payload, size_t count, struct compute_error *err)
{
  struct instance fresh = { .configured = 1 };
  struct reader reader;
  int result;

  if (instance.configured)
    return compute_error_set (err, COMPUTE_E_PROTOCOL, 0, "CONFIGURE came a second time");
  reader_init (&reader, payload, count);
  result = configure (&reader, &fresh, err);
  if (result != 0)
    {
      clear (&fresh);
      return result;
    }
  clear (&instance);
  instance = fresh;
  return 0;
}
