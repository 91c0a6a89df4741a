# SPDX-License-Identifier: Apache-2.0
# pip: warp-lang==1.19.0 numpy==2.4.6 nvidia-cuda-runtime==13.4.92
# signatures: nvidia/cu13/lib/libcudart_static.a
# settings: CUDAWAY_DRIVER_VERSION=13.4
# time: quick
"""NVIDIA Warp. Its library has NVIDIA's static runtime inside, stripped: redirected by the signatures of PyPI's archive. NVRTC is inside of
it, too, and a compiler from PTX to machine code, which it uses where the driver is older than its toolkit. NumPy computes what must come
out."""
import os

import numpy as np
import warp as wp

from cases import case, run

wp.config.cuda_output = "ptx"
wp.config.kernel_cache_dir = os.path.abspath("kernels")
wp.config.quiet = True
wp.init()
device = wp.get_device("cuda:0")
n = 1000
f = np.linspace(-3, 3, n).astype(np.float32)


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + wp.sin(y[i])


@wp.kernel
def count(x: wp.array(dtype=int), h: wp.array(dtype=int)):
    wp.atomic_add(h, x[wp.tid()], 1)


@wp.kernel
def lengths(v: wp.array(dtype=wp.vec3), m: wp.mat33, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(m * v[i])


@wp.kernel
def energy(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@case
def kernels():
    x, y = wp.array(f, dtype=float, device=device), wp.array(f, dtype=float, device=device)
    wp.launch(saxpy, dim=n, inputs=[x, y, 2.0], device=device)
    np.testing.assert_allclose(y.numpy(), 2 * f + np.sin(f), rtol=1e-5, atol=1e-5)


@case
def atomics():
    k = np.arange(n, dtype=np.int32) * 7 % 10
    h = wp.zeros(10, dtype=int, device=device)
    wp.launch(count, dim=n, inputs=[wp.array(k, dtype=int, device=device), h], device=device)
    np.testing.assert_array_equal(h.numpy(), np.bincount(k))


@case
def vectors():
    v = np.random.default_rng(1).standard_normal((n, 3)).astype(np.float32)
    m = np.arange(9, dtype=np.float32).reshape(3, 3)
    out = wp.zeros(n, dtype=float, device=device)
    wp.launch(lengths, dim=n, inputs=[wp.array(v, dtype=wp.vec3, device=device), wp.mat33(*m.ravel()), out], device=device)
    np.testing.assert_allclose(out.numpy(), np.linalg.norm(v @ m.T, axis=1), rtol=1e-5)


@case
def gradients():
    x = wp.array(f, dtype=float, device=device, requires_grad=True)
    loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(energy, dim=n, inputs=[x, loss], device=device)
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), 2 * f, rtol=1e-6)


@case
def sorting_and_scans():
    keys = np.random.default_rng(1).permutation(n).astype(np.int32)
    k, v = wp.zeros(2 * n, dtype=int, device=device), wp.zeros(2 * n, dtype=int, device=device)
    wp.copy(k, wp.array(keys, dtype=int, device=device))
    wp.copy(v, wp.array(np.arange(n, dtype=np.int32), dtype=int, device=device))
    wp.utils.radix_sort_pairs(k, v, n)
    np.testing.assert_array_equal(k.numpy()[:n], np.sort(keys))
    np.testing.assert_array_equal(v.numpy()[:n], np.argsort(keys))
    x, s = wp.array(keys, dtype=int, device=device), wp.zeros(n, dtype=int, device=device)
    wp.utils.array_scan(x, s, inclusive=True)
    np.testing.assert_array_equal(s.numpy(), np.cumsum(keys))
    assert wp.utils.array_sum(wp.array(f.astype(np.float64), dtype=wp.float64, device=device)) - f.astype(np.float64).sum() < 1e-9


@case
def graphs():
    x, y = wp.array(f, dtype=float, device=device), wp.zeros(n, dtype=float, device=device)
    with wp.ScopedCapture(device) as capture:
        y.zero_()
        wp.launch(saxpy, dim=n, inputs=[x, y, 3.0], device=device)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    np.testing.assert_allclose(y.numpy(), 3 * f, rtol=1e-6)


@case
def meshes():
    points = wp.array(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32), dtype=wp.vec3, device=device)
    mesh = wp.Mesh(points, wp.array(np.array([0, 1, 2], np.int32), dtype=int, device=device))
    starts = np.array([[0.2, 0.2, 1], [0.9, 0.9, 1], [0.1, 0.3, 2]], np.float32)
    hits = wp.zeros(3, dtype=float, device=device)
    wp.launch(shoot, dim=3, inputs=[mesh.id, wp.array(starts, dtype=wp.vec3, device=device), hits], device=device)
    np.testing.assert_allclose(hits.numpy(), [1, -1, 2], rtol=1e-6)


@wp.kernel
def shoot(mesh: wp.uint64, starts: wp.array(dtype=wp.vec3), hits: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, starts[i], wp.vec3(0.0, 0.0, -1.0), 10.0)
    hits[i] = -1.0
    if q.result:
        hits[i] = q.t


run()
