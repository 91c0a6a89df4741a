# SPDX-License-Identifier: Apache-2.0
# pip: tinygrad==0.14.0
# settings: DEV=CUDA:PTX CACHELEVEL=0
# time: quick
"""tinygrad alone, with kernels in PTX of its own: the smallest client, one package without dependencies. Plain Python computes what must
come out."""
import math

from tinygrad import Device, Tensor, TinyJit, dtypes

from cases import case, run

ROWS = [[math.sin(7 * r + c) * 3 for c in range(13)] for r in range(11)]


def near(got, want, tolerance=1e-5):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        if isinstance(w, list):
            near(g, w, tolerance)
        else:
            assert abs(g - w) <= tolerance * max(1, abs(w)), (g, w)


@case
def renderer():
    assert Device.DEFAULT == "CUDA" and type(Device["CUDA"].renderer).__name__ == "PTXRenderer"


@case
def elementwise():
    x = Tensor(ROWS)
    near((x * x - 2).exp2().tolist(), [[2 ** (v * v - 2) for v in row] for row in ROWS])
    near((x > 0).where(x, x / 4).tolist(), [[v if v > 0 else v / 4 for v in row] for row in ROWS])


@case
def reductions():
    x = Tensor(ROWS)
    near(x.sum(axis=0).tolist(), [sum(column) for column in zip(*ROWS)])
    near(x.max(axis=1).tolist(), [max(row) for row in ROWS])


@case
def matrix_product():
    got = (Tensor(ROWS) @ Tensor(ROWS).transpose()).tolist()
    near(got, [[sum(p * q for p, q in zip(a, b)) for b in ROWS] for a in ROWS])


@case
def integers():
    values = list(range(-300, 300, 7))
    x = Tensor(values, dtype=dtypes.int32)
    assert (x * 5 - 3).tolist() == [v * 5 - 3 for v in values]
    assert (x & 0x7f).tolist() == [v & 0x7f for v in values]
    assert x.sum().item() == sum(values)


@case
def jit():
    step = TinyJit(lambda x: (x * 3 + 1).realize())
    for k in range(4):                  # recorded, then replayed
        assert step(Tensor([k, k + 1]).realize()).tolist() == [3 * k + 1, 3 * k + 4]


run()
