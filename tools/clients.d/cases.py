# SPDX-License-Identifier: Apache-2.0
"""The cases of a client of tools/clients: functions marked with @case, run by run(), one line of result each."""
import os
import sys
import time
import traceback

_cases = []


class Skip(Exception):
    """A case that cannot run here; its text says why."""


def case(function):
    _cases.append(function)
    return function


def line(verdict, name, why="", file=None):
    print(f"{verdict} {name}" + (f": {why}" if why else ""), flush=True, file=file)


def run():
    """Runs the cases in their order, or those named as arguments; ends the process with 1 if one failed."""
    failed = False
    wanted = sys.argv[1:]
    for function in _cases:
        name = function.__name__
        if wanted and name not in wanted:
            continue
        started = time.time()
        try:
            function()
        except Skip as reason:
            line("skip", name, reason)
        except Exception as error:
            traceback.print_exc()
            text = str(error).strip().splitlines()
            line("fail", name, f"{type(error).__name__}: {text[0] if text else ''}")
            failed = True
        else:
            line("pass", name)
        print(f"# {name}: {time.time() - started:.1f} s", flush=True)
    sys.stdout.flush()
    if failed:
        sys.exit(1)


def library(package_folder, pattern):
    """The path of a library that a wheel of NVIDIA's brings, below site-packages/nvidia."""
    import glob
    import sysconfig
    found = glob.glob(os.path.join(sysconfig.get_path("purelib"), "nvidia", package_folder, "**", pattern), recursive=True)
    if not found:
        raise Skip(f"no {pattern} in nvidia/{package_folder}")
    return sorted(found)[-1]
