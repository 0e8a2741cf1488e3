/* SPDX-License-Identifier: MIT */
/* What a provider with containers can honour, seen from inside; what it cannot is refused, and nothing is left. */
#include "conformance.h"

/* The first of the files that is there, by the versions of control groups. */
static void
assert_group_says (struct place *place, const char *of_version_1, const char *of_version_2, const char *value)
{
  g_autofree char *script
      = g_strdup_printf ("cd /sys/fs/cgroup; cat %s 2>/dev/null || cat %s", of_version_1, of_version_2);
  auto_run run = run_script (place, script, 30 * SECOND);

  assert_exited (run, 0);
  assert_text (run.out->str, value);
}

void
test_stated_limits (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.memory_bytes = 64 * MEBI;
  config.cpu_millis = 250;
  {
    auto_place place = place_open (&config);
    auto_run eaten = run_script (&place, "exec tail /dev/zero", 30 * SECOND);
    auto_run after = run_script (&place, "echo on", 30 * SECOND);

    assert_group_says (&place, "memory/memory.limit_in_bytes", "memory.max", "67108864");
    assert_group_says (&place, "cpu/cpu.cfs_quota_us", "cpu.max", "25000");
    assert_outcome (eaten, OUT_OF_MEMORY, 137, 9);
    assert_prints (after, "on\n");
  }
}

void
test_stated_network (void)
{
  static const char script[] = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '";
  struct compute_config none = COMPUTE_CONFIG_INIT;
  struct compute_config all = COMPUTE_CONFIG_INIT;

  none.network = "none";
  all.network = "unrestricted";
  {
    auto_place closed = place_open (&none);
    auto_place open = place_open (&all);
    auto_run in_closed = run_script (&closed, script, 30 * SECOND);
    auto_run in_open = run_script (&open, script, 30 * SECOND);

    assert_prints (in_closed, "lo\n");
    assert_exited (in_open, 0);
    assert_text (in_open.out->str, "eth0");
  }
}

void
test_stated_user (void)
{
  struct compute_config config = COMPUTE_CONFIG_INIT;

  config.user = "1234:5678";
  {
    auto_place place = place_open (&config);
    auto_run run = run_script (&place, "id -u; id -g; echo data >file && cat file", 30 * SECOND);

    assert_prints (run, "1234\n5678\ndata\n");
  }
}

void
test_stated_mounts (void)
{
  g_autofree char *shared = g_build_filename (private_dir (), "shared folder", NULL);
  g_autofree char *file = g_build_filename (shared, "file", NULL);
  g_autofree char *made = g_build_filename (shared, "made", NULL);
  struct compute_mount mounts[] = { { shared, "/shared", 0, 0 }, { shared, "/only read", COMPUTE_MOUNT_READ_ONLY, 0 } };
  struct compute_config config = COMPUTE_CONFIG_INIT;

  g_assert_cmpint (g_mkdir_with_parents (shared, 0777), ==, 0);
  g_assert_true (g_file_set_contents (file, "data\n", -1, NULL));
  config.mounts = mounts;
  config.mount_count = G_N_ELEMENTS (mounts);
  {
    auto_place place = place_open (&config);
    auto_run run = run_script (
        &place, "cat '/only read/file'; touch /shared/made; touch '/only read/no' 2>/dev/null || echo kept",
        30 * SECOND);

    assert_prints (run, "data\nkept\n");
    g_assert_true (g_file_test (made, G_FILE_TEST_EXISTS));
  }
}

/* Refused with that code and those words, and the handle has no instance. */
static void
assert_provision_refuses (const struct compute_config *config, int code, const char *text)
{
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place place;

  assert_error (place_provision (&place, handle_open (), config, &err), code, &err, text);
  place_close (&place);
}

void
test_stated_what_cannot_be_honoured (void)
{
  struct compute_mount mount = { "/nowhere/at/all", "/mnt", 0, 0 };
  struct compute_pair unknown = { "docker.flags", "--rm" };
  struct compute_config network = COMPUTE_CONFIG_INIT, mounts = COMPUTE_CONFIG_INIT, option = COMPUTE_CONFIG_INIT;
  struct compute_config image = COMPUTE_CONFIG_INIT, workdir = COMPUTE_CONFIG_INIT, gpu = COMPUTE_CONFIG_INIT;
  struct compute_error err = COMPUTE_ERROR_INIT;
  struct place place;

  gpu.gpu = "all";
  g_assert_cmpint (place_provision (&place, handle_open (), &gpu, &err), <, 0); /* no test has one */
  place_close (&place);
  network.network = "some";
  assert_provision_refuses (&network, COMPUTE_E_UNSUPPORTED, "'some'");
  mounts.mounts = &mount;
  mounts.mount_count = 1;
  assert_provision_refuses (&mounts, COMPUTE_E_ENGINE, "/nowhere/at/all");
  mount.source = "/tmp,readonly=false";
  assert_provision_refuses (&mounts, COMPUTE_E_UNSUPPORTED, "comma");
  option.options = &unknown;
  option.option_count = 1;
  assert_provision_refuses (&option, COMPUTE_E_INVALID, "docker.args");
  image.image = "--privileged";
  assert_provision_refuses (&image, COMPUTE_E_INVALID, "--privileged");
  workdir.workdir = "not/absolute";
  assert_provision_refuses (&workdir, COMPUTE_E_INVALID, "not/absolute");
}
