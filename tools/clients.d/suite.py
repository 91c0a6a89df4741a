# SPDX-License-Identifier: Apache-2.0
"""A client's own test suite under pytest, each of its tests a case of tools/clients."""
import os
import subprocess
import sys

from cases import line


def run_pytest(*arguments, timeout=None, folder=None):
    """Runs pytest in `folder`, prints the result of each test, and ends the process with pytest's status. A test has `timeout` seconds. With CLIENT_SAMPLE in
    the environment only some of the tests are run (sample_fixture.py)."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "report_fixture", "--continue-on-collection-errors", "--tb=short"]
    options += [f"--timeout={timeout}"] if timeout else []
    options += ["-p", "sample_fixture"] if os.environ.get("CLIENT_SAMPLE") else []
    status = subprocess.run([sys.executable, "-m", "pytest", *options, *arguments], cwd=folder).returncode
    if status == 5:
        line("skip", "pytest", "it has no test to run here")
        sys.exit(0)
    if status not in (0, 1):
        line("fail", "pytest", f"ended with status {status}")
    sys.exit(status != 0)


def sources(package):
    """The folder of a package's source archive, which "# sources:" in the head of a client asks for."""
    import glob
    found = glob.glob(os.path.join(sys.prefix, "sources", package + "-*", ""))
    if len(found) != 1:
        line("fail", "sources", f"{len(found)} folders of {package} in {sys.prefix}/sources")
        sys.exit(1)
    return found[0]


def checkout(variable):
    """The folder of a client's repository, which the user fetches by hand and names in an environment variable; without it the suite is skipped."""
    folder = os.environ.get(variable, "")
    if not os.path.isdir(os.path.join(folder, "tests")):
        line("skip", "suite", f"{variable} names no folder with the client's repository")
        sys.exit()
    return folder
