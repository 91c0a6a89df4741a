/* SPDX-License-Identifier: Apache-2.0
 * Device enumeration and properties. What a device reports beyond the backend's facts is chosen here and documented in
 * docs/host-device.md: limits come from the programming guide's table for the device's compute capability. */
#include "impl/driver/driver.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

CUresult
drv_cuDeviceGet(CUdevice *device, int ordinal)
{
    READY();
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (ordinal < 0 || (uint32_t)ordinal >= g.ndevices)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetCount(int *count)
{
    READY();
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = (int)g.ndevices;
    return CUDA_SUCCESS;
}

#define DEVICE(d, dev) struct device *d; do { CUresult r_ = device_get(dev, &d); if (r_ != CUDA_SUCCESS) return r_; } while (0)

CUresult
drv_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    DEVICE(d, dev);
    if (!name || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", d->props.name);
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    DEVICE(d, dev);
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid->bytes, d->props.uuid, 16);
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return drv_cuDeviceGetUuid(uuid, dev);
}

CUresult
drv_cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
    DEVICE(d, dev);
    (void)d;
    if (!luid || !deviceNodeMask)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_NOT_SUPPORTED;        /* locally unique identifiers exist on Windows only */
}

CUresult
drv_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    DEVICE(d, dev);
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = d->props.total_memory;
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
    DEVICE(d, dev);
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = d->props.total_memory > UINT32_MAX ? UINT32_MAX : (unsigned)d->props.total_memory;
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format, unsigned numChannels, CUdevice dev)
{
    READY();
    enum cwb_format f;
    uint32_t bytes;
    if (!maxWidthInElements || (numChannels != 1 && numChannels != 2 && numChannels != 4) || format_of(format, &f, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    DEVICE(d, dev);
    (void)d;
    *maxWidthInElements = 1 << 28;
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    DEVICE(d, dev);
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    *major = (int)d->props.cc_major;
    *minor = (int)d->props.cc_minor;
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    DEVICE(d, dev);
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cwb_device_props *p = &d->props;
    *prop = (CUdevprop){
        .maxThreadsPerBlock = (int)p->max_threads_per_block,
        .maxThreadsDim = { (int)p->max_threads_per_block, (int)p->max_threads_per_block, 64 },
        .maxGridSize = { 0x7fffffff, 65535, 65535 },
        .sharedMemPerBlock = (int)p->shared_per_block,
        .totalConstantMemory = 65536,
        .SIMDWidth = 32,
        .memPitch = 0x7fffffff,
        .regsPerBlock = (int)p->registers_per_block,
        .clockRate = (int)p->clock_khz,
        .textureAlign = 512,
    };
    return CUDA_SUCCESS;
}

CUresult
device_attribute(const struct device *d, CUdevice_attribute a, int *v)
{
    const struct cwb_device_props *p = &d->props;
    const uint32_t caps = d->b->caps;
    if (d->b->device_attribute && d->b->device_attribute(d->index, (int)a, v))
        return CUDA_SUCCESS;
    const unsigned cc = p->cc_major * 10 + p->cc_minor;
#define A(name) CU_DEVICE_ATTRIBUTE_##name
    switch ((int)a) {
    case A(MAX_THREADS_PER_BLOCK):
    case A(MAX_BLOCK_DIM_X):
    case A(MAX_BLOCK_DIM_Y):                    *v = (int)p->max_threads_per_block; break;
    case A(MAX_BLOCK_DIM_Z):                    *v = 64; break;
    case A(MAX_GRID_DIM_X):                     *v = 0x7fffffff; break;
    case A(MAX_GRID_DIM_Y):
    case A(MAX_GRID_DIM_Z):                     *v = 65535; break;
    case A(MAX_SHARED_MEMORY_PER_BLOCK):        *v = (int)p->shared_per_block; break;
    case A(TOTAL_CONSTANT_MEMORY):              *v = 65536; break;
    case A(WARP_SIZE):                          *v = 32; break;
    case A(MAX_PITCH):                          *v = 0x7fffffff; break;
    case A(MAX_REGISTERS_PER_BLOCK):            *v = (int)p->registers_per_block; break;
    case A(CLOCK_RATE):                         *v = (int)p->clock_khz; break;
    case A(TEXTURE_ALIGNMENT):                  *v = 512; break;
    case A(GPU_OVERLAP):                        *v = 1; break;
    case A(MULTIPROCESSOR_COUNT):               *v = (int)p->multiprocessors; break;
    case A(KERNEL_EXEC_TIMEOUT):                *v = 0; break;
    case A(INTEGRATED):                         *v = p->integrated; break;
    case A(CAN_MAP_HOST_MEMORY):                *v = 1; break;
    case A(COMPUTE_MODE):                       *v = CU_COMPUTEMODE_DEFAULT; break;
    case A(MAXIMUM_TEXTURE1D_WIDTH):            *v = 131072; break;
    case A(MAXIMUM_TEXTURE2D_WIDTH):            *v = 131072; break;
    case A(MAXIMUM_TEXTURE2D_HEIGHT):           *v = 65536; break;
    case A(MAXIMUM_TEXTURE3D_WIDTH):
    case A(MAXIMUM_TEXTURE3D_HEIGHT):
    case A(MAXIMUM_TEXTURE3D_DEPTH):            *v = 16384; break;
    case A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH):
    case A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT):   *v = 32768; break;
    case A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS):   *v = 2048; break;
    case A(SURFACE_ALIGNMENT):                  *v = 512; break;
    case A(CONCURRENT_KERNELS):                 *v = 1; break;
    case A(ECC_ENABLED):                        *v = 0; break;
    case A(PCI_BUS_ID):                         *v = (int)p->pci_bus; break;
    case A(PCI_DEVICE_ID):                      *v = (int)p->pci_device; break;
    case A(TCC_DRIVER):                         *v = 0; break;
    case A(MEMORY_CLOCK_RATE):                  *v = (int)p->memory_clock_khz; break;
    case A(GLOBAL_MEMORY_BUS_WIDTH):            *v = (int)p->memory_bus_bits; break;
    case A(L2_CACHE_SIZE):                      *v = (int)p->l2_bytes; break;
    case A(MAX_THREADS_PER_MULTIPROCESSOR):     *v = (int)p->max_threads_per_mp; break;
    case A(ASYNC_ENGINE_COUNT):                 *v = 2; break;
    case A(UNIFIED_ADDRESSING):                 *v = 1; break;
    case A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH):    *v = 32768; break;
    case A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS):   *v = 2048; break;
    case A(CAN_TEX2D_GATHER):                   *v = !!(caps & CWB_CAP_TEXTURES); break;
    case A(MAXIMUM_TEXTURE2D_GATHER_WIDTH):
    case A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT):    *v = 32768; break;
    case A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE):
    case A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE): *v = 8192; break;
    case A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE):  *v = 32768; break;
    case A(PCI_DOMAIN_ID):                      *v = (int)p->pci_domain; break;
    case A(TEXTURE_PITCH_ALIGNMENT):            *v = 32; break;
    case A(MAXIMUM_TEXTURECUBEMAP_WIDTH):
    case A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH): *v = 32768; break;
    case A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS): *v = 2046; break;
    case A(MAXIMUM_SURFACE1D_WIDTH):            *v = 32768; break;
    case A(MAXIMUM_SURFACE2D_WIDTH):            *v = 131072; break;
    case A(MAXIMUM_SURFACE2D_HEIGHT):           *v = 65536; break;
    case A(MAXIMUM_SURFACE3D_WIDTH):
    case A(MAXIMUM_SURFACE3D_HEIGHT):
    case A(MAXIMUM_SURFACE3D_DEPTH):            *v = 16384; break;
    case A(MAXIMUM_SURFACE1D_LAYERED_WIDTH):    *v = 32768; break;
    case A(MAXIMUM_SURFACE1D_LAYERED_LAYERS):   *v = 2048; break;
    case A(MAXIMUM_SURFACE2D_LAYERED_WIDTH):
    case A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT):   *v = 32768; break;
    case A(MAXIMUM_SURFACE2D_LAYERED_LAYERS):   *v = 2048; break;
    case A(MAXIMUM_SURFACECUBEMAP_WIDTH):
    case A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH): *v = 32768; break;
    case A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS): *v = 2046; break;
    case A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH):     *v = 1 << 28; break;
    case A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH):     *v = 131072; break;
    case A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT):    *v = 65000; break;
    case A(MAXIMUM_TEXTURE2D_LINEAR_PITCH):     *v = 2097120; break;
    case A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH):
    case A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT): *v = 32768; break;
    case A(COMPUTE_CAPABILITY_MAJOR):           *v = (int)p->cc_major; break;
    case A(COMPUTE_CAPABILITY_MINOR):           *v = (int)p->cc_minor; break;
    case A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH):  *v = 32768; break;
    case A(STREAM_PRIORITIES_SUPPORTED):        *v = 1; break;
    case A(GLOBAL_L1_CACHE_SUPPORTED):
    case A(LOCAL_L1_CACHE_SUPPORTED):           *v = 1; break;
    case A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR): *v = (int)p->shared_per_mp; break;
    case A(MAX_REGISTERS_PER_MULTIPROCESSOR):   *v = (int)p->registers_per_mp; break;
    case A(MANAGED_MEMORY):                     *v = !!(caps & CWB_CAP_MANAGED); break;
    case A(MULTI_GPU_BOARD):
    case A(MULTI_GPU_BOARD_GROUP_ID):           *v = 0; break;
    case A(HOST_NATIVE_ATOMIC_SUPPORTED):       *v = !!(caps & CWB_CAP_UNIFIED); break;
    case A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO): *v = 2; break;
    case A(PAGEABLE_MEMORY_ACCESS):             *v = !!(caps & CWB_CAP_PAGEABLE); break;
    case A(CONCURRENT_MANAGED_ACCESS):          *v = caps & CWB_CAP_MANAGED && caps & CWB_CAP_UNIFIED; break;
    case A(COMPUTE_PREEMPTION_SUPPORTED):       *v = 1; break;
    case A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM): *v = caps & CWB_CAP_UNIFIED && caps & CWB_CAP_REGISTER; break;
    case A(CAN_USE_STREAM_MEM_OPS_V1):
    case A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1):
    case A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1):   *v = 0; break;
    case A(COOPERATIVE_LAUNCH):                 *v = !!(caps & CWB_CAP_COOPERATIVE); break;
    case A(COOPERATIVE_MULTI_DEVICE_LAUNCH):    *v = 0; break;
    case A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN):  *v = (int)p->shared_per_block_optin; break;
    case A(CAN_FLUSH_REMOTE_WRITES):            *v = 0; break;
    case A(HOST_REGISTER_SUPPORTED):            *v = !!(caps & CWB_CAP_REGISTER); break;
    case A(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES): *v = !!(caps & CWB_CAP_PAGEABLE); break;
    case A(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST): *v = !!(caps & CWB_CAP_UNIFIED); break;
    case A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED): *v = !!(caps & CWB_CAP_VMM); break;
    case A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED): *v = d->b->phys_export && d->b->phys_import; break;
    case A(HANDLE_TYPE_WIN32_HANDLE_SUPPORTED):
    case A(HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED): *v = 0; break;
    case A(MAX_BLOCKS_PER_MULTIPROCESSOR):      *v = (int)p->max_blocks_per_mp; break;
    case A(GENERIC_COMPRESSION_SUPPORTED):
    case A(MAX_PERSISTING_L2_CACHE_SIZE):
    case A(MAX_ACCESS_POLICY_WINDOW_SIZE):
    case A(GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED): *v = 0; break;
    case A(RESERVED_SHARED_MEMORY_PER_BLOCK):   *v = cc >= 80 ? 1024 : 0; break;
    case A(SPARSE_CUDA_ARRAY_SUPPORTED):        *v = 0; break;
    case A(READ_ONLY_HOST_REGISTER_SUPPORTED):  *v = !!(caps & CWB_CAP_REGISTER); break;
    case A(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED): *v = 0; break;
    case A(MEMORY_POOLS_SUPPORTED):             *v = 1; break;
    case A(GPU_DIRECT_RDMA_SUPPORTED):
    case A(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS):
    case A(GPU_DIRECT_RDMA_WRITES_ORDERING):
    case A(DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED): *v = 0; break;
    case A(CLUSTER_LAUNCH):                     *v = cc >= 90 && caps & CWB_CAP_CLUSTER; break;
    case A(CAN_USE_64_BIT_STREAM_MEM_OPS):
    case A(CAN_USE_STREAM_WAIT_VALUE_NOR):      *v = !!(caps & CWB_CAP_STREAM_VALUE); break;
    case A(DMA_BUF_SUPPORTED):                  *v = 0; break;
    case A(IPC_EVENT_SUPPORTED):                *v = 1; break;
    case A(MEMPOOL_SUPPORTED_HANDLE_TYPES):
        *v = d->b->mem_share && d->b->phys_import ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
        break;
    case A(MEM_SYNC_DOMAIN_COUNT):              *v = 1; break;
    case A(TENSOR_MAP_ACCESS_SUPPORTED):        *v = cc >= 90; break;
    case A(HANDLE_TYPE_FABRIC_SUPPORTED):
    case A(UNIFIED_FUNCTION_POINTERS):          *v = 0; break;
    case A(NUMA_CONFIG):                        *v = 0; break;      /* no NUMA node of its own */
    case A(NUMA_ID):                            *v = -1; break;
    case A(MULTICAST_SUPPORTED):                *v = cc >= 90 && caps & CWB_CAP_MULTICAST; break;
    case A(MPS_ENABLED):                        *v = 0; break;
    case A(HOST_NUMA_ID):                       *v = 0; break;
    case A(D3D12_CIG_SUPPORTED):
    case A(MEM_DECOMPRESS_ALGORITHM_MASK):
    case A(MEM_DECOMPRESS_MAXIMUM_LENGTH):
    case A(VULKAN_CIG_SUPPORTED):
    case A(GPU_PCI_DEVICE_ID):
    case A(GPU_PCI_SUBSYSTEM_ID):
    case A(HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED):
    case A(HOST_NUMA_MEMORY_POOLS_SUPPORTED):
    case A(HOST_NUMA_MULTINODE_IPC_SUPPORTED):
    case A(HOST_MEMORY_POOLS_SUPPORTED):
    case A(HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED):
    case A(HOST_ALLOC_DMA_BUF_SUPPORTED):
    case A(ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED): *v = 0; break;
    default:                                    return CUDA_ERROR_INVALID_VALUE;
    }
#undef A
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    DEVICE(d, dev);
    return pi ? device_attribute(d, attrib, pi) : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    DEVICE(d, dev);
    if (!pciBusId || len < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(pciBusId, (size_t)len, "%04X:%02X:%02X.0", d->props.pci_domain, d->props.pci_bus, d->props.pci_device);
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    READY();
    if (!dev || !pciBusId)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x.%x", &bus, &device, &function) < 2)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (uint32_t i = 0; i < g.ndevices; i++) {
        const struct cwb_device_props *p = &g.devices[i].props;
        if (p->pci_domain == domain && p->pci_bus == bus && p->pci_device == device && !function) {
            *dev = (CUdevice)i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult
drv_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    DEVICE(d, dev);
    (void)d;
    if (!pi || (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *pi = 0;
    return CUDA_SUCCESS;
}

bool
device_reaches(const struct device *d, const struct device *p)
{
    if (d == p || d->b != p->b)
        return false;
    return d->b->peer_possible ? d->b->peer_possible(d->index, p->index) : d->b->caps & CWB_CAP_UNIFIED;
}

CUresult
drv_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    DEVICE(d, dev);
    DEVICE(p, peerDev);
    if (!canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    *canAccessPeer = device_reaches(d, p);
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice)
{
    DEVICE(s, srcDevice);
    DEVICE(d, dstDevice);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (s == d)
        return CUDA_ERROR_INVALID_DEVICE;
    bool access = device_reaches(s, d);
    switch ((int)attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = access;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult
drv_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
    CURRENT(c);
    (void)c;
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX || (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
                                                                         scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_NOT_SUPPORTED;
}
