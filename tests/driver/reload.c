/* SPDX-License-Identifier: Apache-2.0
 * Programs that load the libraries and close them again: `reload LIBCUDA LIBCUDART`. A thread that has used them ends behind the close.
 * `reload PLUGIN`: a library whose constructor and destructor launch kernels (plugin.c). */
#include "impl/api/cuda.h"
#include "impl/api/cuda_runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures;
#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                         \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static pthread_barrier_t used, closed;

static void *
symbol(void *library, const char *name)
{
    void *s = dlsym(library, name);
    if (!s) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return s;
}

static void
use(void *cuda, void *cudart)
{
    CUresult (*init)(unsigned) = (CUresult (*)(unsigned))symbol(cuda, "cuInit");
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = (CUresult (*)(CUcontext *, unsigned, CUdevice))symbol(cuda, "cuCtxCreate_v2");
    CUresult (*load)(CUmodule *, const void *) = (CUresult (*)(CUmodule *, const void *))symbol(cuda, "cuModuleLoadData");
    CUresult (*function)(CUfunction *, CUmodule, const char *) = (CUresult (*)(CUfunction *, CUmodule, const char *))symbol(cuda, "cuModuleGetFunction");
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **) =
        (CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))
        symbol(cuda, "cuLaunchKernel");
    CUresult (*sync)(void) = (CUresult (*)(void))symbol(cuda, "cuCtxSynchronize");
    CUresult (*destroy)(CUcontext) = (CUresult (*)(CUcontext))symbol(cuda, "cuCtxDestroy_v2");
    cudaError_t (*allocate)(void **, size_t) = (cudaError_t (*)(void **, size_t))symbol(cudart, "cudaMalloc");
    cudaError_t (*release)(void *) = (cudaError_t (*)(void *))symbol(cudart, "cudaFree");
    CUcontext c;
    CUmodule m;
    CUfunction f;
    void *p = NULL;
    EXPECT(init(0) == CUDA_SUCCESS);
    EXPECT(create(&c, 0, 0) == CUDA_SUCCESS);
    EXPECT(load(&m, ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k() { ret; }\n") == CUDA_SUCCESS);
    EXPECT(function(&f, m, "k") == CUDA_SUCCESS);
    EXPECT(launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
    EXPECT(sync() == CUDA_SUCCESS);
    EXPECT(destroy(c) == CUDA_SUCCESS);
    EXPECT(allocate(&p, 1000) == cudaSuccess);
    EXPECT(release(p) == cudaSuccess);
}

struct libraries { void *cuda, *cudart; };

/* Work that is queued when the libraries are closed is done. */
static atomic_bool let;
static atomic_int ran;

static void
waits(void *unused)
{
    while (!atomic_load(&let))
        usleep(1000);
    atomic_fetch_add(&ran, 1);
}

static CUstream
queue(void *cuda, CUcontext *c)
{
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = (CUresult (*)(CUcontext *, unsigned, CUdevice))symbol(cuda, "cuCtxCreate_v2");
    CUresult (*stream)(CUstream *, unsigned) = (CUresult (*)(CUstream *, unsigned))symbol(cuda, "cuStreamCreate");
    CUresult (*call)(CUstream, CUhostFn, void *) = (CUresult (*)(CUstream, CUhostFn, void *))symbol(cuda, "cuLaunchHostFunc");
    CUstream s = NULL;
    atomic_store(&let, false);
    EXPECT(create(c, 0, 0) == CUDA_SUCCESS && stream(&s, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    for (int i = 0; i < 3; i++)
        EXPECT(call(s, waits, NULL) == CUDA_SUCCESS);
    return s;
}

static void
finish(const char *path, CUcontext c, CUstream s)
{
    void *cuda = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CUresult (*sync)(CUstream) = (CUresult (*)(CUstream))symbol(cuda, "cuStreamSynchronize");
    CUresult (*destroy)(CUcontext) = (CUresult (*)(CUcontext))symbol(cuda, "cuCtxDestroy_v2");
    const int before = atomic_load(&ran);
    atomic_store(&let, true);
    EXPECT(sync(s) == CUDA_SUCCESS && atomic_load(&ran) == before + 3);
    EXPECT(destroy(c) == CUDA_SUCCESS && !dlclose(cuda));
}

static void *
outlive(void *user)
{
    const struct libraries *l = user;
    use(l->cuda, l->cudart);
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    return NULL;                /* destructors of thread-specific data */
}

/* In the constructor and the destructor this thread has the dynamic loader's lock: no thread of ours may need it. */
static int
plug(const char *path)
{
    int ran = 0;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    EXPECT(**(int **)symbol(plugin, "plugin_runs") == 1);
    *(int **)symbol(plugin, "plugin_runs") = &ran;
    EXPECT(!dlclose(plugin) && ran == 1);
    return failures != 0;
}

int
main(int argc, char **argv)
{
    if (argc == 2)
        return plug(argv[1]);
    if (argc != 3)
        return 2;
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    for (unsigned i = 0; i < 5; i++) {
        struct libraries l = { dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), NULL };
        l.cudart = dlopen(argv[2], i % 2 ? RTLD_NOW | RTLD_GLOBAL : RTLD_LAZY);
        if (!l.cuda || !l.cudart) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        pthread_t t;
        pthread_create(&t, NULL, outlive, &l);
        use(l.cuda, l.cudart);
        pthread_barrier_wait(&used);
        CUcontext c;
        CUstream s = queue(l.cuda, &c);
        EXPECT(!dlclose(i % 2 ? l.cuda : l.cudart));
        EXPECT(!dlclose(i % 2 ? l.cudart : l.cuda));
        pthread_barrier_wait(&closed);
        pthread_join(t, NULL);
        finish(argv[1], c, s);
    }
    return failures != 0;
}
