/* SPDX-License-Identifier: Apache-2.0
 * The manifest of a recording, as it is read: docs/tracing.md has the format. The file is untrusted input. */
#ifndef CW_TRACE_MANIFEST_H
#define CW_TRACE_MANIFEST_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>

/* The manifest in `data`; NULL after a message about `path` when it is none. The caller deletes it. */
cJSON *manifest_parse(const char *data, size_t size, const char *path);
/* Of the recording in `dir`; NULL after a message. */
cJSON *manifest_read(const char *dir);
/* The part of it that `report` prints: program, times, exit, device. Fields that are missing or of another type are left out. */
void manifest_print(const cJSON *m, FILE *out);

/* Why the recording in `dir` holds no trace, as a message. */
void manifest_say_empty(const char *dir);

#endif
