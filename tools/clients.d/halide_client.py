# SPDX-License-Identifier: Apache-2.0
# pip: halide==21.0.0 numpy==2.4.6
# time: quick
"""Halide: pipelines scheduled on the GPU, for which it makes PTX itself. NumPy computes what must come out, or Halide on the CPU where
its own order of operations counts."""
import halide as hl
import numpy as np

from cases import case, run

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
xi, yi = hl.Var("xi"), hl.Var("yi")
cpu = hl.get_host_target()
rng = np.random.default_rng(1)
image = rng.integers(0, 256, (61, 83), dtype=np.uint8)       # rows, columns


def gpu(*more):
    target = cpu.with_feature(hl.TargetFeature.CUDA)
    for feature in more or (hl.TargetFeature.CUDACapability80,):
        target = target.with_feature(feature)
    return target


def realized(f, shape, *more):
    """An array with the last dimension of Halide's first."""
    buffer = f.realize(list(shape), gpu(*more))
    buffer.copy_to_host()
    return np.array(buffer)


def source(a):
    return hl.Buffer(np.ascontiguousarray(a))


@case
def device_is_cuda():
    assert gpu().has_gpu_feature()
    f = hl.Func("f")
    f[x] = hl.cast(hl.Int(32), x)
    f.gpu_tile(x, xi, 16)
    buffer = f.realize([50], gpu())
    print(buffer.has_device_allocation(), buffer.device_dirty(), buffer.host_dirty())
    assert buffer.has_device_allocation()


@case
def elementwise():
    f = hl.Func("f")
    f[x, y] = x * 3 + y * y - 7
    f.gpu_tile(x, y, xi, yi, 8, 8)
    yy, xx = np.mgrid[0:70, 0:100]
    np.testing.assert_array_equal(realized(f, (100, 70)), xx * 3 + yy * yy - 7)


@case
def blur():
    a = source(image)
    clamped = hl.BoundaryConditions.repeat_edge(a)
    wide, across, down = hl.Func("wide"), hl.Func("across"), hl.Func("down")
    wide[x, y] = hl.cast(hl.UInt(16), clamped[x, y])
    across[x, y] = (wide[x - 1, y] + wide[x, y] + wide[x + 1, y]) / 3
    down[x, y] = hl.cast(hl.UInt(8), (across[x, y - 1] + across[x, y] + across[x, y + 1]) / 3)
    down.gpu_tile(x, y, xi, yi, 16, 8)
    across.compute_at(down, x).gpu_threads(x, y)             # in shared memory
    p = np.pad(image, 1, mode="edge").astype(np.uint16)
    h = (p[:, :-2] + p[:, 1:-1] + p[:, 2:]) // 3
    np.testing.assert_array_equal(realized(down, (83, 61)), (h[:-2] + h[1:-1] + h[2:]) // 3)


@case
def matrix_product():
    a, b = rng.standard_normal((40, 56)).astype(np.float32), rng.standard_normal((56, 48)).astype(np.float32)
    left, right, f, k = source(a), source(b), hl.Func("f"), hl.RDom([(0, 56)])
    f[x, y] = 0.0
    f[x, y] += left[k, y] * right[x, k]
    f.gpu_tile(x, y, xi, yi, 16, 8)
    f.update().gpu_tile(x, y, xi, yi, 16, 8)
    np.testing.assert_allclose(realized(f, (48, 40)), a.astype(np.float64) @ b, 1e-4, 1e-4)


@case
def histogram():
    a, f, r = source(image), hl.Func("f"), hl.RDom([(0, 83), (0, 61)])
    f[x] = 0
    f[hl.cast(hl.Int(32), a[r.x, r.y])] += 1
    f.gpu_tile(x, xi, 32)
    f.update().atomic().gpu_tile(r.x, r.y, hl.RVar("rx"), hl.RVar("ry"), 16, 8)
    np.testing.assert_array_equal(realized(f, (256,)), np.bincount(image.ravel(), minlength=256))


@case
def scan():
    a, f, r = source(image), hl.Func("f"), hl.RDom([(1, 82)])
    f[x, y] = hl.cast(hl.Int(32), a[x, y])
    f[r, y] += f[r - 1, y]
    f.gpu_tile(x, y, xi, yi, 16, 8)
    f.update().gpu_tile(y, yi, 8, hl.TailStrategy.GuardWithIf)
    np.testing.assert_array_equal(realized(f, (83, 61)), np.cumsum(image, axis=1, dtype=np.int32))


@case
def mathematics():
    a = (rng.random((20, 30)) * 4 + 0.1).astype(np.float32)
    s, want = source(a), a.astype(np.float64)
    for name, reference in (("sin", np.sin), ("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("tanh", np.tanh), ("atan", np.arctan)):
        f = hl.Func(f"of_{name}")
        f[x, y] = getattr(hl, name)(s[x, y])
        f.gpu_tile(x, y, xi, yi, 8, 8)
        np.testing.assert_allclose(realized(f, (30, 20)), reference(want), 2e-5, 2e-6, err_msg=name)


@case
def types():
    for numpy_type, halide_type in ((np.int8, hl.Int(8)), (np.uint16, hl.UInt(16)), (np.int64, hl.Int(64)), (np.float16, hl.Float(16)), (np.float64, hl.Float(64))):
        a = rng.integers(0, 50, (9, 33)).astype(numpy_type)
        s, f = source(a), hl.Func("f")
        f[x, y] = hl.cast(halide_type, s[x, y] * 2 + hl.cast(halide_type, 5))
        f.gpu_tile(x, y, xi, yi, 8, 8)
        np.testing.assert_array_equal(realized(f, (33, 9)), a * 2 + numpy_type(5), err_msg=str(halide_type))


@case
def vectors():
    a, f = source(image[:, :80].astype(np.float32)), hl.Func("f")
    f[x, y] = hl.sqrt(a[x, y]) * 2
    xo, xv = hl.Var("xo"), hl.Var("xv")
    f.split(x, xo, xv, 4).vectorize(xv).gpu_tile(xo, y, xi, yi, 4, 4)
    np.testing.assert_allclose(realized(f, (80, 60)), np.sqrt(image[:60, :80].astype(np.float64)) * 2, 1e-6)


@case
def warp_shuffles():
    """A row in the registers of a warp: lanes take their neighbours' values with shfl.sync."""
    a = source(image.astype(np.int32))
    g, f, xo = hl.Func("g"), hl.Func("f"), hl.Var("xo")
    g[x, y] = a[x, y] * 3
    f[x, y] = g[x, y] + g[x + 1, y]
    f.gpu_tile(x, y, xi, yi, 32, 2, hl.TailStrategy.RoundUp).gpu_lanes(xi)
    g.compute_at(f, yi).split(x, xo, xi, 32, hl.TailStrategy.GuardWithIf).gpu_lanes(xi).unroll(xo)
    w = image[:60, :65].astype(np.int32) * 3
    np.testing.assert_array_equal(realized(f, (64, 60)), w[:, :64] + w[:, 1:65])


@case
def several_stages():
    """An unsharp mask of three kernels, with what lies between in device memory, beside the same on the CPU."""
    def pipeline(on_gpu):
        a = source(image.astype(np.float32) / 255)
        clamped = hl.BoundaryConditions.mirror_interior(a)
        k, r = hl.Func("k"), hl.RDom([(-2, 5)])
        across, down, sharp = hl.Func("across"), hl.Func("down"), hl.Func("sharp")
        k[x] = hl.exp(-hl.cast(hl.Float(32), x * x) / 4.5)
        across[x, y] = hl.sum(clamped[x + r, y] * k[r])
        down[x, y] = hl.sum(across[x, y + r] * k[r])
        sharp[x, y] = hl.clamp(2 * clamped[x, y] - down[x, y] / 9, 0.0, 1.0)
        for f in (across, down) if on_gpu else ():
            f.compute_root().gpu_tile(x, y, xi, yi, 8, 8)
        if on_gpu:
            k.compute_root()
            sharp.gpu_tile(x, y, xi, yi, 8, 8)
            return realized(sharp, (83, 61))
        return np.array(sharp.realize([83, 61], cpu))
    np.testing.assert_allclose(pipeline(True), pipeline(False), 1e-5, 1e-5)


@case
def capabilities():
    for feature in ("30", "32", "35", "50", "61", "70", "75", "80", "86"):
        f = hl.Func("f")
        f[x, y] = hl.cast(hl.Float(32), x) / (y + 1)
        f.gpu_tile(x, y, xi, yi, 8, 8)
        yy, xx = np.mgrid[0:20, 0:20].astype(np.float32)
        np.testing.assert_allclose(realized(f, (20, 20), getattr(hl.TargetFeature, f"CUDACapability{feature}")), xx / (yy + 1), 1e-6, err_msg=feature)


run()
