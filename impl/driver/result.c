/* SPDX-License-Identifier: Apache-2.0
 * Result codes: the backend's and the jit's mapped to CUDA's, and CUDA's names and descriptions. */
#include "impl/driver/driver.h"

#include <sched.h>

const char *
cwb_result_text(cwb_result r)
{
    static const char *const text[] = {
#define X(name, text) text,
        CWB_RESULT_MAP(X)
#undef X
    };
    return (unsigned)r < COUNT(text) ? text[r] : "unknown result";
}

CUresult
result_of_failure(cwb_result r)
{
    switch (r) {
    case CWB_OK:                  return CUDA_SUCCESS;
    case CWB_NOT_READY:           return CUDA_ERROR_NOT_READY;
    case CWB_NOMEM:               return CUDA_ERROR_OUT_OF_MEMORY;
    case CWB_INVALID:             return CUDA_ERROR_INVALID_VALUE;
    case CWB_UNSUPPORTED:         return CUDA_ERROR_NOT_SUPPORTED;
    case CWB_NO_DEVICE:           return CUDA_ERROR_NO_DEVICE;
    case CWB_SHUT_DOWN:           return CUDA_ERROR_DEINITIALIZED;
    case CWB_COMPILE:             return CUDA_ERROR_INVALID_PTX;
    case CWB_RESOURCES:           return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case CWB_ADDRESS_IN_USE:      return CUDA_ERROR_INVALID_VALUE;
    case CWB_ALREADY:             return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    case CWB_NOT_PERMITTED:       return CUDA_ERROR_NOT_PERMITTED;
    case CWB_SYSTEM:              return CUDA_ERROR_OPERATING_SYSTEM;
    case CWB_ILLEGAL_ADDRESS:     return CUDA_ERROR_ILLEGAL_ADDRESS;
    case CWB_MISALIGNED:          return CUDA_ERROR_MISALIGNED_ADDRESS;
    case CWB_ILLEGAL_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case CWB_TRAP:                return CUDA_ERROR_LAUNCH_FAILED;
    case CWB_ASSERT:              return CUDA_ERROR_ASSERT;
    case CWB_STACK:               return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case CWB_INVALID_PC:          return CUDA_ERROR_INVALID_PC;
    case CWB_TIMEOUT:             return CUDA_ERROR_LAUNCH_TIMEOUT;
    case CWB_LAUNCH_FAILED:       return CUDA_ERROR_LAUNCH_FAILED;
    case CWB_INTERNAL:
    case CWB_RESULT_COUNT:        break;
    }
    return CUDA_ERROR_UNKNOWN;
}

CUresult
poll_result(cwb_result r)
{
    if (r == CWB_NOT_READY)
        (void)sched_yield();
    return result_of(r);
}

CUresult
result_of_cw(cw_result r)
{
    switch (r) {
    case CW_OK:              return CUDA_SUCCESS;
    case CW_ERR_NOMEM:       return CUDA_ERROR_OUT_OF_MEMORY;
    case CW_ERR_NOT_FOUND:   return CUDA_ERROR_FILE_NOT_FOUND;
    case CW_ERR_IO:          return CUDA_ERROR_OPERATING_SYSTEM;
    case CW_ERR_INVALID:
    case CW_ERR_DAMAGED:     return CUDA_ERROR_INVALID_IMAGE;
    case CW_ERR_SYNTAX:
    case CW_ERR_LIMIT:
    case CW_ERR_DUPLICATE:
    case CW_ERR_UNRESOLVED:  return CUDA_ERROR_INVALID_PTX;
    case CW_ERR_UNSUPPORTED:
    case CW_ERR_VERSION:     return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case CW_ERR_NO_PTX:      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case CW_ERR_LLVM:        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    default:                 return CUDA_ERROR_UNKNOWN;
    }
}

/* X(name without CUDA_ERROR_, description). Descriptions are short forms of what the driver API manual says of each. */
#define ERROR_MAP(X)                                                                                       \
    X(INVALID_VALUE, "invalid argument")                                                                   \
    X(OUT_OF_MEMORY, "out of memory")                                                                      \
    X(NOT_INITIALIZED, "initialization error")                                                             \
    X(DEINITIALIZED, "driver shutting down")                                                               \
    X(PROFILER_DISABLED, "profiler disabled while using external profiling tool")                          \
    X(PROFILER_NOT_INITIALIZED, "profiler not initialized: call cudaProfilerInitialize()")                 \
    X(PROFILER_ALREADY_STARTED, "profiler already started")                                                \
    X(PROFILER_ALREADY_STOPPED, "profiler already stopped")                                                \
    X(STUB_LIBRARY, "CUDA driver is a stub library")                                                       \
    X(DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable")                             \
    X(NO_DEVICE, "no CUDA-capable device is detected")                                                     \
    X(INVALID_DEVICE, "invalid device ordinal")                                                            \
    X(DEVICE_NOT_LICENSED, "device doesn't have valid Grid license")                                       \
    X(INVALID_IMAGE, "device kernel image is invalid")                                                     \
    X(INVALID_CONTEXT, "invalid device context")                                                           \
    X(CONTEXT_ALREADY_CURRENT, "context already current")                                                  \
    X(MAP_FAILED, "mapping of buffer object failed")                                                       \
    X(UNMAP_FAILED, "unmapping of buffer object failed")                                                   \
    X(ARRAY_IS_MAPPED, "array is mapped")                                                                  \
    X(ALREADY_MAPPED, "resource already mapped")                                                           \
    X(NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")                       \
    X(ALREADY_ACQUIRED, "resource already acquired")                                                       \
    X(NOT_MAPPED, "resource not mapped")                                                                   \
    X(NOT_MAPPED_AS_ARRAY, "resource not mapped as array")                                                 \
    X(NOT_MAPPED_AS_POINTER, "resource not mapped as pointer")                                             \
    X(ECC_UNCORRECTABLE, "uncorrectable ECC error encountered")                                            \
    X(UNSUPPORTED_LIMIT, "limit is not supported on this architecture")                                    \
    X(CONTEXT_ALREADY_IN_USE, "exclusive-thread device already in use by a different thread")              \
    X(PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices")                   \
    X(INVALID_PTX, "a PTX JIT compilation failed")                                                         \
    X(INVALID_GRAPHICS_CONTEXT, "invalid OpenGL or DirectX context")                                       \
    X(NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected during the execution")                    \
    X(JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found")                                        \
    X(UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.")             \
    X(JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled")                                        \
    X(UNSUPPORTED_EXEC_AFFINITY, "the provided execution affinity is not supported")                       \
    X(UNSUPPORTED_DEVSIDE_SYNC, "the provided PTX contains unsupported call to cudaDeviceSynchronize")     \
    X(CONTAINED, "Invalid access of peer GPU memory over nvlink or a hardware error")                      \
    X(INVALID_SOURCE, "device kernel image is invalid")                                                    \
    X(FILE_NOT_FOUND, "file not found")                                                                    \
    X(SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found")                                    \
    X(SHARED_OBJECT_INIT_FAILED, "shared object initialization failed")                                    \
    X(OPERATING_SYSTEM, "OS call failed or operation not supported on this OS")                            \
    X(INVALID_HANDLE, "invalid resource handle")                                                           \
    X(ILLEGAL_STATE, "the operation cannot be performed in the present state")                             \
    X(LOSSY_QUERY, "attempted introspection would be semantically lossy")                                  \
    X(NOT_FOUND, "named symbol not found")                                                                 \
    X(NOT_READY, "device not ready")                                                                       \
    X(ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                         \
    X(LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                                  \
    X(LAUNCH_TIMEOUT, "the launch timed out and was terminated")                                           \
    X(LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode")                            \
    X(PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                                       \
    X(PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                                         \
    X(PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process")                         \
    X(CONTEXT_IS_DESTROYED, "context is destroyed")                                                        \
    X(ASSERT, "device-side assert triggered")                                                              \
    X(TOO_MANY_PEERS, "peer mapping resources exhausted")                                                  \
    X(HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped")       \
    X(HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region")             \
    X(HARDWARE_STACK_ERROR, "hardware stack error")                                                        \
    X(ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")                                       \
    X(MISALIGNED_ADDRESS, "misaligned address")                                                            \
    X(INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space")                     \
    X(INVALID_PC, "invalid program counter")                                                               \
    X(LAUNCH_FAILED, "unspecified launch failure")                                                         \
    X(COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")                               \
    X(TENSOR_MEMORY_LEAK, "a kernel ended without freeing its tensor memory")                              \
    X(NOT_PERMITTED, "operation not permitted")                                                            \
    X(NOT_SUPPORTED, "operation not supported")                                                            \
    X(SYSTEM_NOT_READY, "system not yet initialized")                                                      \
    X(SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination")           \
    X(COMPAT_NOT_SUPPORTED_ON_DEVICE, "forward compatibility was attempted on non supported HW")           \
    X(MPS_CONNECTION_FAILED, "MPS client failed to connect to the MPS control daemon or the MPS server")   \
    X(MPS_RPC_FAILURE, "the remote procedural call between the MPS server and the MPS client failed")      \
    X(MPS_SERVER_NOT_READY, "MPS server is not ready to accept new MPS client requests")                   \
    X(MPS_MAX_CLIENTS_REACHED, "the hardware resources required to create MPS client have been exhausted") \
    X(MPS_MAX_CONNECTIONS_REACHED, "the hardware resources required to support device connections have been exhausted") \
    X(MPS_CLIENT_TERMINATED, "the MPS client has been terminated by the server")                           \
    X(CDP_NOT_SUPPORTED, "current device does not support CUDA Dynamic Parallelism")                       \
    X(CDP_VERSION_MISMATCH, "unsupported interaction between different versions of CUDA Dynamic Parallelism") \
    X(STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")                      \
    X(STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")               \
    X(STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences")             \
    X(STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")                    \
    X(STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                                       \
    X(STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream")                 \
    X(STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capturing blocking stream") \
    X(CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream")           \
    X(STREAM_CAPTURE_WRONG_THREAD, "attempt to terminate a thread-local capture sequence from another thread") \
    X(TIMEOUT, "wait operation timed out")                                                                 \
    X(GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed because it included changes which violated constraints") \
    X(EXTERNAL_DEVICE, "an async error has occurred in external entity outside of CUDA")                   \
    X(INVALID_CLUSTER_SIZE, "a kernel launch error has occurred due to cluster misconfiguration")          \
    X(FUNCTION_NOT_LOADED, "the function handle is not loaded")                                            \
    X(INVALID_RESOURCE_TYPE, "one or more resources are not of a valid type for the operation")            \
    X(INVALID_RESOURCE_CONFIGURATION, "one or more resources are insufficient or not applicable for the operation") \
    X(KEY_ROTATION, "an error happened during the key rotation sequence")                                  \
    X(UNKNOWN, "unknown error")

static bool
error_text(CUresult e, const char **name, const char **text)
{
    switch ((int)e) {
    case CUDA_SUCCESS: *name = "CUDA_SUCCESS"; *text = "no error"; return true;
#define X(n, t) case CUDA_ERROR_##n: *name = "CUDA_ERROR_" #n; *text = t; return true;
        ERROR_MAP(X)
#undef X
    }
    return false;
}

CUresult
drv_cuGetErrorString(CUresult error, const char **pStr)
{
    const char *name, *text;
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!error_text(error, &name, &text)) {
        *pStr = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pStr = text;
    return CUDA_SUCCESS;
}

CUresult
drv_cuGetErrorName(CUresult error, const char **pStr)
{
    const char *name, *text;
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!error_text(error, &name, &text)) {
        *pStr = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pStr = name;
    return CUDA_SUCCESS;
}
