# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: each test is a case of tools/clients, with a line when it has ended, so that a run that is cut short still says what it ran."""
import os

import pytest

from cases import line

_output = os.fdopen(os.dup(1), "w")         # pytest takes file descriptor 1 for what tests print
_results = {}


def pytest_collectreport(report):
    if report.failed:
        line("fail", report.nodeid, "cannot be imported", _output)


def pytest_runtest_logreport(report):
    verdict, why = _results.get(report.nodeid, ("pass", ""))
    if report.failed:
        verdict, why = "fail", getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
    elif report.skipped and verdict == "pass" and type(report) is pytest.TestReport:
        verdict, why = "skip", report.wasxfail if hasattr(report, "wasxfail") else report.longrepr[2]
    _results[report.nodeid] = verdict, why
    if report.when == "teardown":
        line(verdict, report.nodeid, why.strip().split("\n")[0], _output)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report):
    """No dots between the lines."""
    if report.when == "call" or report.outcome != "passed":
        return report.outcome, "", ""
