# SPDX-License-Identifier: Apache-2.0
# pip: cupy-cuda13x==14.2.0 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
# pip: pytest==9.2.0 pytest-timeout==2.4.0 hypothesis==6.170.17
# sources: cupy==14.2.0
# time: long
"""CuPy's own tests of its core and of its interface to CUDA, or those of tests/cupy_tests that are named as arguments: all that ask for one device and are not
marked as slow."""
import os
import shutil
import sys

from suite import run_pytest, sources

os.environ.setdefault("CUPY_CACHE_DIR", os.path.abspath("cache"))
if shutil.which("nvcc"):
    os.environ["NVCC"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "nvcc")
folder = sources("cupy")
# Beside the tests lie the sources of the packages, which Python would import in the place of the installed ones.
for package in ("cupy", "cupy_backends", "cupyx"):
    shutil.rmtree(os.path.join(folder, package), ignore_errors=True)
names = sys.argv[1:] or ["core_tests", "cuda_tests"]
run_pytest("-p", "cupy_fixture", "-m", "not multi_gpu and not slow", *(f"tests/cupy_tests/{n}" for n in names), timeout=200, folder=folder)
