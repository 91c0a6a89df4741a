# SPDX-License-Identifier: Apache-2.0
# pip: mlx==0.32.4 mlx-cuda-13==0.32.4 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 numpy==2.4.6
# pip-options: --no-deps
# time: quick
"""MLX's CUDA build: its own kernels, those that it makes through NVRTC, and its graphs. It links cuBLASLt, cuDNN, cuFFT, cuSOLVER and NCCL, which are not
installed: libraries that refuse stand in their place. NumPy computes what must come out."""
import os
import sysconfig

import numpy as np

from absent_libraries import stand_in
from cases import case, run

stand_in(os.path.join(sysconfig.get_path("purelib"), "mlx", "lib", "libmlx.so"),
         {"libcublasLt.so.13": "cublasLt", "libcudnn.so.9": "cudnn", "libcufft.so.12": "cufft", "libcusolver.so.12": "cusolver", "libnccl.so.2": "nccl"})
import mlx.core as mx

rng = np.random.default_rng(1)
f32 = rng.standard_normal(3001).astype(np.float32)
table = rng.standard_normal((37, 65)).astype(np.float32)
i32 = rng.integers(-1000, 1000, 3001).astype(np.int32)


def same(got, want, rtol=0.0, atol=0.0):
    np.testing.assert_allclose(np.array(got), want, rtol=rtol, atol=atol)


@case
def device():
    assert mx.cuda.is_available() and mx.default_device() == mx.Device(mx.gpu, 0)


@case
def copies():
    same(mx.array(f32) + 0, f32)
    same(mx.contiguous(mx.array(table).T[3:30:4, ::-2]), table.T[3:30:4, ::-2])


@case
def arithmetic():
    x, y = mx.array(f32), mx.array(f32[::-1].copy())
    same(x + y, f32 + f32[::-1])
    same(x / y, f32 / f32[::-1])
    same(mx.array(table) * mx.array(table[:, :1]), table * table[:, :1])
    same(mx.array(i32) // 7, i32 // 7)


@case
def functions():
    x = mx.array(f32)
    same(mx.exp(x), np.exp(f32.astype(np.float64)), rtol=1e-6)
    same(mx.sin(x), np.sin(f32.astype(np.float64)), rtol=2e-6, atol=1e-6)
    same(mx.where(x > 0, x, -x), np.abs(f32))


@case
def half():
    a = f32.astype(np.float16)
    same(mx.array(a) * mx.array(a), a * a)
    same(mx.array(f32).astype(mx.bfloat16).astype(mx.float32), f32, rtol=2 ** -8)


@case
def reductions():
    same(mx.array(i32).sum(), i32.sum())
    same(mx.array(table).max(axis=0), table.max(axis=0))
    same(mx.array(table).sum(axis=1), table.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    same(mx.argmin(mx.array(f32)), f32.argmin())


@case
def sorting():
    same(mx.sort(mx.array(i32)), np.sort(i32))
    same(mx.argsort(mx.array(f32)), np.argsort(f32))
    same(mx.sort(mx.array(table), axis=0), np.sort(table, axis=0))


@case
def scans():
    same(mx.cumsum(mx.array(i32)), np.cumsum(i32))
    same(mx.cummax(mx.array(table), axis=1), np.maximum.accumulate(table, axis=1))


@case
def indexing():                                                # compiled by NVRTC
    rows = np.array([5, 0, 36, 5], np.int32)
    same(mx.array(table)[mx.array(rows)], table[rows])
    want = table.copy()
    want[rows[:3]] = 1.5
    got = mx.array(table)
    got[mx.array(rows[:3])] = 1.5
    same(got, want)


@case
def compiled():                                                # one kernel for the expression, compiled by NVRTC
    f = mx.compile(lambda x, y: mx.abs(x) * 2 + mx.maximum(x, y))
    same(f(mx.array(f32), mx.array(f32[::-1].copy())), np.abs(f32) * 2 + np.maximum(f32, f32[::-1]), rtol=1e-6, atol=1e-6)


@case
def softmax_and_norms():
    e = np.exp(table.astype(np.float64))
    same(mx.softmax(mx.array(table), axis=1), e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)
    t = table.astype(np.float64)
    weight = np.linspace(0.5, 2, 65)
    want = (t - t.mean(axis=1, keepdims=True)) / np.sqrt(t.var(axis=1, keepdims=True) + 1e-5) * weight
    same(mx.fast.layer_norm(mx.array(table), mx.array(weight.astype(np.float32)), None, 1e-5), want, rtol=1e-4, atol=1e-5)


@case
def gradients():
    g = mx.grad(lambda x: (x * mx.sin(x)).sum())(mx.array(f32))
    x = f32.astype(np.float64)
    same(g, np.sin(x) + x * np.cos(x), rtol=1e-4, atol=1e-5)


@case
def vector_product():                                          # a kernel of its own; the product of two matrices is cuBLASLt's
    v = rng.standard_normal(65).astype(np.float32)
    same(mx.array(table) @ mx.array(v), table.astype(np.float64) @ v, rtol=1e-4, atol=1e-5)


@case
def random_numbers():
    a = np.array(mx.random.uniform(shape=(4000,), key=mx.random.key(3)))
    b = np.array(mx.random.uniform(shape=(4000,), key=mx.random.key(3), stream=mx.cpu))
    np.testing.assert_array_equal(a, b)                        # its CPU device
    assert 0 <= a.min() and a.max() < 1 and abs(a.mean() - 0.5) < 0.03


run()
