# SPDX-License-Identifier: Apache-2.0
# pip: taichi==1.7.4 numpy==2.4.6
# time: quick
"""Taichi's CUDA backend: PTX by the LLVM inside of it, a device library of its own. NumPy computes what must come out."""
import math

import numpy as np
import taichi as ti

from cases import case, run

ti.init(arch=ti.cuda, offline_cache=False, random_seed=1)
assert ti.cfg.arch == ti.cuda, "Taichi fell back to the CPU"
n = 1000
f = np.linspace(-3, 3, n).astype(np.float32)


def field(values, dtype):
    x = ti.field(dtype, shape=values.shape)
    x.from_numpy(values)
    return x


def same(got, want, rtol=0, atol=0):
    np.testing.assert_allclose(got.to_numpy() if hasattr(got, "to_numpy") else got, want, rtol=rtol, atol=atol)


@case
def elementwise():
    x, y = field(f, ti.f32), ti.field(ti.f32, shape=n)

    @ti.kernel
    def k():
        for i in x:
            y[i] = ti.sin(x[i]) * x[i] + ti.sqrt(ti.abs(x[i]))
    k()
    same(y, np.sin(f) * f + np.sqrt(np.abs(f)), 1e-5, 1e-6)


@case
def arrays():
    @ti.kernel
    def k(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i, j in a:
            b[j, i] = a[i, j] * 2
    a = np.arange(35, dtype=np.int32).reshape(5, 7)
    b = np.zeros((7, 5), np.int32)
    k(a, b)
    same(b, a.T * 2)
    d, e = ti.ndarray(ti.i32, (5, 7)), ti.ndarray(ti.i32, (7, 5))
    d.from_numpy(a)
    k(d, e)
    same(e, a.T * 2)


@case
def reductions():
    x = field(np.arange(n, dtype=np.int32), ti.i32)

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    @ti.kernel
    def largest() -> ti.i32:
        m = -1
        for i in x:
            ti.atomic_max(m, (x[i] * 37) % 1009)
        return m
    assert total() == n * (n - 1) // 2
    assert largest() == max(i * 37 % 1009 for i in range(n))


@case
def atomics():
    h = ti.field(ti.i32, shape=10)

    @ti.kernel
    def k():
        for i in range(n):
            h[(i * 7) % 10] += 1
    k()
    same(h, np.bincount(np.arange(n) * 7 % 10))


@case
def doubles():
    y = ti.field(ti.f64, shape=100)

    @ti.kernel
    def k():
        for i in y:
            y[i] = ti.exp(ti.cast(i, ti.f64) / 100) + ti.log(ti.cast(i + 1, ti.f64))
    k()
    same(y, [math.exp(i / 100) + math.log(i + 1) for i in range(100)], 1e-13)


@case
def integers():
    y = ti.field(ti.i64, shape=(4, 100))

    @ti.kernel
    def k():
        for i in range(100):
            a = ti.cast(i - 50, ti.i64)
            y[0, i] = a // 7
            y[1, i] = a % 7
            y[2, i] = a << 33
            y[3, i] = (a * 1000003) ^ 0x55
    k()
    a = np.arange(100, dtype=np.int64) - 50
    same(y, [a // 7, a % 7, a << 33, (a * 1000003) ^ 0x55])


@case
def matrices():
    m, y = ti.Matrix.field(3, 3, ti.f32, shape=64), ti.Vector.field(3, ti.f32, shape=64)
    a = np.random.default_rng(1).standard_normal((64, 3, 3)).astype(np.float32)
    m.from_numpy(a)

    @ti.kernel
    def k():
        for i in m:
            y[i] = m[i] @ ti.Vector([1.0, 2.0, 3.0])
            m[i] = m[i].transpose() @ m[i]
    k()
    same(y, a @ np.array([1, 2, 3], np.float32), 1e-5, 1e-5)
    same(m, a.transpose(0, 2, 1) @ a, 1e-5, 1e-5)


@case
def sparse():
    # Lanes of a warp activate the same cells, each under a lock.
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 16).dense(ti.i, 16).place(x)

    @ti.kernel
    def activate():
        for i in range(256):
            if i // 16 % 3 == 0:
                x[i] = i + 1

    @ti.kernel
    def count() -> ti.i32:
        c = 0
        for i in x:
            c += 1
        return c

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        return s
    assert count() == 0
    activate()
    active = [i for i in range(256) if i // 16 % 3 == 0]
    assert count() == len(active)
    assert total() == sum(i + 1 for i in active)


@case
def control_flow():
    y = ti.field(ti.i32, shape=200)

    @ti.kernel
    def k():
        for i in y:
            x, steps = i + 1, 0
            while x > 1:
                if x % 2 == 0:
                    x //= 2
                else:
                    x = 3 * x + 1
                steps += 1
            y[i] = steps

    def reference(x):
        steps = 0
        while x > 1:
            x = 3 * x + 1 if x % 2 else x // 2
            steps += 1
        return steps
    k()
    same(y, [reference(i + 1) for i in range(200)])


@case
def shared_memory():
    y = ti.field(ti.i32, shape=256)

    @ti.kernel
    def k():
        ti.loop_config(block_dim=64)
        for i in range(256):
            tile = ti.simt.block.SharedArray((64,), ti.i32)
            t = i % 64
            tile[t] = i
            ti.simt.block.sync()
            y[i] = tile[63 - t]
    k()
    same(y, [i // 64 * 64 + 63 - i % 64 for i in range(256)])


@case
def gradients():
    x = ti.field(ti.f32, shape=16, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)
    x.from_numpy(np.arange(16, dtype=np.float32))

    @ti.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i]
    with ti.ad.Tape(loss):
        k()
    assert loss[None] == sum(i * i for i in range(16))
    same(x.grad, 2 * np.arange(16))


@case
def random_numbers():
    y = ti.field(ti.f32, shape=10000)

    @ti.kernel
    def k():
        for i in y:
            y[i] = ti.random()
    k()
    r = y.to_numpy()
    assert 0 <= r.min() and r.max() < 1 and abs(r.mean() - 0.5) < 0.02 and len(np.unique(r)) > 9900


@case
def printing():
    @ti.kernel
    def k():
        for i in range(2):
            print("value", i * 10 + 1)
    k()
    ti.sync()


run()
