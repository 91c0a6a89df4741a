/* SPDX-License-Identifier: Apache-2.0
 * Which CUDA driver a program gets: --device and --library of `cudaway-trace record` and of cudaway-diff. */
#ifndef CW_TRACE_DRIVER_H
#define CW_TRACE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

struct driver_choice {
    const char *device;           /* --device, else CUDAWAY_DEVICE; NULL: neither */
    const char *library;          /* --library, else CUDAWAY_CUDA_LIBRARY unless --device is given, else the system's; NULL: CUDAway's driver */
    bool        found;            /* `library` is the system's, since neither an option nor a variable chooses */
    char       *owned;            /* what `library` points to, or NULL */
};

/* The options, for a struct cw_program's table. Their values go to `device` and `library`. */
#define DRIVER_OPTION_DEVICE(id) { id, "device", "DEVICE", "CUDAway's driver with this device: sets CUDAWAY_DEVICE", \
    "auto host host:O0 host:checked hip cuda gfxemu:gfx1100 gfxemu:gfx90a" }
#define DRIVER_OPTION_LIBRARY(id, below) { id, "library", "PATH", "the CUDA driver " below ": sets CUDAWAY_CUDA_LIBRARY; without both, the one that the program " \
    "would find, else CUDAway's", "FILE" }

/* Complete the choice by the environment and the system. False: `*why`, of `size`, has what is wrong with --library. */
bool driver_choose(struct driver_choice *c, char *why, size_t size);
/* What was chosen, for a message: "the driver PATH" or "CUDAway's driver, device host". */
void driver_text(const struct driver_choice *c, char *out, size_t size);
/* Set the variables of the process that becomes the program. */
bool driver_set_environment(const struct driver_choice *c);
void driver_finish(struct driver_choice *c);

/* The file that dlopen("libcuda.so.1") gives a program here and that is not CUDAway's; NULL: there is none. malloc'd. It is loaded in a
 * process of its own, so nothing of it runs in the caller's. */
char *driver_of_system(void);

#endif
