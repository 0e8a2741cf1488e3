/* SPDX-License-Identifier: MIT */
#ifndef CORE_HANDLE_H
#define CORE_HANDLE_H

#include <compute/compute.h>

/* Opens a state of its own on a checked table. name is copied, host must outlive the handle. Errors: those of the
 * provider's open. */
int handle_open (const struct compute_provider *provider, const char *name, const struct compute_host *host,
                 struct compute_handle **ret_handle, struct compute_error *err);

/* One line to the log of the handle's host application; dropped where there is none. */
void handle_log (const struct compute_handle *handle, uint32_t level, const char *format, ...) COMPUTE_PRINTF (3, 4);

/* The same for a line that something else made up: a warning, in the form of a callback. */
void handle_warn (void *handle, const char *line);

/* compute.capture/1, NULL where the provider has none; the three calls need it. Errors: those of provider.h. */
const struct compute_capture *handle_captures (const struct compute_handle *handle);
int handle_capture (struct compute_handle *handle, const char *instance, const struct compute_capture_request *request,
                    const struct compute_call *call, struct compute_image *ret_base, struct compute_image *ret_image,
                    struct compute_error *err);
int handle_has (struct compute_handle *handle, const char *const *refs, uint64_t count, const struct compute_call *call,
                struct compute_image *ret_images, struct compute_error *err);
int handle_remove (struct compute_handle *handle, const char *ref, const struct compute_call *call,
                   struct compute_error *err);

#endif
