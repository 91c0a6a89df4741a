/* SPDX-License-Identifier: Apache-2.0
 * See harness.h. Usage: cuda-kernels [-d FOLDER] [-s SM]... [TEST...]
 * FOLDER holds NAME.sm_XX.ptx; without -s all of sm_60 to sm_90 that are there are run. The device is chosen by
 * CUDAWAY_DEVICE, the driver by LD_LIBRARY_PATH. Exit status: 0, or 1 when a check failed or the driver did. */
#include "tests/cuda/harness.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct driver cu;
static unsigned failed, printed;
static const char *current = "start";
const unsigned block_sizes[] = { 1, 7, 31, 32, 33, 48, 64, 100, 128, 255, 256, 0 };

void
must(CUresult result, const char *what)
{
    if (result == 0)
        return;
    const char *name = NULL;
    if (cu.cuGetErrorName)
        cu.cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s gave %d (%s)\n", current, what, result, name ? name : "?");
    fflush(stdout);
    _exit(1);
}

CUfunction
get_function(CUmodule module, const char *name)
{
    CUfunction f;
    must(cu.cuModuleGetFunction(&f, module, name), name);
    return f;
}

CUdeviceptr
buffer_new(const void *bytes, size_t size)
{
    CUdeviceptr p;
    MUST(cu.cuMemAlloc_v2(&p, size ? size : 1));
    if (bytes)
        MUST(cu.cuMemcpyHtoD_v2(p, bytes, size));
    else
        MUST(cu.cuMemsetD8_v2(p, 0, size));
    return p;
}

void
buffer_read(void *to, CUdeviceptr from, size_t size)
{
    MUST(cu.cuMemcpyDtoH_v2(to, from, size));
}

void
buffer_free(CUdeviceptr address)
{
    MUST(cu.cuMemFree_v2(address));
}

void
launch(CUfunction f, struct dims grid, struct dims block, unsigned shared, void **params)
{
    MUST(cu.cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, NULL, params, NULL));
    MUST(cu.cuCtxSynchronize());
}

static bool
report(const char *what, unsigned variant, size_t index)
{
    failed++;
    if (printed++ >= 20)
        return false;
    printf("FAIL %s: %s (%u) [%zu]: ", current, what, variant, index);
    return true;
}

void
check_u32(const char *what, unsigned variant, const uint32_t *got, const uint32_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i] && report(what, variant, i))
            printf("got %u (0x%08x), want %u (0x%08x)\n", got[i], got[i], want[i], want[i]);
}

void
check_u64(const char *what, unsigned variant, const uint64_t *got, const uint64_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i] && report(what, variant, i))
            printf("got 0x%016llx, want 0x%016llx\n", (unsigned long long)got[i], (unsigned long long)want[i]);
}

static bool
close_enough(double got, double want, double relative, double absolute)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (relative == 0 && absolute == 0)
        return got == want && signbit(got) == signbit(want);
    return got == want || fabs(got - want) <= relative * fabs(want) + absolute;
}

void
check_f32(const char *what, unsigned variant, const float *got, const double *want, size_t n, double relative, double absolute)
{
    for (size_t i = 0; i < n; i++)
        if (!close_enough(got[i], want[i], relative, absolute) && report(what, variant, i))
            printf("got %.9g (%a), want %.17g (%a)\n", got[i], got[i], want[i], want[i]);
}

void
check_f64(const char *what, unsigned variant, const double *got, const double *want, size_t n, double relative, double absolute)
{
    for (size_t i = 0; i < n; i++)
        if (!close_enough(got[i], want[i], relative, absolute) && report(what, variant, i))
            printf("got %.17g (%a), want %.17g (%a)\n", got[i], got[i], want[i], want[i]);
}

void
check_true(const char *what, unsigned variant, bool ok)
{
    if (!ok && report(what, variant, 0))
        printf("is false\n");
}

unsigned
checks_failed(void)
{
    return failed;
}

static uint32_t random_state;

void
random_start(uint32_t seed)
{
    random_state = seed * 2654435761u + 12345;
}

uint32_t
random_u32(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    uint32_t x = random_state;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    x *= 0x297a2d39u;
    return x ^ x >> 15;
}

float
random_float(float low, float high)
{
    return low + (high - low) * (float)(random_u32() >> 8) / 16777216.0f;
}

void *
allocate(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p) {
        fprintf(stderr, "%s: out of memory\n", current);
        exit(1);
    }
    return p;
}

static int saved_stdout = -1;
static FILE *captured;

void
capture_start(void)
{
    fflush(stdout);
    captured = tmpfile();
    saved_stdout = dup(1);
    if (!captured || saved_stdout < 0 || dup2(fileno(captured), 1) < 0) {
        perror("capture");
        exit(1);
    }
}

char *
capture_end(void)
{
    fflush(stdout);
    dup2(saved_stdout, 1);
    close(saved_stdout);
    long size = lseek(fileno(captured), 0, SEEK_END);
    char *text = allocate((size_t)size + 1);
    if (size < 0 || pread(fileno(captured), text, (size_t)size, 0) != size) {
        perror("capture");
        exit(1);
    }
    fclose(captured);
    return text;
}

static char *
read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = allocate((size_t)size + 1);
    if (fread(text, 1, (size_t)size, f) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return text;
}

static CUmodule
load_module(const char *path, const char *ptx)
{
    enum { ERROR_LOG_BUFFER = 5, ERROR_LOG_SIZE = 6 };
    static char log[16384];
    log[0] = 0;
    int options[] = { ERROR_LOG_BUFFER, ERROR_LOG_SIZE };
    void *values[] = { log, (void *)(uintptr_t)sizeof log };
    CUmodule module = NULL;
    CUresult r = cu.cuModuleLoadDataEx(&module, ptx, 2, options, values);
    if (r)
        fprintf(stderr, "%s: %s\n", path, log);
    must(r, "cuModuleLoadDataEx");
    return module;
}

static bool
wanted(const struct test *t, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], t->name) || !strcmp(names[i], t->kernels))
            return true;
    return count == 0 && !t->ends_context;
}

int
main(int argc, char **argv)
{
    const char *folder = ".";
    unsigned chosen[16], nchosen = 0;
    int opt;
    while ((opt = getopt(argc, argv, "d:s:")) != -1) {
        if (opt == 'd')
            folder = optarg;
        else if (opt == 's' && nchosen < 16)
            chosen[nchosen++] = (unsigned)atoi(optarg);
        else {
            fprintf(stderr, "usage: cuda-kernels [-d FOLDER] [-s SM]... [TEST...]\n");
            return 2;
        }
    }
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
#define X(name, params)                                                                                                 \
    if (!(*(void **)&cu.name = dlsym(lib, #name))) {                                                                    \
        fprintf(stderr, "libcuda.so.1 has no " #name "\n");                                                             \
        return 1;                                                                                                       \
    }
    DRIVER_FUNCTIONS(X)
#undef X
    CUdevice device;
    CUcontext context;
    char name[256];
    int major = 0, minor = 0;
    MUST(cu.cuInit(0));
    MUST(cu.cuDeviceGet(&device, 0));
    MUST(cu.cuDeviceGetName(name, sizeof name, device));
    MUST(cu.cuDeviceGetAttribute(&major, 75, device));
    MUST(cu.cuDeviceGetAttribute(&minor, 76, device));
    printf("device: %s, compute capability %d.%d\n", name, major, minor);
    MUST(cu.cuCtxCreate_v2(&context, 0, device));

    static const unsigned all[] = { 60, 70, 80, 90 };
    const unsigned *sms = nchosen ? chosen : all;
    const unsigned nsms = nchosen ? nchosen : 4;
    const struct test *const suites[] = { vector_tests, block_tests, program_tests, heap_tests };
    unsigned ran = 0;
    for (unsigned s = 0; s < nsms; s++) {
        if (sms[s] > (unsigned)(major * 10 + minor) && !nchosen)
            continue;
        for (size_t g = 0; g < sizeof suites / sizeof *suites; g++)
            for (const struct test *t = suites[g]; t->name; t++) {
                if (!wanted(t, argv + optind, argc - optind))
                    continue;
                char path[4096];
                snprintf(path, sizeof path, "%s/%s.sm_%u.ptx", folder, t->kernels, sms[s]);
                char *ptx = read_file(path);
                if (!ptx) {
                    perror(path);
                    return 1;
                }
                unsigned before = failed;
                current = t->name;
                random_start(sms[s]);
                CUmodule module = load_module(path, ptx);
                t->run(module);
                free(ptx);
                printf("%s %s.sm_%u %s\n", failed == before ? "ok  " : "FAIL", t->kernels, sms[s], t->name);
                fflush(stdout);
                ran++;
                if (t->ends_context) {      /* and, on a real driver, the process's use of the device */
                    printf("%u run, %u checks failed\n", ran, failed);
                    return failed != 0;
                }
                MUST(cu.cuModuleUnload(module));
            }
    }
    cu.cuCtxDestroy_v2(context);
    if (!ran) {
        fprintf(stderr, "no such test, or none for this device\n");
        return 1;
    }
    printf("%u run, %u checks failed\n", ran, failed);
    return failed != 0;
}
