/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "display.h"
#include "probe-channel.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STDERR_TAIL_BYTES 4096

/* One helper under way. */
struct probe
{
  pid_t pid;
  int channel;     /* records of probe-channel.h; -1 once it has hung up */
  int noise;       /* the helper's stderr; -1 once it has ended */
  int child_event; /* signalfd for SIGCHLD */
  int64_t started_us;
  int64_t timeout_ms;
  bool ended;    /* the helper has; it is not reaped yet */
  cJSON *result; /* its last word */
  char stage[16];
  GString *tail;
};

static void
close_p (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

/* A group of its own, default signals, /dev/null as stdin, stdout and stderr into the pipe, and the channel. */
static int
spawn_helper (const char *helper, const char *path, int channel, int noise, pid_t *ret_pid)
{
  char *argv[] = { (char *) helper, (char *) path, NULL };
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  int failed;

  sigemptyset (&none);
  sigfillset (&all);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2 (&actions, noise, STDERR_FILENO);
  posix_spawn_file_actions_adddup2 (&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2 (&actions, channel, PROBE_CHANNEL_FD);
  failed = posix_spawn (ret_pid, helper, &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  return failed;
}

/* What the plugin started becomes a child of this process when the helper ends, so that its end can be waited for. */
static int
watch_children (void)
{
  const struct sigaction normal = { .sa_handler = SIG_DFL };
  sigset_t child;

  sigaction (SIGCHLD, &normal, NULL); /* ignored, a child would leave no status */
  sigemptyset (&child);
  sigaddset (&child, SIGCHLD);
  sigprocmask (SIG_BLOCK, &child, NULL);
  (void) prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  return signalfd (-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
start (struct probe *probe, const char *helper, const char *path, struct compute_error *err)
{
  int channel[2] = { -1, -1 };
  int noise[2] = { -1, -1 };
  int failed = 0;

  probe->started_us = g_get_monotonic_time ();
  probe->child_event = watch_children ();
  if (probe->child_event < 0 || socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) != 0
      || pipe2 (noise, O_CLOEXEC) != 0 || fcntl (noise[0], F_SETFL, O_NONBLOCK) != 0
      || fcntl (channel[1], F_SETFL, 0) != 0)
    failed = errno;
  else
    failed = spawn_helper (helper, path, channel[1], noise[1], &probe->pid);
  probe->channel = channel[0];
  probe->noise = noise[0];
  close_p (&channel[1]);
  close_p (&noise[1]);
  if (failed != 0)
    return compute_error_set (err, COMPUTE_E_SYSTEM, failed, "cannot start '%s': %s", helper, g_strerror (failed));
  return 0;
}

/* Keeps the last bytes. Bounded, for a writer that never stops. */
static void
drain_noise (struct probe *probe)
{
  char buffer[16384];
  ssize_t got = 1;

  for (int i = 0; i < 64 && probe->noise >= 0 && got > 0; i++)
    {
      got = read (probe->noise, buffer, sizeof buffer);
      if (got > 0)
        g_string_append_len (probe->tail, buffer, got);
      if (probe->tail->len > STDERR_TAIL_BYTES)
        g_string_erase (probe->tail, 0, (gssize) (probe->tail->len - STDERR_TAIL_BYTES));
    }
  if (got == 0)
    close_p (&probe->noise);
}

static void
take_record (struct probe *probe, const char *record, size_t bytes)
{
  if (record[0] == '{')
    probe->result = cJSON_ParseWithLength (record, bytes);
  else if (bytes < sizeof probe->stage && g_utf8_validate (record, (gssize) bytes, NULL))
    {
      memcpy (probe->stage, record, bytes);
      probe->stage[bytes] = '\0';
    }
}

static void
drain_channel (struct probe *probe)
{
  char record[PROBE_RECORD_BYTES];
  ssize_t got = 1;

  while (probe->channel >= 0 && got > 0 && probe->result == NULL)
    {
      got = recv (probe->channel, record, sizeof record, 0);
      if (got > 0)
        take_record (probe, record, (size_t) got);
    }
  if (got == 0)
    close_p (&probe->channel);
}

/* Until the result, the helper's own end, or the deadline. A channel or a pipe that closes decides nothing, nor does
 * one that a child of the plugin keeps open. */
static void
watch (struct probe *probe)
{
  while (probe->result == NULL && !probe->ended)
    {
      struct pollfd fds[] = { { .fd = probe->channel, .events = POLLIN },
                              { .fd = probe->noise, .events = POLLIN },
                              { .fd = probe->child_event, .events = POLLIN } };
      int64_t left_ms = probe->timeout_ms - (g_get_monotonic_time () - probe->started_us) / 1000;
      struct signalfd_siginfo event;
      siginfo_t info = { .si_pid = 0 };

      if (left_ms <= 0)
        return;
      (void) poll (fds, G_N_ELEMENTS (fds), (int) left_ms);
      while (read (probe->child_event, &event, sizeof event) > 0)
        continue;
      probe->ended = waitid (P_PID, (id_t) probe->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
      drain_channel (probe); /* after the look at the child: what it sent last is there by now */
      drain_noise (probe);
    }
}

/* The group first: while the helper is not reaped, its number cannot be anybody else's. A signal takes its time, so all
 * of the group are waited for: nothing lives on once the probe is over. */
static int
end_helper (struct probe *probe)
{
  int status = 0;

  kill (-probe->pid, SIGKILL);
  while (waitpid (probe->pid, &status, 0) < 0 && errno == EINTR)
    continue;
  while (waitpid (-probe->pid, NULL, 0) > 0 || errno == EINTR)
    continue;
  drain_noise (probe);
  return status;
}

/* What there is to say of a helper that gave no result. */
static void
judge (const struct probe *probe, int status, cJSON *report)
{
  g_autofree char *message = NULL;
  const char *result = "timeout", *reason = "E_INIT_TIMEOUT";

  if (!probe->ended)
    message = g_strdup_printf ("did not finish step '%s' within %g s", probe->stage, (double) probe->timeout_ms / 1000);
  else if (WIFSIGNALED (status))
    {
      result = "signal", reason = "E_INIT_SIGNAL";
      message = g_strdup_printf ("ended by signal %d (%s) in step '%s'", WTERMSIG (status),
                                 g_strsignal (WTERMSIG (status)), probe->stage);
    }
  else
    {
      result = "exit", reason = "E_INIT_EXIT";
      message = g_strdup_printf ("ended the process with status %d in step '%s'", WEXITSTATUS (status), probe->stage);
    }
  cJSON_AddStringToObject (report, "result", result);
  cJSON_AddStringToObject (report, "reason", reason);
  cJSON_AddStringToObject (report, "message", message);
}

static void
add_number_or_null (cJSON *object, const char *key, bool known, int number)
{
  if (known)
    cJSON_AddNumberToObject (object, key, number);
  else
    cJSON_AddNullToObject (object, key);
}

static void
add_display (cJSON *object, const char *key, const char *text)
{
  g_autofree char *safe = text != NULL ? display_json (text) : NULL;

  if (safe != NULL)
    cJSON_AddStringToObject (object, key, safe);
  else
    cJSON_AddNullToObject (object, key);
}

/* The helper's own result, each part taken only if it is what it should be. */
static void
take_result (const cJSON *result, cJSON *report)
{
  const cJSON *table = cJSON_GetObjectItemCaseSensitive (result, "provider");
  const char *reason = probe_text (result, "reason");

  cJSON_AddStringToObject (report, "result", reason != NULL ? "failed" : "ok");
  add_display (report, "reason", reason);
  add_display (report, "message", probe_text (result, "message"));
  if (cJSON_IsObject (table))
    {
      cJSON *provider = cJSON_AddObjectToObject (report, "provider");
      double capabilities = cJSON_GetNumberValue (cJSON_GetObjectItemCaseSensitive (table, "capabilities"));

      add_display (provider, "name", probe_text (table, "name"));
      add_display (provider, "version", probe_text (table, "version"));
      add_display (provider, "description", probe_text (table, "description"));
      cJSON_AddNumberToObject (provider, "capabilities", capabilities >= 0 && capabilities < 1e15 ? capabilities : 0);
    }
}

static cJSON *
make_report (const struct probe *probe, int status)
{
  cJSON *report = cJSON_CreateObject ();
  bool own_end = probe->ended && probe->result == NULL;
  g_autofree char *tail = g_strndup (probe->tail->str, probe->tail->len);

  cJSON_AddStringToObject (report, "stage", probe->stage);
  if (probe->result != NULL)
    take_result (probe->result, report);
  else
    judge (probe, status, report);
  add_number_or_null (report, "signal", own_end && WIFSIGNALED (status), WTERMSIG (status));
  add_number_or_null (report, "exit", own_end && WIFEXITED (status), WEXITSTATUS (status));
  cJSON_AddNumberToObject (report, "ms", (double) ((g_get_monotonic_time () - probe->started_us) / 1000));
  add_display (report, "stderr_tail", tail);
  return report;
}

static void
clear (struct probe *probe)
{
  close_p (&probe->channel);
  close_p (&probe->noise);
  close_p (&probe->child_event);
  cJSON_Delete (probe->result);
  g_string_free (probe->tail, TRUE);
}

int
probe_file (const char *helper, const char *path, int64_t timeout_ms, cJSON **ret_report, struct compute_error *err)
{
  struct probe probe = { .channel = -1, .noise = -1, .child_event = -1, .timeout_ms = timeout_ms };
  int code, status;

  probe.tail = g_string_new (NULL);
  code = start (&probe, helper, path, err);
  if (code == 0)
    {
      watch (&probe);
      status = end_helper (&probe);
      if (probe.ended && probe.result == NULL && probe.stage[0] == '\0')
        code = compute_error_set (err, COMPUTE_E_SYSTEM, 0, "'%s' ended before its first step: %s", helper,
                                  probe.tail->str);
      else
        *ret_report = make_report (&probe, status);
    }
  clear (&probe);
  return code;
}

const char *
probe_text (const cJSON *report, const char *key)
{
  return cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (report, key));
}
