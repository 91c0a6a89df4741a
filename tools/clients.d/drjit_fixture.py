# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: of Dr.Jit's tests, those of its CUDA backend, and those of no backend. They are made for each array type (`t`) or package
(`p`) that there is."""


def other_backend(item):
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        name = str(getattr(value, "__module__" if isinstance(value, type) else "__name__", ""))
        if name.startswith("drjit.") and not name.startswith("drjit.cuda"):
            return True
    return False


def pytest_collection_modifyitems(config, items):
    others = [i for i in items if other_backend(i)]
    config.hook.pytest_deselected(items=others)
    # They come in the order of a set, another one in each process.
    items[:] = sorted((i for i in items if not other_backend(i)), key=lambda i: (i.path, i.reportinfo()[1], i.name))
