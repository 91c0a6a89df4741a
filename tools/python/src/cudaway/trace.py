# SPDX-License-Identifier: Apache-2.0
"""Recordings of `cudaway-trace record`."""

import json
import os
import subprocess

from ._installation import Error, program


def _run(*arguments):
    done = subprocess.run([program("cudaway-trace"), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode:
        raise Error(done.stderr.strip() or f"cudaway-trace ended with status {done.returncode}")
    return done.stdout


class Recording:
    """`calls`: a list of dicts, in the order of their beginning: time (seconds since 1970), pid, tid, process, function, args (a dict), result, duration_ns."""

    def __init__(self, folder, calls):
        self.folder = folder
        self.calls = calls

    def __len__(self):
        return len(self.calls)

    def __repr__(self):
        return f"Recording({self.folder!r}, {len(self)} calls)"

    def frame(self):
        """The calls as a pandas DataFrame: a row a call; `time` is a timestamp, arguments are columns named args.NAME."""
        import pandas

        frame = pandas.json_normalize(self.calls, max_level=1)
        if "time_ns" in frame:
            frame["time"] = pandas.to_datetime(frame.pop("time_ns"), unit="ns", utc=True)
        return frame

    @property
    def report(self):
        """Totals: functions, kernels, memory, errors, as `cudaway-trace report --json` prints them."""
        return json.loads(_run("report", "--json", self.folder))


def read(folder, function=None, kernel=None, failed=False):
    """Read the recording in `folder`: all calls, or those whose function or kernel matches a regular expression, or those that failed."""
    arguments = ["show", "--json"]
    if function is not None:
        arguments += ["--function", function]
    if kernel is not None:
        arguments += ["--kernel", kernel]
    if failed:
        arguments.append("--failed")
    folder = os.fspath(folder)
    return Recording(folder, [json.loads(line) for line in _run(*arguments, folder).splitlines()])
