# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: the fixture that numba-cuda's tests ask for, which its wheel does not have."""
import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
