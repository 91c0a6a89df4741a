/* SPDX-License-Identifier: Apache-2.0
 * Memory runs out at every allocation of the libraries, one by one. This program's malloc fails the Nth time it is called by the driver, the
 * backend, the Runtime, the layers above them or the emulator's HIP (LLVM's own allocations: tests/jit/llvm/fault.c), once or from then on. The work
 * around it loads, compiles, links, launches, captures a graph, uses textures, pools and the Runtime. Each call succeeds or gives an error, no
 * process ends or waits for ever, and when there is memory again the same work succeeds in the same process. With REFUSED it is not malloc that fails, but what
 * asks the system for threads, mappings of memory, their end, or files (tests/refused.h).
 *   no_memory [--samples S]                 S cases of each kind, spread over all allocations
 *   no_memory --all [LIMIT]                 every N up to LIMIT (default 5000)
 *   no_memory --case cold|warm once|ever N  one case, without a child; says where the allocation failed
 * With --loaded LIBRARY before these that is loaded first: libcudaway-jit.so where it brings a shared LLVM, whose constructors end the process when
 * they get no memory.
 * cold: N counts from the first call of a process. warm: the work was done once before. */
#define _GNU_SOURCE
#include "tests/driver/work.h"
#ifdef REFUSED
#include "tests/refused.h"
#else
#include "tests/no_memory.h"
#endif

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- malloc -------------------------------------------------------------------------------------------------------------- */

enum fault { NOTHING, ONCE, EVER };
enum { HANGS = 600 };           /* seconds: a case takes one or two, and the machine may be busy */

static atomic_int armed;
static atomic_long countdown, counted;
static bool say_where;

/* True: this allocation fails. */
static bool
fails(const void *caller)
{
    int fault = atomic_load(&armed);
    if (fault == NOTHING || is_exempt(caller))
        return false;
    atomic_fetch_add(&counted, 1);
    if (atomic_fetch_sub(&countdown, 1) > 1)
        return false;
    if (fault == ONCE)
        atomic_store(&armed, NOTHING);
    if (say_where) {
        void *frames[40];
        say_where = false;
        backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
    }
    errno = ENOMEM;
    return true;
}

/* ---- cases --------------------------------------------------------------------------------------------------------------- */

static struct shared {
    long allocations;           /* of the work */
    long at;                    /* the case that a child is in */
    unsigned errors, successes, odd;
} *shared;
static unsigned failures;
static FILE *out;                /* standard output gets what the kernel prints */

static const char *const kinds[] = { "nothing", "once", "ever" };

static void
complain(bool cold, enum fault fault, long n, const char *what)
{
    fprintf(out, "FAIL --case %s %s %ld: %s\n", cold ? "cold" : "warm", kinds[fault], n, what);
    failures++;
}

/* What a call may answer; a code object is linked by way of files. */
static bool
is_memory_error(void)
{
#if defined(REFUSE_FILES) || defined(REFUSE_MAPPINGS)
    if (failed_code == CUDA_ERROR_OPERATING_SYSTEM)
        return true;
#endif
    return failed_code == CUDA_ERROR_OUT_OF_MEMORY;
}

static void
one(bool cold, enum fault fault, long n)
{
    char what[400];
    shared->at = n;
    alarm(HANGS);
    atomic_store(&countdown, n);
    atomic_store(&armed, fault);
    work();
    atomic_store(&armed, NOTHING);
    if (wrong)
        complain(cold, fault, n, (snprintf(what, sizeof what, "wrong results: %s", wrong), what));
    if (failed_call && !is_memory_error()) {
        complain(cold, fault, n, (snprintf(what, sizeof what, "the %s gave %d, not out of memory: %s", failed_kind, failed_code, failed_call), what));
        shared->odd++;
    }
    if (failed_call)
        shared->errors++;
    else
        shared->successes++;
    work();
    if (failed_call)
        complain(cold, fault, n, (snprintf(what, sizeof what, "afterwards the %s gave %d: %s", failed_kind, failed_code, failed_call), what));
    if (wrong)
        complain(cold, fault, n, (snprintf(what, sizeof what, "afterwards wrong results: %s", wrong), what));
    alarm(0);
}

/* A child for the cases from, from + step, ... below to. Returns the first that it did not finish. */
static long
in_child(bool cold, enum fault fault, long from, long to, long step)
{
    int status;
    char what[100];
    fflush(out);
    shared->at = from;
    pid_t child = fork();
    if (!child) {
        failures = 0;
        alarm(HANGS);
        if (!cold)
            work();
        for (long n = from; n < to; n += step)
            one(cold, fault, n);
        fflush(out);
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) {
        failures += WEXITSTATUS(status) == 1;
        return to;
    }
    snprintf(what, sizeof what, "%s", WIFEXITED(status) ? "the process ended itself" : WTERMSIG(status) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(status)));
    complain(cold, fault, shared->at, what);
    return shared->at + step;
}

static long
count_allocations(bool cold)
{
    fflush(out);
    pid_t child = fork();
    if (!child) {
        alarm(HANGS);
        if (!cold)
            work();
        atomic_store(&countdown, INT64_MAX);
        atomic_store(&armed, ONCE);
        work();
        atomic_store(&armed, NOTHING);
        shared->allocations = atomic_load(&counted);
        if (failed_call || wrong)
            fprintf(out, "FAIL without a fault: %s, %s gave %d\n", wrong ? wrong : "", failed_call ? failed_call : "", failed_code);
        fflush(out);
        _exit(failed_call || wrong);
    }
    int status;
    waitpid(child, &status, 0);
    if (status) {
        fprintf(out, "FAIL without a fault: status 0x%x\n", status);
        exit(1);
    }
    return shared->allocations;
}

static void
sweep(bool cold, enum fault fault, long samples, long limit)
{
    long all = count_allocations(cold), step = 1, to = all + 1;
    if (limit)
        to = limit + 1 < to ? limit + 1 : to;
    else
        step = all / samples + 1;
    shared->errors = shared->successes = shared->odd = 0;
    for (long n = 1; n < to;) {
        long end = cold ? n + 1 : n + 64 * step;
        n = in_child(cold, fault, n, end < to ? end : to, step);
        if (cold)
            n += step - 1;
    }
    fprintf(out, "%s, %s: %ld allocations, %u cases: %u with an error, %u without\n", cold ? "cold" : "warm", kinds[fault], all,
           shared->errors + shared->successes, shared->errors, shared->successes);
}

#ifndef REFUSED
/* What waits for queued work waits for all of it, however many streams there are: memory that a stream still uses is not freed. */
static atomic_bool opened, was_open;
static CUcontext waits_context;
static CUdeviceptr waits_memory;

static void
holds(void *unused)
{
    while (!atomic_load(&opened))
        usleep(1000);
}

static void *
frees(void *unused)
{
    (void)cuCtxSetCurrent(waits_context);
    atomic_store(&countdown, 1);
    atomic_store(&armed, EVER);
    CUresult e = cuMemFree_v2(waits_memory);
    bool then = atomic_load(&opened);
    atomic_store(&armed, NOTHING);
    atomic_store(&was_open, then || e != CUDA_SUCCESS);
    return unused;
}

static int
wait_for_all(void)
{
    enum { STREAMS = 40 };
    CUstream s[STREAMS];
    pthread_t t;
    alarm(HANGS);
    CUresult e = cuInit(0);
    e = e ? e : cuCtxCreate_v2(&waits_context, 0, 0);
    e = e ? e : cuMemAlloc_v2(&waits_memory, 8 << 20);
    for (int i = 0; i < STREAMS && !e; i++) {
        e = cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING);
        if (!e && !i)
            e = cuLaunchHostFunc(s[0], holds, NULL);
        if (!e && !i)
            e = cuMemsetD8Async(waits_memory, 1, 8 << 20, s[0]);
    }
    if (e || pthread_create(&t, NULL, frees, NULL))
        return 2;
    usleep(200000);
    atomic_store(&opened, true);
    pthread_join(t, NULL);
    e = cuStreamSynchronize(s[0]);
    return !e && atomic_load(&was_open) ? 0 : 1;
}

static void
in_child_waits(void)
{
    int status;
    fflush(out);
    pid_t child = fork();
    if (!child)
        _exit(wait_for_all());
    waitpid(child, &status, 0);
    if (status) {
        fprintf(out, "FAIL cuMemFree without memory did not wait for the work of 40 streams: status 0x%x\n", status);
        failures++;
    }
}
#endif

/* A kernel of a binary that is registered once, as compilers' constructors do: allocation n of its first launch fails, and the next launch is
 * as if it had not. False: the launch has fewer allocations. */
static bool
launched_again(long n)
{
    static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n";
    static char stub;
    int status;
    char what[100];
    fflush(out);
    pid_t child = fork();
    if (!child) {
        const struct dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };         /* a shape that is compiled before the launch is queued */
        alarm(HANGS);
        work();                         /* the compiler is there, and the device */
        void **binary = __cudaRegisterFatBinary((void *)(uintptr_t)ptx);
        __cudaRegisterFunction(binary, &stub, NULL, "empty", -1, NULL, NULL, NULL, NULL, NULL);
        if (cudaFree(NULL))
            _exit(1);
        atomic_store(&countdown, n);
        atomic_store(&armed, ONCE);
        cudaError_t first = cudaLaunchKernel(&stub, grid, block, NULL, 0, NULL);
        bool fewer = atomic_exchange(&armed, NOTHING) != NOTHING;
        if (first == cudaSuccess && cudaDeviceSynchronize() != cudaSuccess)
            _exit(0);                   /* it failed while it ran, which is the context's error for good */
        (void)cudaGetLastError();
        _exit(fewer ? 2 : cudaLaunchKernel(&stub, grid, block, NULL, 0, NULL) || cudaDeviceSynchronize());
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        return false;
    if (status)
        complain(true, ONCE, n, (snprintf(what, sizeof what, "a registered kernel, launched again: status 0x%x", (unsigned)status), what));
    return true;
}

int
main(int argc, char **argv)
{
    void *frame;
    long samples = 40, limit = 0;
    backtrace(&frame, 1);       /* loads a library */
    out = fdopen(dup(1), "w");
    if (!out || !freopen("/dev/null", "w", stdout))
        return 2;
    if (argc > 2 && !strcmp(argv[1], "--loaded")) {
        if (!dlopen(argv[2], RTLD_NOW))
            return 2;
        argc -= 2;
        argv += 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc == 5 && !strcmp(argv[1], "--case")) {
        bool cold = !strcmp(argv[2], "cold");
        if (!cold)
            work();
        say_where = true;
        one(cold, !strcmp(argv[3], "ever") ? EVER : ONCE, atol(argv[4]));
        return failures != 0;
    }
#ifndef REFUSED
    in_child_waits();
#endif
    if (argc == 3 && !strcmp(argv[1], "--samples"))
        samples = atol(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "--all"))
        limit = argc > 2 ? atol(argv[2]) : 5000;
    for (unsigned cold = 0; cold < 2; cold++)
        for (enum fault fault = ONCE; fault <= EVER; fault++)
            sweep(cold, fault, samples, limit);
    for (long n = 1; launched_again(n); n += limit ? 1 : 3)
        ;
    fprintf(out, "%u failures\n", failures);
    return failures != 0;
}
