# SPDX-License-Identifier: Apache-2.0
# pip: tinygrad==0.14.0 numpy==2.4.6 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88
# time: quick
"""tinygrad in both of its CUDA modes: kernels in CUDA C through NVRTC (DEV=CUDA) and kernels in PTX of its own (DEV=CUDA:PTX). Each mode is
a process; NumPy computes what must come out."""
import os
import subprocess
import sys

from cases import case, library, line, run

MODES = {"nvrtc": "CUDA", "ptx": "CUDA:PTX"}

if len(sys.argv) > 1 and sys.argv[1] in MODES:
    mode = sys.argv.pop(1)
    import numpy as np
    from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn

    rng = np.random.default_rng(1)
    a = rng.standard_normal((33, 47)).astype(np.float32)
    b = rng.standard_normal((47, 29)).astype(np.float32)

    def same(got, want, rtol=0, atol=0):
        np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=atol)

    def renderer():
        assert Device.DEFAULT == "CUDA"
        name = type(Device["CUDA"].renderer).__name__
        assert name == {"nvrtc": "CUDARenderer", "ptx": "PTXRenderer"}[mode], name

    def elementwise():
        x = Tensor(a)
        same(x + 2, a + np.float32(2))
        same((x * x - x).relu(), np.maximum(a * a - a, 0), 1e-6, 1e-6)
        same(x.exp(), np.exp(a), 2e-5)
        same(x.sin(), np.sin(a), 1e-5, 1e-5)
        same((x > 0).where(x, -x), np.abs(a))

    def matmul():
        same(Tensor(a) @ Tensor(b), a.astype(np.float64) @ b, 1e-4, 1e-4)

    def reductions():
        x = Tensor(a)
        same(x.sum(), a.sum(dtype=np.float64), 1e-5, 1e-3)
        same(x.max(axis=0), a.max(axis=0))
        same(x.mean(axis=1), a.mean(axis=1, dtype=np.float64), 1e-5, 1e-6)
        same(x.argmax(axis=1), a.argmax(axis=1))
        same(x.softmax(), np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), 1e-4, 1e-6)

    def integers():
        i = np.arange(-500, 500, dtype=np.int32)
        same(Tensor(i) * 7 - 3, i * 7 - 3)
        same(Tensor(i) & 0xff, i & 0xff)
        same(Tensor(i).cumsum(), np.cumsum(i))

    def half():
        h = (np.arange(100) / 8).astype(np.float16)
        same((Tensor(h) * 2).cast(dtypes.float), h.astype(np.float32) * 2)

    def shapes():
        x = Tensor(a)
        same(x.permute(1, 0).contiguous(), a.T)
        same(x[3:20:2, ::-1].contiguous(), a[3:20:2, ::-1])
        same(x.pad(((1, 2), (3, 4))).contiguous(), np.pad(a, ((1, 2), (3, 4))))

    def convolution():
        image = rng.standard_normal((1, 3, 12, 12)).astype(np.float32)
        weight = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
        want = np.zeros((1, 4, 10, 10))
        for y in range(10):
            for x in range(10):
                want[0, :, y, x] = (weight * image[0, :, y:y + 3, x:x + 3]).reshape(4, -1).astype(np.float64).sum(axis=1)
        same(Tensor(image).conv2d(Tensor(weight)), want, 1e-4, 1e-4)

    def gradient():
        x = Tensor(a)
        same((x * x).sum().gradient(x)[0], 2 * a, 1e-6)

    def jit():
        @TinyJit
        def step(x):
            return (x * 2 + 1).realize()
        for k in range(5):              # recorded, then replayed as a graph
            same(step(Tensor(np.full(64, k, np.float32)).realize()), np.full(64, 2 * k + 1))

    def training():
        Tensor.manual_seed(1)
        x, y = rng.standard_normal((64, 8)).astype(np.float32), rng.standard_normal((8, 1)).astype(np.float32)
        layer = nn.Linear(8, 1)
        optimiser = nn.optim.SGD([layer.weight, layer.bias], lr=0.1)
        with Context(TRAINING=1):
            for _ in range(30):
                optimiser.zero_grad()
                loss = ((layer(Tensor(x)) - Tensor(x @ y)) ** 2).mean()
                loss.backward()
                optimiser.step()
        assert loss.item() < 0.1, loss.item()

    for f in (renderer, elementwise, matmul, reductions, integers, half, shapes, convolution, gradient, jit, training):
        f.__name__ = f"{mode}_{f.__name__}"
        case(f)
    run()
    sys.exit(0)

folder = os.path.dirname(library("", "libnvrtc.so.13"))
failed = False
for mode, device in MODES.items():
    environment = dict(os.environ, DEV=device, CACHEDB=os.path.abspath("cache.db"), CACHELEVEL="0", CUDA_PATH=os.path.dirname(folder),
                       NVRTC_PATH=os.path.join(folder, "libnvrtc.so.13"))
    status = subprocess.run([sys.executable, __file__, mode, *sys.argv[1:]], env=environment).returncode
    if status not in (0, 1):
        line("fail", mode, f"the process ended with status {status}")
    failed |= status != 0
sys.exit(failed)
