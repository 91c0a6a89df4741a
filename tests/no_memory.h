/* SPDX-License-Identifier: Apache-2.0
 * The program's malloc, which fails where the test says so: fails(), which who includes this defines. Needs _GNU_SOURCE. */
#ifndef TESTS_NO_MEMORY_H
#define TESTS_NO_MEMORY_H

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Whether this allocation, of the code at that address, fails. */
static bool fails(const void *caller);

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

/* A thread of the compiler's, or one that plays the GPU (tools/gfxemu has the memory of a device without bounds); or the dynamic loader, which after
 * some failures finds the half loaded library at the next attempt. */
static bool
is_exempt(const void *caller)
{
    char name[17] = "";
    Dl_info info;
    prctl(PR_GET_NAME, name, 0, 0, 0);
    return !strcmp(name, "cudaway-jit") || !strcmp(name, "cudaway-gpu") ||
           (dladdr(caller, &info) && (uintptr_t)info.dli_fbase == getauxval(AT_BASE));
}

#define OURS __attribute__((visibility("default")))

OURS void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
OURS void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
OURS void *realloc(void *p, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size); }
OURS void *memalign(size_t align, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size); }
OURS void *aligned_alloc(size_t align, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size); }

OURS int
posix_memalign(void **p, size_t align, size_t size)
{
    void *got = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
    if (got)
        *p = got;
    return got ? 0 : ENOMEM;
}

#endif
