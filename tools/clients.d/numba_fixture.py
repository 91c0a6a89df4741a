# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: the fixture that numba-cuda's tests ask for, which its wheel does not have."""
import importlib
import sys

import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path):
    """pytest calls the tests' modules cuda.tests..., for the folder above has no __init__.py; processes that tests start know them by their own names."""
    name = ".".join(module_path.with_suffix("").parts[module_path.parts.index("tests") - 1:])
    try:
        sys.modules[name] = importlib.import_module("numba." + name)
    except (Exception, pytest.skip.Exception):
        pass                    # pytest imports it again, and reports that
    return (yield)
