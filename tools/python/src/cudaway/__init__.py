# SPDX-License-Identifier: Apache-2.0
"""Compile, load and launch CUDA kernels on AMD GPUs or the CPU with NumPy arrays, and read recordings of CUDA programs."""

from . import trace
from ._compiler import CompileError, compile
from ._driver import CudaError, DeviceArray, Kernel, Module, device_name, empty, synchronize, to_device
from ._installation import Error, use

__all__ = ["CompileError", "CudaError", "DeviceArray", "Error", "Kernel", "Module", "compile", "device_name", "empty", "load", "synchronize", "to_device", "trace",
           "use"]


def load(source, **options):
    """Compile `source` (see `compile`) and load it: a `Module`."""
    return Module(compile(source, **options))
