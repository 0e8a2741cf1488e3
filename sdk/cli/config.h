/* SPDX-License-Identifier: MIT */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "request.h"

/* What a command is given, by run through its instance and by exec directly. Its texts are the request's. */
struct compute_config config_of_command (const struct request *request);

/* What an instance is made of. */
struct compute_config config_of_place (const struct request *request);

#endif
