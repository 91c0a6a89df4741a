/* SPDX-License-Identifier: Apache-2.0
 * The thread's last error, names and texts of errors. */
#include "impl/runtime/runtime.h"

#include "impl/api/meta.h"

_Thread_local int rt_ptds __attribute__((tls_model("initial-exec")));

void
rt_failed(cudaError_t e)
{
    /* CUDA C++ Programming Guide, "Error Checking": what a query returns for work in progress is not considered an error. */
    if (e != cudaErrorNotReady)
        rt_self.last = e;
}

cudaError_t
rt_unsupported(unsigned function, const char *name, const char *reason)
{
    static atomic_flag said[2048];

    if (function >= COUNT(said) || !atomic_flag_test_and_set_explicit(&said[function], memory_order_relaxed))
        cw_warn("%s is not supported%s%s", name, *reason ? ": " : "", reason);
    rt_failed(cudaErrorNotSupported);
    return cudaErrorNotSupported;
}

cudaError_t
rt_cudaPeekAtLastError(void)
{
    return rt_self.last;
}

/* An error that ended the context goes like any other; the next call that needs the context reports it again (as on an H200). */
cudaError_t
rt_cudaGetLastError(void)
{
    cudaError_t e = rt_self.last;
    rt_self.last = cudaSuccess;
    return e;
}

/* What only the Runtime returns. */
static const struct {
    cudaError_t code;
    const char *text;
} texts[] = {
    { cudaErrorInvalidConfiguration, "invalid configuration argument" },
    { cudaErrorInvalidPitchValue, "invalid pitch argument" },
    { cudaErrorInvalidSymbol, "invalid device symbol" },
    { cudaErrorInvalidHostPointer, "invalid host pointer" },
    { cudaErrorInvalidDevicePointer, "invalid device pointer" },
    { cudaErrorInvalidTexture, "invalid texture reference" },
    { cudaErrorInvalidTextureBinding, "texture is not bound to a pointer" },
    { cudaErrorInvalidChannelDescriptor, "invalid channel descriptor" },
    { cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy" },
    { cudaErrorAddressOfConstant, "address of a constant variable" },
    { cudaErrorTextureFetchFailed, "fetch from texture failed" },
    { cudaErrorTextureNotBound, "texture not bound" },
    { cudaErrorSynchronizationError, "synchronization error" },
    { cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type" },
    { cudaErrorInvalidNormSetting, "read as normalized float not supported for 32-bit non float type" },
    { cudaErrorMixedDeviceExecution, "mixing of device and device-emulation code" },
    { cudaErrorNotYetImplemented, "feature not yet implemented" },
    { cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit" },
    { cudaErrorStubLibrary, "the library is a stub" },
    { cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version" },
    { cudaErrorCallRequiresNewerDriver, "the call needs a newer CUDA driver" },
    { cudaErrorInvalidSurface, "invalid surface reference" },
    { cudaErrorDuplicateVariableName, "a global variable of the same name exists" },
    { cudaErrorDuplicateTextureName, "a texture of the same name exists" },
    { cudaErrorDuplicateSurfaceName, "a surface of the same name exists" },
    { cudaErrorDevicesUnavailable, "all CUDA-capable devices are busy or unavailable" },
    { cudaErrorIncompatibleDriverContext, "incompatible driver context" },
    { cudaErrorMissingConfiguration, "call of a __global__ function without a launch configuration" },
    { cudaErrorPriorLaunchFailure, "a previous launch failed" },
    { cudaErrorLaunchMaxDepthExceeded, "launch would exceed the maximum depth of nested launches" },
    { cudaErrorLaunchFileScopedTex, "launch failed: it uses file-scoped textures" },
    { cudaErrorLaunchFileScopedSurf, "launch failed: it uses file-scoped surfaces" },
    { cudaErrorSyncDepthExceeded, "the depth for a device-side synchronize is exceeded" },
    { cudaErrorLaunchPendingCountExceeded, "launch failed: too many launches are pending" },
    { cudaErrorInvalidDeviceFunction, "invalid device function" },
    { cudaErrorDeviceNotLicensed, "the device has no valid licence" },
    { cudaErrorSoftwareValidityNotEstablished, "integrity checks failed" },
    { cudaErrorStartupFailure, "startup failure in the CUDA runtime" },
    { cudaErrorApiFailureBase, "api failure" },
};

const char *
rt_cudaGetErrorName(cudaError_t error)
{
    const char *name = cw_meta_result_name((int)error);
    return name ? name : "unrecognized error code";
}

const char *
rt_cudaGetErrorString(cudaError_t error)
{
    const char *text = NULL;

    for (size_t i = 0; i < COUNT(texts); i++)
        if (texts[i].code == error)
            return texts[i].text;
    if (error == cudaSuccess)
        return "no error";
    if (cw_meta_result_name((int)error) && rt_load() && CU(cuGetErrorString)((CUresult)error, &text) == CUDA_SUCCESS && text)
        return text;
    return text = cw_meta_result_name((int)error), text ? text : "unrecognized error code";
}
