/* SPDX-License-Identifier: Apache-2.0
 * /etc/ld.so.cache, the dynamic linker's list of libraries, as ldconfig of glibc writes it. The file may be damaged: nothing outside of it is read. */
#ifndef TRACER_CLI_LD_CACHE_H
#define TRACER_CLI_LD_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* What of a cache's entries is of an architecture: ldconfig's flags. */
enum { LD_CACHE_X86_64 = 0x0303, LD_CACHE_AARCH64 = 0x0a03 };

/* The path of library `name` for that architecture; of several entries the one for the first of the named subdirectories of glibc-hwcaps, else the plain one.
 * The path lies in `data`, with its end. NULL: there is none. */
const char *ld_cache_find(const void *data, size_t size, const char *name, uint32_t flags, const char *const *hwcaps, unsigned hwcap_count);

#endif
