/* SPDX-License-Identifier: Apache-2.0
 * The program that the tracer's tests record. The first argument says what it does; each mode says what its recording
 * must hold. Finds libcuda.so.1 as most programs do, with dlopen at run time; APP_LIBRARY is another
 * name or path of it. */
#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x)                                                                                                     \
    do {                                                                                                             \
        if (!(x)) {                                                                                                  \
            fprintf(stderr, "app: line %d: %s\n", __LINE__, #x);                                                     \
            exit(99);                                                                                                \
        }                                                                                                            \
    } while (0)

static void *library;

#define FN(name) ((__typeof__(&name))dlsym(library, #name))

static void
open_library(void)
{
    const char *name = getenv("APP_LIBRARY");
    library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "app: %s\n", dlerror());
        exit(98);
    }
}

static const char ptx[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y)\n{\n    ret;\n}\n";

/* Kernels that fail on the device: behind a store into `out`, a store to address 16 (700), an atomic at an odd address (716), a trap (719). */
#define FAILING(name, fault)                                                                                                 \
    ".visible .entry " name "(.param .u64 out, .param .u32 v)\n{\n    .reg .u64 %p<3>;\n    .reg .u32 %v;\n"                  \
    "    ld.param.u64 %p1, [out];\n    ld.param.u32 %v, [v];\n    mov.u64 %p2, 16;\n    st.volatile.global.u32 [%p1], %v;\n" \
    fault "    ret;\n}\n"
static const char faults_ptx[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n.global .u32 state = 77;\n"
    FAILING("fine", "")
    FAILING("fail700", "    st.global.u32 [%p2], %v;\n")
    FAILING("fail716", "    red.global.add.u32 [%p1+6], %v;\n")
    FAILING("fail719", "    trap;\n");

/* Images that say that they are longer than what can be read, before a page that nothing may read. All are refused. */
static void
endless(void)
{
    const Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC, .e_machine = 190, .e_version = EV_CURRENT,
                              .e_shoff = 0x2000, .e_ehsize = sizeof head, .e_phentsize = 56, .e_shentsize = 64 };
    const uint32_t fatbin[4] = { 0xba55ed50, 0x00100001, 0x100000 };
    CUmodule module;
    CUcontext context;
    long page = sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED && !mprotect(p + page, (size_t)page, PROT_NONE));
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS && FN(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
    memcpy(p, &head, sizeof head);
    CHECK(FN(cuModuleLoadData)(&module, p) != CUDA_SUCCESS);
    memset(p, 0, sizeof head);
    memcpy(p, fatbin, sizeof fatbin);
    CHECK(FN(cuModuleLoadData)(&module, p) != CUDA_SUCCESS);
}

/* Three launches, of which the second fails; only the last call tells. */
static int
fault(unsigned code)
{
    CUdeviceptr out;
    CUcontext context;
    CUmodule module;
    CUfunction fine, failing;
    char name[16];
    uint32_t data[64] = { [1] = 0xabcd }, v = 1;
    snprintf(name, sizeof name, "fail%u", code);
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
    CHECK(FN(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
    CHECK(FN(cuModuleLoadData)(&module, faults_ptx) == CUDA_SUCCESS);
    CHECK(FN(cuModuleGetFunction)(&fine, module, "fine") == CUDA_SUCCESS);
    CHECK(FN(cuModuleGetFunction)(&failing, module, name) == CUDA_SUCCESS);
    CHECK(FN(cuMemAlloc_v2)(&out, sizeof data) == CUDA_SUCCESS);
    CHECK(FN(cuMemcpyHtoD_v2)(out, data, sizeof data) == CUDA_SUCCESS);
    void *params[] = { &out, &v };
    CHECK(FN(cuLaunchKernel)(fine, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == CUDA_SUCCESS);
    CHECK(FN(cuCtxSynchronize)() == CUDA_SUCCESS);
    v = 2;
    CHECK(FN(cuLaunchKernel)(failing, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == CUDA_SUCCESS);
    v = 3;
    (void)FN(cuLaunchKernel)(fine, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    CUresult r = FN(cuCtxSynchronize)();
    CHECK(r == code);
    return 3;
}

static void
host_function(void *data)
{
    int version;
    CHECK(FN(cuDriverGetVersion)(&version) == CUDA_SUCCESS);
}

/* One of everything: successes, failures, names, arrays of bytes, nested calls. */
static void
basic(void)
{
    CUdeviceptr x, y;
    CUcontext context;
    CUmodule module;
    CUfunction f, none = NULL;
    char name[64], data[256] = "";
    int version = 0;
    errno = EXDEV;
    CHECK(FN(cuInit)(0) == CUDA_SUCCESS);
    CHECK(FN(cuDriverGetVersion)(&version) == CUDA_SUCCESS);
    CHECK(FN(cuDeviceGetName)(name, sizeof name, 0) == CUDA_SUCCESS);
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
    CHECK(FN(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
    CHECK(FN(cuMemAlloc_v2)(&x, 4096) == CUDA_SUCCESS);
    CHECK(FN(cuMemAlloc_v2)(&y, 1024) == CUDA_SUCCESS);
    CHECK(FN(cuMemAlloc_v2)(&y, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(FN(cuMemcpyHtoD_v2)(x, data, sizeof data) == CUDA_SUCCESS);
    CHECK(FN(cuModuleLoadData)(&module, ptx) == CUDA_SUCCESS);
    CHECK(FN(cuModuleGetFunction)(&f, module, "saxpy") == CUDA_SUCCESS);
    CHECK(FN(cuModuleGetFunction)(&none, module, "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
    float a = 2.0f;
    void *params[] = { &a, &x, &y };
    for (unsigned i = 0; i < 3; i++)
        CHECK(FN(cuLaunchKernel)(f, 7, 1, 1, 64, 2, 1, 128, NULL, params, NULL) == CUDA_SUCCESS);
    CHECK(FN(cuLaunchKernel)(f, 7, 1, 1, 2048, 1, 1, 0, NULL, params, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(FN(cuMemFree_v2)(x) == CUDA_SUCCESS);
}

static void
over_fixture(void)
{
    CUgraph graph;
    CUdriverProcAddressQueryResult status;
    void *fn = NULL;
    CHECK(FN(cuLaunchHostFunc)(NULL, host_function, NULL) == CUDA_SUCCESS);
    CHECK(FN(cuGraphCreate)(&graph, 0) == CUDA_ERROR_NOT_SUPPORTED);
    /* Not in the library below at all. */
    CHECK(FN(cuProfilerStart)() == CUDA_ERROR_NOT_SUPPORTED);
    /* What cuGetProcAddress gives must be the same layer's function as dlsym gives. */
    CHECK(FN(cuGetProcAddress_v2)("cuInit", &fn, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(fn == dlsym(library, "cuInit"));
    CHECK(FN(cuGetProcAddress_v2)("cuMemAlloc", &fn, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(fn == dlsym(library, "cuMemAlloc_v2"));
    CHECK(FN(cuGetProcAddress_v2)("cuNoSuchThing", &fn, 12000, 0, &status) == CUDA_SUCCESS && !fn);
    /* errno is the library's, whatever the tracer did around it. */
    errno = EXDEV;
    CHECK(FN(cuInit)(0) == CUDA_SUCCESS && errno == ENOTTY);
    errno = EXDEV;
    CHECK(FN(cuMemFree_v2)(0) == CUDA_ERROR_INVALID_VALUE && errno == EXDEV);
}

/* A module with one kernel that no device takes, a good one, and a function that CUDAway does not have. */
static void
refused(void)
{
    static const char bad[] =
        ".version 7.0\n.target sm_60\n.address_size 64\n"
        ".visible .entry fine() { ret; }\n.visible .entry wrong()\n{\n    nonsense.u32 1;\n    ret;\n}\n";
    CUcontext context;
    CUmodule module;
    CUfunction f;
    CUprocessState state;
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
    CHECK(FN(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
    CHECK(FN(cuModuleLoadData)(&module, bad) == CUDA_ERROR_INVALID_PTX);
    CHECK(FN(cuModuleLoadData)(&module, faults_ptx) == CUDA_SUCCESS);
    CHECK(FN(cuModuleGetFunction)(&f, module, "fine") == CUDA_SUCCESS);
    CUdeviceptr out;
    uint32_t v = 1;
    CHECK(FN(cuMemAlloc_v2)(&out, 64) == CUDA_SUCCESS);
    void *params[] = { &out, &v };
    for (unsigned i = 0; i < 5; i++)
        CHECK(FN(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == CUDA_SUCCESS);
    CHECK(FN(cuCheckpointProcessGetState)((int)getpid(), &state) == CUDA_ERROR_NOT_SUPPORTED);
}

/* A block of parameters that ends before the size that the program gives: it is refused without a look at it. */
static void
long_block(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction f;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t size = 12;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, pages + 4096 - size, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    CHECK(pages != MAP_FAILED && !mprotect(pages + 4096, 4096, PROT_NONE));
    CHECK(FN(cuInit)(0) == CUDA_SUCCESS && FN(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
    CHECK(FN(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
    CHECK(FN(cuModuleLoadData)(&module, faults_ptx) == CUDA_SUCCESS);
    CHECK(FN(cuModuleGetFunction)(&f, module, "fine") == CUDA_SUCCESS);
    CHECK(FN(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) == CUDA_SUCCESS);
    size = 4096;
    CHECK(FN(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) != CUDA_SUCCESS);
}

static void *
thread(void *arg)
{
    CUdeviceptr p;
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(FN(cuMemAlloc_v2)(&p, 1 + (size_t)arg) == CUDA_SUCCESS);
        CHECK(FN(cuMemFree_v2)(p) == CUDA_SUCCESS);
    }
    return NULL;
}

static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int
main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (!strcmp(mode, "nothing"))
        return 0;
    if (!strcmp(mode, "wait")) {         /* for signals: no CUDA at all */
        signal(SIGTERM, SIG_DFL);
        pause();
        return 0;
    }
    open_library();
    CHECK(FN(cuInit)(0) == CUDA_SUCCESS);
    if (!strcmp(mode, "basic")) {
        basic();
    } else if (!strcmp(mode, "fixture")) {
        basic();
        over_fixture();
    } else if (!strcmp(mode, "endless")) {
        endless();
    } else if (!strcmp(mode, "refused")) {
        refused();
    } else if (!strcmp(mode, "long_block")) {
        long_block();
    } else if (!strcmp(mode, "fault")) {
        return fault((unsigned)n);
    } else if (!strcmp(mode, "exit")) {
        return (int)n;
    } else if (!strcmp(mode, "signal")) {
        raise((int)n);
    } else if (!strcmp(mode, "kill9")) {     /* n calls, then a sudden end */
        for (unsigned long i = 0; i < n; i++) {
            CUdeviceptr p;
            CHECK(FN(cuMemAlloc_v2)(&p, i + 1) == CUDA_SUCCESS);
        }
        kill(getpid(), SIGKILL);
    } else if (!strcmp(mode, "threads")) {
        pthread_t t[4];
        for (size_t i = 0; i < 4; i++)
            CHECK(!pthread_create(&t[i], NULL, thread, (void *)i));
        for (size_t i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
    } else if (!strcmp(mode, "fork")) {
        for (int i = 0; i < 2; i++) {
            pid_t pid = fork();
            CHECK(pid >= 0);
            if (!pid) {
                CUdeviceptr p;
                CHECK(FN(cuMemAlloc_v2)(&p, 7777) == CUDA_SUCCESS);
                exit(0);
            }
            int status;
            CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        }
    } else if (!strcmp(mode, "cost")) {      /* prints nanoseconds a call */
        __typeof__(&cuMemFree_v2) fn = FN(cuMemFree_v2);
        double start = seconds();
        for (unsigned long i = 0; i < n; i++)
            fn(16);
        printf("%.2f\n", (seconds() - start) * 1e9 / (double)n);
    } else if (!strcmp(mode, "sleep")) {
        CUdeviceptr p;
        CHECK(FN(cuMemAlloc_v2)(&p, 55) == CUDA_SUCCESS);
        printf("ready\n");
        fflush(stdout);
        pause();
    } else if (!strcmp(mode, "steps")) {     /* a call, then for each line of standard input another one and a line */
        char line[16];
        for (size_t i = 1;; i++) {
            CUdeviceptr p;
            CHECK(FN(cuMemAlloc_v2)(&p, i) == CUDA_SUCCESS);
            printf("%zu\n", i);
            fflush(stdout);
            if (!fgets(line, sizeof line, stdin))
                break;
        }
        return (int)n;
    } else if (!strcmp(mode, "batches")) {   /* n calls for each line of standard input */
        char line[16];
        while (fgets(line, sizeof line, stdin))
            for (unsigned long i = 0; i < n; i++) {
                CUdeviceptr p;
                CHECK(FN(cuMemAlloc_v2)(&p, i + 1) == CUDA_SUCCESS);
            }
    } else {
        return 97;
    }
    return 0;
}
