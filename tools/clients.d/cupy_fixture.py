# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: NumPy's random numbers in the place of cuRAND's, which is not installed."""
import numpy as np

import cupy

generator = np.random.RandomState(1)


def replacement(name):
    def random(*args, dtype=None, **kwargs):
        return cupy.asarray(getattr(generator, name)(*args, **kwargs), dtype)
    return random


for name in ("rand", "randint", "random", "random_integers", "random_sample", "uniform"):
    setattr(cupy.random, name, replacement(name))
