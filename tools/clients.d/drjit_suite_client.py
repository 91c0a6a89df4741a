# SPDX-License-Identifier: Apache-2.0
# pip: drjit==1.5.0 numpy==2.4.6 pytest==9.2.0 pytest-timeout==2.4.0
# time: long
"""Dr.Jit's own tests of its CUDA backend, or those of its folder tests that are named as arguments. They are in its repository alone: DRJIT_SOURCE is the
folder of a clone of https://github.com/mitsuba-renderer/drjit at v1.5.0. The files *_ext need modules of C++ that its build makes, and are left out."""
import glob
import os
import sys

from suite import checkout, run_pytest

folder = os.path.join(checkout("DRJIT_SOURCE"), "tests")
extensions = [f"--ignore={f}" for f in glob.glob(os.path.join(folder, "*_ext.py"))]
run_pytest("-p", "drjit_fixture", *extensions, *(os.path.join(folder, n) for n in sys.argv[1:] or [""]), timeout=300)
