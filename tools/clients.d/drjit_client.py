# SPDX-License-Identifier: Apache-2.0
# pip: drjit==1.5.0 numpy==2.4.6
# time: quick
"""Dr.Jit's CUDA backend, which writes PTX itself. NumPy computes what must come out."""
import numpy as np
import drjit as dr
from drjit.cuda import Array3f, Bool, Float, Float16, Float64, Int, Int64, PCG32, Texture2f, UInt, UInt64
import drjit.cuda.ad as ad

from cases import case, run

n = 1000
f = np.linspace(-3, 3, n).astype(np.float32)
i = (np.arange(n, dtype=np.int32) * 7919) % 1000 - 500


def same(got, want, rtol=0, atol=0):
    np.testing.assert_allclose(np.array(got), want, rtol=rtol, atol=atol)


@case
def arithmetic():
    x = Float(f)
    same(x * x - x, f * f - f, 1e-6, 1e-6)
    same(dr.fma(x, x, x), f * f + f, 1e-6, 1e-6)
    same(dr.sqrt(dr.abs(x)), np.sqrt(np.abs(f)), 1e-6)
    same(dr.floor(x), np.floor(f))
    same(dr.select(x > 0, x, -x), np.abs(f))
    same(dr.rcp(x + 5), 1 / (f + 5), 1e-6)


@case
def transcendental():
    x = Float(f)
    for name in ("sin", "cos", "exp", "atan"):
        same(getattr(dr, name)(x), getattr(np, {"atan": "arctan"}.get(name, name))(f), 1e-5, 1e-6)
    same(dr.log(dr.abs(x) + 1), np.log(np.abs(f) + 1), 1e-5, 1e-6)
    d = f.astype(np.float64)
    same(dr.exp(Float64(d)), np.exp(d), 1e-13)


@case
def integers():
    x = Int(i)
    same(Int(np.abs(i)) // 7, np.abs(i) // 7)
    same(x & 0xff, i & 0xff)
    same(x >> 2, i >> 2)
    same(dr.popcnt(UInt(i.view(np.uint32))), [bin(v).count("1") for v in i.view(np.uint32)])
    same(Int64(i.astype(np.int64)) * 1000000007, i.astype(np.int64) * 1000000007)
    same(dr.mul_hi(UInt(i.view(np.uint32)), UInt(0xdeadbeef)), i.view(np.uint32).astype(np.uint64) * np.uint64(0xdeadbeef) >> np.uint64(32))


@case
def half():
    h = (np.arange(100) / 8).astype(np.float16)
    same(Float(Float16(h) * 2), h.astype(np.float32) * 2)


@case
def reductions():
    same(dr.sum(Int(i)), [i.sum()])
    same(dr.max(Float(f)), [f.max()])
    same(dr.min(Int(i)), [i.min()])
    same(dr.prod(Float64(np.full(20, 1.5))), [1.5 ** 20], 1e-12)
    assert dr.all(Float(f) < 4) and not dr.any(Float(f) > 4)
    same(dr.count(Bool(f > 1)), [(f > 1).sum()])


@case
def scans():
    same(dr.cumsum(UInt(np.abs(i).astype(np.uint32))), np.cumsum(np.abs(i)))
    same(dr.compress(Bool(i > 100)), np.nonzero(i > 100)[0])
    same(dr.block_sum(Int(i), 10), i.reshape(-1, 10).sum(axis=1))


@case
def gather_and_scatter():
    index = np.random.default_rng(1).permutation(n).astype(np.uint32)
    same(dr.gather(Float, Float(f), UInt(index)), f[index])
    target = dr.zeros(Int, 10)
    dr.scatter_reduce(dr.ReduceOp.Add, target, Int(i), UInt((index % 10).astype(np.uint32)))
    want = np.zeros(10, np.int64)
    np.add.at(want, index % 10, i)
    same(target, want)


@case
def loops():
    @dr.syntax
    def collatz(x):
        steps = UInt(0)
        while x > 1:
            x = dr.select(x & 1 == 0, x // 2, 3 * x + 1)
            steps += 1
        return steps

    def reference(x):
        steps = 0
        while x > 1:
            x = 3 * x + 1 if x & 1 else x // 2
            steps += 1
        return steps
    same(collatz(dr.arange(UInt64, 1, 200)), [reference(x) for x in range(1, 200)])


@case
def branches():
    @dr.syntax
    def f_of(x):
        if x > 0:
            y = x * 2
        else:
            y = x - 1
        return y
    same(f_of(Int(i)), np.where(i > 0, i * 2, i - 1))


@case
def switches():
    functions = [lambda x: x + 1, lambda x: x * x, lambda x: -x]
    which = (np.arange(n) % 3).astype(np.uint32)
    same(dr.switch(UInt(which), functions, Int(i)), np.choose(which, [i + 1, i * i, -i]))


@case
def vectors():
    v = Array3f(Float(f), Float(f + 1), Float(f * 2))
    same(dr.dot(v, v), f * f + (f + 1) ** 2 + 4 * f * f, 1e-5)
    same(dr.norm(dr.normalize(v)), np.ones(n), 1e-5)


@case
def random_numbers():
    # PCG32 as O'Neill publishes it, with Dr.Jit's default state and stream.
    mask = (1 << 64) - 1
    inc = ((0xda3e39cb94b95bdb + 0) << 1 | 1) & mask
    state = (inc + 0x853c49e6748fea9b) & mask
    state = (state * 0x5851f42d4c957f2d + inc) & mask
    want = []
    for _ in range(3):
        old, state = state, (state * 0x5851f42d4c957f2d + inc) & mask
        x, r = ((old >> 18) ^ old) >> 27 & 0xffffffff, old >> 59
        want.append((x >> r | x << (-r & 31)) & 0xffffffff)
    rng = PCG32(1)
    same([rng.next_uint32()[0] for _ in range(3)], want)


@case
def gradients():
    x = ad.Float(f)
    dr.enable_grad(x)
    dr.backward(dr.sum(dr.sin(x) * x))
    same(x.grad, np.cos(f) * f + np.sin(f), 1e-4, 1e-5)


@case
def textures():
    image = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    t = Texture2f(dr.cuda.TensorXf(image), filter_mode=dr.FilterMode.Nearest)
    x, y = np.meshgrid((np.arange(4) + 0.5) / 4, (np.arange(3) + 0.5) / 3)
    got = t.eval(dr.cuda.Array2f(Float(x.ravel().astype(np.float32)), Float(y.ravel().astype(np.float32))))
    same(got[0], image.ravel())


@case
def freezing():
    @dr.freeze
    def step(x):
        return x * 2 + 1
    for k in range(3):
        same(step(Float(np.full(10, k, np.float32))), np.full(10, 2 * k + 1))


run()
