/* SPDX-License-Identifier: MIT */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "request.h"

/* Empty, for options_parse; clear it in any case. */
void request_init (struct request *request, const struct subcommand *subcommand);
void request_clear (struct request *request);

/* Reads the words after the subcommand's name. After an error the request is good for nothing but a report. */
int options_parse (struct request *request, int count, char **words, struct compute_error *err);

/* Adds the list of a subcommand's options to its help. */
void options_describe (const struct subcommand *subcommand, GString *text);

#endif
