/* SPDX-License-Identifier: Apache-2.0
 * A "real driver" for testing the cuda device where there is no NVIDIA GPU: every driver function, passed to a second copy of
 * the implementation that runs on the host device. So a program's PTX goes through our front end and LLVM's NVPTX target,
 * through the cuda backend, and back in at the front end, as text that LLVM wrote. The copy lies in the folder inner/
 * beside this library; it is another file, so the loader keeps the two apart. */
#define _GNU_SOURCE
#include "cudaway/cuda_table.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cw_cuda_table below;
static CUresult(CUDAAPI *load_module)(CUmodule *, const void *, unsigned int, CUjit_option *, void **);

/* With INNER_LEVELS set, the level that each module is to be optimised at goes to stderr: "inner driver: level 0", or "default". */
static CUresult CUDAAPI
load_and_tell(CUmodule *m, const void *image, unsigned int n, CUjit_option *options, void **values)
{
    char level[24] = "default";
    for (unsigned i = 0; i < n; i++)
        if (options[i] == CU_JIT_OPTIMIZATION_LEVEL)
            snprintf(level, sizeof level, "%u", (unsigned)(uintptr_t)values[i]);
    fprintf(stderr, "inner driver: level %s\n", level);
    return load_module(m, image, n, options, values);
}

/* Runs inside the cuInit of the implementation above, which has read its own variables by then. */
static __attribute__((constructor)) void
load(void)
{
    Dl_info self;
    char path[PATH_MAX];
    const char *device = getenv("INNER_DEVICE");
    if (!dladdr((void *)&load, &self) || !self.dli_fname || !strrchr(self.dli_fname, '/'))
        return;
    int folder = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
    snprintf(path, sizeof path, "%.*s/inner/libcuda.so.1", folder, self.dli_fname);
    setenv("CUDAWAY_DEVICE", device && *device ? device : "host", 1);
    unsetenv("CUDAWAY_CUDA_LIBRARY");
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "inner driver: %s\n", dlerror());
        return;
    }
#define X(index, symbol, type, parameters, arguments) cw_cuda_table_set(&below, index, dlsym(lib, #symbol));
    CW_CUDA_FUNCTIONS(X)
#undef X
    load_module = below.cuModuleLoadDataEx;
    if (getenv("INNER_LEVELS"))
        below.cuModuleLoadDataEx = load_and_tell;
}

#define X(index, symbol, type, parameters, arguments) \
    __attribute__((visibility("default"))) type CUDAAPI symbol parameters; \
    type CUDAAPI symbol parameters { return below.symbol arguments; }
CW_CUDA_FUNCTIONS(X)
#undef X
