/* SPDX-License-Identifier: MIT */
#include "config_copy.h"

#include <glib.h>

static struct compute_pair *
copy_pairs (const struct compute_pair *pairs, uint64_t count)
{
  struct compute_pair *copy = g_new0 (struct compute_pair, count);

  for (uint64_t i = 0; i < count; i++)
    copy[i] = (struct compute_pair){ g_strdup (pairs[i].name), g_strdup (pairs[i].value) };
  return copy;
}

static void
free_pairs (const struct compute_pair *pairs, uint64_t count)
{
  for (uint64_t i = 0; i < count; i++)
    {
      g_free ((char *) pairs[i].name);
      g_free ((char *) pairs[i].value);
    }
  g_free ((struct compute_pair *) pairs);
}

static struct compute_mount *
copy_mounts (const struct compute_mount *mounts, uint64_t count)
{
  struct compute_mount *copy = g_new0 (struct compute_mount, count);

  for (uint64_t i = 0; i < count; i++)
    {
      copy[i] = mounts[i];
      copy[i].source = g_strdup (mounts[i].source);
      copy[i].target = g_strdup (mounts[i].target);
    }
  return copy;
}

struct compute_config *
config_copy (const struct compute_config *config)
{
  struct compute_config *copy = g_new (struct compute_config, 1);

  *copy = *config;
  copy->image = g_strdup (config->image);
  copy->workdir = g_strdup (config->workdir);
  copy->user = g_strdup (config->user);
  copy->network = g_strdup (config->network);
  copy->gpu = g_strdup (config->gpu);
  copy->definition = g_strdup (config->definition);
  copy->env = copy_pairs (config->env, config->env_count);
  copy->options = copy_pairs (config->options, config->option_count);
  copy->mounts = copy_mounts (config->mounts, config->mount_count);
  return copy;
}

void
config_free (struct compute_config *config)
{
  if (config == NULL)
    return;
  g_free ((char *) config->image);
  g_free ((char *) config->workdir);
  g_free ((char *) config->user);
  g_free ((char *) config->network);
  g_free ((char *) config->gpu);
  g_free ((char *) config->definition);
  free_pairs (config->env, config->env_count);
  free_pairs (config->options, config->option_count);
  for (uint64_t i = 0; i < config->mount_count; i++)
    {
      g_free ((char *) config->mounts[i].source);
      g_free ((char *) config->mounts[i].target);
    }
  g_free ((struct compute_mount *) config->mounts);
  g_free (config);
}
