/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_LS_DISPLAY_H
#define PLUGIN_LS_DISPLAY_H

/* Names, paths and messages come from files and plugins: they are any bytes, and a terminal acts on some. */

/* Valid UTF-8 for JSON: a byte that is none becomes \xNN. */
char *display_json (const char *bytes);

/* For a terminal: besides, every character that is not printable (controls, newlines, direction marks) becomes \xNN. */
char *display_text (const char *bytes);

/* How many columns a text of display_text takes. */
int display_width (const char *text);

/* One line on stderr: "plugin-ls: ...". */
void complain (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

#endif
