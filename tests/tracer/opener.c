/* SPDX-License-Identifier: Apache-2.0
 * A library that stands before dlopen, as sanitizers' runtimes and some preloaded tools do: to the dynamic linker it is the one that asks. */
#define _GNU_SOURCE
#include <dlfcn.h>

__attribute__((visibility("default"))) void *
dlopen(const char *path, int flags)
{
    void *(*next)(const char *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    void *volatile library = next(path, flags);
    return library;                     /* volatile: a tail call would leave the caller in this library's place */
}
