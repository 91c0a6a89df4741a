/* SPDX-License-Identifier: Apache-2.0
 * What programs written for older toolkits use and CUDA 13 has no more, over what it has: tools/programs gives it to nvcc for programs
 * that do not compile without it. C++ alone. A texture reference is a managed variable that holds a texture object. */
#if defined(__CUDACC__) && defined(__cplusplus) && !defined(CUDAWAY_BEFORE13_H)
#define CUDAWAY_BEFORE13_H
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstring>
#include <string>
#include <cstdlib>
#include <cstdio>
#include <cfloat>
#include <climits>
#include <algorithm>

#if CUDART_VERSION >= 13000
static inline cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
static inline cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
static inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }

static inline cudaMemLocation
before13_location(int device)
{
    cudaMemLocation l;
    l.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    l.id = device == cudaCpuDeviceId ? 0 : device;
    return l;
}

static inline cudaError_t
cudaMemPrefetchAsync(const void *at, size_t size, int device, cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync(at, size, before13_location(device), 0, stream);
}

static inline cudaError_t
cudaMemAdvise(const void *at, size_t size, cudaMemoryAdvise advice, int device)
{
    return cudaMemAdvise(at, size, advice, before13_location(device));
}

struct before13_properties : cudaDeviceProp {
    int clockRate, memoryClockRate, deviceOverlap, computeMode, kernelExecTimeoutEnabled, singleToDoublePrecisionPerfRatio;
    int maxTexture1DLinear, cooperativeMultiDeviceLaunch;
};

static inline cudaError_t
cudaGetDeviceProperties(before13_properties *p, int device)
{
    cudaError_t e = cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(p), device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->clockRate, cudaDevAttrClockRate, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->memoryClockRate, cudaDevAttrMemoryClockRate, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->deviceOverlap, cudaDevAttrGpuOverlap, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->computeMode, cudaDevAttrComputeMode, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&p->maxTexture1DLinear, cudaDevAttrMaxTexture1DLinearWidth, device);
    p->cooperativeMultiDeviceLaunch = 0;
    return e;
}
#define cudaDeviceProp before13_properties

/* Texture references. */
template <class T, int DIM = 1, cudaTextureReadMode MODE = cudaReadModeElementType>
struct before13_texture {
    cudaTextureObject_t object;
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    cudaChannelFormatDesc channelDesc;
};

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
before13_bind(before13_texture<T, DIM, MODE> &t, const cudaResourceDesc &resource)
{
    cudaTextureDesc d;
    memset(&d, 0, sizeof(d));
    for (int i = 0; i < 3; i++)
        d.addressMode[i] = t.normalized || t.addressMode[i] != cudaAddressModeWrap ? t.addressMode[i] : cudaAddressModeClamp;
    d.filterMode = t.filterMode;
    d.readMode = MODE;
    d.normalizedCoords = t.normalized;
    if (t.object) {
        cudaDestroyTextureObject(t.object);
        t.object = 0;
    }
    return cudaCreateTextureObject(&t.object, &resource, &d, 0);
}

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaBindTexture(size_t *offset, before13_texture<T, DIM, MODE> &t, const void *at, const cudaChannelFormatDesc &format, size_t size = UINT_MAX)
{
    cudaResourceDesc r;
    memset(&r, 0, sizeof(r));
    if (size == UINT_MAX) {     /* all of it */
        size = (size_t)1 << 27;
        size *= (format.x + format.y + format.z + format.w) / 8;
    }
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = const_cast<void *>(at);
    r.res.linear.desc = format;
    r.res.linear.sizeInBytes = size;
    if (offset) *offset = 0;
    return before13_bind(t, r);
}

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaBindTexture(size_t *offset, before13_texture<T, DIM, MODE> &t, const void *at, size_t size = UINT_MAX)
{
    return cudaBindTexture(offset, t, at, cudaCreateChannelDesc<T>(), size);
}

/* The C form. */
template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaBindTexture(size_t *offset, before13_texture<T, DIM, MODE> *t, const void *at, const cudaChannelFormatDesc *format, size_t size = UINT_MAX)
{
    return cudaBindTexture(offset, *t, at, *format, size);
}

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaBindTexture2D(size_t *offset, before13_texture<T, DIM, MODE> &t, const void *at, const cudaChannelFormatDesc &format, size_t width, size_t height, size_t pitch)
{
    cudaResourceDesc r;
    memset(&r, 0, sizeof(r));
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = const_cast<void *>(at);
    r.res.pitch2D.desc = format;
    r.res.pitch2D.width = width;
    r.res.pitch2D.height = height;
    r.res.pitch2D.pitchInBytes = pitch;
    if (offset) *offset = 0;
    return before13_bind(t, r);
}

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaBindTextureToArray(before13_texture<T, DIM, MODE> &t, cudaArray_const_t array)
{
    cudaResourceDesc r;
    memset(&r, 0, sizeof(r));
    r.resType = cudaResourceTypeArray;
    r.res.array.array = const_cast<cudaArray_t>(array);
    return before13_bind(t, r);
}

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaBindTextureToArray(before13_texture<T, DIM, MODE> &t, cudaArray_const_t array, const cudaChannelFormatDesc &)
{
    return cudaBindTextureToArray(t, array);
}

template <class T, int DIM, cudaTextureReadMode MODE>
static cudaError_t
cudaUnbindTexture(before13_texture<T, DIM, MODE> &t)
{
    cudaError_t e = t.object ? cudaDestroyTextureObject(t.object) : cudaSuccess;
    t.object = 0;
    return e;
}

template <class T, cudaTextureReadMode MODE> struct before13_read { typedef T type; };
template <> struct before13_read<unsigned char, cudaReadModeNormalizedFloat> { typedef float type; };
template <> struct before13_read<unsigned short, cudaReadModeNormalizedFloat> { typedef float type; };
template <> struct before13_read<uchar4, cudaReadModeNormalizedFloat> { typedef float4 type; };
#define BEFORE13_READ typename before13_read<T, MODE>::type

template <class T, int DIM, cudaTextureReadMode MODE>
static __device__ BEFORE13_READ tex1Dfetch(const before13_texture<T, DIM, MODE> &t, int x) { return tex1Dfetch<BEFORE13_READ>(t.object, x); }
template <class T, int DIM, cudaTextureReadMode MODE>
static __device__ BEFORE13_READ tex1D(const before13_texture<T, DIM, MODE> &t, float x) { return tex1D<BEFORE13_READ>(t.object, x); }
template <class T, int DIM, cudaTextureReadMode MODE>
static __device__ BEFORE13_READ tex2D(const before13_texture<T, DIM, MODE> &t, float x, float y) { return tex2D<BEFORE13_READ>(t.object, x, y); }
template <class T, int DIM, cudaTextureReadMode MODE>
static __device__ BEFORE13_READ tex3D(const before13_texture<T, DIM, MODE> &t, float x, float y, float z) { return tex3D<BEFORE13_READ>(t.object, x, y, z); }
#define texture __managed__ before13_texture

#define __shfl(v, ...) __shfl_sync(0xffffffffu, v, __VA_ARGS__)
#define __shfl_up(v, ...) __shfl_up_sync(0xffffffffu, v, __VA_ARGS__)
#define __shfl_down(v, ...) __shfl_down_sync(0xffffffffu, v, __VA_ARGS__)
#define __shfl_xor(v, ...) __shfl_xor_sync(0xffffffffu, v, __VA_ARGS__)
#define __any(p) __any_sync(__activemask(), p)
#define __all(p) __all_sync(__activemask(), p)
#define __ballot(p) __ballot_sync(__activemask(), p)
#endif
#endif
