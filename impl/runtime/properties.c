/* SPDX-License-Identifier: Apache-2.0
 * cudaGetDeviceProperties in the three shapes that structure had, and cudaChooseDevice. Fields that are device attributes are
 * rows of one table. */
#include "impl/runtime/runtime.h"

/* X(field, attribute) */
#define COMMON_FIELDS(X)                                                                                                    \
    X(regsPerBlock, MAX_REGISTERS_PER_BLOCK) X(warpSize, WARP_SIZE) X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)             \
    X(maxThreadsDim[0], MAX_BLOCK_DIM_X) X(maxThreadsDim[1], MAX_BLOCK_DIM_Y) X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)           \
    X(maxGridSize[0], MAX_GRID_DIM_X) X(maxGridSize[1], MAX_GRID_DIM_Y) X(maxGridSize[2], MAX_GRID_DIM_Z)                    \
    X(major, COMPUTE_CAPABILITY_MAJOR) X(minor, COMPUTE_CAPABILITY_MINOR) X(multiProcessorCount, MULTIPROCESSOR_COUNT)       \
    X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK) X(memPitch, MAX_PITCH) X(totalConstMem, TOTAL_CONSTANT_MEMORY)         \
    X(textureAlignment, TEXTURE_ALIGNMENT) X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT) X(integrated, INTEGRATED)       \
    X(canMapHostMemory, CAN_MAP_HOST_MEMORY) X(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH)                                        \
    X(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)                                                                 \
    X(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH) X(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT)                                 \
    X(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH) X(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)  \
    X(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH) X(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)       \
    X(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH)                                                                 \
    X(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH) X(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT)       \
    X(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH) X(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT)                                 \
    X(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH) X(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE)                     \
    X(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE) X(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE)       \
    X(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH)                                                                       \
    X(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH) X(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS)   \
    X(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH) X(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)   \
    X(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS)                                                              \
    X(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH)                                                     \
    X(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS) X(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH)           \
    X(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH) X(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT)                                 \
    X(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH) X(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT)                                 \
    X(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH)                                                                              \
    X(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH) X(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS)   \
    X(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH) X(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT)   \
    X(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS) X(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH)           \
    X(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH)                                                     \
    X(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS) X(surfaceAlignment, SURFACE_ALIGNMENT)             \
    X(concurrentKernels, CONCURRENT_KERNELS) X(ECCEnabled, ECC_ENABLED) X(pciBusID, PCI_BUS_ID)                              \
    X(pciDeviceID, PCI_DEVICE_ID) X(pciDomainID, PCI_DOMAIN_ID) X(tccDriver, TCC_DRIVER)                                     \
    X(asyncEngineCount, ASYNC_ENGINE_COUNT) X(unifiedAddressing, UNIFIED_ADDRESSING)                                         \
    X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH) X(l2CacheSize, L2_CACHE_SIZE)                                                 \
    X(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE) X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR) \
    X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED) X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)           \
    X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED) X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)   \
    X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR) X(managedMemory, MANAGED_MEMORY)                              \
    X(isMultiGpuBoard, MULTI_GPU_BOARD) X(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID)                                    \
    X(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED) X(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS)               \
    X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS) X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)        \
    X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) X(cooperativeLaunch, COOPERATIVE_LAUNCH)   \
    X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                                             \
    X(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)                                  \
    X(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST)                                                   \
    X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR) X(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE) \
    X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)

#define FIELDS_TO_12(X)                                                                                                     \
    X(clockRate, CLOCK_RATE) X(computeMode, COMPUTE_MODE) X(cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH)   \
    X(deviceOverlap, GPU_OVERLAP) X(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT)                                           \
    X(maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH) X(memoryClockRate, MEMORY_CLOCK_RATE)                              \
    X(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)

#define FIELDS_FROM_12(X)                                                                                                   \
    X(clusterLaunch, CLUSTER_LAUNCH) X(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED)             \
    X(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED) X(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING)     \
    X(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED) X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)    \
    X(ipcEventSupported, IPC_EVENT_SUPPORTED) X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                                \
    X(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED)                                                                 \
    X(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED)                                               \
    X(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS)                                                                    \
    X(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)                                                 \
    X(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)

#define FIELDS_FROM_13(X)                                                                                                   \
    X(deviceNumaConfig, NUMA_CONFIG) X(deviceNumaId, NUMA_ID) X(hostNumaId, HOST_NUMA_ID)                                    \
    X(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED) X(mpsEnabled, MPS_ENABLED)                           \
    X(gpuPciDeviceID, GPU_PCI_DEVICE_ID) X(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID)

static int
attribute(CUdevice_attribute a, int device)
{
    int v = 0;
    return CU(cuDeviceGetAttribute)(&v, a, device) == CUDA_SUCCESS ? v : 0;
}

/* Name, identity and size, which are no attributes. */
static cudaError_t
identity(int device, char *name, size_t name_size, cudaUUID_t *uuid, size_t *memory)
{
    cudaError_t e = rt_check_device(device);

    if (e == cudaSuccess)
        e = rt_result(CU(cuDeviceGetName)(name, (int)name_size, device));
    if (e == cudaSuccess)
        e = rt_result(CU(cuDeviceGetUuid_v2)(uuid, device));
    return e == cudaSuccess ? rt_result(CU(cuDeviceTotalMem_v2)(memory, device)) : e;
}

#define FILL(field, name) p.field = (__typeof__(p.field))attribute(CU_DEVICE_ATTRIBUTE_##name, device);
#define PROPERTIES(type, ...)                                                                                               \
    type p;                                                                                                                 \
    if (!prop)                                                                                                              \
        return cudaErrorInvalidValue;                                                                                       \
    memset(&p, 0, sizeof p);                                                                                                \
    cudaError_t e = identity(device, p.name, sizeof p.name, &p.uuid, &p.totalGlobalMem);                                    \
    if (e != cudaSuccess)                                                                                                   \
        return e;                                                                                                           \
    COMMON_FIELDS(FILL)                                                                                                     \
    __VA_ARGS__                                                                                                             \
    *prop = p;                                                                                                              \
    return cudaSuccess

cudaError_t
rt_cudaGetDeviceProperties(cudaDeviceProp *prop, int device)
{
    PROPERTIES(cudaDeviceProp, FIELDS_FROM_12(FILL) FIELDS_FROM_13(FILL));
}

cudaError_t
rt_cudaGetDeviceProperties_v12(cudaDeviceProp_v12 *prop, int device)
{
    PROPERTIES(cudaDeviceProp_v12, FIELDS_TO_12(FILL) FIELDS_FROM_12(FILL));
}

cudaError_t
rt_cudaGetDeviceProperties_v11(cudaDeviceProp_v11 *prop, int device)
{
    PROPERTIES(cudaDeviceProp_v11, FIELDS_TO_12(FILL));
}

/* The device that meets most of what is asked for: each property that is not zero in the wish and is met counts one. */
#define AT_LEAST(field) score += wish->field && p.field >= wish->field;
#define CHOOSE(type, get)                                                                                                   \
    int count = 0, best = -1;                                                                                               \
    if (!device || !wish)                                                                                                   \
        return cudaErrorInvalidValue;                                                                                       \
    cudaError_t e = rt_cudaGetDeviceCount(&count);                                                                          \
    for (int d = 0; d < count && e == cudaSuccess; d++) {                                                                   \
        type p;                                                                                                             \
        int score = 0;                                                                                                      \
        e = get(&p, d);                                                                                                     \
        if (e != cudaSuccess)                                                                                               \
            break;                                                                                                          \
        score += wish->major && (p.major > wish->major || (p.major == wish->major && p.minor >= wish->minor));              \
        AT_LEAST(totalGlobalMem) AT_LEAST(sharedMemPerBlock) AT_LEAST(regsPerBlock) AT_LEAST(maxThreadsPerBlock)            \
        AT_LEAST(multiProcessorCount) AT_LEAST(totalConstMem) AT_LEAST(concurrentKernels) AT_LEAST(cooperativeLaunch)       \
        AT_LEAST(managedMemory) AT_LEAST(canMapHostMemory) AT_LEAST(sharedMemPerBlockOptin)                                 \
        if (score > best) {                                                                                                 \
            best = score;                                                                                                   \
            *device = d;                                                                                                    \
        }                                                                                                                   \
    }                                                                                                                       \
    return e

cudaError_t
rt_cudaChooseDevice(int *device, const cudaDeviceProp *wish)
{
    CHOOSE(cudaDeviceProp, rt_cudaGetDeviceProperties);
}

cudaError_t
rt_cudaChooseDevice_v12(int *device, const cudaDeviceProp_v12 *wish)
{
    CHOOSE(cudaDeviceProp_v12, rt_cudaGetDeviceProperties_v12);
}

cudaError_t
rt_cudaChooseDevice_v11(int *device, const cudaDeviceProp_v11 *wish)
{
    CHOOSE(cudaDeviceProp_v11, rt_cudaGetDeviceProperties_v11);
}
