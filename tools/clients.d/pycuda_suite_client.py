# SPDX-License-Identifier: Apache-2.0
# pip: pycuda==2026.1 numpy==2.4.6 mako==1.4.3 pytest==9.2.0 pytest-timeout==2.4.0
# sources: pycuda==2026.1
# time: long
"""PyCUDA's own tests: all files of its folder test, or those named as arguments. It needs a toolkit's nvcc, see pycuda_client.py."""
import os
import shutil
import sys

from cases import line
from suite import run_pytest, sources

if not shutil.which("nvcc"):
    line("skip", "suite", "no nvcc in PATH")
    sys.exit()
os.environ.setdefault("CUDA_ROOT", os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc")))))      # where it looks for libcudadevrt.a
os.environ["PATH"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin") + os.pathsep + os.environ["PATH"]
os.environ["PYCUDA_CACHE_DIR"] = os.path.abspath("cache")
os.makedirs("cache", exist_ok=True)
# Its folder holds the source of the package, too: pytest runs elsewhere, with the files' full names.
run_pytest("--import-mode=importlib", *(os.path.join(sources("pycuda"), "test", n) for n in sys.argv[1:] or [""]), timeout=300)
