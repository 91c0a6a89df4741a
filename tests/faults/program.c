/* SPDX-License-Identifier: Apache-2.0
 * A program with faults that only a whole program can have: program correct|leak|context|freed|pool|timer|children|closed|endless. The kernel writes n words from `to` on.
 * `timer` is a correct one that a signal interrupts all the while; `children` waits for all its children, of which it has none; `closed` closes all descriptors and has their
 * numbers for its files; `endless` launches a kernel that does not end. Each other case ends with status 0 but `freed`, whose last launch uses memory that is freed, and `pool`, whose last writes behind an allocation of a pool. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                                                      \
    do {                                                                                \
        CUresult r_ = (call);                                                           \
        if (r_ != CUDA_SUCCESS) {                                                       \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, (int)r_); \
            exit(3);                                                                    \
        }                                                                               \
    } while (0)

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".visible .entry fill(.param .u64 to, .param .u32 n)\n{\n"
    "    .reg .u64 %a; .reg .u32 %t, %n; .reg .pred %p;\n"
    "    ld.param.u64 %a, [to]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, %n;\n"
    "    @%p bra end;\n"
    "    mad.wide.u32 %a, %t, 4, %a; st.global.u32 [%a], %t;\n"
    "end:\n    ret;\n}\n"
    ".visible .entry endless(.param .u64 to, .param .u32 n)\n{\n"
    "    .reg .u64 %a; .reg .u32 %t; .reg .pred %p;\n"
    "    ld.param.u64 %a, [to];\n"
    "again:\n    ld.volatile.global.u32 %t, [%a]; setp.ne.u32 %p, %t, 77777;\n    @%p bra again;\n    ret;\n}\n";

static void
tick(int signal)
{
    (void)signal;
}

static void
start_timer(void)
{
    struct sigaction a = { .sa_handler = tick };        /* without SA_RESTART */
    struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void
launch(CUfunction f, CUdeviceptr to, uint32_t n)
{
    void *args[] = { &to, &n };
    CHECK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
}

static volatile sig_atomic_t ended;

static void
count_end(int sig)
{
    (void)sig;
    ended = 1;
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    CUdevice d;
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUdeviceptr a, b, other;
    uint32_t first[64];
    if (!strcmp(what, "timer"))
        start_timer();
    if (!strcmp(what, "children"))
        signal(SIGCHLD, count_end);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&d, 0));
    CHECK(cuCtxCreate_v4(&c, NULL, 0, d));
    CHECK(cuModuleLoadData(&m, text));
    CHECK(cuModuleGetFunction(&f, m, "fill"));
    CHECK(cuMemAlloc_v2(&a, 256));
    CHECK(cuMemAlloc_v2(&b, 1000));
    CHECK(cuMemAlloc_v2(&other, 4096));
    launch(f, a, 64);
    launch(f, b, 64);
    CHECK(cuMemcpyDtoH_v2(first, a, sizeof first));
    for (uint32_t i = 0; i < 64; i++)
        if (first[i] != i)
            return 4;
    if (!strcmp(what, "children")) {
        alarm(60);
        while (wait(NULL) > 0)
            ;
        if (ended)
            return 5;
    }
    if (!strcmp(what, "closed")) {
        enum { FILES = 64 };
        struct stat st;
        FILE *kept = tmpfile();
        if (!kept || dup2(fileno(kept), 500) != 500)
            return 6;
        close_range(3, 499, 0);
        for (int i = 0; i < FILES; i++)
            if (dup(500) != 3 + i)
                return 7;
        launch(f, a, 64);
        launch(f, a, 64);
        for (int i = 0; i < FILES; i++)
            if (fstat(3 + i, &st) || st.st_size)
                return 8;
    }
    if (!strcmp(what, "freed")) {
        CHECK(cuMemFree_v2(other));
        launch(f, other, 64);
        return 0;
    }
    if (!strcmp(what, "pool")) {
        CUdeviceptr beside;
        CHECK(cuMemAllocAsync(&other, 128, NULL));
        CHECK(cuMemAllocAsync(&beside, 4096, NULL));
        launch(f, beside, 64);
        launch(f, other, 64);
        return 0;
    }
    if (!strcmp(what, "endless")) {
        CHECK(cuModuleGetFunction(&f, m, what));
        launch(f, a, 1);
    }
    CHECK(cuMemFree_v2(a));
    CHECK(cuMemFree_v2(other));
    if (!strcmp(what, "correct") || !strcmp(what, "timer") || !strcmp(what, "children") || !strcmp(what, "closed"))
        CHECK(cuMemFree_v2(b));
    if (strcmp(what, "leak"))
        CHECK(cuCtxDestroy_v2(c));
    return 0;
}
