# SPDX-License-Identifier: Apache-2.0
# pip: iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 numpy==2.4.6
# time: quick
"""IREE: MLIR programs that its compiler turns into PTX, run by its CUDA HAL, which takes graphs or streams. NumPy computes what must come
out."""
import iree.compiler
import iree.runtime
import numpy as np

from cases import case, run

rng = np.random.default_rng(1)
F32 = (2e-5, 2e-5)


def compiled(source, target="sm_80"):
    binary = iree.compiler.compile_str(source, target_backends=["cuda"], extra_args=[f"--iree-cuda-target={target}"])
    return iree.runtime.load_vm_flatbuffer(binary, driver="cuda")


def check(source, want, *inputs, tolerance=F32, target="sm_80"):
    got = compiled(source, target).main(*inputs).to_host()
    if tolerance is None:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, *tolerance)


def product(a, b, c, m, k, n):
    """A linalg.matmul of element types a and b, summed as c."""
    zero = "0.0" if c[0] == "f" else "0"
    return f"""
func.func @main(%a: tensor<{m}x{k}x{a}>, %b: tensor<{k}x{n}x{b}>) -> tensor<{m}x{n}x{c}> {{
  %z = arith.constant {zero} : {c}
  %e = tensor.empty() : tensor<{m}x{n}x{c}>
  %f = linalg.fill ins(%z : {c}) outs(%e : tensor<{m}x{n}x{c}>) -> tensor<{m}x{n}x{c}>
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{a}>, tensor<{k}x{n}x{b}>) outs(%f : tensor<{m}x{n}x{c}>) -> tensor<{m}x{n}x{c}>
  return %r : tensor<{m}x{n}x{c}>
}}"""


@case
def matmul_f32():
    a, b = rng.standard_normal((50, 70)).astype(np.float32), rng.standard_normal((70, 33)).astype(np.float32)
    check(product("f32", "f32", "f32", 50, 70, 33), a.astype(np.float64) @ b, a, b)


@case
def matmul_f32_aligned():                                      # a size for which it takes tensor cores (TF32: 10 bits of fraction)
    a, b = rng.standard_normal((128, 128)).astype(np.float32), rng.standard_normal((128, 128)).astype(np.float32)
    check(product("f32", "f32", "f32", 128, 128, 128), a.astype(np.float64) @ b, a, b, tolerance=(1e-2, 5e-2))


@case
def matmul_f16_tensor_cores():
    a, b = rng.standard_normal((128, 64)).astype(np.float16), rng.standard_normal((64, 256)).astype(np.float16)
    check(product("f16", "f16", "f32", 128, 64, 256), a.astype(np.float64) @ b.astype(np.float64), a, b, tolerance=(1e-4, 1e-3))


@case
def matmul_i32():
    a, b = rng.integers(-99, 99, (20, 30), dtype=np.int32), rng.integers(-99, 99, (30, 40), dtype=np.int32)
    check(product("i32", "i32", "i32", 20, 30, 40), a @ b, a, b, tolerance=None)


@case
def elementwise():
    a = (rng.random((37, 53)) * 4 + 0.1).astype(np.float32)
    source = """
func.func @main(%a: tensor<37x53xf32>) -> tensor<37x53xf32> {
  %0 = math.exp %a : tensor<37x53xf32>
  %1 = math.log %a : tensor<37x53xf32>
  %2 = math.sqrt %a : tensor<37x53xf32>
  %3 = math.tanh %a : tensor<37x53xf32>
  %4 = arith.addf %0, %1 : tensor<37x53xf32>
  %5 = arith.mulf %2, %3 : tensor<37x53xf32>
  %6 = arith.divf %4, %5 : tensor<37x53xf32>
  return %6 : tensor<37x53xf32>
}"""
    x = a.astype(np.float64)
    check(source, (np.exp(x) + np.log(x)) / (np.sqrt(x) * np.tanh(x)), a, tolerance=(2e-4, 2e-4))


@case
def row_sums():
    a = rng.standard_normal((19, 1000)).astype(np.float32)
    source = """
func.func @main(%a: tensor<19x1000xf32>) -> tensor<19xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<19xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<19xf32>) -> tensor<19xf32>
  %r = linalg.reduce { arith.addf } ins(%a : tensor<19x1000xf32>) outs(%f : tensor<19xf32>) dimensions = [1]
  return %r : tensor<19xf32>
}"""
    check(source, a.sum(axis=1, dtype=np.float64), a, tolerance=(1e-4, 1e-3))


@case
def softmax():
    a = rng.standard_normal((16, 300)).astype(np.float32)
    source = """
func.func @main(%a: tensor<16x300xf32>) -> tensor<16x300xf32> {
  %e = tensor.empty() : tensor<16x300xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<16x300xf32>) outs(%e : tensor<16x300xf32>) -> tensor<16x300xf32>
  return %r : tensor<16x300xf32>
}"""
    e = np.exp(a.astype(np.float64))
    check(source, e / e.sum(axis=1, keepdims=True), a, tolerance=(1e-4, 1e-6))


@case
def convolution():
    image, weight = rng.standard_normal((1, 14, 14, 8)).astype(np.float32), rng.standard_normal((3, 3, 8, 16)).astype(np.float32)
    source = """
func.func @main(%a: tensor<1x14x14x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<1x12x12x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x12x12x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x12x12x16xf32>) -> tensor<1x12x12x16xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%a, %w : tensor<1x14x14x8xf32>, tensor<3x3x8x16xf32>) outs(%f : tensor<1x12x12x16xf32>) -> tensor<1x12x12x16xf32>
  return %r : tensor<1x12x12x16xf32>
}"""
    want = np.zeros((1, 12, 12, 16))
    for y in range(12):
        for x in range(12):
            want[0, y, x] = np.tensordot(image[0, y:y + 3, x:x + 3].astype(np.float64), weight, 3)
    check(source, want, image, weight, tolerance=(1e-4, 1e-4))


@case
def transposition():
    a = rng.integers(-1000, 1000, (45, 67), dtype=np.int32)
    source = """
func.func @main(%a: tensor<45x67xi32>) -> tensor<67x45xi32> {
  %e = tensor.empty() : tensor<67x45xi32>
  %r = linalg.transpose ins(%a : tensor<45x67xi32>) outs(%e : tensor<67x45xi32>) permutation = [1, 0]
  return %r : tensor<67x45xi32>
}"""
    check(source, a.T, a, tolerance=None)


@case
def dynamic_shapes():
    source = """
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = arith.addf %a, %b : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
    module = compiled(source)
    for shape in ((1, 1), (3, 500), (77, 5)):
        a, b = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(module.main(a, b).to_host(), a + b)


@case
def loop_on_the_host():
    """Ten dispatches, each of the one's before result."""
    source = """
func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %half = arith.constant dense<0.5> : tensor<64xf32>
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%x = %a) -> (tensor<64xf32>) {
    %y = arith.mulf %x, %half : tensor<64xf32>
    %z = arith.addf %y, %a : tensor<64xf32>
    scf.yield %z : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}"""
    a = rng.integers(0, 100, 64).astype(np.float32)
    want = a
    for _ in range(10):
        want = want * np.float32(0.5) + a
    check(source, want, a, tolerance=(1e-6, 0))


@case
def targets():
    a, b = rng.standard_normal((32, 32)).astype(np.float32), rng.standard_normal((32, 32)).astype(np.float32)
    for target in ("sm_60", "sm_75", "sm_86"):
        check(product("f32", "f32", "f32", 32, 32, 32), a.astype(np.float64) @ b, a, b, tolerance=(1e-2, 5e-2), target=target)


run()
