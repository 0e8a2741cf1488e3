/* SPDX-License-Identifier: MIT */
#include "kit.h"

static struct instances *
get_table (struct compute_provider_state *state)
{
  return (struct instances *) (void *) state;
}

int
slot_shutdown (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
               struct compute_error *err)
{
  return instances_shut_down (get_table (state), instance, call, err);
}

int
slot_list_instances (struct compute_provider_state *state, compute_instance_fn emit, void *user,
                     const struct compute_call *call, struct compute_error *err)
{
  return instances_list (get_table (state), emit, user, call, err);
}

int
slot_get_status (struct compute_provider_state *state, const char *instance, const struct compute_call *call,
                 struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_instance about;
  int result = instances_status (get_table (state), instance, call, &about, err);

  if (result == 0)
    give_instance (ret_instance, &about);
  return result;
}

static int
put (struct compute_provider_state *state, const char *instance, const char *path, uint32_t mode, int32_t source_fd,
     const struct compute_call *call, struct compute_error *err)
{
  struct link *link;
  int result = instances_enter (get_table (state), instance, call, &link, err);

  if (result != 0)
    return result;
  result = compute_runner_put (link->runner, path, mode, source_fd, call, err);
  instances_leave (get_table (state), link);
  return result;
}

static int
get (struct compute_provider_state *state, const char *instance, const char *path, int32_t target_fd,
     const struct compute_call *call, struct compute_file_info *ret_info, struct compute_error *err)
{
  struct link *link;
  int result = instances_enter (get_table (state), instance, call, &link, err);

  if (result != 0)
    return result;
  result = compute_runner_get (link->runner, path, target_fd, call, ret_info, err);
  instances_leave (get_table (state), link);
  return result;
}

const void *
slot_get_extension (const char *id)
{
  static const struct compute_files files = { .size = sizeof files, .put = put, .get = get };

  return strcmp (id, COMPUTE_FILES_ID) == 0 ? &files : NULL;
}
