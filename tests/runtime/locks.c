/* SPDX-License-Identifier: Apache-2.0
 * locks CASE PLUGIN: threads of one process that use the libraries in ways where locks could meet. PLUGIN's constructor calls `constructed`,
 * so under the dynamic loader's lock, while the main thread makes the call that loads a library:
 *   init      both call the Runtime first;
 *   module    both load a module, which needs the compiler;
 *   managed   the main thread uses a managed variable first, the constructor registers a binary.
 * And
 *   reset     a reset that waits for its device's work holds up no other device; one in a host function is refused, and nothing comes of it. */
#include "impl/api/cuda.h"
#include "impl/api/cuda_runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 4 .u32 v = 5;\n";

static int failures;
static const char *what;
static _Atomic int inside;
static unsigned *variable;

#define OK(call)                                                                                                            \
    do {                                                                                                                    \
        int got_ = (int)(call);                                                                                             \
        if (got_) {                                                                                                         \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, got_);                                        \
            failures++;                                                                                                     \
        }                                                                                                                   \
    } while (0)

static int
is(const char *name)
{
    return !strcmp(what, name);
}

static void
load_module(void)
{
    CUcontext c;
    CUmodule m;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleUnload(m));
}

/* In the plugin's constructor. */
__attribute__((visibility("default"))) void
constructed(void)
{
    int count;
    atomic_store(&inside, 1);
    usleep(300000);                     /* the main thread is in its call */
    if (is("init"))
        OK(cudaGetDeviceCount(&count));
    else if (is("module"))
        load_module();
    else
        __cudaUnregisterFatBinary(__cudaRegisterFatBinary((void *)(uintptr_t)ptx));
}

static void *
load_plugin(void *path)
{
    void *l = dlopen(path, RTLD_NOW);
    if (!l) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return NULL;
}

static void
plugin(char *path)
{
    int count;
    void **binary = __cudaRegisterFatBinary((void *)(uintptr_t)ptx);
    __cudaRegisterManagedVar(binary, (void **)(void *)&variable, NULL, "v", 0, 4, 0, 0);
    if (is("managed"))
        OK(cudaFree(NULL));             /* the context is there; the compiler is not */
    pthread_t t;
    pthread_create(&t, NULL, load_plugin, path);
    while (!atomic_load(&inside))
        usleep(1000);
    if (is("init"))
        OK(cudaGetDeviceCount(&count));
    else if (is("module"))
        load_module();
    else if (!__cudaInitModule(binary) || !variable || *variable != 5)
        failures++;
    pthread_join(t, NULL);
}

static _Atomic int other_done;

static void
until_other(void *unused)
{
    while (!atomic_load(&other_done))
        usleep(1000);
}

static void *
use_other(void *unused)
{
    void *p = NULL;
    usleep(100000);                     /* the reset waits */
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&p, 100));
    atomic_store(&other_done, 1);
    return NULL;
}

static void
refused(void *unused)
{
    void *p = NULL;
    if (cudaDeviceReset() != cudaErrorNotPermitted || cudaMalloc(&p, 4) != cudaErrorNotPermitted)
        failures++;
}

/* The Runtime has the one reference to the primary context that it had. */
static void
reset_refused(void)
{
    unsigned flags;
    int active = 1;
    OK(cudaLaunchHostFunc(NULL, refused, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    if (active) {
        fprintf(stderr, "retained again after a reset that was refused\n");
        failures++;
    }
}

static void
reset(void)
{
    pthread_t t;
    OK(cudaSetDevice(0));
    OK(cudaLaunchHostFunc(NULL, until_other, NULL));
    pthread_create(&t, NULL, use_other, NULL);
    OK(cudaDeviceReset());
    if (!atomic_load(&other_done))
        failures++;
    pthread_join(t, NULL);
    OK(cudaFree(NULL));
    reset_refused();
}

int
main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    what = argv[1];
    alarm(60);
    if (is("reset"))
        reset();
    else
        plugin(argv[2]);
    return failures != 0;
}
