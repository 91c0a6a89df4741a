/* SPDX-License-Identifier: Apache-2.0
 * Takes from a process what it does not need, before it runs code that others wrote (docs/security.md): Landlock the files, a seccomp filter system
 * calls. Descriptors from 3 on that came through exec are closed. It holds for the process, its threads, its children and what they execute, and cannot be taken back. */
#ifndef CW_CONFINE_H
#define CW_CONFINE_H

#include "impl/base/result.h"

#include <stdbool.h>

/* One line: what the kernel lacks. */
struct cw_confine_error {
    char text[256];
};

/* A program that goes on: it reads the system's files and some others, computes, starts threads, executes itself. No network, no other processes. With `nvidia`
 * it makes any call but those that are known to reach others; without, only those that it needs. */
struct cw_confinement {
    const char *const *read;        /* files and folders to be read besides the system's and our own; NULL-terminated, entries may be missing */
    const char *temp;               /* the one folder that may be written to */
    bool nvidia, amd;               /* the device files of NVIDIA's or AMD's driver are needed */
    bool copies;                    /* it starts processes too, copies of itself, which are as confined */
};

/* Call it before there are other threads. CW_ERR_UNSUPPORTED: the kernel cannot do it. */
cw_result cw_confine(const struct cw_confinement *c, struct cw_confine_error *e) CW_MUST_CHECK;

/* A process that has all that it needs: memory, threads, locks, clocks, and messages on the sockets that are open. It opens nothing, executes nothing,
 * signals nobody, and asks nothing of a device. As cw_confine. */
cw_result cw_confine_to_memory(struct cw_confine_error *e) CW_MUST_CHECK;

#endif
