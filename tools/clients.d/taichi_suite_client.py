# SPDX-License-Identifier: Apache-2.0
# pip: taichi==1.7.4 numpy==2.4.6 scipy==1.17.1 autograd==1.9.1 psutil==7.2.2 requests==2.34.2 pytest==9.2.0 pytest-timeout==2.4.0
# pip: pytest-rerunfailures==16.7 pillow==13.0.0
# time: long
"""Taichi's own tests of its CUDA backend, or those of its folder tests/python that are named as arguments. They are in its repository alone: TAICHI_SOURCE
is the folder of a clone of https://github.com/taichi-dev/taichi at v1.7.4."""
import os
import sys

from suite import checkout, run_pytest

os.environ["TI_WANTED_ARCHS"] = "cuda"
os.environ["TI_OFFLINE_CACHE"] = "0"
folder = checkout("TAICHI_SOURCE")
run_pytest("-p", "taichi_fixture", *(f"tests/python/{n}" for n in sys.argv[1:] or [""]), timeout=300, folder=folder)
