# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: of each file's tests a random sample, the same in each run. CLIENT_SAMPLE=N or N:SEED (default seed 1)."""
import itertools
import os
import random

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    size, _, seed = os.environ["CLIENT_SAMPLE"].partition(":")
    chosen = set()
    for path, tests in itertools.groupby(sorted(items, key=lambda i: (str(i.path), i.nodeid)), key=lambda i: i.path):
        tests = list(tests)
        print(f"\n# {path.name}: {min(int(size), len(tests))} of {len(tests)} tests, seed {seed or 1}")
        chosen.update(random.Random(int(seed or 1)).sample(tests, min(int(size), len(tests))))
    config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
    items[:] = [i for i in items if i in chosen]
