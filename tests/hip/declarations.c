/* SPDX-License-Identifier: Apache-2.0
 * impl/hip/hip.h against the HIP headers of libamdhip64-dev (ROCm 5), and its symbols against the library: every one that is called is
 * there, or optional because a later ROCm brought it. Skipped without the package. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_HIP
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

/* Values and layouts of theirs, before ours take their names. */
static const long theirs[] = {
    hipErrorInvalidValue, hipErrorOutOfMemory, hipErrorNotInitialized, hipErrorDeinitialized, hipErrorInvalidConfiguration,
    hipErrorInvalidDevicePointer, hipErrorInvalidDeviceFunction, hipErrorNoDevice, hipErrorInvalidDevice, hipErrorInvalidImage,
    hipErrorInvalidContext, hipErrorAlreadyMapped, hipErrorNoBinaryForGpu, hipErrorInvalidHandle, hipErrorIllegalState, hipErrorNotFound,
    hipErrorNotReady, hipErrorIllegalAddress, hipErrorLaunchOutOfResources, hipErrorLaunchTimeOut, hipErrorPeerAccessAlreadyEnabled, hipErrorAssert,
    hipErrorHostMemoryAlreadyRegistered, hipErrorHostMemoryNotRegistered, hipErrorLaunchFailure, hipErrorCooperativeLaunchTooLarge,
    hipErrorNotSupported, hipErrorUnknown, hipMemcpyDefault, hipStreamNonBlocking, hipEventBlockingSync, hipEventDisableTiming,
    hipHostMallocPortable, hipHostMallocMapped, hipMemAttachGlobal, hipHostRegisterPortable, hipHostRegisterMapped,
    hipStreamWaitValueGte, hipStreamWaitValueEq, hipStreamWaitValueAnd, hipStreamWaitValueNor,
    HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_NUM_REGS,
    hipMemAllocationTypePinned, hipMemLocationTypeDevice, hipMemAccessFlagsProtNone, hipMemAccessFlagsProtRead,
    hipMemAccessFlagsProtReadWrite, sizeof(hipMemAccessDesc), offsetof(hipMemAccessDesc, flags), offsetof(hipMemLocation, id),
    hipDeviceAttributeImageSupport, HIP_RESOURCE_TYPE_LINEAR, HIP_RESOURCE_TYPE_PITCH2D, HIP_AD_FORMAT_UNSIGNED_INT8,
    HIP_AD_FORMAT_UNSIGNED_INT16, HIP_AD_FORMAT_UNSIGNED_INT32, HIP_AD_FORMAT_SIGNED_INT8, HIP_AD_FORMAT_SIGNED_INT16,
    HIP_AD_FORMAT_SIGNED_INT32, HIP_AD_FORMAT_HALF, HIP_AD_FORMAT_FLOAT, HIP_TR_ADDRESS_MODE_WRAP, HIP_TR_ADDRESS_MODE_CLAMP,
    HIP_TR_ADDRESS_MODE_MIRROR, HIP_TR_ADDRESS_MODE_BORDER, HIP_TR_FILTER_MODE_POINT, HIP_TR_FILTER_MODE_LINEAR,
    HIP_SAMPLER_OBJECT_OFFSET_DWORD, HIP_IMAGE_OBJECT_SIZE_DWORD + HIP_SAMPLER_OBJECT_SIZE_DWORD, HIP_TRSF_READ_AS_INTEGER,
    HIP_TRSF_NORMALIZED_COORDINATES, sizeof(HIP_RESOURCE_DESC), sizeof(HIP_TEXTURE_DESC), offsetof(HIP_RESOURCE_DESC, res.linear.sizeInBytes),
    offsetof(HIP_RESOURCE_DESC, res.pitch2D.pitchInBytes), offsetof(HIP_RESOURCE_DESC, flags), offsetof(HIP_TEXTURE_DESC, flags),
    offsetof(HIP_TEXTURE_DESC, borderColor),
#if HIP_VERSION_MAJOR >= 6      /* another structure before */
    sizeof(hipMemAllocationProp), offsetof(hipMemAllocationProp, location), offsetof(hipMemAllocationProp, allocFlags),
#endif
};
#if HIP_VERSION_MAJOR < 6
#define FIELDS(X) X(name) X(totalGlobalMem) X(sharedMemPerBlock) X(regsPerBlock) X(warpSize) X(maxThreadsPerBlock) X(clockRate) \
    X(memoryClockRate) X(memoryBusWidth) X(major) X(multiProcessorCount) X(l2CacheSize) X(maxThreadsPerMultiProcessor) X(pciDomainID) \
    X(pciBusID) X(pciDeviceID) X(gcnArchName) X(integrated) X(cooperativeLaunch)
#else
#define FIELDS(X) X(name) X(uuid) X(totalGlobalMem) X(sharedMemPerBlock) X(regsPerBlock) X(warpSize) X(maxThreadsPerBlock) X(clockRate) \
    X(memoryClockRate) X(memoryBusWidth) X(major) X(multiProcessorCount) X(l2CacheSize) X(maxThreadsPerMultiProcessor) X(pciDomainID) \
    X(pciBusID) X(pciDeviceID) X(gcnArchName) X(integrated) X(cooperativeLaunch)
#endif
static const struct { const char *name; size_t offset; } their_fields[] = {
#define X(f) { #f, offsetof(hipDeviceProp_t, f) },
    FIELDS(X)
#undef X
};
static const size_t their_size = sizeof(hipDeviceProp_t);

/* Ours, under other names. */
#define hipError_t cw_hipError_t
#define hipDevice_t cw_hipDevice_t
#define hipDeviceptr_t cw_hipDeviceptr_t
#define hipStream_t cw_hipStream_t
#define hipEvent_t cw_hipEvent_t
#define hipModule_t cw_hipModule_t
#define hipFunction_t cw_hipFunction_t
#define hipUUID cw_hipUUID
#define PREFIXED(n) cw_##n
#define hipSuccess cw_hipSuccess
#define hipErrorInvalidValue cw_hipErrorInvalidValue
#define hipErrorOutOfMemory cw_hipErrorOutOfMemory
#define hipErrorNotInitialized cw_hipErrorNotInitialized
#define hipErrorDeinitialized cw_hipErrorDeinitialized
#define hipErrorInvalidConfiguration cw_hipErrorInvalidConfiguration
#define hipErrorInvalidDevicePointer cw_hipErrorInvalidDevicePointer
#define hipErrorInvalidDeviceFunction cw_hipErrorInvalidDeviceFunction
#define hipErrorNoDevice cw_hipErrorNoDevice
#define hipErrorInvalidDevice cw_hipErrorInvalidDevice
#define hipErrorInvalidImage cw_hipErrorInvalidImage
#define hipErrorInvalidContext cw_hipErrorInvalidContext
#define hipErrorAlreadyMapped cw_hipErrorAlreadyMapped
#define hipErrorNoBinaryForGpu cw_hipErrorNoBinaryForGpu
#define hipErrorInvalidHandle cw_hipErrorInvalidHandle
#define hipErrorIllegalState cw_hipErrorIllegalState
#define hipErrorNotFound cw_hipErrorNotFound
#define hipErrorNotReady cw_hipErrorNotReady
#define hipErrorIllegalAddress cw_hipErrorIllegalAddress
#define hipErrorLaunchOutOfResources cw_hipErrorLaunchOutOfResources
#define hipErrorLaunchTimeOut cw_hipErrorLaunchTimeOut
#define hipErrorAssert cw_hipErrorAssert
#define hipErrorPeerAccessAlreadyEnabled cw_hipErrorPeerAccessAlreadyEnabled
#define hipErrorHostMemoryAlreadyRegistered cw_hipErrorHostMemoryAlreadyRegistered
#define hipErrorHostMemoryNotRegistered cw_hipErrorHostMemoryNotRegistered
#define hipErrorLaunchFailure cw_hipErrorLaunchFailure
#define hipErrorCooperativeLaunchTooLarge cw_hipErrorCooperativeLaunchTooLarge
#define hipErrorNotSupported cw_hipErrorNotSupported
#define hipErrorUnknown cw_hipErrorUnknown
#define hipMemcpyDefault cw_hipMemcpyDefault
#undef hipStreamNonBlocking
#undef hipEventBlockingSync
#undef hipEventDisableTiming
#undef hipHostMallocPortable
#undef hipHostMallocMapped
#undef hipMemAttachGlobal
#undef hipHostRegisterPortable
#undef hipHostRegisterMapped
#undef hipStreamWaitValueGte
#undef hipStreamWaitValueEq
#undef hipStreamWaitValueAnd
#undef hipStreamWaitValueNor
#undef HIP_LAUNCH_PARAM_BUFFER_POINTER
#undef HIP_LAUNCH_PARAM_BUFFER_SIZE
#undef HIP_LAUNCH_PARAM_END
#define hipLimitStackSize cw_hipLimitStackSize
#define hipLimitMallocHeapSize cw_hipLimitMallocHeapSize
#define HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK CW_HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
#define HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES CW_HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
#define HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES CW_HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
#define HIP_FUNC_ATTRIBUTE_NUM_REGS CW_HIP_FUNC_ATTRIBUTE_NUM_REGS
#define hipMemGenericAllocationHandle_t cw_hipMemGenericAllocationHandle_t
#define hipMemAllocationTypePinned cw_hipMemAllocationTypePinned
#define hipMemLocationTypeDevice cw_hipMemLocationTypeDevice
#define hipMemAccessFlagsProtNone cw_hipMemAccessFlagsProtNone
#define hipMemAccessFlagsProtRead cw_hipMemAccessFlagsProtRead
#define hipMemAccessFlagsProtReadWrite cw_hipMemAccessFlagsProtReadWrite
#define hipDeviceAttributeImageSupport cw_hipDeviceAttributeImageSupport
#define hipDeviceAttributeWallClockRate cw_hipDeviceAttributeWallClockRate
#define hipTextureObject_t cw_hipTextureObject_t
#define HIP_RESOURCE_TYPE_LINEAR CW_HIP_RESOURCE_TYPE_LINEAR
#define HIP_RESOURCE_TYPE_PITCH2D CW_HIP_RESOURCE_TYPE_PITCH2D
#define HIP_AD_FORMAT_UNSIGNED_INT8 CW_HIP_AD_FORMAT_UNSIGNED_INT8
#define HIP_AD_FORMAT_UNSIGNED_INT16 CW_HIP_AD_FORMAT_UNSIGNED_INT16
#define HIP_AD_FORMAT_UNSIGNED_INT32 CW_HIP_AD_FORMAT_UNSIGNED_INT32
#define HIP_AD_FORMAT_SIGNED_INT8 CW_HIP_AD_FORMAT_SIGNED_INT8
#define HIP_AD_FORMAT_SIGNED_INT16 CW_HIP_AD_FORMAT_SIGNED_INT16
#define HIP_AD_FORMAT_SIGNED_INT32 CW_HIP_AD_FORMAT_SIGNED_INT32
#define HIP_AD_FORMAT_HALF CW_HIP_AD_FORMAT_HALF
#define HIP_AD_FORMAT_FLOAT CW_HIP_AD_FORMAT_FLOAT
#define HIP_TR_ADDRESS_MODE_WRAP CW_HIP_TR_ADDRESS_MODE_WRAP
#define HIP_TR_ADDRESS_MODE_CLAMP CW_HIP_TR_ADDRESS_MODE_CLAMP
#define HIP_TR_ADDRESS_MODE_MIRROR CW_HIP_TR_ADDRESS_MODE_MIRROR
#define HIP_TR_ADDRESS_MODE_BORDER CW_HIP_TR_ADDRESS_MODE_BORDER
#define HIP_TR_FILTER_MODE_POINT CW_HIP_TR_FILTER_MODE_POINT
#define HIP_TR_FILTER_MODE_LINEAR CW_HIP_TR_FILTER_MODE_LINEAR
#undef HIP_SAMPLER_OBJECT_OFFSET_DWORD
#undef HIP_TRSF_READ_AS_INTEGER
#undef HIP_TRSF_NORMALIZED_COORDINATES
#include "impl/hip/hip.h"

static const long ours[] = {
    hipErrorInvalidValue, hipErrorOutOfMemory, hipErrorNotInitialized, hipErrorDeinitialized, hipErrorInvalidConfiguration,
    hipErrorInvalidDevicePointer, hipErrorInvalidDeviceFunction, hipErrorNoDevice, hipErrorInvalidDevice, hipErrorInvalidImage,
    hipErrorInvalidContext, hipErrorAlreadyMapped, hipErrorNoBinaryForGpu, hipErrorInvalidHandle, hipErrorIllegalState, hipErrorNotFound,
    hipErrorNotReady, hipErrorIllegalAddress, hipErrorLaunchOutOfResources, hipErrorLaunchTimeOut, hipErrorPeerAccessAlreadyEnabled, hipErrorAssert,
    hipErrorHostMemoryAlreadyRegistered, hipErrorHostMemoryNotRegistered, hipErrorLaunchFailure, hipErrorCooperativeLaunchTooLarge,
    hipErrorNotSupported, hipErrorUnknown, hipMemcpyDefault, hipStreamNonBlocking, hipEventBlockingSync, hipEventDisableTiming,
    hipHostMallocPortable, hipHostMallocMapped, hipMemAttachGlobal, hipHostRegisterPortable, hipHostRegisterMapped,
    hipStreamWaitValueGte, hipStreamWaitValueEq, hipStreamWaitValueAnd, hipStreamWaitValueNor,
    HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_NUM_REGS,
    hipMemAllocationTypePinned, hipMemLocationTypeDevice, hipMemAccessFlagsProtNone, hipMemAccessFlagsProtRead,
    hipMemAccessFlagsProtReadWrite, sizeof(struct hip_access_desc), offsetof(struct hip_access_desc, flags), offsetof(struct hip_mem_location, id),
    hipDeviceAttributeImageSupport, HIP_RESOURCE_TYPE_LINEAR, HIP_RESOURCE_TYPE_PITCH2D, HIP_AD_FORMAT_UNSIGNED_INT8,
    HIP_AD_FORMAT_UNSIGNED_INT16, HIP_AD_FORMAT_UNSIGNED_INT32, HIP_AD_FORMAT_SIGNED_INT8, HIP_AD_FORMAT_SIGNED_INT16,
    HIP_AD_FORMAT_SIGNED_INT32, HIP_AD_FORMAT_HALF, HIP_AD_FORMAT_FLOAT, HIP_TR_ADDRESS_MODE_WRAP, HIP_TR_ADDRESS_MODE_CLAMP,
    HIP_TR_ADDRESS_MODE_MIRROR, HIP_TR_ADDRESS_MODE_BORDER, HIP_TR_FILTER_MODE_POINT, HIP_TR_FILTER_MODE_LINEAR,
    HIP_SAMPLER_OBJECT_OFFSET_DWORD, HIP_OBJECT_SIZE_DWORD, HIP_TRSF_READ_AS_INTEGER, HIP_TRSF_NORMALIZED_COORDINATES,
    sizeof(struct hip_resource_desc), sizeof(struct hip_texture_desc), offsetof(struct hip_resource_desc, res.linear.sizeInBytes),
    offsetof(struct hip_resource_desc, res.pitch2D.pitchInBytes), offsetof(struct hip_resource_desc, flags),
    offsetof(struct hip_texture_desc, flags), offsetof(struct hip_texture_desc, borderColor),
#if HIP_VERSION_MAJOR >= 6      /* another structure before */
    sizeof(struct hip_allocation_prop), offsetof(struct hip_allocation_prop, location), offsetof(struct hip_allocation_prop, allocFlags),
#endif
};
#if HIP_VERSION_MAJOR < 6
typedef struct hip_props_r0000 our_props;
#else
typedef struct hip_props_r0600 our_props;
#endif
static const size_t our_fields[] = {
#define X(f) offsetof(our_props, f),
    FIELDS(X)
#undef X
};

int
main(void)
{
    int failures = 0;
    for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++)
        if (ours[i] != theirs[i]) {
            printf("value %u: %ld, in HIP's header %ld\n", i, ours[i], theirs[i]);
            failures++;
        }
    for (unsigned i = 0; i < sizeof our_fields / sizeof *our_fields; i++)
        if (our_fields[i] != their_fields[i].offset) {
            printf("device property %s: at %zu, in HIP's header at %zu\n", their_fields[i].name, our_fields[i], their_fields[i].offset);
            failures++;
        }
    if (sizeof(our_props) < their_size) {
        printf("device properties: %zu bytes, HIP writes %zu\n", sizeof(our_props), their_size);
        failures++;
    }
    void *lib = dlopen("libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        lib = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        printf("the symbols are not compared: %s\n", dlerror());
    } else {
        unsigned found = 0;
        static const struct { const char *name, *since; int required; } functions[] = {
#define R 1
#define O 0
#define X(need, since, name, params) { #name, since, need },
            HIP_FUNCTIONS(X)
        };
        for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
            if (dlsym(lib, functions[i].name)) {
                found++;
            } else if (functions[i].required || !strcmp(functions[i].since, "5.0")) {
                printf("%s is not in the library, and is said to be since ROCm %s\n", functions[i].name, functions[i].since);
                failures++;
            }
        }
        printf("%u of %zu functions are in the library\n", found, sizeof functions / sizeof *functions);
    }
    printf("%s\n", failures ? "failed" : "declarations agree");
    return failures != 0;
}
#else
int
main(void)
{
    printf("skipped: no HIP headers (package libamdhip64-dev)\n");
    return 77;
}
#endif
