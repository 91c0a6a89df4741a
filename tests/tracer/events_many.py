#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""events_many.py PROGRAM N: recordings of N events in which each is one more of something, as inputs of fuzz_events.c (PROGRAM), through all its commands.

What grows: calls that are open, exits without an entry, launches inside of open calls, threads, threads with an open call, names of functions. Time that
grows with the square of any of these would be minutes for 100,000."""
import os
import subprocess
import sys
import tempfile

COMMANDS = 8
KERNEL, INIT, LAUNCH, ANY = 0, 6, 17, 63     # names of fuzz_events.c; others are a text
NAMED_SAXPY = bytes([1, 1, 3, 0])            # one field: "name", a text, the first one


def event(name, tid, fields=b"\0", leave=False, text=b""):
    """No flags, one nanosecond later, process 1."""
    return bytes([name | (0x80 if leave else 0)]) + text + b"\0\1\1" + b"\xf8" + tid.to_bytes(4, "little") + fields


def shapes(n):
    call = event(INIT, 1), event(INIT, 1, leave=True)
    launch = event(LAUNCH, 1) + event(KERNEL, 1, NAMED_SAXPY) + event(LAUNCH, 1, leave=True)
    yield "open calls", call[0] * n
    yield "exits alone", call[0] * (n // 2) + event(INIT + 1, 1, leave=True) * (n // 2)
    yield "launches in open calls", call[0] * 900 + launch * (n // 3)
    yield "threads", b"".join(event(INIT, i % (n // 4)) + event(INIT, i % (n // 4), leave=True) for i in range(n // 2))
    yield "threads with open calls", b"".join(event(INIT, i) for i in range(n))
    yield "names", b"".join(event(ANY, 1, text=bytes([49]) + str(i).zfill(9).encode()) for i in range(n))


def main():
    program, n = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for what, events in shapes(n):
            for command in range(COMMANDS):
                path = os.path.join(folder, f"{what}, command {command}")
                with open(path, "wb") as f:
                    f.write(bytes([command]) + events)
        subprocess.run([program, folder], check=True)


main()
