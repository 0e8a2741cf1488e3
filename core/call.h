/* SPDX-License-Identifier: MIT */
#ifndef CORE_CALL_H
#define CORE_CALL_H

#include <compute/compute.h>

/**
 * call.h: what a caller gives, checked and brought to this core's size, so that every provider sees the same: whole
 * structs, defaults where an older caller's struct ends, and nothing that the contract forbids.
 */

/* Each fills *ret from an argument that may be NULL and of any size. Errors: INVALID. */
int options_take (struct compute_registry_options *ret, const struct compute_registry_options *given,
                  struct compute_error *err);
int call_take (struct compute_call *ret, const struct compute_call *given, struct compute_error *err);
int command_take (struct compute_command *ret, const struct compute_command *given, struct compute_error *err);

/* A config whose env holds each name once: the last value given counts. */
struct own_config
{
  struct compute_config config;
  struct compute_pair *env; /* owned */
};

/* Errors: INVALID, NO_MEMORY; for_execute also UNSUPPORTED. Free with own_config_clear, also after an error. */
int config_take_for_provision (struct own_config *ret, const struct compute_config *given, struct compute_error *err);
int config_take_for_execute (struct own_config *ret, const struct compute_config *given, struct compute_error *err);
void own_config_clear (struct own_config *own);

/* Copies what a provider filled into the caller's struct, as far as the caller's reaches; its size stays. */
void result_give (void *to, const void *from, size_t our_bytes);

/* Errors: INVALID (NULL, or its size was not set). */
int result_check (const void *ret, const char *what, struct compute_error *err);

#endif
