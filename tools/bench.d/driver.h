/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver that a program measures: a library named on the command line, ours or NVIDIA's, never one linked to it. The includer
 * has defined FUNCTIONS(X) as X(name, (parameter types)) for each function that it calls. */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

static struct {
#define X(name, parameters) CUresult (*name) parameters;
    FUNCTIONS(X)
#undef X
} cu;
#define cuMust(call) MUST(cu.call)

/* Fills `cu` from the library; false, and a line on standard error, if it is none or lacks a function. */
static bool
load_driver(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
#define X(name, parameters)                                             \
    if (!(cu.name = (CUresult (*) parameters)dlsym(lib, #name))) {      \
        fprintf(stderr, "%s has no %s\n", path, #name);                 \
        return false;                                                   \
    }
    FUNCTIONS(X)
#undef X
    return true;
}

#endif
