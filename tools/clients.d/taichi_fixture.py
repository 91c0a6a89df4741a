# SPDX-License-Identifier: Apache-2.0
"""A plug-in for pytest: of Taichi's tests, those that it makes for its CUDA backend; the others test its front end alone."""


def cuda(item):
    parameters = getattr(item, "callspec", None)
    arch = parameters and parameters.params.get("req_arch")
    return bool(arch) and arch.name == "cuda"


def pytest_collection_modifyitems(config, items):
    others = [i for i in items if not cuda(i)]
    items[:] = [i for i in items if cuda(i)]
    config.hook.pytest_deselected(items=others)
