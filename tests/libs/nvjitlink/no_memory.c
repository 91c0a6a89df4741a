/* SPDX-License-Identifier: Apache-2.0
 * Memory runs out at every allocation of nvJitLink's calls, one by one, once or from then on: PTX and a stand-in of LTO-IR are linked, and the image is
 * loaded and run. What fails says so, what succeeds is complete, and with memory the same succeeds afterwards. One argument: the library that plays the
 * part of NVIDIA's (theirs.c). */
#define _GNU_SOURCE
#include "tests/libs/nvjitlink/calls.h"
#include "tests/libs/nvjitlink/parts.h"
#include "tests/no_memory.h"

#include "impl/api/cuda.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

extern char cudaway_nvjitlink_stands_for[PATH_MAX];

enum fault { NOTHING, ONCE, EVER };
enum { SUCCESS = 0, MOST = 100000 };

static atomic_int armed;
static atomic_long countdown;
static const void *theirs;          /* where its code lies */

static bool
fails(const void *caller)
{
    Dl_info from;
    int fault = atomic_load(&armed);
    if (fault == NOTHING || is_exempt(caller) || (theirs && dladdr(caller, &from) && from.dli_fbase == theirs) || atomic_fetch_sub(&countdown, 1) > 1)
        return false;
    if (fault == ONCE)
        atomic_store(&armed, NOTHING);
    errno = ENOMEM;
    return true;
}

/* Link, and have the image in image. nvJitLink's first result that is not success. */
static int
link_all(char *image, size_t *size)
{
    const char *options[] = { "-arch=sm_80", "-lto" };
    char lto[sizeof LTO + sizeof kernel], log[4096];     /* the kernel: the rest links without it */
    size_t n = (size_t)snprintf(lto, sizeof lto, "%s%s", LTO, kernel);
    handle h = NULL;
    int r = nvJitLinkCreate(&h, 2, options);
    if (r == SUCCESS)
        r = nvJitLinkAddData(h, PTX, function, sizeof function, "g");
    if (r == SUCCESS)
        r = nvJitLinkAddData(h, LTOIR, lto, n, "lto");
    if (r == SUCCESS)
        r = nvJitLinkComplete(h);
    if (r == SUCCESS && (nvJitLinkGetLinkedCubinSize(h, size) != SUCCESS || *size > MOST || nvJitLinkGetLinkedCubin(h, image) != SUCCESS))
        r = -1;
    if (h && (nvJitLinkGetErrorLogSize(h, &n) != SUCCESS || n > sizeof log || nvJitLinkGetErrorLog(h, log) != SUCCESS || strlen(log) != n - 1))
        r = -1;
    if (h && (nvJitLinkDestroy(&h) != SUCCESS || h))
        r = -1;
    return r;
}

/* 5 -> 3 * 5 + 4 */
static bool
runs(const char *image)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr d;
    int v = 5;
    if (cuModuleLoadData(&m, image) || cuModuleGetFunction(&f, m, "f") || cuMemAlloc_v2(&d, 4) || cuMemcpyHtoD_v2(d, &v, 4))
        return false;
    void *args[] = { &d };
    bool ok = !cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) && !cuMemcpyDtoH_v2(&v, d, 4) && v == 19;
    return !cuMemFree_v2(d) && !cuModuleUnload(m) && ok;
}

static unsigned failures;

static void
complain(enum fault fault, long n, const char *what, int r)
{
    fprintf(stderr, "FAIL allocation %ld, %s: %s (%d)\n", n, fault == ONCE ? "once" : "from then on", what, r);
    failures++;
}

/* False: there are fewer allocations than n. */
static bool
one(enum fault fault, long n)
{
    static char image[MOST];
    size_t size = 0;
    atomic_store(&countdown, n);
    atomic_store(&armed, fault);
    int r = link_all(image, &size);
    atomic_store(&armed, NOTHING);
    bool failed = atomic_load(&countdown) <= 0;
    if (r < SUCCESS)
        complain(fault, n, "a call that cannot fail", r);
    else if (r == SUCCESS && !runs(image))
        complain(fault, n, "what was linked does not run", r);
    else if (r != SUCCESS && !failed)
        complain(fault, n, "it failed without a cause", r);
    if (failed && ((r = link_all(image, &size)) != SUCCESS || !runs(image)))
        complain(fault, n, "it fails afterwards too", r);
    return failed;
}

int
main(int argc, char **argv)
{
    CUcontext c;
    Dl_info there;
    long n[EVER + 1] = { 0 };
    if (argc != 2 || strlen(argv[1]) >= PATH_MAX)
        return 2;
    strcpy(cudaway_nvjitlink_stands_for, argv[1]);
    void *l = dlopen(argv[1], RTLD_NOW), *f = l ? dlsym(l, "nvJitLinkCreate") : NULL;
    if (!f || !dladdr(f, &there) || cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c))
        return 2;
    theirs = there.dli_fbase;
    static char image[MOST];
    size_t size;
    if (link_all(image, &size) != SUCCESS || !runs(image)) {
        fputs("FAIL with memory\n", stderr);
        return 1;
    }
    for (enum fault fault = ONCE; fault <= EVER; fault++)
        for (n[fault] = 1; one(fault, n[fault]) && failures < 20; n[fault]++)
            ;
    printf("%ld and %ld allocations, %u failures\n", n[ONCE] - 1, n[EVER] - 1, failures);
    return failures != 0;
}
