/* SPDX-License-Identifier: MIT */
#ifndef CORE_TOOL_PLACE_H
#define CORE_TOOL_PLACE_H

/* A place's tools and its one instance. */

#include "template.h"

#include <compute/compute.h>

/* A tool with a command. It does not change, and is freed when nobody holds it. */
struct tool
{
  struct template *template;
  char *command; /* as declared */
  int64_t timeout_ms;
  char *description; /* or NULL, as below */
  cJSON *schema;     /* of the arguments */
  char *parameters;  /* schema as text */
};

/* A tool of that command, to be given back with tool_release. Errors: those of a template. */
int tool_new (const char *command, int64_t timeout_ms, struct tool **ret_tool, struct compute_error *err);

/* INVALID where the place has no provider that could run a command. */
int place_check_commands (const struct compute_place *place, struct compute_error *err);

/* Tools by name, char * -> struct tool *; holds them. */
GHashTable *tools_new (void);

/* Declares them all at once. */
void place_declare (struct compute_place *place, GHashTable *tools);

/* The tool, to be given back with tool_release; NULL when it has no command here. */
struct tool *place_hold_tool (struct compute_place *place, const char *name);
void tool_release (struct tool *tool);

/* The name for people, and the handle to run on; NULL: the place has no provider. */
const char *place_name (const struct compute_place *place);
struct compute_handle *place_handle (const struct compute_place *place);

/* The id of the instance, which is made when there is none; of many callers one makes it. *ret_flags: COMPUTE_TOOL_*.
 */
int place_enter (struct compute_place *place, const struct compute_call *call, char id[64], uint32_t *ret_flags,
                 struct compute_error *err);

/* The instance of that id is no more: the next call makes another. */
void place_note_death (struct compute_place *place, const char *id);

#endif
