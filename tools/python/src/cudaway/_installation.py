# SPDX-License-Identifier: Apache-2.0
"""Where CUDAway is installed."""

import os
import shutil


class Error(Exception):
    """Every error of this package."""


_prefix = None
_driver_loaded = False


def use(prefix=None, device=None):
    """Choose the installation (the folder with bin and lib/cudaway) and the device, as CUDAWAY_DEVICE does, before the first call that needs them."""
    global _prefix
    if _driver_loaded:
        raise Error("the driver is loaded: call cudaway.use before anything else")
    if prefix is not None:
        prefix = os.path.abspath(prefix)
        if not os.path.exists(os.path.join(prefix, "lib", "cudaway", "libcuda.so.1")):
            raise Error(f"{prefix} holds no CUDAway: there is no lib/cudaway/libcuda.so.1")
        _prefix = prefix
    if device is not None:
        os.environ["CUDAWAY_DEVICE"] = device


def prefix():
    global _prefix
    if _prefix is None:
        program = shutil.which("cudaway")
        folders = [os.path.dirname(os.path.dirname(os.path.realpath(program)))] if program else []
        for folder in folders + ["/usr", "/usr/local", "/opt/cudaway"]:
            if os.path.exists(os.path.join(folder, "lib", "cudaway", "libcuda.so.1")):
                _prefix = folder
                break
        else:
            raise Error("CUDAway is not found: put its bin into PATH, or call cudaway.use(PREFIX)")
    return _prefix


def library(name):
    return os.path.join(prefix(), "lib", "cudaway", name)


def program(name):
    path = os.path.join(prefix(), "bin", name)
    if not os.path.exists(path):
        raise Error(f"{path} is missing: this installation has no {name}")
    return path


def driver_is_loaded():
    global _driver_loaded
    _driver_loaded = True
