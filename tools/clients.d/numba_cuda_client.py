# SPDX-License-Identifier: Apache-2.0
# pip: numba-cuda[cu13]==0.30.4 cuda-bindings==13.0.3 nvidia-nvvm==13.0.88 nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvrtc==13.0.88
# pip: nvidia-nvjitlink==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 pytest==9.2.0 psutil==7.2.2 filecheck==1.0.6
# pip: cffi==2.1.1 ml_dtypes==0.6.0 numba==0.67.0
# signatures: nvidia/cu13/lib/libcudart_static.a
# time: long
"""numba-cuda's own test suite, of numba.cuda.tests: cudapy and cudadrv, or the modules named as arguments."""
import sys

from suite import run_pytest

modules = [f"numba.cuda.tests.{m}" for m in sys.argv[1:] or ("cudapy", "cudadrv")]
run_pytest("-p", "numba_fixture", "--import-mode=importlib", "-o", "addopts=", "--pyargs", *modules)
