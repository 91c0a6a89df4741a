/* SPDX-License-Identifier: Apache-2.0
 * What a test program of the Runtime includes. nvcc brings the toolkit's headers; clang takes our own declarations and the few
 * definitions of the CUDA language below, so that no toolkit is needed. A failed check prints where, what was expected and what came, and
 * the program goes on; main returns test_result().
 *
 * With NVIDIA's Runtime inside (NVIDIA_RUNTIME=1 in the environment) a check that crashes is a failed one too, and a program that hangs says
 * behind which check: one run on a GPU tells everything. */
#ifndef TESTS_RUNTIME_TEST_H
#define TESTS_RUNTIME_TEST_H

#ifdef __NVCC__
#include <cuda_runtime.h>
#else
#define __host__     __attribute__((host))
#define __device__   __attribute__((device))
#define __global__   __attribute__((global))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
#include <stddef.h>
#define CW_HAVE_DIM3
struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
#include "impl/api/cuda_runtime.h"
/* What clang's <<<>>> calls. */
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" __device__ int printf(const char *, ...);
#endif

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __NVCC__
#define TID_X threadIdx.x
#define CTAID_X blockIdx.x
#define NTID_X blockDim.x
#define NCTAID_X gridDim.x
#define SYNC() __syncthreads()
#else
#define TID_X __nvvm_read_ptx_sreg_tid_x()
#define CTAID_X __nvvm_read_ptx_sreg_ctaid_x()
#define NTID_X __nvvm_read_ptx_sreg_ntid_x()
#define NCTAID_X __nvvm_read_ptx_sreg_nctaid_x()
#define SYNC() __syncthreads()
#endif
#define GLOBAL_X (CTAID_X * NTID_X + TID_X)

/* CUDA 13's library passes on what the driver says (seen on an H200); those before have errors of their own. */
static inline int
runtime_13(void)
{
    int v = 0;
    return cudaRuntimeGetVersion(&v) == cudaSuccess && v >= 13000;
}
#define BAD_CONFIGURATION (runtime_13() ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration)
#define NOT_A_KERNEL (runtime_13() ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction)

static int failures;

/* What CUDA leaves undefined (handles of what was destroyed, NULL where a structure is read) CUDAway refuses; NVIDIA's Runtime crashes on some
 * of it, so a run there leaves such checks out. */
static inline int
on_nvidia(void)
{
    return getenv("NVIDIA_RUNTIME") != NULL;
}

static inline int
on_host(void)
{
    const char *d = getenv("CUDAWAY_DEVICE");
    return !on_nvidia() && (!d || !strncmp(d, "host", 4));
}

enum { TEST_SECONDS = 300 };

/* The check that the thread is in, or was in last. */
static __thread struct {
    sigjmp_buf back;
    volatile int armed, line;
    const char *volatile file;
} test_at;

static void
test_crashed(int sig)
{
    if (test_at.armed)
        siglongjmp(test_at.back, sig);
    fprintf(stderr, "%s:%d: signal %d behind this check\n", test_at.file ? test_at.file : "start", test_at.line, sig);
    _exit(3);
}

__attribute__((constructor)) static void
test_guard(void)
{
    struct sigaction a;
    if (!on_nvidia())
        return;
    memset(&a, 0, sizeof a);
    a.sa_handler = test_crashed;
    a.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGBUS, &a, NULL);
    sigaction(SIGFPE, &a, NULL);
    sigaction(SIGABRT, &a, NULL);
    sigaction(SIGALRM, &a, NULL);       /* ends a call that waits for ever, if the main thread is in it */
    alarm(TEST_SECONDS);
}

/* Runs a statement as a check, whose text is `what`. */
#define TEST_GUARDED(what, ...)                                                                                             \
    do {                                                                                                                    \
        int sig_;                                                                                                           \
        test_at.file = __FILE__;                                                                                            \
        test_at.line = __LINE__;                                                                                            \
        if (!on_nvidia() || !(sig_ = sigsetjmp(test_at.back, 1))) {                                                         \
            test_at.armed = on_nvidia();                                                                                    \
            __VA_ARGS__;                                                                                                    \
        } else {                                                                                                            \
            fprintf(stderr, "%s:%d: %s: ended by signal %d\n", __FILE__, __LINE__, what, sig_);                             \
            failures++;                                                                                                     \
        }                                                                                                                   \
        test_at.armed = 0;                                                                                                  \
    } while (0)

#define EXPECT(what)                                                                                                        \
    TEST_GUARDED(#what, if (!(what)) {                                                                                      \
        fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                                  \
        failures++;                                                                                                         \
    })

/* Integers and handles: what came is printed. */
#define EXPECT_EQ(what, want)                                                                                               \
    TEST_GUARDED(#what, long long got_ = (long long)(what), want_ = (long long)(want); if (got_ != want_) {                 \
        fprintf(stderr, "%s:%d: %s is %lld, not %s (%lld)\n", __FILE__, __LINE__, #what, got_, #want, want_);               \
        failures++;                                                                                                         \
    })

#define EXPECT_RESULT(call, want)                                                                                           \
    TEST_GUARDED(#call, cudaError_t got_ = (call); if (got_ != (want)) {                                                    \
        fprintf(stderr, "%s:%d: %s gave %s (%d), not %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(got_), (int)got_, #want); \
        failures++;                                                                                                         \
    })

/* A launch, which gives nothing back. */
#define LAUNCH(...) TEST_GUARDED(#__VA_ARGS__, __VA_ARGS__)

/* What the manual leaves open: a run with NVIDIA's Runtime prints what it does. */
#define NOTE(what)                                                                                                          \
    do {                                                                                                                    \
        if (on_nvidia())                                                                                                    \
            TEST_GUARDED(#what, fprintf(stderr, "%s:%d: note: %s is %lld\n", __FILE__, __LINE__, #what, (long long)(what))); \
    } while (0)

/* An error that is meant is taken from the thread as well. */
#define REFUSED(call, want)                                                                                                 \
    do {                                                                                                                    \
        EXPECT_RESULT(call, want);                                                                                          \
        EXPECT_RESULT(cudaGetLastError(), want);                                                                            \
    } while (0)
#define OK(call) EXPECT_RESULT(call, cudaSuccess)

static inline int
test_result(void)
{
    if (failures)
        fprintf(stderr, "%d checks failed\n", failures);
    return failures != 0;
}

#endif
