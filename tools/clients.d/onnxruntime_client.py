# SPDX-License-Identifier: Apache-2.0
# pip: onnxruntime-gpu==1.23.2 onnx==1.19.1 numpy==2.4.6
# time: quick
"""ONNX Runtime's CUDA provider: the operators whose kernels are its own. It links cuBLAS, cuDNN, cuRAND and cuFFT, which are not installed: libraries that
refuse stand in their place. No operator may fall back to the CPU. NumPy computes what must come out."""
import os
import sysconfig

import numpy as np

from absent_libraries import stand_in
from cases import case, run

stand_in(os.path.join(sysconfig.get_path("purelib"), "onnxruntime", "capi", "libonnxruntime_providers_cuda.so"),
         {"libcublasLt.so.12": "cublasLt", "libcublas.so.12": "cublas", "libcurand.so.10": "curand", "libcufft.so.11": "cufft", "libcudnn.so.9": "cudnn"})
import onnx
import onnxruntime
from onnx import helper

onnxruntime.set_default_logger_severity(3)
rng = np.random.default_rng(1)
f32 = rng.standard_normal((7, 33)).astype(np.float32)
other = (rng.random((7, 33)) + 0.5).astype(np.float32)
i64 = rng.integers(-100, 100, (7, 33))


def check(operator, want, *inputs, rtol=0.0, atol=0.0, opset=17, **attributes):
    """One operator on the CUDA provider alone."""
    names = [f"in{i}" for i in range(len(inputs))]
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, inputs)]
    result = helper.make_tensor_value_info("out", helper.np_dtype_to_tensor_dtype(want.dtype), want.shape)
    graph = helper.make_graph([helper.make_node(operator, names, ["out"], **attributes)], "one", values, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CUDAExecutionProvider"])
    np.testing.assert_allclose(session.run(None, dict(zip(names, inputs)))[0], want, rtol=rtol, atol=atol)


@case
def arithmetic():
    check("Add", f32 + other, f32, other)
    check("Div", f32 / other, f32, other)
    check("Mul", f32 * other[:1], f32, other[:1])
    check("Sub", i64 - 7, i64, np.array([7]))


@case
def functions():
    x = f32.astype(np.float64)
    check("Relu", np.maximum(f32, 0), f32)
    check("Exp", np.exp(x).astype(np.float32), f32, rtol=1e-6)
    check("Erf", np.vectorize(__import__("math").erf)(x).astype(np.float32), f32, rtol=1e-5, atol=1e-6)
    check("Sqrt", np.sqrt(other), other)


@case
def comparisons():
    check("Where", np.where(f32 > 0, f32, other), f32 > 0, f32, other)
    check("Less", f32 < other, f32, other)


@case
def layout():
    a = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)   # what amounts to two dimensions is cuBLAS's
    check("Transpose", a.transpose(0, 2, 1, 3).copy(), a, perm=[0, 2, 1, 3])
    check("Concat", np.concatenate([f32, other], axis=1), f32, other, axis=1)
    check("Gather", f32[np.array([6, 0, 3])], f32, np.array([6, 0, 3]), axis=0)


@case
def casts():
    check("Cast", f32.astype(np.float16), f32, to=onnx.TensorProto.FLOAT16)
    check("Cast", i64.astype(np.float32), i64, to=onnx.TensorProto.FLOAT)


@case
def normalisation():
    x, scale, bias = f32.astype(np.float64), np.linspace(0.5, 2, 33).astype(np.float32), np.linspace(-1, 1, 33).astype(np.float32)
    want = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * scale + bias
    check("LayerNormalization", want.astype(np.float32), f32, scale, bias, rtol=1e-4, atol=1e-5)
    e = np.exp(x)
    check("Softmax", (e / e.sum(axis=1, keepdims=True)).astype(np.float32), f32, rtol=1e-5, atol=1e-7, axis=1)


run()
