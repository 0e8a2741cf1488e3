/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_PROBE_H
#define PLUGIN_LS_PROBE_H

#include <cjson/cJSON.h>
#include <compute/error.h>

/**
 * probe_file: loads a provider in a helper process, and says how that went.
 *
 * The report is a JSON object, as plugin-ls prints it and as the cache keeps it:
 *   result       "ok", "failed", "signal", "exit" or "timeout"
 *   stage        the last step that was begun: "check", "dlopen", "entry", "init", "table", "done"
 *   signal, exit number or null
 *   ms           how long it took
 *   reason       "E_..." or null;  message: text or null
 *   stderr_tail  the last of what the provider wrote on stdout and stderr
 *   provider     name, version, description and capabilities (a number) of the loaded table, or null
 *
 * @helper: the helper program
 * Returns: 0, also for a provider that does not load; SYSTEM (the helper could not be started, or ended by itself).
 */
int probe_file (const char *helper, const char *path, int64_t timeout_ms, cJSON **ret_report,
                struct compute_error *err);

/* Texts of a report, NULL where it has none or is no such thing. */
const char *probe_text (const cJSON *report, const char *key);

#endif
