/* SPDX-License-Identifier: Apache-2.0
 * One warp a wave or two: attributes, limits, occupancy and messages on the device that CUDAWAY_DEVICE names, as CUDAWAY_WARPS_PER_WAVE
 * asks, and the results of kernels of warps.ptx.
 *   warps FILE.ptx            with the log in CUDAWAY_LOG_FILE
 *   warps FILE.o LIBRARY      FILE.ptx as cudaway-cc --warps-per-wave 1 made it, launched by HIP functions of LIBRARY */
#include "impl/hip/hip.h"
#include "tests/driver/test.h"

#include <dlfcn.h>
#include <stdbool.h>

enum { MOST = 1024 };

static char *
contents(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = calloc(*size + 1, 1);
    if (fread(text, 1, *size, f) != *size)
        *size = 0;
    fclose(f);
    return text;
}

/* How often the log has a text. */
static unsigned
logged(const char *text)
{
    size_t size;
    char *log = contents(getenv("CUDAWAY_LOG_FILE"), &size);
    unsigned n = 0;
    for (const char *p = log; p && (p = strstr(p, text)); p++)
        n++;
    free(log);
    return n;
}

static CUmodule module;
static CUdeviceptr out, flag;

static CUfunction
function(const char *name)
{
    CUfunction f = NULL;
    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static int
max_threads(const char *name)
{
    int n = -1;
    OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function(name)));
    return n;
}

static int
blocks(const char *name, int threads)
{
    int n = -1;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, function(name), threads, 0));
    return n;
}

static bool
right(const char *name, unsigned threads, const unsigned *v)
{
    const bool waits = strcmp(name, "plain");
    for (unsigned i = 0; i < threads; i++)
        if (v[i] != (waits && i >= 32 && i < 64 ? 6 * (i - 32) : 3 * i))
            return false;
    return true;
}

/* Launches it with one block; the flag has that value. */
static CUresult
launch(const char *name, unsigned threads, unsigned set)
{
    void *params[] = { &out, &flag };
    OK(cuMemsetD32_v2(flag, set, 1));
    OK(cuMemsetD8_v2(out, 0xee, MOST * 4));
    return cuLaunchKernel(function(name), 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
}

static void
runs(const char *name, unsigned threads, unsigned set)
{
    unsigned v[MOST];
    OK(launch(name, threads, set));
    OK(cuMemcpyDtoH_v2(v, out, threads * 4));
    if (!set)                           /* else warp 1 need not wait until warp 0 has written */
        EXPECT(right(name, threads, v));
}

/* Each warp that waits has a wave for itself, where its block allows. */
static void
lone(bool all)
{
    EXPECT(max_threads("sure") == 512);
    EXPECT(max_threads("sure_256") == 256);
    EXPECT(max_threads("sure_1024") == 512);
    EXPECT(max_threads("perhaps") == 1024);
    EXPECT(max_threads("plain") == 1024);
    /* 1536 threads, 48 warps a multiprocessor (compute capability 8.6). */
    EXPECT(blocks("sure", 512) == 1);
    EXPECT(blocks("sure", 544) == 0);
    EXPECT(blocks("perhaps", 256) == 3);
    EXPECT(blocks("perhaps", 768) == 2);    /* too large for it */
    EXPECT(blocks("plain", 256) == (all ? 3 : 6));
    runs("sure", 64, 0);
    runs("sure", 500, 0);
    runs("sure", 512, 0);
    EXPECT(!logged("at most 512 are possible"));
    EXPECT_RESULT(launch("sure", 513, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT(logged("sure: a block of 513 threads, and at most 512 are possible: each of its warps has a wave of 64 lanes") == 1);
    EXPECT_RESULT(launch("sure", 1024, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_RESULT(launch("sure_1024", 1024, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_RESULT(launch("sure", 1025, 0), CUDA_ERROR_INVALID_VALUE);      /* more than the device has */
    runs("sure", 64, 0);                /* none of them was a fault */
    runs("perhaps", 64, 0);
    runs("perhaps", 512, 0);
    EXPECT(!logged("has no room for a wave of 64 lanes"));
    runs("perhaps", 1024, 1);
    runs("perhaps", 1024, 1);
    EXPECT(logged("perhaps: a block of 1024 threads has no room for a wave of 64 lanes for each warp (512 threads at most)") == 1);
    runs("plain", 512, 0);
    runs("plain", 1024, 0);
    EXPECT(logged("plain: a block of 1024 threads has no room") == all);
}

static void
shared(bool waves64)
{
    EXPECT(max_threads("sure") == 1024);
    EXPECT(max_threads("sure_256") == 256);
    EXPECT(max_threads("sure_1024") == 1024);
    EXPECT(blocks("sure", 512) == 3);
    EXPECT(blocks("perhaps", 256) == 6);
    EXPECT(blocks("plain", 256) == 6);
    runs("plain", 1024, 0);
    if (!waves64) {                     /* a warp is a wave: nothing is different */
        runs("sure", 1024, 0);
        runs("perhaps", 1024, 0);
    }
}

/* ---- a code object of cudaway-cc ---- */

static int
object(const char *image, const char *library)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    static struct {
#define X(need, since, name, params) hipError_t (*name) params;
        HIP_FUNCTIONS(X)
#undef X
    } hip;
#define X(need, since, name, params) *(void **)&hip.name = lib ? dlsym(lib, #name) : NULL;
    HIP_FUNCTIONS(X)
#undef X
    if (!hip.hipInit) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    static const char *const names[] = { "plain", "sure", "perhaps" };
    enum { THREADS = 96 };              /* three warps: a group of 192 work-items */
    hipModule_t m;
    void *to, *word;
    EXPECT(!hip.hipInit(0) && !hip.hipModuleLoadData(&m, image) && !hip.hipMalloc(&to, THREADS * 4) && !hip.hipMalloc(&word, 4));
    for (unsigned i = 0; i < 3 && !failures; i++) {
        unsigned v[THREADS] = { 0 };
        hipFunction_t f;
        struct { void *out, *flag; uint16_t shape[4]; } args = { to, word, { THREADS, 1, 1, 0 } };
        size_t size = sizeof args;
        void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END };
        EXPECT(!hip.hipMemcpy(word, v, 4, hipMemcpyDefault));
        EXPECT(!hip.hipModuleGetFunction(&f, m, names[i]));
        EXPECT(!hip.hipModuleLaunchKernel(f, 1, 1, 1, 2 * THREADS, 1, 1, 0, NULL, NULL, extra));
        EXPECT(!hip.hipDeviceSynchronize());
        EXPECT(!hip.hipMemcpy(v, to, sizeof v, hipMemcpyDefault));
        EXPECT(right(names[i], THREADS, v));
    }
    EXPECT(!hip.hipModuleUnload(m) && !hip.hipFree(to) && !hip.hipFree(word));
    return failures != 0;
}

int
main(int argc, char **argv)
{
    size_t size;
    char *file = argc > 1 ? contents(argv[1], &size) : NULL;
    if (!file) {
        fprintf(stderr, "usage: warps FILE.ptx|FILE.o [LIBRARY]\n");
        return 2;
    }
    if (argc > 2) {
        int status = object(file, argv[2]);
        free(file);
        return status;
    }
    setenv("CUDAWAY_COMPUTE_CAPABILITY", "8.6", 1);     /* lone() counts by its limits */
    const char *mode = getenv("CUDAWAY_WARPS_PER_WAVE");
    const bool waves64 = strstr(getenv("CUDAWAY_DEVICE"), "gfx9") != NULL;
    remove(getenv("CUDAWAY_LOG_FILE"));
    make_context();
    OK(cuModuleLoadData(&module, file));
    free(file);
    OK(cuMemAlloc_v2(&out, MOST * 4));
    OK(cuMemAlloc_v2(&flag, 4));
    if (waves64 && (!mode || strcmp(mode, "2")))
        lone(mode && !strcmp(mode, "1"));
    else
        shared(waves64);
    const bool bad = mode && strcmp(mode, "auto") && strcmp(mode, "1") && strcmp(mode, "2");
    EXPECT(logged("is neither auto nor 1 nor 2; auto is taken") == bad);
    return failures != 0;
}
