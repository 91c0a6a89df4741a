# SPDX-License-Identifier: Apache-2.0
"""cudaway-cc as a function."""

import os
import subprocess
import tempfile

from ._installation import Error, program


class CompileError(Error):
    """The compiler's own text."""


def _is_ptx(text):
    """PTX begins with a directive, behind comments."""
    text = text.lstrip()
    while text.startswith(("//", "/*")):
        end = text.find("\n") if text.startswith("//") else text.find("*/") + 1
        if end <= 0:
            return False
        text = text[end + 1:].lstrip()
    return text.startswith(".version")


def compile(source, target=None, language=None, arch=80, include=(), define=None, compiler=None, options=()):
    """Compile CUDA C or PTX.

    source    a path, or the text itself (str or bytes with a newline or a brace in it)
    target    None: PTX, which runs on every device. Else what cudaway-cc's --target takes: "gfx1100", or ["gfx1100", "gfx90a"] for a container
    language  "cuda" or "ptx"; by the file's name or the text where it is None
    arch      the compute capability that CUDA C is compiled for
    include, define, compiler, options   folders, a dict of macros, what compiles CUDA C, further arguments of cudaway-cc

    Returns bytes. Raises CompileError with what the compiler printed.
    """
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    if isinstance(source, bytes):
        source = source.decode("utf-8", "surrogateescape")
    is_text = "\n" in source or "{" in source
    arguments = []
    for folder in include:
        arguments += ["-I", os.fspath(folder)]
    for name, value in (define or {}).items():
        arguments += ["-D", f"{name}={value}"]
    if compiler is not None:
        arguments += ["--compiler", compiler]
    if target is None:
        arguments += ["--emit", "ptx"]
    else:
        arguments += ["--target", target if isinstance(target, str) else ",".join(target)]
    with tempfile.TemporaryDirectory(prefix="cudaway-") as folder:
        if is_text:
            if language is None:
                language = "ptx" if _is_ptx(source) else "cuda"
            if language not in ("cuda", "ptx"):
                raise ValueError(f"language is 'cuda' or 'ptx', not {language!r}")
            path = os.path.join(folder, "source.cu" if language == "cuda" else "source.ptx")
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
                f.write(source)
        else:
            path = source
        if path.endswith((".cu", ".cuda")):
            arguments += ["--arch", str(arch)]
        out = os.path.join(folder, "out")
        done = subprocess.run([program("cudaway-cc"), path, *arguments, *options, "-o", out], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        if done.returncode:
            raise CompileError(done.stdout.strip() or f"cudaway-cc ended with status {done.returncode}")
        with open(out, "rb") as f:
            return f.read()
