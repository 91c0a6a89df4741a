/* SPDX-License-Identifier: Apache-2.0
 * versions LIBRARY VERSION: what differs between the Runtime's versions. Structures grew, so each library must write as much as
 * its own headers say and no more; functions changed their parameters under the same name. */
#include "impl/api/cuda_runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define EXPECT(what)                                                                                                        \
    do {                                                                                                                    \
        if (!(what)) {                                                                                                      \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                              \
            failures++;                                                                                                     \
        }                                                                                                                   \
    } while (0)

static void *library;
static unsigned char memory[4096];

#define CALL(name, ...) ((cudaError_t (*)(__VA_ARGS__))dlsym(library, name))

/* The call wrote the first `size` bytes and nothing behind them. */
static int
wrote(size_t size)
{
    for (size_t i = size; i < sizeof memory; i++)
        if (memory[i] != 0xa5)
            return 0;
    int any = 0;
    for (size_t i = 0; i < size; i++)
        any |= memory[i] != 0xa5;
    return any;
}

static void *
fresh(void)
{
    return memset(memory, 0xa5, sizeof memory);
}

int
main(int argc, char **argv)
{
    int want = argc > 2 ? atoi(argv[2]) : 0, version = 0, local;
    library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    EXPECT(CALL("cudaRuntimeGetVersion", int *)(&version) == cudaSuccess && version == want);

    EXPECT(CALL("cudaGetDeviceProperties", void *, int)(fresh(), 0) == cudaSuccess);
    EXPECT(wrote(want >= 13000 ? sizeof(cudaDeviceProp) : sizeof(cudaDeviceProp_v11)));
    if (want >= 13000)
        EXPECT(((cudaDeviceProp *)(void *)memory)->warpSize == 32 && ((cudaDeviceProp *)(void *)memory)->managedMemory == 1);
    else
        EXPECT(((cudaDeviceProp_v11 *)(void *)memory)->warpSize == 32 && ((cudaDeviceProp_v11 *)(void *)memory)->clockRate > 0);
    EXPECT((dlsym(library, "cudaGetDeviceProperties_v2") != NULL) == (want == 12090));
    if (want == 12090) {
        EXPECT(CALL("cudaGetDeviceProperties_v2", void *, int)(fresh(), 0) == cudaSuccess);
        EXPECT(wrote(sizeof(cudaDeviceProp_v12)));
        EXPECT(((cudaDeviceProp_v12 *)(void *)memory)->memoryPoolsSupported == 1);
    }
    EXPECT(CALL("cudaPointerGetAttributes", void *, const void *)(fresh(), &local) == cudaSuccess);
    EXPECT(wrote(want >= 13000 ? sizeof(cudaPointerAttributes) : sizeof(cudaPointerAttributes_v12)));

    /* A texture's description has one field more since CUDA 12. */
    cudaChannelFormatDesc f = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
    cudaArray_t array = NULL;
    cudaTextureObject_t object = 0;
    cudaResourceDesc r = { .resType = cudaResourceTypeArray };
    struct { cudaTextureDesc t; int guard; } t = { .t = { .seamlessCubemap = 1 } };
    EXPECT(CALL("cudaMallocArray", cudaArray_t *, const cudaChannelFormatDesc *, size_t, size_t, unsigned)(&array, &f, 4, 4, 0) == cudaSuccess);
    r.res.array.array = array;
    /* Seams are of cubemaps alone; before CUDA 12 nobody reads the field. */
    EXPECT((CALL("cudaCreateTextureObject", cudaTextureObject_t *, const cudaResourceDesc *, const void *, const void *)(&object, &r, &t, NULL) ==
            cudaSuccess) == (want < 12000));
    t.t.seamlessCubemap = 0;
    EXPECT(CALL("cudaCreateTextureObject", cudaTextureObject_t *, const cudaResourceDesc *, const void *, const void *)(&object, &r, &t, NULL) ==
           cudaSuccess);
    EXPECT(CALL("cudaGetTextureObjectTextureDesc", void *, cudaTextureObject_t)(fresh(), object) == cudaSuccess);
    EXPECT(wrote(want >= 12000 ? sizeof(cudaTextureDesc) : sizeof(cudaTextureDesc_v1)));
    EXPECT((dlsym(library, "cudaCreateTextureObject_v2") != NULL) == (want == 11080));
    EXPECT(CALL("cudaGetTextureObjectResourceDesc", void *, cudaTextureObject_t)(fresh(), object) == cudaSuccess);
    EXPECT(wrote(offsetof(cudaResourceDesc, res) + sizeof(void *)));

    /* Parameters: the same name, another signature. */
    cudaGraph_t g = NULL;
    cudaGraphExec_t x = NULL;
    cudaGraphNode_t a = NULL, b = NULL, error_node = NULL, from[2], to[2];
    cudaGraphEdgeData edges[2];
    size_t n = 2;
    char log[64];
    EXPECT(CALL("cudaGraphCreate", cudaGraph_t *, unsigned)(&g, 0) == cudaSuccess);
    EXPECT(CALL("cudaGraphAddEmptyNode", cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t)(&a, g, NULL, 0) == cudaSuccess);
    EXPECT(CALL("cudaGraphAddEmptyNode", cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t)(&b, g, NULL, 0) == cudaSuccess);
    if (want >= 13000) {
        EXPECT(CALL("cudaGraphAddDependencies", cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t)(
                   g, &a, &b, NULL, 1) == cudaSuccess);
        EXPECT(CALL("cudaGraphGetEdges", cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, cudaGraphEdgeData *, size_t *)(g, from, to, edges,
                                                                                                                           &n) == cudaSuccess);
    } else {
        EXPECT(CALL("cudaGraphAddDependencies", cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t)(g, &a, &b, 1) ==
               cudaSuccess);
        EXPECT(CALL("cudaGraphGetEdges", cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *)(g, from, to, &n) == cudaSuccess);
    }
    EXPECT(n == 1 && from[0] == a && to[0] == b);
    if (want >= 12000)
        EXPECT(CALL("cudaGraphInstantiate", cudaGraphExec_t *, cudaGraph_t, unsigned long long)(&x, g, 0) == cudaSuccess);
    else
        EXPECT(CALL("cudaGraphInstantiate", cudaGraphExec_t *, cudaGraph_t, cudaGraphNode_t *, char *, size_t)(&x, g, &error_node, log,
                                                                                                               sizeof log) == cudaSuccess);
    EXPECT(x != NULL);
    EXPECT(CALL("cudaGraphLaunch", cudaGraphExec_t, cudaStream_t)(x, NULL) == cudaSuccess);
    EXPECT(CALL("cudaDeviceSynchronize", void)() == cudaSuccess);
    EXPECT((dlsym(library, "cudaBindTexture") != NULL) == (want == 11080));
    EXPECT((dlsym(library, "cudaThreadExit") != NULL) == (want < 13000));

    /* One that is not supported says so. */
    void *memory_of_another_api = NULL;
    EXPECT(CALL("cudaImportExternalMemory", void **, const void *)(&memory_of_another_api, memory) == cudaErrorNotSupported);
    EXPECT(CALL("cudaGetLastError", void)() == cudaErrorNotSupported);
    return failures != 0;
}
