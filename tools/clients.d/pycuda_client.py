# SPDX-License-Identifier: Apache-2.0
# pip: pycuda==2026.1 numpy==2.4.6 mako==1.4.3
# time: quick
"""PyCUDA. What it compiles itself (SourceModule, GPUArray) it has nvcc make a cubin of: bin/nvcc puts PTX there; without a toolkit these
cases are skipped. NumPy computes what must come out."""
import os
import shutil

import numpy as np

from cases import Skip, case, run

import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda import gpuarray
from pycuda.compiler import SourceModule

has_nvcc = shutil.which("nvcc")
os.environ["PATH"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin") + os.pathsep + os.environ["PATH"]
os.environ["PYCUDA_DISABLE_CACHE"] = "1"
f = np.linspace(-3, 3, 1000).astype(np.float32)


def same(got, want, rtol=0, atol=0):
    np.testing.assert_allclose(got.get() if hasattr(got, "get") else got, want, rtol=rtol, atol=atol)


@case
def properties():
    device = cuda.Device(0)
    assert device.name() and device.total_memory() > 0
    assert device.get_attribute(cuda.device_attribute.WARP_SIZE) == 32


@case
def copies():
    d = cuda.to_device(f)
    same(cuda.from_device(d, f.shape, f.dtype), f)
    pinned = cuda.pagelocked_empty(1000, np.float32)
    stream = cuda.Stream()
    cuda.memcpy_dtoh_async(pinned, d, stream)
    stream.synchronize()
    same(pinned, f)


@case
def ptx():
    module = cuda.module_from_buffer(b"""
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry add(.param .u64 p, .param .u32 v) {
            .reg .b32 %r<4>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];
            mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
            ld.global.u32 %r3, [%rd3]; add.u32 %r3, %r3, %r1; st.global.u32 [%rd3], %r3; ret;
        }\0""")
    x = np.arange(32, dtype=np.int32)
    module.get_function("add")(cuda.InOut(x), np.int32(7), block=(32, 1, 1), grid=(1, 1))
    same(x, np.arange(32) + 7)


@case
def streams_and_events():
    begin, end, stream = cuda.Event(), cuda.Event(), cuda.Stream()
    d = cuda.mem_alloc(4096)
    begin.record(stream)
    cuda.memset_d8_async(d, 3, 4096, stream)
    end.record(stream)
    end.synchronize()
    assert end.time_since(begin) >= 0
    got = np.empty(4096, np.uint8)
    cuda.memcpy_dtoh(got, d)
    same(got, np.full(4096, 3))


def need_nvcc():
    if not has_nvcc:
        raise Skip("there is no nvcc in PATH")


@case
def source_module():
    need_nvcc()
    module = SourceModule("""
        __constant__ float scale;
        __global__ void saxpy(float *y, const float *x, int n)
        {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = scale * x[i] + y[i];
        }""")
    at, size = module.get_global("scale")
    assert size == 4
    cuda.memcpy_htod(at, np.float32(3))
    y = np.ones_like(f)
    module.get_function("saxpy")(cuda.InOut(y), cuda.In(f), np.int32(f.size), block=(128, 1, 1), grid=(8, 1))
    same(y, 3 * f + 1, rtol=1e-6, atol=1e-6)


@case
def arrays():
    need_nvcc()
    x = gpuarray.to_gpu(f)
    same(2 * x + x * x, 2 * f + f * f, rtol=1e-6, atol=1e-6)
    same(gpuarray.sum(x * x), (f * f).sum(), rtol=1e-5)
    assert gpuarray.max(x).get() == f.max()


run()
