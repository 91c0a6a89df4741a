/* SPDX-License-Identifier: Apache-2.0
 * What the files of cudaway-precompile share. */
#ifndef CW_TOOL_PRECOMPILE_H
#define CW_TOOL_PRECOMPILE_H

#include "impl/base/program.h"

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_INPUT = 1, EXIT_TOOL = 2 };

extern const struct cw_program precompile_program;

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* lib/cudaway of this installation; malloc'd, NULL after a message. */
char *library_folder(void);

/* ---- images.c: what programs and libraries hand to the driver ---- */

/* One module as the driver takes it (cuModuleLoadData): PTX text, a container, or a wrapper with the containers of relocatable code. */
struct image {
    const void *data;
    const char *file;
};

struct images {
    struct image *at;
    size_t n, cap;
    size_t files;                   /* looked into */
    size_t without_ptx;             /* modules with machine code of NVIDIA's alone */
    bool trouble;                   /* something could not be read; said */
};

/* Of a program or library with the libraries that the dynamic linker loads with it, or of each ELF file of a folder. What is found points into mapped files and
 * stays until the process ends. False: out of memory. */
bool images_of(struct images *m, const char *path, const char *library_folder);

/* ---- fill.c: the kernel cache of one device ---- */

/* Compile all kernels for CUDAWAY_DEVICE as the environment has it, on `jobs` threads. `device`: its name for messages, or NULL to ask the driver. Returns an exit
 * status. */
int fill(const struct images *m, const char *device, const char *library_folder, unsigned jobs);

#endif
