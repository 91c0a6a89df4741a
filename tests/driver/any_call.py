# SPDX-License-Identifier: Apache-2.0
"""any_call.py MODEL-FOLDER OUT: C code that calls each function of the driver's model with arguments of the kinds that the model says, chosen by
any_call.h. Lengths stay within the buffers, since what lies behind them is the program's fault; handles, addresses, values of enumerations and sizes
are what the dice give."""
import json
import re
import sys
from pathlib import Path

# Calls that wait for what nobody writes, that take file descriptors of this process for theirs, or that lock or end it.
LEFT_OUT = re.compile(r"cuStreamWaitValue|BatchMemOp|cuImportExternal|ImportFromShareableHandle|cuCheckpoint|cuCoredumpSet|cuLaunchGrid")
TOUCHES = re.compile(r"Memcpy|Memset|Launch|Prefetch|WriteValue|Decompress|cuLink")       # memory of other threads, also of whom began a linking
# A node's parameters are those of its type: a function or an array of pointers at the place of a number is the program's fault.
NODE = {"kernel": "KERNEL", "memcpy": "MEMCPY", "memset": "MEMSET", "host": "HOST", "graph": "GRAPH", "eventWait": "WAIT_EVENT", "eventRecord": "EVENT_RECORD",
        "extSemSignal": "EXT_SEMAS_SIGNAL", "extSemWait": "EXT_SEMAS_WAIT", "alloc": "MEM_ALLOC", "free": "MEM_FREE", "conditional": "CONDITIONAL"}


def load(folder):
    types = {}
    for t in json.loads((folder / "types.json").read_text())["types"]:
        for kind in ("alias", "handle", "struct", "union", "callback"):
            if kind in t:
                types[t[kind]] = (kind, t)
    enums = set()
    for e in json.loads((folder / "enums.json").read_text())["enums"]:
        enums.add(e["enum"] if "enum" in e else e["name"])
    functions = []
    for name in json.loads((folder / "model.json").read_text())["functions"]:
        j = json.loads((folder / name).read_text())
        functions += j if isinstance(j, list) else j["functions"]
    return types, enums, functions


class Writer:
    def __init__(self, types, enums):
        self.types, self.enums = types, enums
        self.fillers, self.tables, self.out, self.node = {}, {}, [], False

    def table(self, type_):
        self.tables[type_] = f"any_{type_}"
        return self.tables[type_]

    def kind(self, type_):
        """What it is behind its aliases."""
        kind, t = self.types.get(type_, (None, None))
        while kind == "alias" and t["type"] in self.types:
            kind, t = self.types[t["type"]]
        return kind, t

    def value(self, type_, bounded, handle=False):
        """An expression of this type."""
        type_ = type_.strip()
        bare = type_.replace("const ", "").strip()
        kind = self.kind(bare)[0]
        if "*" in type_:
            inner = bare.rstrip("*").strip()
            if bare.endswith("**"):
                return "(void *)pointers(s)"
            if inner == "char":
                return "(void *)(uintptr_t)string(s)"
            return f"({type_})" + ("data(s)" if inner == "void" else "nothing(s)")
        if kind == "handle" or handle:
            return f"({bare})handle(s, {self.table(bare)})"
        if bare.startswith("CUdeviceptr"):
            return f"({bare})address(s)"
        if bare == "CUdevice":
            return "(CUdevice)device(s)"
        if kind == "callback":
            return {"CUhostFn": "count_host", "CUstreamCallback": "count_stream"}.get(bare, f"({bare})NULL")
        if kind in ("struct", "union"):
            return None
        if bare in self.enums:
            return f"({bare})choice(s)"
        if bare in ("float", "double"):
            return f"({bare})number(s, 64)"
        return f"({bare})number(s, {64 if bounded else 0})"

    def fill(self, type_):
        """The name of a function that fills one of these."""
        if type_ not in self.fillers:
            self.fillers[type_], outer = None, self.node
            kind, t = self.kind(type_)
            body = []
            self.node = type_ == "CUgraphNodeParams"
            self.fields(t["fields"], kind == "union", "x->", body, 1)
            self.fillers[type_], self.node = f"fill_{type_}", outer
            self.out.append(f"static void\nfill_{type_}(struct dice *s, {type_} *x)\n{{\n    (void)s;\n    memset(x, 0, sizeof *x);\n" + "".join(body) + "}\n")
        return f"fill_{type_}"

    def fields(self, fields, union, where, body, depth):
        pad = "    " * depth
        if union:
            body.append(f"{pad}switch (rnd(s) % {len(fields)}) {{\n")
        for n, f in enumerate(fields):
            if union:
                body.append(f"{pad}case {n}:\n")
            if isinstance(f, dict):
                inner = f.get("struct", f.get("union"))
                name = f.get("name")
                dims = re.findall(r"\[(\w+)\]", name or "")
                name = re.sub(r"\[.*", "", name or "")
                self.fields(inner, "union" in f, where + (name + ("[0]" * len(dims)) + "." if name else ""), body, depth + 1)
            else:
                m = re.match(r"^(.*?[\s*])(\w+)((?:\[\w+\])*)$", f)
                type_, name, dims = m.group(1).strip(), m.group(2), m.group(3)
                if "(" not in f and name not in ("reserved", "pad", "padding"):
                    if union and self.node:
                        if name in NODE:
                            self.assign(type_, where + name, body, pad + "    ")
                        body.append(f"{pad}    x->type = CU_GRAPH_NODE_TYPE_{NODE.get(name, 'EMPTY')};\n")
                    else:
                        self.assign(type_, where + name + "".join("[0]" for _ in re.findall(r"\[", dims)), body, pad + ("    " if union else ""))
            if union:
                body.append(f"{pad}    break;\n")
        if union:
            body.append(f"{pad}}}\n")

    def assign(self, type_, where, body, pad):
        v = self.value(type_, True)
        if v is None:
            body.append(f"{pad}{self.fill(type_.replace('const ', ''))}(s, &{where});\n")
        else:
            body.append(f"{pad}{where} = {v};\n")

    def call(self, f):
        lengths = {}
        for p in f["params"]:
            if isinstance(p.get("length"), str):
                name = p["length"].lstrip("*")
                lengths[name] = max(lengths.get(name, 0), 4096 if p["kind"] in ("host_buffer", "string_buffer") else 8)
        if f["name"].startswith("cuMemHostRegister"):
            lengths["bytesize"] = 4096
        body, args, keep = [], [], []
        for n, p in enumerate(f["params"]):
            type_, kind, name = p["type"], p["kind"], p["name"]
            pointed = type_.replace("const ", "").strip()
            pointed = pointed[:-1].strip() if pointed.endswith("*") else None
            limit = lengths.get(name, 0)
            if kind == "string" and re.search(r"path|file|fname", name, re.I):
                arg = "(void *)(uintptr_t)\"/dev/null\""
            elif kind == "image":
                arg = "(void *)(uintptr_t)image(s)"
            elif kind == "launch_extra":
                arg = "NULL"
            elif kind == "kernel_params":
                arg = "pointers(s)"
            elif kind == "user_pointer":
                arg = "&called_back" if "*" in type_ else f"({type_})0"
            elif kind == "host_buffer" or (kind == "typed_value" and p["dir"] == "in"):
                arg = f"({type_})data(s)"
            elif kind == "array" and p["dir"] == "in" and pointed and not pointed.endswith("*") and pointed not in ("void", "char"):
                body.append(f"    {pointed} a{n}[8];\n    for (int i = 0; i < 8; i++) {{\n")
                element = self.value(pointed, True, p.get("of") == "handle")
                body.append(f"        {self.fill(pointed)}(s, &a{n}[i]);\n    }}\n" if element is None else f"        a{n}[i] = {element};\n    }}\n")
                arg = f"rnd(s) % 16 ? a{n} : NULL"
            elif p["dir"] == "inout" and pointed and pointed != "void":
                body.append(f"    {pointed} a{n};\n")
                self_value = f"({pointed})number(s, {limit or 8})" if kind in ("count", "size", "uint") else self.value(pointed, True, kind == "handle")
                body.append(f"    {self.fill(pointed)}(s, &a{n});\n" if self_value is None else f"    a{n} = {self_value};\n")
                arg = f"&a{n}"
            elif p["dir"] != "in":
                arg = f"({type_})out(s, {n})"
                if kind == "handle" and pointed and "*" not in pointed:
                    keep.append((n, pointed))
            elif pointed and kind == "struct":
                body.append(f"    {pointed} a{n};\n    {self.fill(pointed)}(s, &a{n});\n")
                arg = f"rnd(s) % 32 ? &a{n} : NULL"
            elif limit and "*" not in type_:
                arg = f"({type_})number(s, {limit})"
            else:
                arg = self.value(type_, False, kind == "handle" and "*" not in type_)
                if arg is None:
                    body.append(f"    {type_} a{n};\n    {self.fill(type_)}(s, &a{n});\n")
                    arg = f"a{n}"
            args.append(arg)
        # Arguments are made in order, whatever the compiler's.
        for n, (p, a) in enumerate(zip(f["params"], args)):
            if not re.fullmatch(r"&?a\d+|NULL|&called_back", a):
                body.append(f"    {p['type']} b{n} = {a};\n")
                args[n] = f"b{n}"
        body.append(f"    CUresult e = {f['name']}({', '.join(args)});\n    any_result(e, \"{f['name']}\");\n")
        for n, t in keep:
            body.append(f"    if (e == CUDA_SUCCESS && b{n})\n        keep(s, {self.table(t)}, (void *)(uintptr_t)*b{n});\n")
        self.out.append(f"static void\ncall_{f['name']}(struct dice *s)\n{{\n    (void)s;\n" + "".join(body) + "}\n")


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    w = Writer(*load(folder)[:2])
    functions = [f for f in load(folder)[2] if f.get("in_toolkit", True) and f.get("returns", "CUresult") == "CUresult" and not LEFT_OUT.search(f["name"])]
    for f in functions:
        w.call(f)
    # The tables of at_random.h where it has one.
    known = {"CUstream": "streams", "CUevent": "events", "CUmodule": "modules", "CUfunction": "functions", "CUarray": "arrays", "CUmipmappedArray": "mipmaps",
             "CUgraph": "graphs", "CUgraphNode": "nodes", "CUgraphExec": "execs", "CUlinkState": "links", "CUlibrary": "libraries", "CUmemoryPool": "pools",
             "CUmemGenericAllocationHandle": "pieces", "CUgreenCtx": "greens"}
    head = [f"#define any_{t} {known[t]}\n" if t in known else f"static _Atomic(void *) any_{t}[SHARED];\n" for t in sorted(w.tables)]
    own = [t for t in sorted(w.tables) if t not in known]
    head.append("static _Atomic(void *) *const any_tables[] = { " + ", ".join(f"any_{t}" for t in own) + " };\n")
    calls = [f"    {{ call_{f['name']}, {'true' if TOUCHES.search(f['name']) else 'false'} }},\n" for f in functions]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("/* Made by tests/driver/any_call.py. */\n" + "".join(head) + "\n" + "\n".join(w.out) +
                   "\nstatic const struct {\n    void (*call)(struct dice *s);\n    bool touches;           /* memory that other threads use */\n} any_calls[] = {\n" + "".join(calls) + "};\n")


main()
