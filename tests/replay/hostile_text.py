#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_text.py REPLAY CC INCLUDE SECONDS SEED FINDINGS: dumps whose texts and numbers somebody chose to do harm, with each option of cudaway-replay.

A dump is made anew each time: a kernel that runs, with texts from WORDS for all that others write (the manifest's names, comments and files of the module,
what the kernel prints), and floats of any bits. Whatever they are, a command ends by itself, with a status of its own and no signal; what it prints are lines of
UTF-8 without control characters; JSON is JSON to the letter; a page has its own three scripts; a program in C has the texts in literals and comments alone. All
options are taken once, every other one on a terminal, then some at random until the time is up. A run that shows otherwise is a line of the output, and a dump in FINDINGS."""
import hashlib
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

MARK = "HoStIlE"  # stands in each text, and so tells where one came out
WORDS = (
    '"', "\\", "\\u0022", "</script><script>window.x=1</script>", "<!--<script>", "%s%n%d", "%999999999d", "*/ int x = 1; /*", "??/", "??'", "]]>", "'; touch ran; '",
    "$(touch ran)", "`touch ran`", '{"where":1,"differ":7}', '"},{"kernel":"', "é", "😀" * 30, "\ufffd", "\ufeff", "=", "= 0 x", "cause: race: ", "cudaway-replay: ", "../../x", "/",
    "NaN", "Infinity", " ", "", "a" * 90 + "é" * 40, "x" * 4000,
)  # fmt: skip
REFUSED = ("\x1b]0;x\x07", "\x1b[2J", "\r", "\n", "\x7f", "\u009b2J", "\u202e", "\u2028", "\x00", "\udcff", "\udcc3", "\udced\udca0\udc80", "\b", "\x0e")
NUMBERS = (0, 1, -1, 0.5, 255, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 53) + 1, 1 << 63, 1 << 64, 10**400, -(10**30), None, True, "0x1", [], {}, float("nan"), float("inf"), 1e308)
FLOATS = (0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F7FFFFF, 0x3F800000)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\u061c]")
LINES = (
    b'\n{"where":"\\u009b\\u001b[2J\\u0000x","differ":1e999}\n', b'\n{"kernel":"\\u009b","picture":[1,{}]} , "x\n', b'\n{"kernel":"</script>","where":[nan,\n',
)  # fmt: skip
IDENTIFIERS = ("k", "$_", "%n", "%s_1", "_" * 300, "k$x", "script", "main", "system")
sanitized = "ASAN_OPTIONS" in os.environ or "UBSAN_OPTIONS" in os.environ

PTX = """.version 7.1
.target sm_60
.address_size 64
.file 1 "@FILE@"
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
// @COMMENT@
.global .align 1 .b8 text[@LENGTH@] = {@BYTES@};
.global .align 4 .f32 @VARIABLE@[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .entry @KERNEL@(.param .u64 in, .param .u64 out)
{
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
    .shared .align 4 .f32 part[32];
    .loc 1 @LINE@ 3
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd1];
    mov.u32 %r2, part;
    st.shared.f32 [%r2], %f1;
    ld.shared.f32 %f3, [%r2+4];
    mul.f32 /* @COMMENT@ */ %f2, %f1, 0f@FACTOR@;
    add.f32 %f2, /* @COMMENT@ */ %f2, %f1;
    st.global.f32 /* @COMMENT@ */ [%rd2], %f2;
    mov.u64 %rd4, text;
    cvta.global.u64 %rd4, %rd4;
    mov.u64 %rd5, 0;
    {
    .param .b64 a0;
    st.param.b64 [a0], %rd4;
    .param .b64 a1;
    st.param.b64 [a1], %rd5;
    .param .b32 r0;
    call.uni (r0), vprintf, (a0, a1);
    ld.param.b32 %r3, [r0];
    }
    ret;
}
@WRONG@
"""
STEP = (
    "start\nstep 3\ninfo registers\ninfo locals\nbacktrace\nlist\nlist 1\ndisplay %f1\nbreak 20\ncontinue\nnext\nwatch %f2\ncontinue\np in\nx/4f32 in\nx/4f32 %rd2\np @VARIABLE@\ninfo source\n"
    "info threads\ninfo breakpoints\nwhatis %f1\nwhere\np nothing\nfinish\nrecord block\nhelp\nreverse-step\ninfo line\n"
)


# ---- dumps -------------------------------------------------------------------------------------------------------------------


def encoded(text):
    return text.encode("utf-8", "surrogateescape")


class Maker:
    """Dumps: `refused` of the texts and `wild` of the numbers are such that a reader must not take. `all`: of each kind of text in the module everything, and this file."""

    def __init__(self, r, refused=0.0, wild=0.0, wrong=0.0, prints=True, all=None):
        self.r, self.refused, self.wild, self.wrong, self.prints, self.all = r, refused, wild, wrong, prints, all

    def text(self, limit=70000):
        r = self.r
        if r.random() < 0.002:
            return "x" * 66000
        words = [r.choice(REFUSED if r.random() < self.refused else WORDS) for _ in range(r.choice((1, 1, 2, 3)))]
        words.insert(r.randrange(len(words) + 1), MARK)
        return "".join(words)[:limit]

    def number(self, sound):
        return self.r.choice(NUMBERS) if self.r.random() < self.wild else sound

    def in_module(self, limit=3000):
        """For comments and files: anything but what ends them."""
        r = self.r
        words = list(REFUSED) if self.all else [r.choice(WORDS + REFUSED) for _ in range(r.choice((1, 2, 4)))]
        words.insert(r.randrange(len(words) + 1), MARK)
        return "".join(words).replace("*/", "* /").replace("\n", "\r").replace("\x00", "\x01")[:limit]

    def module(self):
        r = self.r
        if self.all == "device":
            self.file = "/dev/zero"
        elif not self.all and r.random() < 0.2:
            self.file = r.choice(("/dev/zero", "/dev/full", "/dev/urandom", "/proc/self/environ", "/proc/self/maps", "/", "/dev/stdin", "/proc/self/fd/0", "/proc/kmsg"))
        else:
            self.file = self.in_module().replace("\\", "/").replace('"', "'")
        printed = encoded(self.text(2000)) if self.prints else b""
        if self.prints and self.all:
            printed += b"\x1b[2J\x9b\xff\r\n" + b"".join(LINES)
        elif self.prints and r.random() < 0.5:
            printed += b"\x1b[2J\x9b\xff\r" + r.choice((b"\n", b"", *LINES))
        printed += b"\n\x00"
        words = {
            "FILE": self.file, "LENGTH": str(len(printed)), "BYTES": ", ".join(map(str, printed)), "VARIABLE": self.variable, "KERNEL": self.kernel,
            "LINE": str(r.choice((1, 7, (1 << 31) - 1))), "FACTOR": "3F800000", "WRONG": self.in_module() if r.random() < self.wrong else "",
        }  # fmt: skip
        return re.sub("@([A-Z]+)@", lambda m: words[m[1]] if m[1] in words else self.in_module(200), PTX)

    def manifest(self, members):
        r = self.r
        maybe = lambda sound: self.text() if r.random() < 0.7 else r.choice((sound, None))
        element = lambda: r.choice(("f32", "f32", "u32", "f64", "b8", "u64", None, self.text()))
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
        after = lambda name: {"member": name, "sha256": sums[name]}
        buffers = [
            {"kind": "global", "name": None, "element": element(), "address": "0x700000200000", "size": 128, "before": after("before/0"), "after": after("before/0")},
            {"kind": "global", "name": r.choice((None, None, self.text())), "element": element(), "address": "0x700000300000", "size": 128, "before": after("before/1"), "after": after("after/1")},
            {"kind": "variable", "name": r.choice((self.variable, self.variable, self.text())), "element": "f32", "address": "0x700000400000", "size": 16, "before": after("before/2"), "after": after("before/2")},
        ]
        parameters = [{"offset": 8 * i, "size": 8, "type": r.choice(("u64", self.text())), "name": maybe(name)} for i, name in enumerate(("in", "out"))]
        m = {
            "format": "cudaway-kernel-dump", "version": self.number(1) if r.random() < 0.1 else 1, "cudaway": maybe("0"),
            "device": {"name": maybe("test"), "driver": self.number(13000), "compute_capability": self.number(86)},
            "kernel": self.text() if r.random() < 0.05 else self.kernel, "launch": self.number(r.choice((0, 7, (1 << 32) - 1))), "grid": [1, 1, 1], "block": [self.number(8), 1, 1],
            "dynamic_shared": self.number(0), "cooperative": False,
            "module": {"linked": False, "inputs": [{"kind": "ptx", "name": maybe(None), "member": "module.ptx", "size": len(members["module.ptx"]), "sha256": sums["module.ptx"]}]},
            "parameters": {"member": "params.bin", "size": 16, "sha256": sums["params.bin"], "list": parameters},
            "buffers": buffers, "arrays": [], "textures": [],
        }  # fmt: skip
        if r.random() < 0.1:
            m["fault"] = {"error": self.text(), "suspects": self.number(1)}
        if r.random() < self.wild:
            r.choice(buffers)["size"] = r.choice(NUMBERS)
        if r.random() < 0.05:
            m["module"]["inputs"][0]["kind"] = self.text(200)
        return encoded(json.dumps(m, ensure_ascii=r.random() < 0.3))

    def dump(self, path):
        r = self.r
        self.kernel, self.variable = r.choice(IDENTIFIERS), r.choice(("v", "$v", "_" * 200 + "v"))
        floats = lambda n: b"".join(struct.pack("<I", r.choice(FLOATS + (r.getrandbits(32),))) for _ in range(n))
        members = {"module.ptx": encoded(self.module()), "params.bin": struct.pack("<QQ", 0x700000200000, 0x700000300000)}
        members.update({"before/0": floats(32), "before/1": bytes(128), "before/2": floats(4), "after/1": floats(32)})
        members = {"manifest.json": self.manifest(members), **members}
        members["SHA256SUMS"] = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items()).encode()
        with open(path, "wb") as f:
            for name, data in members.items():
                h = bytearray(512)
                for at, field in ((0, name), (100, "0000644"), (108, "0000000"), (116, "0000000"), (124, f"{len(data):011o}"), (136, "0" * 11), (148, " " * 8), (156, "0"), (257, "ustar"), (263, "00")):
                    h[at : at + len(field)] = field.encode()
                h[148:156] = f"{sum(h):06o}\0 ".encode()
                f.write(h + data + bytes(-len(data) % 512))
            f.write(bytes(1024))


# ---- runs --------------------------------------------------------------------------------------------------------------------


def strict(text):
    """JSON to the letter (RFC 8259): no NaN, no key twice."""

    def no(word):
        raise ValueError(f"{word} is not JSON")

    def once(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError(f"a key stands twice in {pairs}")
        return dict(pairs)

    return json.loads(text, parse_constant=no, object_pairs_hook=once)


def unsafe(data, terminal=()):
    """What a terminal or a reader of lines would trip over, or None."""
    for own in terminal:
        data = data.replace(own, b"")
    try:
        found = UNSAFE.search(data.decode())
    except UnicodeDecodeError as e:
        return f"no UTF-8: {data[max(0, e.start - 40) : e.end + 10]!r}"
    return f"control characters: {found.string[max(0, found.start() - 40) : found.end() + 10]!r}" if found else None


def check_page(path):
    with open(path, "rb") as f:
        page = f.read()
    if why := unsafe(page):
        return "a page with " + why
    text = page.decode()
    body = text[text.index("<body>") :]
    if len(re.findall(r"<script", text, re.I)) != 3 or len(re.findall(r"</script", text, re.I)) != 3 or re.search("<!--|src=|href=", body):
        return "a page with more than its own scripts"
    data = text[text.index("const DATA = ") + 13 :]
    if MARK in text.replace(data[: data.index("</script>")], ""):
        return "a page with a text that is not in its data"
    strict(data[: data.index(";</script>")])
    return None


def check_program(path, compiler, include):
    with open(path, "rb") as f:
        text = f.read()
    if why := unsafe(text):
        return "a program with " + why
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', "", text.decode(), flags=re.S)
    if MARK in bare or "touch" in bare:
        return "a program with a text that is no literal: " + bare[bare.index(MARK if MARK in bare else "touch") :][:80]
    p = subprocess.run([compiler, "-std=c11", "-trigraphs", "-Wall", "-Werror", "-fsyntax-only", *include.split(), path], stderr=subprocess.PIPE, check=False)
    return f"a program that is no C: {p.stderr[:400]!r}" if p.returncode else None


class Run:
    def __init__(self, replay, compiler, include, folder):
        self.replay, self.compiler, self.include, self.folder = replay, compiler, include, folder
        self.statuses = {}

    def started(self, arguments, terminal, stdin):
        """Status, standard output, standard error; on a terminal both are one."""
        env = dict(os.environ, HOME=self.folder, TMPDIR=self.folder, XDG_CACHE_HOME=os.path.join(self.folder, "cache"), TERM="xterm")
        env.pop("NO_COLOR", None)
        if not terminal:
            p = subprocess.Popen([self.replay, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=self.folder)
            try:
                out, err = p.communicate(stdin, timeout=60)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGTERM)
                p.communicate()
                return "none within 60 s", b"", b""
            return p.returncode, out, err
        ours, theirs = pty.openpty()
        p = subprocess.Popen([self.replay, *arguments], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=env, cwd=self.folder)
        os.close(theirs)
        out, end = b"", time.monotonic() + 60
        p.stdin.write(stdin)
        p.stdin.close()
        os.set_blocking(ours, False)
        while time.monotonic() < end:
            try:
                data = os.read(ours, 1 << 16)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            except OSError:
                break
            out += data
            if not data:
                break
        os.close(ours)
        if time.monotonic() >= end:
            p.send_signal(signal.SIGTERM)
        p.wait()
        return p.returncode if time.monotonic() < end else "none within 60 s", out.replace(b"\r\n", b"\n"), b""

    def wrong(self, arguments, terminal, dump, maker):
        """What must not be, or None."""
        names = {"DUMP": dump, "PAGE": os.path.join(self.folder, "page.html"), "PROGRAM": os.path.join(self.folder, "program.c"), "OUT": os.path.join(self.folder, "out"),
                 "OTHER": os.path.join(self.folder, "other.ptx")}  # fmt: skip
        for name in ("PAGE", "PROGRAM", "OUT"):
            if os.path.exists(names[name]):
                os.remove(names[name])
        stdin = STEP.replace("@VARIABLE@", maker.variable).encode() if "--step" in arguments else b""
        if arguments[-1] == "-":
            with open(dump, "rb") as f:
                stdin = f.read()
        status, out, err = self.started([names.get(a, a) for a in arguments], terminal, stdin)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status not in (0, 1, 2) + ((3,) if "--explain" in arguments else ()):
            return f"status {status}: {err[-300:]!r}"
        if sanitized and re.search(rb"runtime error: |ERROR: [A-Za-z]+Sanitizer: ", out + err):
            return "a sanitizer's report"
        own = (b"\x1b[K", b"\r") + ((b"\x1b[1m", b"\x1b[0m") if "--step" in arguments else ()) if terminal else ()
        if why := unsafe(out, own) or unsafe(err, own):
            return why
        if "--step" in arguments and terminal and "--json" not in arguments and b"=> module" in out and b"\x1b[1m=> module" not in out:
            return "the place is not bold"
        if "--json" in arguments and status in (0, 1) and not terminal:
            try:
                parsed = [strict(text) for text in (out.splitlines() if "--step" in arguments else [out])]
            except ValueError as e:
                return f"what is not JSON: {e}"
            if "--check" in arguments and any(not b["where"].startswith("buffer ") for launch in parsed[0]["launches"] for b in launch["buffers"]):
                return "a buffer that the kernel made up"
        if os.path.exists(names["PAGE"]) and (why := check_page(names["PAGE"])):
            return why
        if os.path.exists(names["PROGRAM"]) and (why := check_program(names["PROGRAM"], self.compiler, self.include)):
            return why
        extra = set(os.listdir(self.folder)) - {"dump.cwdump", "cache", "page.html", "program.c", "out", "other.ptx", "folder"}
        return f"it leaves files: {sorted(extra)}" if extra else None


OPTIONS = (
    ["--info", "DUMP"], ["DUMP"], ["--json", "DUMP"], ["--check", "DUMP"], ["--check", "DUMP", "DUMP"], ["--check", "folder"], ["--check", "-"],
    ["--check", "--json", "DUMP"], ["--check", "--html", "PAGE", "DUMP"], ["--check", "--bounds", "--json", "DUMP"], ["--check", "--repeat", "2", "-o", "OUT", "DUMP"],
    ["--explain", "--seconds", "2", "DUMP"], ["--explain", "--seconds", "2", "--json", "DUMP"], ["--locate", "DUMP"], ["--locate", "--against-module", "OTHER", "DUMP"],
    ["--memcheck", "--racecheck", "--initcheck", "--synccheck", "DUMP"], ["--memcheck", "--racecheck", "--initcheck", "--synccheck", "--json", "DUMP"],
    ["--step", "DUMP"], ["--step", "--json", "DUMP"], ["--step", "--source", "/usr", "DUMP"], ["--reproducer", "PROGRAM", "DUMP"], ["--trust", "--info", "DUMP"],
    ["--trust", "--locate", "DUMP"], ["--reduce", "--seconds", "1", "--against-module", "OTHER", "--output", "OUT", "--reproducer", "PROGRAM", "DUMP"],
)  # fmt: skip


def main():
    replay, compiler, include, seconds, seed, findings = sys.argv[1:7]
    end, bad, count = time.monotonic() + float(seconds), 0, 0
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        run = Run(replay, compiler, include, folder)
        dump = os.path.join(folder, "dump.cwdump")
        while count < len(OPTIONS) or time.monotonic() < end:
            r = random.Random(int(seed) * 1000003 + count)
            often = count >= len(OPTIONS)
            arguments = r.choice(OPTIONS) if often else OPTIONS[count]
            # What a kernel prints goes into a file or a pipe as it is; so with --trust onto a terminal.
            terminal = r.random() < 0.5 if often else count % 2 == 1
            merged = "--json" in arguments or "--html" in arguments or len(arguments) > 2 and arguments[-2:] == ["DUMP", "DUMP"] or "folder" in arguments
            prints = "--step" not in arguments and "--trust" not in arguments and (terminal or merged)
            m = Maker(r, 0.3 * (often and r.random() < 0.1), 0.1 * (often and r.random() < 0.1), 0.1 * often, prints, None if often else "device" if "--source" in arguments else "words")
            m.dump(dump)
            with open(os.path.join(folder, "other.ptx"), "wb") as f:
                f.write(encoded(m.module().replace("0f3F800000;", "0f3F800001;")))
            if "folder" in arguments:
                names = os.path.join(folder, "folder")
                os.mkdir(names)
                shutil.copy(dump, encoded(names + "/" + m.text(60).replace("/", "_").replace("\0", "_") + ".cwdump"))
                os.mkfifo(encoded(names + "/" + "\x1b[2J\udcff\n.cwdump"))
            why = run.wrong(arguments, terminal, dump, m)
            if "folder" in arguments:
                shutil.rmtree(encoded(os.path.join(folder, "folder")))
            if why:
                bad += 1
                os.makedirs(findings, exist_ok=True)
                shutil.copy(dump, os.path.join(findings, f"{seed}-{count}.cwdump"))
                line = f"{seed}-{count}: {' '.join(arguments)}{' on a terminal' if terminal else ''}: {why}"
                with open(os.path.join(findings, f"{seed}-{count}.txt"), "w", encoding="utf-8", errors="replace") as f:
                    print(line, file=f)
                print(line, flush=True)
                for name in set(os.listdir(folder)) - {"dump.cwdump", "cache"}:
                    path = os.path.join(folder, name)
                    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
            count += 1
    print(f"{count} runs, seed {seed}: " + ", ".join(f"{n} ended with {s}" for s, n in sorted(run.statuses.items(), key=str)) + f"; {bad} findings")
    sys.exit(bad > 0 or not run.statuses.get(0))


if __name__ == "__main__":
    main()
