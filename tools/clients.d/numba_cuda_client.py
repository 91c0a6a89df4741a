# SPDX-License-Identifier: Apache-2.0
# pip: numba-cuda[cu13]==0.30.4 cuda-bindings==13.0.3 nvidia-nvvm==13.0.88 nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvrtc==13.0.88
# pip: nvidia-nvjitlink==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 pytest==9.2.0 psutil==7.2.2 filecheck==1.0.6
# pip: cffi==2.1.1 ml_dtypes==0.6.0
# signatures: nvidia/cu13/lib/libcudart_static.a
# time: long
"""numba-cuda's own test suite, of numba.cuda.tests: cudapy and cudadrv, or the modules named as arguments."""
import os
import subprocess
import sys
import xml.etree.ElementTree

from cases import line

modules = [f"numba.cuda.tests.{m}" for m in sys.argv[1:] or ("cudapy", "cudadrv")]
report = os.path.abspath("report.xml")
status = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "numba_fixture", "-p", "no:cacheprovider", "--import-mode=importlib",
                         "--continue-on-collection-errors", "--tb=short", "-o", "addopts=", f"--junitxml={report}", "--pyargs", *modules]).returncode
if status not in (0, 1) or not os.path.exists(report):
    line("fail", "pytest", f"ended with status {status}")
    sys.exit(1)
for test in xml.etree.ElementTree.parse(report).iter("testcase"):
    name = f"{test.get('classname')}.{test.get('name')}"
    bad = next((test.find(k) for k in ("failure", "error") if test.find(k) is not None), None)
    skipped = test.find("skipped")
    if bad is not None:
        line("fail", name, (bad.get("message") or "").splitlines()[0] if bad.get("message") else "")
    elif skipped is not None:
        line("skip", name, (skipped.get("message") or "").split("\n")[0])
    else:
        line("pass", name)
sys.exit(status)
