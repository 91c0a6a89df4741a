/* SPDX-License-Identifier: Apache-2.0
 * The part of the HIP runtime's interface that the hip backend calls: own declarations of its types, constants and functions
 * (HIP API reference, ROCm 5.2 to 7). The library is loaded at run time; tests/hip compares these with the headers of
 * libamdhip64-dev where that is installed. The GPU-less device (tools/gfxemu) defines the same functions.
 *
 * HIP_FUNCTIONS(X): X(need, since, name, parameters). need: R required, O optional (then `since` says which ROCm brought it). */
#ifndef CW_HIP_H
#define CW_HIP_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct { char bytes[16]; } hipUUID;

enum {
    hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorNotInitialized = 3, hipErrorDeinitialized = 4,
    hipErrorInvalidConfiguration = 9, hipErrorInvalidDevicePointer = 17, hipErrorInvalidDeviceFunction = 98, hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101, hipErrorInvalidImage = 200, hipErrorInvalidContext = 201, hipErrorAlreadyMapped = 208,
    hipErrorNoBinaryForGpu = 209, hipErrorInvalidHandle = 400, hipErrorIllegalState = 401, hipErrorNotFound = 500,
    hipErrorNotReady = 600, hipErrorIllegalAddress = 700, hipErrorLaunchOutOfResources = 701, hipErrorLaunchTimeOut = 702,
    hipErrorPeerAccessAlreadyEnabled = 704, hipErrorMisalignedAddress = 716,    /* the GPU-less device's, as CUDA numbers it: HIP has none */
    hipErrorAssert = 710, hipErrorHostMemoryAlreadyRegistered = 712, hipErrorHostMemoryNotRegistered = 713, hipErrorLaunchFailure = 719,
    hipErrorCooperativeLaunchTooLarge = 720, hipErrorNotSupported = 801, hipErrorUnknown = 999,
};

enum { hipMemcpyDefault = 4 };
enum { hipStreamNonBlocking = 1, hipEventBlockingSync = 1, hipEventDisableTiming = 2, hipHostMallocPortable = 1, hipHostMallocMapped = 2,
    hipMemAttachGlobal = 1, hipHostRegisterPortable = 1, hipHostRegisterMapped = 2 };
enum { hipStreamWaitValueGte = 0, hipStreamWaitValueEq = 1, hipStreamWaitValueAnd = 2, hipStreamWaitValueNor = 3 };
enum { hipDeviceAttributeImageSupport = 10014, hipDeviceAttributeWallClockRate = 10017 };       /* the clock: kHz; since ROCm 5.3 */
enum { hipLimitStackSize = 0, hipLimitMallocHeapSize = 2 };
enum { HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
       HIP_FUNC_ATTRIBUTE_NUM_REGS = 4 };

#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define HIP_LAUNCH_PARAM_END ((void *)3)

/* hipGetDeviceProperties up to ROCm 5 ("R0000"), and hipGetDevicePropertiesR0600 since ROCm 6: as far as they are read. */
struct hip_props_r0000 {
    char     name[256];
    size_t   totalGlobalMem, sharedMemPerBlock;
    int      regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, memoryClockRate, memoryBusWidth;
    size_t   totalConstMem;
    int      major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
    uint32_t arch;
    int      concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
    size_t   maxSharedMemoryPerMultiProcessor;
    int      isMultiGpuBoard, canMapHostMemory, gcnArch;
    char     gcnArchName[256];
    int      integrated, cooperativeLaunch;
    char     rest[2048];
};

struct hip_props_r0600 {
    char     name[256];
    hipUUID  uuid;
    char     luid[8];
    unsigned luidDeviceNodeMask;
    size_t   totalGlobalMem, sharedMemPerBlock;
    int      regsPerBlock, warpSize;
    size_t   memPitch;
    int      maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t   totalConstMem;
    int      major, minor;
    size_t   textureAlignment, texturePitchAlignment;
    int      deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int      maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3],
             maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3],
             maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3],
             maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t   surfaceAlignment;
    int      concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing,
             memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
             globalL1CacheSupported, localL1CacheSupported;
    size_t   sharedMemPerMultiprocessor;
    int      regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
             singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
             canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t   sharedMemPerBlockOptin;
    int      pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t   reservedSharedMemPerBlock;
    int      hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported,
             memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int      gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int      deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers, reserved[63], hipReserved[32];
    char     gcnArchName[256];
    char     rest[2048];
};

/* Virtual memory management as ROCm 6 has it: hipMemAllocationProp, hipMemLocation, hipMemAccessDesc. */
typedef struct ihipMemGenericAllocationHandle *hipMemGenericAllocationHandle_t;
enum { hipMemAllocationTypePinned = 1, hipMemLocationTypeDevice = 1 };
enum { hipMemAccessFlagsProtNone = 0, hipMemAccessFlagsProtRead = 1, hipMemAccessFlagsProtReadWrite = 3 };
struct hip_mem_location {
    int type, id;
};
struct hip_allocation_prop {
    int type, requestedHandleType;
    struct hip_mem_location location;
    void *win32HandleMetaData;
    struct { unsigned char compressionType, gpuDirectRDMACapable; unsigned short usage; } allocFlags;
};
struct hip_access_desc {
    struct hip_mem_location location;
    int flags;
};

/* Texture objects (HIP_RESOURCE_DESC, HIP_TEXTURE_DESC). An object is the address of 12 dwords with the resource and 8 with the sampler,
 * as the processor's instructions take them. */
typedef struct __hip_texture *hipTextureObject_t;
enum { HIP_RESOURCE_TYPE_LINEAR = 2, HIP_RESOURCE_TYPE_PITCH2D = 3 };
enum { HIP_AD_FORMAT_UNSIGNED_INT8 = 1, HIP_AD_FORMAT_UNSIGNED_INT16 = 2, HIP_AD_FORMAT_UNSIGNED_INT32 = 3, HIP_AD_FORMAT_SIGNED_INT8 = 8,
    HIP_AD_FORMAT_SIGNED_INT16 = 9, HIP_AD_FORMAT_SIGNED_INT32 = 10, HIP_AD_FORMAT_HALF = 0x10, HIP_AD_FORMAT_FLOAT = 0x20 };
enum { HIP_TR_ADDRESS_MODE_WRAP = 0, HIP_TR_ADDRESS_MODE_CLAMP = 1, HIP_TR_ADDRESS_MODE_MIRROR = 2, HIP_TR_ADDRESS_MODE_BORDER = 3 };
enum { HIP_TR_FILTER_MODE_POINT = 0, HIP_TR_FILTER_MODE_LINEAR = 1 };
enum { HIP_SAMPLER_OBJECT_OFFSET_DWORD = 12, HIP_OBJECT_SIZE_DWORD = 20 };
#define HIP_TRSF_READ_AS_INTEGER 1
#define HIP_TRSF_NORMALIZED_COORDINATES 2
struct hip_resource_desc {
    int resType;
    union {
        struct {
            hipDeviceptr_t devPtr;
            int format;
            unsigned int numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            hipDeviceptr_t devPtr;
            int format;
            unsigned int numChannels;
            size_t width, height, pitchInBytes;     /* elements, rows, bytes */
        } pitch2D;
        int reserved[32];
    } res;
    unsigned int flags;
};
struct hip_texture_desc {
    int addressMode[3], filterMode;
    unsigned int flags, maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
};
struct hip_view_desc;

typedef void hip_host_fn(void *user);
typedef void hip_stream_fn(hipStream_t stream, hipError_t status, void *user);

#define HIP_FUNCTIONS(X)                                                                                                              \
    X(R, "5.0", hipInit, (unsigned int flags))                                                                                        \
    X(R, "5.0", hipRuntimeGetVersion, (int *version))                                                                                 \
    X(R, "5.0", hipGetDeviceCount, (int *count))                                                                                      \
    X(R, "5.0", hipDeviceGetAttribute, (int *value, int attribute, int device))                                                       \
    X(R, "5.0", hipSetDevice, (int device))                                                                                           \
    X(O, "5.0", hipGetDeviceProperties, (struct hip_props_r0000 *props, int device))                                                  \
    X(O, "6.0", hipGetDevicePropertiesR0600, (struct hip_props_r0600 *props, int device))                                             \
    X(O, "5.2", hipDeviceGetUuid, (hipUUID *uuid, hipDevice_t device))                                                                \
    X(O, "5.0", hipDeviceCanAccessPeer, (int *can, int device, int peer))                                                             \
    X(O, "5.0", hipDeviceEnablePeerAccess, (int peer, unsigned int flags))                                                            \
    X(R, "5.0", hipDeviceSynchronize, (void))                                                                                         \
    X(R, "5.0", hipGetLastError, (void))                                                                                              \
    X(O, "5.3", hipDeviceSetLimit, (int limit, size_t value))                                                                         \
    X(R, "5.0", hipMemGetInfo, (size_t *free_bytes, size_t *total_bytes))                                                             \
    X(R, "5.0", hipMalloc, (void **ptr, size_t size))                                                                                 \
    X(R, "5.0", hipFree, (void *ptr))                                                                                                 \
    X(R, "5.0", hipHostMalloc, (void **ptr, size_t size, unsigned int flags))                                                         \
    X(R, "5.0", hipHostFree, (void *ptr))                                                                                             \
    X(R, "5.0", hipMallocManaged, (void **ptr, size_t size, unsigned int flags))                                                      \
    X(R, "5.0", hipHostRegister, (void *ptr, size_t size, unsigned int flags))                                                        \
    X(R, "5.0", hipHostUnregister, (void *ptr))                                                                                       \
    X(R, "5.0", hipHostGetDevicePointer, (void **device, void *host, unsigned int flags))                                             \
    X(R, "5.0", hipMemGetAddressRange, (hipDeviceptr_t *base, size_t *size, hipDeviceptr_t ptr))                                      \
    X(O, "6.0", hipMemAddressReserve, (void **ptr, size_t size, size_t alignment, void *address, unsigned long long flags))           \
    X(O, "6.0", hipMemAddressFree, (void *ptr, size_t size))                                                                          \
    X(O, "6.0", hipMemCreate, (hipMemGenericAllocationHandle_t *handle, size_t size, const struct hip_allocation_prop *prop,          \
                               unsigned long long flags))                                                                             \
    X(O, "6.0", hipMemRelease, (hipMemGenericAllocationHandle_t handle))                                                              \
    X(O, "6.0", hipMemMap, (void *ptr, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags)) \
    X(O, "6.0", hipMemUnmap, (void *ptr, size_t size))                                                                                \
    X(O, "6.0", hipMemSetAccess, (void *ptr, size_t size, const struct hip_access_desc *desc, size_t count))                          \
    X(R, "5.0", hipMemcpy, (void *dst, const void *src, size_t size, int kind))                                                       \
    X(R, "5.0", hipMemcpyAsync, (void *dst, const void *src, size_t size, int kind, hipStream_t stream))                              \
    X(R, "5.0", hipMemcpy2DAsync, (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind,   \
                                   hipStream_t stream))                                                                               \
    X(R, "5.0", hipMemsetD8Async, (hipDeviceptr_t dst, unsigned char value, size_t count, hipStream_t stream))                        \
    X(R, "5.0", hipMemsetD16Async, (hipDeviceptr_t dst, unsigned short value, size_t count, hipStream_t stream))                      \
    X(R, "5.0", hipMemsetD32Async, (hipDeviceptr_t dst, int value, size_t count, hipStream_t stream))                                 \
    X(R, "5.0", hipMemset2DAsync, (void *dst, size_t pitch, int value, size_t width, size_t height, hipStream_t stream))              \
    X(O, "5.0", hipTexObjectCreate, (hipTextureObject_t *object, const struct hip_resource_desc *resource,                           \
                                     const struct hip_texture_desc *texture, const struct hip_view_desc *view))                      \
    X(O, "5.0", hipTexObjectDestroy, (hipTextureObject_t object))                                                                     \
    X(R, "5.0", hipStreamCreateWithPriority, (hipStream_t *stream, unsigned int flags, int priority))                                 \
    X(R, "5.0", hipStreamDestroy, (hipStream_t stream))                                                                               \
    X(R, "5.0", hipStreamQuery, (hipStream_t stream))                                                                                 \
    X(R, "5.0", hipStreamSynchronize, (hipStream_t stream))                                                                           \
    X(R, "5.0", hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned int flags))                                       \
    X(R, "5.0", hipStreamAddCallback, (hipStream_t stream, hip_stream_fn *fn, void *user, unsigned int flags))                        \
    X(O, "5.3", hipLaunchHostFunc, (hipStream_t stream, hip_host_fn *fn, void *user))                                                 \
    X(R, "5.0", hipStreamWaitValue32, (hipStream_t stream, void *ptr, uint32_t value, unsigned int flags, uint32_t mask))             \
    X(R, "5.0", hipStreamWaitValue64, (hipStream_t stream, void *ptr, uint64_t value, unsigned int flags, uint64_t mask))             \
    X(R, "5.0", hipStreamWriteValue32, (hipStream_t stream, void *ptr, uint32_t value, unsigned int flags))                           \
    X(R, "5.0", hipStreamWriteValue64, (hipStream_t stream, void *ptr, uint64_t value, unsigned int flags))                           \
    X(R, "5.0", hipEventCreateWithFlags, (hipEvent_t *event, unsigned flags))                                                         \
    X(R, "5.0", hipEventDestroy, (hipEvent_t event))                                                                                  \
    X(R, "5.0", hipEventRecord, (hipEvent_t event, hipStream_t stream))                                                               \
    X(R, "5.0", hipEventQuery, (hipEvent_t event))                                                                                    \
    X(R, "5.0", hipEventSynchronize, (hipEvent_t event))                                                                              \
    X(R, "5.0", hipEventElapsedTime, (float *ms, hipEvent_t start, hipEvent_t stop))                                                  \
    X(R, "5.0", hipModuleLoadData, (hipModule_t *module, const void *image))                                                          \
    X(R, "5.0", hipModuleUnload, (hipModule_t module))                                                                                \
    X(R, "5.0", hipModuleGetFunction, (hipFunction_t *function, hipModule_t module, const char *name))                                \
    X(R, "5.0", hipModuleGetGlobal, (hipDeviceptr_t *ptr, size_t *size, hipModule_t module, const char *name))                        \
    X(R, "5.0", hipFuncGetAttribute, (int *value, int attribute, hipFunction_t function))                                             \
    X(R, "5.0", hipModuleLaunchKernel, (hipFunction_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,   \
                                        unsigned int by, unsigned int bz, unsigned int shared, hipStream_t stream, void **params,    \
                                        void **extra))                                                                                \
    X(O, "5.5", hipModuleLaunchCooperativeKernel, (hipFunction_t function, unsigned int gx, unsigned int gy, unsigned int gz,         \
                                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, hipStream_t stream,   \
                                        void **params))                                                                              \
    X(O, "5.0", hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, hipFunction_t function, int block, size_t shared))

#endif
