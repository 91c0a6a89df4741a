/* SPDX-License-Identifier: Apache-2.0
 * The disk cache of compiled kernels: one file per entry, named by the key, in a folder of mode 0700 that belongs to the user. Files are
 * written atomically, carry a checksum, and are bounded by CUDAWAY_CACHE_SIZE; the least recently used go first (a hit touches the file).
 * An unusable cache causes one warning, never an error.
 *
 * File: "CWJK", u32 version 3, key[32], cwh_code_info (7 x u32), a zero u32, u64 object size, SHA-256 of everything except these 32 bytes,
 * object. Little endian. */
#ifndef CWJ_DRIVER_CACHE_H
#define CWJ_DRIVER_CACHE_H

#include "jit/abi/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On a hit the caller frees *object. A damaged entry is removed and counts as a miss. */
bool cwj_cache_get(const uint8_t key[32], struct cwh_code_info *info, char **object, size_t *size);
void cwj_cache_put(const uint8_t key[32], const struct cwh_code_info *info, const void *object, size_t size);

#endif
