# SPDX-License-Identifier: Apache-2.0
# pip: cuda-bindings==13.0.3 numpy==2.4.6 nvidia-cuda-nvrtc==13.0.88
# time: quick
"""NVIDIA's cuda-bindings: the driver API and NVRTC from Python. NumPy computes what must come out."""
import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc

from cases import case, run


def ok(result):
    error, *values = result
    assert int(error) == 0, error
    return values[0] if len(values) == 1 else values


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))
SOURCE = rb"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fmaf(a, x[i], y[i]);
}
__device__ int counter;
extern "C" __global__ void count(void) { atomicAdd(&counter, 2); }
"""


def compiled(option, what):
    program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"a.cu", 0, [], []))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [option]))
    data = b" " * ok(getattr(nvrtc, f"nvrtcGet{what}Size")(program))
    ok(getattr(nvrtc, f"nvrtcGet{what}")(program, data))
    return data


def run_saxpy(module):
    kernel = ok(driver.cuModuleGetFunction(module, b"saxpy"))
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    dx, dy = ok(driver.cuMemAlloc(x.nbytes)), ok(driver.cuMemAlloc(y.nbytes))
    stream = ok(driver.cuStreamCreate(0))
    ok(driver.cuMemcpyHtoDAsync(dx, x.ctypes.data, x.nbytes, stream))
    ok(driver.cuMemcpyHtoDAsync(dy, y.ctypes.data, y.nbytes, stream))
    args = ((3.0, dx, dy, n), (ctypes.c_float, None, None, ctypes.c_size_t))
    ok(driver.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, args, 0))
    got = np.empty_like(y)
    ok(driver.cuMemcpyDtoHAsync(got.ctypes.data, dy, got.nbytes, stream))
    ok(driver.cuStreamSynchronize(stream))
    np.testing.assert_array_equal(got, 3 * x + 1)
    for d in (dx, dy):
        ok(driver.cuMemFree(d))
    ok(driver.cuStreamDestroy(stream))


def architecture():
    major = ok(driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
    minor = ok(driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
    return f"{major}{minor}".encode()


@case
def properties():
    assert ok(driver.cuDriverGetVersion()) >= 12000
    assert ok(driver.cuDeviceGetName(100, device)).split(b"\0")[0].startswith(b"CUDAway")


@case
def ptx():
    module = ok(driver.cuModuleLoadData(compiled(b"--gpu-architecture=compute_75", "PTX")))
    run_saxpy(module)
    ok(driver.cuModuleUnload(module))


@case
def cubin():
    module = ok(driver.cuModuleLoadData(compiled(b"--gpu-architecture=sm_" + architecture(), "CUBIN")))
    run_saxpy(module)
    ok(driver.cuModuleUnload(module))


@case
def globals_and_libraries():
    library = ok(driver.cuLibraryLoadData(compiled(b"--gpu-architecture=compute_75", "PTX"), [], [], 0, [], [], 0))
    kernel = ok(driver.cuKernelGetFunction(ok(driver.cuLibraryGetKernel(library, b"count"))))
    address, size = ok(driver.cuLibraryGetGlobal(library, b"counter"))
    assert size == 4
    ok(driver.cuMemsetD32(address, 5, 1))
    ok(driver.cuLaunchKernel(kernel, 4, 1, 1, 32, 1, 1, 0, 0, 0, 0))
    ok(driver.cuCtxSynchronize())
    got = np.zeros(1, np.int32)
    ok(driver.cuMemcpyDtoH(got.ctypes.data, address, 4))
    assert got[0] == 5 + 4 * 32 * 2
    ok(driver.cuLibraryUnload(library))


@case
def graph():
    module = ok(driver.cuModuleLoadData(compiled(b"--gpu-architecture=compute_75", "PTX")))
    kernel = ok(driver.cuModuleGetFunction(module, b"count"))
    address, size = ok(driver.cuModuleGetGlobal(module, b"counter"))
    stream = ok(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    ok(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    ok(driver.cuMemsetD32Async(address, 1, 1, stream))
    ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 3, 1, 1, 0, stream, 0, 0))
    captured = ok(driver.cuStreamEndCapture(stream))
    executable = ok(driver.cuGraphInstantiate(captured, 0))
    for _ in range(2):
        ok(driver.cuGraphLaunch(executable, stream))
    ok(driver.cuStreamSynchronize(stream))
    got = np.zeros(1, np.int32)
    ok(driver.cuMemcpyDtoH(got.ctypes.data, address, 4))
    assert got[0] == 7
    ok(driver.cuModuleUnload(module))


@case
def memory_pools_and_virtual_memory():
    pool = ok(driver.cuDeviceGetDefaultMemPool(device))
    stream = ok(driver.cuStreamCreate(0))
    p = ok(driver.cuMemAllocFromPoolAsync(4096, pool, stream))
    ok(driver.cuMemsetD8Async(p, 0x5a, 4096, stream))
    got = np.zeros(4096, np.uint8)
    ok(driver.cuMemcpyDtoHAsync(got.ctypes.data, p, 4096, stream))
    ok(driver.cuMemFreeAsync(p, stream))
    ok(driver.cuStreamSynchronize(stream))
    assert (got == 0x5a).all()
    want = driver.CUmemAllocationProp()
    want.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    want.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    want.location.id = 0
    size = ok(driver.cuMemGetAllocationGranularity(want, driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
    memory = ok(driver.cuMemCreate(size, want, 0))
    address = ok(driver.cuMemAddressReserve(size, 0, 0, 0))
    ok(driver.cuMemMap(address, size, 0, memory, 0))
    access = driver.CUmemAccessDesc()
    access.location = want.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ok(driver.cuMemSetAccess(address, size, [access], 1))
    ok(driver.cuMemsetD8(address, 7, size))
    ok(driver.cuMemcpyDtoH(got.ctypes.data, address, 4096))
    assert (got == 7).all()
    ok(driver.cuMemUnmap(address, size))
    ok(driver.cuMemAddressFree(address, size))
    ok(driver.cuMemRelease(memory))


@case
def errors():
    error, _ = driver.cuModuleLoadData(b"no PTX\0")
    assert error != driver.CUresult.CUDA_SUCCESS
    assert driver.cuMemFree(12345)[0] == driver.CUresult.CUDA_ERROR_INVALID_VALUE


run()
