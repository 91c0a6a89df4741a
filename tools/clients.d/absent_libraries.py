# SPDX-License-Identifier: Apache-2.0
"""Libraries of NVIDIA's (cuBLAS, cuDNN, ...) that a client links but whose work a test does not ask for: small ones in their place, with the functions that
the client imports. Those that make or end a handle, or set its stream or mode, succeed; all others say 15, which is "not supported" in cuBLAS and an error in all."""
import ctypes
import os
import re
import subprocess

HARMLESS = re.compile(r"(Lt|Dn|cublas|cudnn|cufft)(Create|Destroy|SetStream)(_v2)?$|MathMode$")


def imports(library):
    """The functions that a library imports: by the version's name, which is the providing library's, or by a prefix."""
    table = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True).stdout
    for row in table.splitlines():
        column = row.split()
        if len(column) > 7 and column[6] == "UND":
            name, _, version = column[7].partition("@")
            yield name, version


def stand_in(library, sonames, folder="absent"):
    """Builds, in `folder`, what `library` needs of each of `sonames`, and loads it, so that the loader finds the name taken."""
    os.makedirs(folder, exist_ok=True)
    wanted = list(imports(library))
    for soname, prefix in sonames.items():
        names = sorted(n for n, version in wanted if version == soname or not version and n.startswith(prefix))
        path = os.path.abspath(os.path.join(folder, soname))
        with open(path + ".c", "w") as source:
            for n in names:
                if n.endswith("String"):
                    source.write(f'const char *{n}(int e) {{ return "{soname} is absent"; }}\n')
                elif n.endswith("GetVersion"):
                    source.write(f"unsigned long {n}(void) {{ return 91000; }}\n")
                elif "Create" in n and HARMLESS.search(n):
                    source.write(f"int {n}(void **handle) {{ *handle = (void *)16; return 0; }}\n")
                else:
                    source.write(f"int {n}(void) {{ return {0 if HARMLESS.search(n) else 15}; }}\n")
        with open(path + ".map", "w") as versions:
            versions.write(f"{soname} {{ global: *; }};\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", path, path + ".c", f"-Wl,-soname,{soname}"] +
                       ([f"-Wl,--version-script,{path}.map"] if any(version == soname for _, version in wanted) else []), check=True)
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
