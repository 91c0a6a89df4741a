/* SPDX-License-Identifier: Apache-2.0
 * The manifest of a recording, as it is read: docs/tracing.md has the format. The file is untrusted input. */
#ifndef CW_TRACE_MANIFEST_H
#define CW_TRACE_MANIFEST_H

#include "impl/base/buf.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The manifest in `data`; NULL after a message about `path` when it is none. The caller deletes it. */
cJSON *manifest_parse(const char *data, size_t size, const char *path);
/* Of the recording in `dir`; NULL after a message. */
cJSON *manifest_read(const char *dir);
/* The part of it that `report` prints: program, times, exit, device. Fields that are missing or of another type are left out. */
void manifest_print(const cJSON *m, FILE *out);

/* Whether the trace's files are there that the manifest of `dir` counts; a message about the first folder where some are not. True without a manifest, or without
 * the count, which recordings of older versions lack. */
bool manifest_streams_are_there(const char *dir);
/* The value of the manifest's "streams", as JSON: of each folder in `dir`/trace how many files it holds that are not empty. */
void manifest_put_streams(struct cw_buf *b, const char *dir);

/* Why the recording in `dir` holds no trace, as a message. */
void manifest_say_empty(const char *dir);

#endif
