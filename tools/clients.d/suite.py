# SPDX-License-Identifier: Apache-2.0
"""A client's own test suite under pytest, each of its tests a case of tools/clients."""
import os
import subprocess
import sys
import xml.etree.ElementTree

from cases import line


def run_pytest(*arguments, timeout=None, folder=None):
    """Runs pytest in `folder`, prints the result of each test, and ends the process with pytest's status. A test has `timeout` seconds."""
    report = os.path.abspath("report.xml")
    if os.path.exists(report):
        os.unlink(report)
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}"] + ([f"--timeout={timeout}"] if timeout else [])
    status = subprocess.run([sys.executable, "-m", "pytest", *options, *arguments], cwd=folder).returncode
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


def sources(package):
    """The folder of a package's source archive, which "# sources:" in the head of a client asks for."""
    import glob
    found = glob.glob(os.path.join(sys.prefix, "sources", package + "-*", ""))
    if len(found) != 1:
        line("fail", "sources", f"{len(found)} folders of {package} in {sys.prefix}/sources")
        sys.exit(1)
    return found[0]
