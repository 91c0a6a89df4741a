#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""settings.py ENV_DEF LIBRARIES APP SECONDS SEED FINDINGS: runs APP ("basic", tests/tracer/app.c) with CUDAWAY_ variables of random values.

Whatever they are, the program ends within 30 s: it has the right result (0), or a call of its own was refused (99), and no signal. What is logged is lines of
text that say whose they are. A run that shows otherwise is a line of the output, and a file SEED-N of the folder FINDINGS, a shell command."""
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

NUMBERS = (
    "", "0", "1", "-1", "2", "8", "9", "1000000", "4294967295", "4294967296", "18446744073709551615", "18446744073709551616", "1K", "1G", "17179869184G", "0x10",
    " 5", "5 ", "1e3", "K", "8.0", "8.9", "12.9", "99.9", ".5", "5.", "3..5", "0..0", "5..3", "18446744073709551615..3", "1,1K", ",1", "0,0", "0.001", "nan",
)  # fmt: skip
EXPRESSIONS = ("[", "(a*)*b", "((a{1,200}){1,200}){1,200}", ".*", "", "\\", "a{99999}", "^" * 500, "(" * 20000, "x" * 100000)
SEPARATORS = (":", ",", "", " ", ":checked", ":O0", ",,", "x", ":gfx1100", ":host")
DEVICES = ("host", "null", "host:checked", "gfxemu:gfx1100", "gfxemu:gfx90a")
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
REPORT = re.compile(rb"runtime error: |ERROR: [A-Za-z]+Sanitizer: (?!out of memory)")     # a compilation's limit may be a byte
sanitized = "ASAN_OPTIONS" in os.environ or "UBSAN_OPTIONS" in os.environ


def paths(folder):
    """Names of what is no file that one can read or write, and of what is. What the program is told to write, it writes: all that can be written to is in
    the folder, or a device."""
    os.mkfifo(os.path.join(folder, "fifo"))
    os.symlink(os.path.join(folder, "link"), os.path.join(folder, "link"))
    os.mkdir(os.path.join(folder, "folder"))
    with open(os.path.join(folder, "file"), "w", encoding="ascii") as f:
        f.write("x" * 100)
    own = [os.path.join(folder, name) for name in ("fifo", "link", "folder", "file", "new", "new/below")]
    return own + [
        "/dev/zero", "/dev/full", "/dev/null", "/dev/tty", "/proc/self/fd/1", "/proc/nothing/a/b", "x" * 5000, "/proc/" + "y/" * 3000, "", ".",
    ]  # fmt: skip


def value(r, form, files):
    """A value of the form, or almost, or any."""
    words = [w for w in re.split(r"[|:, ]", form) if w]
    kind = r.random()
    if "PATH" in form and kind < 0.6:
        return r.choice(files)
    if "REGEX" in form and kind < 0.7:
        return r.choice(EXPRESSIONS)
    if re.search("N|BYTES|MAJOR|SECONDS", form) and kind < 0.7:
        return r.choice(NUMBERS)
    if kind < 0.4:
        return r.choice(words)
    if kind < 0.5:
        return r.choice(words) + r.choice(SEPARATORS)
    if kind < 0.6:
        return ",".join(r.choice(words) for _ in range(r.choice((2, 5, 3000))))
    if kind < 0.8:
        return r.choice(NUMBERS + tuple(files) + EXPRESSIONS)
    raw = bytes(r.choice((r.randrange(1, 127), r.randrange(1, 256))) for _ in range(r.choice((1, 3, 10, 300, 20000))))
    return os.fsdecode(raw.replace(b"/", b"."))


def wrong(status, log, env):
    """What must not be, or None."""
    if status not in (0, 99):
        return f"exit status {status}"
    if sanitized:
        return "a sanitizer's report" if REPORT.search(log) else None
    if env.get("CUDAWAY_LOG") == "help":
        return None
    if CONTROL.search(log):
        return "control characters in the log"
    if any(line and not line.startswith((b"cudaway: ", b"app: ", b'{"kernel":')) for line in log.split(b"\n")):
        return "a line that does not say whose it is"
    return None


def main():
    table, libraries, app, seconds, seed, findings = sys.argv[1:7]
    with open(table, encoding="utf-8") as f:
        rows = re.findall(r'^X\(\w+,\s*"(\w+)",\s*"([^"]*)"', f.read(), re.M)
    end, bad, count, by_status = time.monotonic() + float(seconds), 0, 0, {}
    with tempfile.TemporaryDirectory(prefix="settings-") as folder:
        files = paths(folder)
        while time.monotonic() < end:
            r = random.Random(int(seed) * 1000003 + count)
            layer = r.random() < 0.5
            env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDAWAY_", "XDG_"))}
            env.update(HOME=os.path.join(folder, "home"), LD_LIBRARY_PATH=os.path.join(libraries, "trace") if layer else libraries)
            if r.random() < 0.8:
                env["CUDAWAY_DEVICE"] = r.choice(DEVICES)
            for name, form in r.sample(rows, r.choice((1, 1, 2, 4))):
                env["CUDAWAY_" + name] = value(r, form, files)
            with open(os.path.join(folder, "log"), "w+b") as log:      # a file: who is left behind by the program holds no pipe open
                try:
                    status = subprocess.run([app, "basic"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=30, cwd=os.path.join(folder, "folder")).returncode
                except subprocess.TimeoutExpired:
                    status = "none within 30 s"
                log.seek(0)
                text = log.read(1 << 24)
            by_status[status] = by_status.get(status, 0) + 1
            why = wrong(status, text, env)
            if why:
                bad += 1
                os.makedirs(findings, exist_ok=True)
                command = " ".join(f"{k}={shlex.quote(v)}" for k, v in env.items() if k.startswith("CUDAWAY_") or k == "LD_LIBRARY_PATH")
                with open(os.path.join(findings, f"{seed}-{count}.txt"), "wb") as f:
                    f.write(os.fsencode(f"{command} {app} basic\n{why}\n\n") + text[-20000:])
                print(f"{seed}-{count}: {why}", flush=True)
            count += 1
    statuses = ", ".join(f"{n} ended with {s}" for s, n in sorted(by_status.items(), key=str))
    print(f"{count} runs, seed {seed}: {statuses}; {bad} findings")
    sys.exit(bad > 0 or not by_status.get(0))


main()
