# SPDX-License-Identifier: Apache-2.0
# pip: cupy-cuda13x==14.2.0 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
# time: quick
"""CuPy: kernels that it makes through NVRTC, its CUB and Thrust modules (NVIDIA's static runtime inside), its memory pool, streams and
graphs. NumPy computes what must come out. Its libraries (cuBLAS, cuFFT, ...) are not installed."""
import os

os.environ.setdefault("CUPY_CACHE_DIR", "cache")        # before the import; the user's has what was compiled for another device

import numpy as np

from cases import case, run
import cupy as cp

rng = np.random.default_rng(1)
f32 = rng.standard_normal(10007).astype(np.float32)
f64 = rng.standard_normal((37, 53))
i32 = rng.integers(-1000, 1000, 10007).astype(np.int32)


def same(got, want, **tolerance):
    got = cp.asnumpy(got)
    if tolerance:
        np.testing.assert_allclose(got, want, **tolerance)
    else:
        np.testing.assert_array_equal(got, want)


@case
def device():
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert properties["warpSize"] == 32
    assert cp.cuda.runtime.driverGetVersion() >= 12000


@case
def copies():
    same(cp.asarray(f32), f32)
    same(cp.asarray(f64.T), f64.T)
    same(cp.asarray(f64)[3:30:4, ::-2], f64[3:30:4, ::-2])


@case
def elementwise():
    x, y = cp.asarray(f32), cp.asarray(f32[::-1].copy())
    same(x + y * 2, f32 + f32[::-1] * 2)
    same(cp.sqrt(cp.abs(x)), np.sqrt(np.abs(f32)))
    same(cp.sin(x), np.sin(f32), rtol=2e-6, atol=1e-7)
    same(cp.exp(cp.asarray(f64)), np.exp(f64), rtol=1e-14)
    same(cp.asarray(i32) // 7, i32 // 7)
    same(cp.where(x > 0, x, -x), np.abs(f32))


@case
def types():
    for t in "bBhHiIlLqQefdFD":
        a = (np.arange(100) % 50 + 1).astype(t)
        same(cp.asarray(a) * 2 + cp.asarray(a), a * 2 + a)


@case
def elementwise_kernel():
    kernel = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff")
    same(kernel(cp.asarray(f32), np.float32(0.5)), (f32 - np.float32(0.5)) ** 2)


@case
def reductions():
    x = cp.asarray(f64)
    same(x.sum(), f64.sum(), rtol=1e-12)
    same(x.sum(axis=0), f64.sum(axis=0), rtol=1e-12)
    same(x.mean(axis=1), f64.mean(axis=1), rtol=1e-12)
    same(x.max(axis=0), f64.max(axis=0))
    same(cp.asarray(i32).argmax(), i32.argmax())
    same(cp.asarray(i32).sum(), i32.sum())
    same(x.var(), f64.var(), rtol=1e-12)
    same((x > 0).all(axis=0), (f64 > 0).all(axis=0))


@case
def reduction_kernel():
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    same(norm(cp.asarray(f64), axis=1), np.sqrt((f64 * f64).sum(axis=1)), rtol=1e-12)


@case
def raw_kernel():
    kernel = cp.RawKernel(r"""
        extern "C" __global__ void saxpy(const float *x, float *y, float a, int n)
        {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n)
                y[i] = fmaf(a, x[i], y[i]);
        }""", "saxpy")
    x, y = cp.asarray(i32.astype(np.float32)), cp.asarray(np.ones(i32.size, np.float32))
    kernel(((i32.size + 127) // 128,), (128,), (x, y, np.float32(3), np.int32(i32.size)))
    same(y, i32.astype(np.float32) * 3 + 1)


@case
def raw_module():
    module = cp.RawModule(code=r"""
        template <typename T> __global__ void twice(T *x, int n)
        {
            __shared__ T tile[64];
            int i = blockIdx.x * 64 + threadIdx.x;
            tile[threadIdx.x] = i < n ? x[i] : T(0);
            __syncthreads();
            if (i < n)
                x[i] = tile[threadIdx.x] * T(2);
        }
        __constant__ int table[4];
        extern "C" __global__ void look_up(int *x) { x[threadIdx.x] = table[x[threadIdx.x]]; }""",
        options=("-std=c++17",), name_expressions=["twice<float>", "twice<long long>"])
    x = cp.asarray(f32)
    module.get_function("twice<float>")(((f32.size + 63) // 64,), (64,), (x, np.int32(f32.size)))
    same(x, f32 * 2)
    n = cp.arange(100, dtype=np.int64)
    module.get_function("twice<long long>")((2,), (64,), (n, np.int32(100)))
    same(n, np.arange(100) * 2)
    table = cp.ndarray((4,), np.int32, module.get_global("table"))
    table[...] = cp.asarray(np.array([7, 5, 3, 1], np.int32))
    x = cp.asarray(np.array([3, 2, 1, 0, 1], np.int32))
    module.get_function("look_up")((1,), (5,), (x,))
    same(x, [1, 3, 5, 7, 5])


@case
def fusion():
    @cp.fuse()
    def fused(x, y):
        return cp.sqrt(x * x + y * y)
    a = np.abs(f64)
    same(fused(cp.asarray(a), cp.asarray(a + 1)), np.sqrt(a * a + (a + 1) * (a + 1)), rtol=1e-14)


@case
def jit_rawkernel():
    from cupyx import jit

    @jit.rawkernel()
    def copy(x, y, size):
        tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        for i in range(tid, size, jit.gridDim.x * jit.blockDim.x):
            y[i] = x[i] + 1
    x, y = cp.asarray(i32), cp.zeros(i32.size, np.int32)
    copy[8, 64](x, y, cp.uint32(i32.size))
    same(y, i32 + 1)


@case
def sorting():
    same(cp.sort(cp.asarray(f32)), np.sort(f32))
    same(cp.asarray(f32).argsort(), np.argsort(f32, kind="stable"))
    same(cp.sort(cp.asarray(f64), axis=1), np.sort(f64, axis=1))
    same(cp.partition(cp.asarray(i32), 50)[50], np.partition(i32, 50)[50])
    keys = np.stack([i32[:100] % 5, i32[100:200]])
    same(cp.lexsort(cp.asarray(keys)), np.lexsort(keys))


@case
def scans():
    same(cp.cumsum(cp.asarray(i32)), np.cumsum(i32))
    same(cp.cumsum(cp.asarray(f64), axis=1), np.cumsum(f64, axis=1), rtol=1e-12, atol=1e-12)
    same(cp.nonzero(cp.asarray(i32 % 7 == 0))[0], np.nonzero(i32 % 7 == 0)[0])
    same(cp.unique(cp.asarray(i32)), np.unique(i32))


@case
def cub():
    from cupy._core import _accelerator
    before = _accelerator.get_reduction_accelerators()
    _accelerator.set_reduction_accelerators(["cub"])
    try:
        same(cp.asarray(i32).sum(), i32.sum())
        same(cp.asarray(f64).max(), f64.max())
        same(cp.asarray(f64).sum(axis=1), f64.sum(axis=1), rtol=1e-12)
    finally:
        _accelerator.set_reduction_accelerators(before)


@case
def indexing():
    i = np.abs(i32[:500]) % 37
    same(cp.asarray(f64)[cp.asarray(i)], f64[i])
    same(cp.asarray(f64)[cp.asarray(f64) > 1], f64[f64 > 1])
    a, b = cp.zeros(37, np.int32), np.zeros(37, np.int32)
    cp.add.at(a, cp.asarray(i), 2)
    np.add.at(b, i, 2)
    same(a, b)
    same(cp.bincount(cp.asarray(i)), np.bincount(i))
    same(cp.histogram(cp.asarray(f32), bins=20)[0], np.histogram(f32, bins=20)[0])
    same(cp.searchsorted(cp.asarray(np.sort(f32)), cp.asarray(f32[:99])), np.searchsorted(np.sort(f32), f32[:99]))


@case
def shapes():
    x = cp.asarray(f64)
    same(cp.concatenate([x, x * 2]), np.concatenate([f64, f64 * 2]))
    same(cp.transpose(x).copy(), f64.T)
    same(cp.tile(x, (2, 3)), np.tile(f64, (2, 3)))
    same(cp.roll(x, 5, axis=1), np.roll(f64, 5, axis=1))
    same(cp.pad(x, 3, "reflect"), np.pad(f64, 3, "reflect"))


@case
def streams_and_events():
    with cp.cuda.Stream(non_blocking=True) as stream:
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        x = cp.arange(1000) ** 2
        end.record()
        stream.synchronize()
    assert cp.cuda.get_elapsed_time(begin, end) >= 0
    same(x, np.arange(1000) ** 2)
    with cp.cuda.Stream.ptds:
        same(cp.arange(10) + 1, np.arange(10) + 1)


@case
def memory_pools():
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ones(100000)
        assert pool.used_bytes() >= 800000
        del x
        pool.free_all_blocks()
        assert pool.total_bytes() == 0
    with cp.cuda.using_allocator(cp.cuda.MemoryAsyncPool().malloc):
        same(cp.ones(1000).sum(), 1000)
    with cp.cuda.using_allocator(cp.cuda.malloc_managed):
        same(cp.ones(1000).sum(), 1000)
    pinned = cp.cuda.alloc_pinned_memory(800)
    host = np.frombuffer(pinned, np.float64, 100)
    host[...] = 2
    same(cp.asarray(host), np.full(100, 2.0))


@case
def graphs():
    stream = cp.cuda.Stream(non_blocking=True)
    x = cp.zeros(100, np.int32)
    with stream:
        x += 1
        stream.synchronize()
        stream.begin_capture()
        x += 1
        x *= 3
        graph = stream.end_capture()
        graph.launch()
        graph.launch()
        stream.synchronize()
    same(x, np.full(100, ((1 + 1) * 3 + 1) * 3))


@case
def textures():
    from cupy.cuda import runtime, texture
    source = r"""
        extern "C" __global__ void look(float *out, cudaTextureObject_t tex, int w, int h)
        {
            int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
            if (x < w && y < h)
                out[y * w + x] = tex2D<float>(tex, x + 0.5f, y + 0.5f);
        }"""
    h, w = f64.shape
    image = f64.astype(np.float32)
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, w, h)
    array.copy_from(cp.asarray(image))
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    description = texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModePoint,
                                            runtime.cudaReadModeElementType)
    out = cp.zeros((h, w), np.float32)
    cp.RawKernel(source, "look")(((w + 15) // 16, (h + 15) // 16), (16, 16),
                                 (out, texture.TextureObject(resource, description), np.int32(w), np.int32(h)))
    same(out, image)


@case
def ndimage():
    from cupyx.scipy import ndimage
    x = np.zeros((9, 9))
    x[4, 4] = 1
    want = np.zeros((9, 9))
    want[3:6, 3:6] = 1 / 9
    same(ndimage.uniform_filter(cp.asarray(x), 3), want, atol=1e-15)
    want = np.zeros((9, 9))
    want[3:6, 3:6] = 1
    same(ndimage.maximum_filter(cp.asarray(x), 3), want)


@case
def dlpack():
    x = cp.asarray(f64)
    same(cp.from_dlpack(x), f64)
    assert x.__cuda_array_interface__["shape"] == f64.shape


run()
