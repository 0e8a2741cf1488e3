/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_PROBE_CHANNEL_H
#define PLUGIN_LS_PROBE_CHANNEL_H

/**
 * Between plugin-ls and its probe helper: one socket of records (SOCK_SEQPACKET), descriptor 3 of the helper at its
 * start. The helper sends the name of each step before it begins it, and at last one JSON object, the result:
 *   { "reason": "E_..." or null, "message": text or null, "provider": object or null }
 * The other end is plugin-ls's alone, so that the socket hangs up when plugin-ls dies, however it dies. What comes
 * from the helper may come from the plugin, and is read as such.
 */

#define PROBE_CHANNEL_FD 3
#define PROBE_RECORD_BYTES 65536
#define PROBE_TEXT_BYTES 2048 /* of one text in a result, cut there */

#endif
