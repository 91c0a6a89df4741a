/* SPDX-License-Identifier: Apache-2.0
 * A library made of the generated exports over a handful of functions (mixed_driver.c): what is exported, what an
 * unsupported function does, and what becomes of the default stream in the per-thread variants. */
#include "cudaway/cuda_table.h"
#include "impl/api/meta.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures;

#define CHECK(cond, ...)                                                                                              \
    do {                                                                                                              \
        if (!(cond)) {                                                                                                \
            printf("%s:%d: ", __FILE__, __LINE__);                                                                    \
            printf(__VA_ARGS__);                                                                                      \
            printf("\n");                                                                                             \
            failures++;                                                                                               \
        }                                                                                                             \
    } while (0)

/* Calls a function with stderr going into `text`. */
static CUresult
captured(CUresult (*fn)(CUgraph *, unsigned int), char *text, size_t size)
{
    int pipes[2], saved = dup(2);
    CUresult r = CUDA_ERROR_UNKNOWN;

    text[0] = 0;
    if (saved < 0 || pipe(pipes))
        return r;
    dup2(pipes[1], 2);
    close(pipes[1]);
    r = fn(NULL, 0);
    dup2(saved, 2);
    close(saved);
    ssize_t n = read(pipes[0], text, size - 1);
    text[n > 0 ? n : 0] = 0;
    close(pipes[0]);
    return r;
}

int
main(int argc, char **argv)
{
    void *lib = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
    struct cw_cuda_table t;

    if (!lib) {
        printf("%s\n", dlerror());
        return 1;
    }
    for (unsigned i = 0; i < cw_meta_function_count; i++) {
        void *fn = dlsym(lib, cw_meta_functions[i].name);
        CHECK(fn, "%s is not exported", cw_meta_functions[i].name);
        cw_cuda_table_set(&t, i, fn);
        CHECK(cw_cuda_table_get(&t, i) == fn, "table entry %u", i);
    }
    CHECK(!dlsym(lib, "cw_impl_table") && !dlsym(lib, "drv_cuInit"), "internal names are exported");
    CHECK(!cw_cuda_table_get(&t, CW_CUDA_FUNCTION_COUNT), "reading past the table");
    if (failures)
        return 1;

    /* 801 is CUDA_ERROR_NOT_SUPPORTED; the name is said once, with the reason. */
    char text[512];
    CHECK(captured(t.cuGraphCreate, text, sizeof text) == 801, "unsupported result");
    CHECK(strstr(text, "cuGraphCreate") && strstr(text, "no graphs in this test"), "log: %s", text);
    CHECK(captured(t.cuGraphCreate, text, sizeof text) == 801 && !text[0], "said twice: %s", text);
    CHECK(t.cuStreamBeginCapture_v2_ptsz(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL) == 801, "unsupported variant");

    CHECK(t.cuInit(7) == 1007, "plain call");
    CHECK(t.cuMemcpy(1, 2, 3) == 2000, "cuMemcpy: legacy default stream");
    CHECK(t.cuMemcpy_ptds(1, 2, 3) == 2001, "cuMemcpy_ptds: drv_ptds during the call");
    CHECK(t.cuMemcpy(1, 2, 3) == 2000, "drv_ptds after the call");
    CHECK(t.cuStreamSynchronize(NULL) == 3000, "NULL stream stays");
    CHECK(t.cuStreamSynchronize_ptsz(NULL) == 3002, "NULL stream becomes CU_STREAM_PER_THREAD (2)");
    CHECK(t.cuStreamSynchronize_ptsz(CU_STREAM_LEGACY) == 3001, "an explicit stream stays");
    CHECK(t.cuMemcpyHtoDAsync_v2(1, NULL, 5, NULL) == 4050, "partial function");
    CHECK(t.cuMemcpyHtoDAsync_v2_ptsz(1, NULL, 5, NULL) == 4052, "partial function, per thread");

    CUlaunchConfig config = { .gridDimX = 3 };
    CHECK(t.cuLaunchKernelEx(&config, NULL, NULL, NULL) == 5030, "launch");
    CHECK(t.cuLaunchKernelEx_ptsz(&config, NULL, NULL, NULL) == 5032, "launch, per thread");
    CHECK(config.hStream == NULL, "the caller's structure is left alone");
    config.hStream = CU_STREAM_LEGACY;
    CHECK(t.cuLaunchKernelEx_ptsz(&config, NULL, NULL, NULL) == 5031, "launch on a named stream, per thread");
    CHECK(t.cuLaunchKernelEx_ptsz(NULL, NULL, NULL, NULL) == 5999, "NULL configuration is passed on");

    /* What fails is named to the log, by the name that was called. */
    void *failed = NULL;
#define FAILED(function) (t.cuLaunchKernelEx(&config, NULL, NULL, &failed), !strcmp(failed, function))
    CHECK(FAILED("cuLaunchKernelEx_ptsz"), "log: %s", (const char *)failed);
    (void)t.cuMemcpy_ptds(1, 2, 3);
    CHECK(FAILED("cuMemcpy_ptds"), "log: %s", (const char *)failed);
    (void)t.cuGraphCreate(NULL, 0);
    CHECK(FAILED("cuGraphCreate"), "log: %s", (const char *)failed);
    CHECK(t.cuInit(-1000u) == CUDA_SUCCESS && t.cuInit(-400u) == CUDA_ERROR_NOT_READY && FAILED("cuLaunchKernelEx"), "log: %s", (const char *)failed);
    printf("%d failures\n", failures);
    return failures != 0;
}
