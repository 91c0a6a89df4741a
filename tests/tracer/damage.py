#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""damage.py TRACE RECORDING SECONDS SEED FINDINGS: damages copies of a recording at random, and has cudaway-trace read them.

Whatever the files of a recording say, a command ends by itself within 30 s, with exit status 0, 1 (damaged) or 2 (nothing could be read) and no signal. Each
line on standard error is its own; text that is printed is safe for a terminal, and JSON where that was asked for. A recording that shows otherwise is left in
FINDINGS/SEED-N, with the command beside it."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

COMMANDS = (["show"], ["show", "--json"], ["report"], ["report", "--json"], ["report", "--html"], ["export", "--format=chrome"], ["export", "--format=perfetto"])
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
WORDS = (b'"', b"\\", b"\x1b[2J", b"\n", b"</script>", b"\xc3", b"{", b"}", b"[", b"4294967295", b"-1", b"9223372036854775807", b"%s", b"../")
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
sanitized = "ASAN_OPTIONS" in os.environ or "UBSAN_OPTIONS" in os.environ


def mutate(data, r):
    """One change, of the kinds that disks, networks and people make."""
    at = r.randrange(len(data) + 1)
    n = min(r.choice((1, 2, 4, 8, 16, 100, 136, 1000)), len(data))
    kind = r.randrange(9)
    if kind == 0:
        return data[:at] + r.randbytes(n) + data[at + n :]
    if kind == 1:
        size = r.choice((1, 2, 4, 8))
        return data[:at] + (r.choice(EDGES) & ((1 << 8 * size) - 1)).to_bytes(size, "little") + data[at + size :]
    if kind == 2:
        return data[:at]
    if kind == 3:
        return data[:at] + data[at + n :]
    if kind == 4:
        begin = r.randrange(len(data) + 1)
        return data[:at] + data[begin : begin + n] + data[at:]
    if kind == 5:
        return data[:at] + bytes(n) + data[at + n :]
    if kind == 6:
        return data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1 :] if at < len(data) else data
    if kind == 7:
        word = r.choice(WORDS)
        return data[:at] + word + data[at + (len(word) if r.random() < 0.5 else 0) :]
    # A number in a text becomes another.
    numbers = list(re.finditer(rb"\d+", data[:200000]))
    if not numbers:
        return data
    m = r.choice(numbers)
    return data[: m.start()] + str(r.choice(EDGES)).encode() + data[m.end() :]


def files_of(folder):
    found = [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names]
    return sorted(f for f in found if os.path.isfile(f) and not os.path.islink(f))


def wrong(status, out, err, command):
    """What the command must not do, or None."""
    if status not in (0, 1, 2):
        return f"exit status {status}"
    if not sanitized and any(line and not line.startswith(b"cudaway-trace: ") for line in err.split(b"\n")):
        return "words that are not its own"
    if b"AddressSanitizer" in err or b"runtime error" in err or b"LeakSanitizer" in err:
        return "a sanitizer's report"
    for_terminal = "--html" not in command and "--format=perfetto" not in command
    if for_terminal and CONTROL.search(out):
        return "text that is not safe for a terminal"
    if status == 0 and "--json" in command or "--format=chrome" in command and status == 0:
        try:
            for text in out.splitlines() if command[0] == "show" else [out]:
                json.loads(text)
        except ValueError as e:
            return f"what is not JSON: {e}"
    return None


def main():
    trace, recording, seconds, seed, findings = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    end = time.monotonic() + seconds
    bad = count = 0
    by_status = {}
    env = dict(os.environ, ASAN_OPTIONS="exitcode=99:allocator_may_return_null=1:" + os.environ["ASAN_OPTIONS"]) if "ASAN_OPTIONS" in os.environ else os.environ
    with tempfile.TemporaryDirectory(prefix="trace-damage-") as folder:
        while time.monotonic() < end:
            r = random.Random(seed * 1000003 + count)
            copy = os.path.join(folder, "r")
            shutil.copytree(recording, copy, symlinks=True)
            for _ in range(r.choice((1, 1, 2, 3))):
                path = r.choice(files_of(copy))
                with open(path, "rb") as f:
                    data = f.read()
                with open(path, "wb") as f:
                    f.write(mutate(data, r))
            command = r.choice(COMMANDS)
            try:
                p = subprocess.run([trace, *command, copy], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, env=env)
                status, why = p.returncode, wrong(p.returncode, p.stdout, p.stderr, command)
            except subprocess.TimeoutExpired as e:
                status, why, p = "none", "no end within 30 s", e
            by_status[status] = by_status.get(status, 0) + 1
            if why:
                bad += 1
                kept = os.path.join(findings, f"{seed}-{count}")
                os.makedirs(findings, exist_ok=True)
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(copy, kept, symlinks=True)
                with open(kept + ".txt", "wb") as f:
                    f.write(f"{trace} {' '.join(command)} {kept}\n{why}\n\n".encode() + (p.stderr or b"")[-20000:])
                print(f"{kept}: {' '.join(command)}: {why}", flush=True)
            shutil.rmtree(copy)
            count += 1
    statuses = ", ".join(f"{n} ended with {s}" for s, n in sorted(by_status.items(), key=str))
    print(f"{count} recordings, seed {seed}: {statuses}; {bad} findings")
    sys.exit(bad > 0 or not count)


main()
