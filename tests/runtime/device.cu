/* SPDX-License-Identifier: Apache-2.0
 * Devices, primary contexts and the driver API beside the Runtime in one process ("Device Management", "Interactions with the
 * CUDA Driver API"). */
#include "test.h"

#ifdef __NVCC__
#include <cuda.h>
#else
#include "impl/api/cuda.h"
/* The names that NVIDIA's header gives the newest versions. */
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuCtxCreate cuCtxCreate_v4
#define cuCtxDestroy cuCtxDestroy_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#endif

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void
set(int *p, int v)
{
    *p = v;
}

static void
properties(void)
{
    cudaDeviceProp p;
    int count = 0, v = 0, device = -1, version = 0, runtime = 0;
    char bus[32];

    OK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0));
    EXPECT(p.maxThreadsPerBlock == v && v >= 1024);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(p.multiProcessorCount == v && v > 0);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
    EXPECT(p.major == v && v >= 5);
    EXPECT(p.warpSize == 32 && p.maxThreadsDim[2] == 64 && p.maxGridSize[1] == 65535 && p.totalConstMem == 65536);
    EXPECT(p.name[0] && p.totalGlobalMem > 0 && p.unifiedAddressing == 1);
    REFUSED(cudaGetDeviceProperties(&p, count), cudaErrorInvalidDevice);
    REFUSED(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
    REFUSED(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
    REFUSED(cudaDeviceGetAttribute(&v, (cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
    OK(cudaChooseDevice(&device, &p));
    EXPECT(device == 0);
    OK(cudaDriverGetVersion(&version));
    OK(cudaRuntimeGetVersion(&runtime));
    EXPECT(version >= 13000 && runtime == 13000);
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    EXPECT(device == 0);
}

static void
choosing(void)
{
    int device = -1;
    unsigned flags = 0;
    size_t limit = 0;

    OK(cudaGetDevice(&device));
    EXPECT(device == 0);
    OK(cudaSetDevice(0));
    REFUSED(cudaSetDevice(-1), cudaErrorInvalidDevice);
    REFUSED(cudaSetDevice(1000), cudaErrorInvalidDevice);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    EXPECT((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync && flags & cudaDeviceMapHost);
    REFUSED(cudaSetDeviceFlags(0x10000), cudaErrorInvalidValue);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == 16 << 20);
    REFUSED(cudaDeviceGetLimit(NULL, cudaLimitMallocHeapSize), cudaErrorInvalidValue);
    OK(cudaInitDevice(0, 0, 0));
    OK(cudaDeviceSynchronize());
}

/* One primary context for both APIs; a context that the program makes is used by the Runtime while it is current. */
static void
with_the_driver(void)
{
    CUcontext primary, current, own;
    CUdeviceptr d;
    int *p, v = 0, device = -1;
    unsigned flags;
    int active;

    OK(cudaFree(0));
    EXPECT(cuCtxGetCurrent(&current) == CUDA_SUCCESS && current);
    EXPECT(cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS && primary == current);
    EXPECT(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    EXPECT(cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS && active);
    /* Memory of the driver's, a kernel of the Runtime's. */
    EXPECT(cuMemAlloc(&d, 4) == CUDA_SUCCESS);
    set<<<1, 1>>>((int *)d, 77);
    EXPECT(cuMemcpyDtoH(&v, d, 4) == CUDA_SUCCESS && v == 77);
    OK(cudaFree((void *)d));
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    EXPECT(cuStreamQuery((CUstream)s) == CUDA_SUCCESS && cuStreamDestroy((CUstream)s) == CUDA_SUCCESS);

    EXPECT(cuCtxCreate(&own, NULL, 0, 0) == CUDA_SUCCESS);
    EXPECT(cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own);
    OK(cudaGetDevice(&device));
    EXPECT(device == 0);
    OK(cudaMalloc((void **)&p, 4));
    set<<<1, 1>>>(p, 5);
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(v == 5);
    EXPECT(cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own);
    OK(cudaDeviceReset());              /* of the primary context: this one stays */
    OK(cudaFree(p));
    EXPECT(cuCtxDestroy(own) == CUDA_SUCCESS);
    EXPECT(cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    OK(cudaMalloc((void **)&p, 4));
    set<<<1, 1>>>(p, 6);
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(v == 6);
    OK(cudaFree(p));
}

static void *
thread(void *)
{
    int *p, v = 0;
    CUcontext c = (CUcontext)1;
    EXPECT(cuCtxGetCurrent(&c) == CUDA_SUCCESS && !c);
    OK(cudaMalloc((void **)&p, 4));
    set<<<1, 1>>>(p, 8);
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(v == 8);
    OK(cudaFree(p));
    return NULL;
}

static void
reset(void)
{
    int *p, v = 0, active = 1;
    unsigned flags;
    cudaStream_t s;

    OK(cudaMalloc((void **)&p, 4));
    OK(cudaStreamCreate(&s));
    OK(cudaDeviceReset());
    EXPECT(cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS && !active);
    REFUSED(cudaStreamQuery(s), cudaErrorInvalidResourceHandle);
    REFUSED(cudaFree(p), cudaErrorInvalidValue);
    OK(cudaMalloc((void **)&p, 4));
    set<<<1, 1>>>(p, 9);
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(v == 9);
    OK(cudaDeviceReset());
    OK(cudaDeviceReset());
}

static void
peers(void)
{
    int can = 1;
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(can == 0);                                /* not to itself */
    REFUSED(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    REFUSED(cudaDeviceEnablePeerAccess(55, 0), cudaErrorInvalidDevice);
}

int
main(void)
{
    pthread_t t;

    /* A child of a process that has used CUDA cannot. */
    properties();
    choosing();
    with_the_driver();
    EXPECT(!pthread_create(&t, NULL, thread, NULL));
    pthread_join(t, NULL);
    peers();
    reset();
    OK(cudaFree(0));
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        void *p;
        _exit(cudaMalloc(&p, 4) == cudaErrorInitializationError ? 0 : 1);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return test_result();
}
