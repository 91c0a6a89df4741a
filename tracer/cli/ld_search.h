/* SPDX-License-Identifier: Apache-2.0
 * Where the dynamic linker finds the libraries that a program needs: ld.so(8). */
#ifndef TRACER_CLI_LD_SEARCH_H
#define TRACER_CLI_LD_SEARCH_H

#include "impl/base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The system's dynamic linker, by what it says of itself (ld.so --list-diagnostics), and its cache. */
struct ld_system {
    char   **folders;           /* the default ones, NULL-terminated */
    char    *lib, *platform;    /* $LIB and $PLATFORM */
    char   **hwcaps;            /* the subdirectories of glibc-hwcaps that this processor can use, the best one first; NULL-terminated */
    unsigned hwcap_count;
    struct cw_mapped_file cache;
};

/* A file that is loaded, or would be. */
struct ld_object {
    const struct ld_object *loader;     /* that needs it; NULL: the program */
    const char *path;
    const char *rpath, *runpath;        /* or NULL */
    bool     no_default_folders;
    uint16_t machine;                   /* EM_X86_64: of the program, and so of all that it loads */
};

/* False after a message. */
bool ld_system_open(struct ld_system *s);
void ld_system_close(struct ld_system *s);

/* The path (malloc'd) of the library that `needed`, an entry of `by`, stands for; NULL: there is none. */
char *ld_search(const struct ld_system *s, const struct ld_object *by, const char *needed);

#endif
