/* SPDX-License-Identifier: Apache-2.0
 * Machine code of a fatbin as it is stored, often compressed. It comes from files of other people. */
#ifndef TRACER_CLI_CHECK_CUBIN_H
#define TRACER_CLI_CHECK_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

/* Calls found() with the name of each kernel and variable in it; the name is valid during the call. `compression` is "none", "lz4" or "zstd". *room: bytes that may
 * be decompressed, less what this takes. False: they, or some of them, cannot be named. */
bool cubin_read(const void *data, size_t size, const char *compression, size_t *room, void (*found)(void *user, const char *name, bool kernel), void *user);

#endif
