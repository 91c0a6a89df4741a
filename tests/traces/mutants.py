#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translation faults planted by rule: one instruction of a recorded launch becomes another one, as a wrong translation would have it.

Usage: mutants.py COUNT SEED FOLDER CUDAWAY-REPLAY REPLAY_DUMP_TEST

The launches of FOLDER (traces/h200) give on an H200, on the host device and on host:O0 the same bits, so their results are determined. A mutant that runs to its
end with other results is therefore a fault whatever it computes, and --explain has to call it one on the launch as it was. Mutants that give the same results, fail,
or take over 20 s of CPU time are not counted; which they are depends on SEED alone. COUNT are counted, spread over the kernels."""
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

# Instructions and what they become: other operations of the same operands. Fused multiply-add, rounding and the like are not among them, for
# these are what --explain may name.
RULES = [(re.compile(r"^(\s*(?:@!?%\w+\s+)?)" + a), r"\g<1>" + b) for a, b in [
    (r"add\.([suf]\d\d)\b", r"sub.\2"), (r"add\.rn\.(f\d\d)\b", r"sub.rn.\2"), (r"sub\.([suf]\d\d)\b", r"add.\2"),
    (r"and\.(b\d\d)\b", r"or.\2"), (r"or\.(b\d\d)\b", r"xor.\2"), (r"xor\.(b\d\d)\b", r"and.\2"),
    (r"setp\.lt\.", "setp.le."), (r"setp\.gt\.", "setp.ge."), (r"setp\.ge\.", "setp.gt."), (r"setp\.le\.", "setp.lt."),
    (r"min\.([suf]\d\d)\b", r"max.\2"), (r"max\.([suf]\d\d)\b", r"min.\2"),
    (r"mul\.lo\.([su]\d\d)\b", r"add.\2"), (r"mul\.(?:rn\.)?(f\d\d)\b", r"add.rn.\2"), (r"shr\.[su](\d\d)\b", r"shl.b\2"), (r"shl\.b(\d\d)\b", r"shr.u\2"),
    (r"neg\.([sf]\d\d)\b", r"abs.\2"), (r"selp\.(\w+)\s+(%\w+),\s*([^,]+),\s*([^,]+),", r"selp.\2 \3, \5, \4,"),
    (r"shfl\.sync\.down\.", "shfl.sync.up."), (r"shfl\.sync\.bfly\.", "shfl.sync.idx."),
]]


def member(dump, name):
    return subprocess.run(["tar", "xOf", dump, name], capture_output=True, check=True).stdout


def kernel_lines(text, kernel):
    """Numbers of the lines of the kernel and of functions, which it may call."""
    lines, on = [], False
    for i, line in enumerate(text):
        if re.match(r"\s*(\.visible|\.weak|\.extern)?\s*\.(entry|func)\b", line):
            on = ".func" in line or re.search(r"\.entry\s+" + re.escape(kernel) + r"\b", line)
        if on:
            lines.append(i)
    return lines


def candidates(text, kernel):
    found = []
    for i in kernel_lines(text, kernel):
        for pattern, to in RULES:
            other, n = pattern.subn(to, text[i], count=1)
            if n:
                found.append((i, other))
                break
    return found


def main():
    count, seed, folder, replay, tool = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    rng = random.Random(seed)
    dumps = sorted(f for f in os.listdir(folder) if f.endswith(".cwdump"))
    by_kernel = {}
    for f in dumps:
        by_kernel.setdefault(f.rsplit("-", 1)[0], []).append(f)
    kernels = list(by_kernel)
    rng.shuffle(kernels)
    counted = named = tried = 0
    seen = set()
    with tempfile.TemporaryDirectory() as work:
        os.environ["TMPDIR"] = work

        def run(seconds, *words):   # of CPU time, of each process: a busy machine changes nothing
            return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))

        wrong, result, mutant = (os.path.join(work, n + ".cwdump") for n in ("wrong", "result", "mutant"))
        ptx = os.path.join(work, "wrong.ptx")
        while counted < count and tried < 20 * count + 40:
            name = rng.choice(by_kernel[kernels[tried % len(kernels)]])
            tried += 1
            dump = os.path.join(folder, name)
            kernel = re.search(rb'"kernel": "([^"]*)"', member(dump, "manifest.json")).group(1).decode()
            text = member(dump, "module.ptx").decode().split("\n")
            options = candidates(text, kernel)
            if not options:
                continue
            line, other = rng.choice(options)
            if (name, line) in seen:
                continue
            seen.add((name, line))
            with open(ptx, "w") as f:
                f.write("\n".join(text[:line] + [other] + text[line + 1:]))
            if run(20, tool, "module", dump, ptx, wrong).returncode or run(20, replay, "--on", "host", "--output", result, wrong).returncode:
                continue
            if run(20, tool, "results", dump, result, mutant).returncode or run(60, replay, "--check", "--on", "host", mutant).returncode != 1:
                continue
            counted += 1
            r = run(600, replay, "--explain", "--on", "host", mutant)
            what = f"{name}:{line + 1}: {text[line].strip()} -> {other.strip()}"
            if r.returncode == 3:
                named += 1
                if os.environ.get("SHOW"):
                    print("fault", what, flush=True)
            else:
                cause = [x for x in r.stdout.split("\n") if x.startswith("cause: ")] or r.stdout.strip().split("\n")[-1:]
                print(f"FAIL: {what}: {cause[0]}", flush=True)
    print(f"{named} of {counted} planted faults are called translation faults, of {tried} instructions changed")
    return 0 if counted == count and named == counted else 1


sys.exit(main())
