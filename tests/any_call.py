# SPDX-License-Identifier: Apache-2.0
"""any_call.py driver|runtime MODEL-FOLDER OUT: C code that calls each function of a model with arguments of the kinds that the model says, chosen by
tests/any.h and the API's any_call.h. Lengths stay within the buffers, since what lies behind them is the program's fault; handles, addresses, values of
enumerations and sizes are what the dice give."""
import json
import re
import sys
from pathlib import Path


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
    """What an API's class says of it: RESULT and SUCCESS; LEFT_OUT, functions that are not called; TOUCHES, functions that use memory of other threads;
    TABLES, handles that have a table by another name than any_TYPE; CALLBACKS, functions by their types; MADE, types whose fill_TYPE any_call.h has;
    CHOSEN, by a structure's type, its field that says which member of the union holds, and each member's value."""

    def __init__(self, types, enums):
        self.types, self.enums = types, enums
        self.fillers, self.tables, self.out, self.chosen, self.function = {t: f"fill_{t}" for t in self.MADE}, {}, [], None, ""

    def table(self, type_):
        self.tables[type_] = f"any_{type_}"
        return self.tables[type_]

    def kind(self, type_):
        """What it is behind its aliases."""
        kind, t = self.types.get(type_, (None, None))
        while kind == "alias" and t["type"] in self.types:
            kind, t = self.types[t["type"]]
        return kind, t

    def pointed(self, type_, inner, name):
        """An expression for a pointer that is no handle, string or result."""
        return f"({type_})" + ("data(s)" if inner == "void" else "nothing(s)")

    def plain(self, bare):
        """An expression for a type that the API gives a meaning of its own, or None."""

    def value(self, type_, bounded, handle=False, name=""):
        """An expression of this type; None: a structure."""
        type_ = type_.strip()
        bare = type_.replace("const ", "").strip()
        kind = self.kind(bare)[0]
        if "*" in type_:
            inner = bare.rstrip("*").strip()
            if bare.endswith("**"):
                return "(void *)pointers(s)"
            if inner == "char":
                return "(void *)(uintptr_t)string(s)"
            return self.pointed(type_, inner, name)
        if kind == "handle" or handle:
            return f"({bare})handle(s, {self.table(bare)})"
        if self.plain(bare):
            return self.plain(bare)
        if kind == "callback":
            return self.CALLBACKS.get(bare, f"({bare})NULL")
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
            self.fillers[type_], outer = None, self.chosen
            kind, t = self.kind(type_)
            body = []
            self.chosen = self.CHOSEN.get(type_)
            self.fields(t["fields"], kind == "union", "x->", body, 1)
            self.fillers[type_], self.chosen = f"fill_{type_}", outer
            self.out.append(f"static void\nfill_{type_}(struct dice *s, {type_} *x)\n{{\n    (void)s;\n    memset(x, 0, sizeof *x);\n" + "".join(body) + "}\n")
        return f"fill_{type_}"

    def member(self, name, body, pad):
        """The union's member of this name is the one that holds."""
        field, values, other = self.chosen
        if values.get(name, other):
            body.append(f"{pad}x->{field} = {values.get(name, other)};\n")

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
                if union and self.chosen:
                    self.member(name, body, pad + "    ")
            else:
                m = re.match(r"^(.*?[\s*])(\w+)((?:\[\w+\])*)$", f)
                type_, name, dims = m.group(1).strip(), m.group(2), m.group(3)
                if "(" not in f and name not in ("reserved", "pad", "padding"):
                    if union and self.chosen:
                        if name in self.chosen[1]:
                            self.assign(type_, where + name, body, pad + "    ")
                        self.member(name, body, pad + "    ")
                    else:
                        self.assign(type_, where + name + "".join("[0]" for _ in re.findall(r"\[", dims)), body, pad + ("    " if union else ""))
            if union:
                body.append(f"{pad}    break;\n")
        if union:
            body.append(f"{pad}}}\n")

    def assign(self, type_, where, body, pad):
        kind, t = self.kind(type_)
        if kind == "alias" and t["type"].startswith("CU"):      # a structure of the driver's model: stays zero
            return
        v = self.value(type_, True, name=re.sub(r".*[.>]", "", where))
        if v is None:
            body.append(f"{pad}{self.fill(type_.replace('const ', ''))}(s, &{where});\n")
        else:
            body.append(f"{pad}{where} = {v};\n")

    def lengths(self, f):
        """The most that a number may be, by the parameter's name: a buffer's length."""
        lengths = {}
        for p in f["params"]:
            if isinstance(p.get("length"), str):
                name = p["length"].lstrip("*")
                lengths[name] = max(lengths.get(name, 0), 4096 if p["kind"] in ("host_buffer", "string_buffer") else 8)
        return lengths

    def kept(self, f, p):
        """The table that a result of this parameter goes to, or None."""
        inner = p["type"].replace("const ", "").strip()[:-1].strip()
        return self.table(inner) if p["kind"] == "handle" and "*" not in inner else None

    def call(self, f):
        lengths = self.lengths(f)
        body, args, keep, self.function = [], [], [], f["name"]
        for n, p in enumerate(f["params"]):
            type_, kind, name = p["type"], p["kind"], p["name"]
            pointed = type_.replace("const ", "").strip()
            pointed = pointed[:-1].strip() if pointed.endswith("*") else None
            limit = lengths.get(name, 0)
            if kind == "string" and p["dir"] == "in" and re.search(r"path|file|fname", name, re.I):
                arg = "(void *)(uintptr_t)\"/dev/null\""
            elif kind == "device" and p["dir"] == "in":
                arg = f"({type_})device(s)"
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
            elif kind == "array" and p["dir"] == "in" and pointed and (not pointed.endswith("*") or p.get("of") == "host_pointer") and pointed not in ("void", "char"):
                pointed = re.sub(r"\*\s*const$", "*", type_.strip()[:-1].strip()) if pointed.endswith(("*", "*const")) else pointed
                body.append(f"    {pointed} a{n}[8];\n    for (int i = 0; i < 8; i++) {{\n")
                element = self.value(pointed, True, p.get("of") == "handle", name)
                body.append(f"        {self.fill(pointed)}(s, &a{n}[i]);\n    }}\n" if element is None else f"        a{n}[i] = {element};\n    }}\n")
                arg = f"rnd(s) % 16 ? a{n} : NULL"
            elif p["dir"] == "inout" and pointed and pointed != "void":
                body.append(f"    {pointed} a{n};\n")
                self_value = f"({pointed})number(s, {limit or 8})" if kind in ("count", "size", "uint") else self.value(pointed, True, kind == "handle")
                body.append(f"    {self.fill(pointed)}(s, &a{n});\n" if self_value is None else f"    a{n} = {self_value};\n")
                arg = f"&a{n}"
            elif p["dir"] != "in":
                arg = f"({type_})out(s, {n})"
                if self.kept(f, p):
                    keep.append((n, self.kept(f, p)))
            elif pointed and kind == "struct":
                body.append(f"    {pointed} a{n};\n    {self.fill(pointed)}(s, &a{n});\n")
                arg = f"rnd(s) % 32 ? &a{n} : NULL"
            elif limit and "*" not in type_:
                arg = f"({type_})number(s, {limit})"
            else:
                arg = self.value(type_, False, kind == "handle" and "*" not in type_, name)
                if arg is None:
                    body.append(f"    {type_} a{n};\n    {self.fill(type_)}(s, &a{n});\n")
                    arg = f"a{n}"
            args.append(arg)
        # Arguments are made in order, whatever the compiler's.
        for n, (p, a) in enumerate(zip(f["params"], args)):
            if not re.fullmatch(r"&?a\d+|NULL|&called_back", a):
                body.append(f"    {p['type']} b{n} = {a};\n")
                args[n] = f"b{n}"
        body.append(f"    {self.RESULT} e = {f['name']}({', '.join(args)});\n    any_result(e, \"{f['name']}\");\n")
        for n, t in keep:
            body.append(f"    if (e == {self.SUCCESS} && b{n})\n        keep(s, {t}, (void *)(uintptr_t)*b{n});\n")
        self.out.append(f"static void\ncall_{f['name']}(struct dice *s)\n{{\n    (void)s;\n" + "".join(body) + "}\n")

    def text(self, functions):
        for f in functions:
            self.call(f)
        head = [f"#define any_{t} {self.TABLES[t]}\n" if t in self.TABLES else f"static _Atomic(void *) any_{t}[SHARED];\n" for t in sorted(self.tables)]
        own = [t for t in sorted(self.tables) if t not in self.TABLES]
        head.append("static _Atomic(void *) *const any_tables[] = { " + ", ".join(f"any_{t}" for t in own) + " };\n")
        calls = [f"    {{ call_{f['name']}, {'true' if self.TOUCHES.search(f['name']) else 'false'} }},\n" for f in functions]
        return ("/* Made by tests/any_call.py. */\n" + "".join(head) + "\n" + "\n".join(self.out) +
                "\nstatic const struct {\n    void (*call)(struct dice *s);\n    bool touches;           /* memory that other threads use */\n} any_calls[] = {\n" + "".join(calls) + "};\n")


class Driver(Writer):
    RESULT, SUCCESS = "CUresult", "CUDA_SUCCESS"
    # Calls that wait for what nobody writes, that take file descriptors of this process for theirs, or that lock or end it.
    LEFT_OUT = re.compile(r"cuStreamWaitValue|BatchMemOp|cuImportExternal|ImportFromShareableHandle|cuCheckpoint|cuCoredumpSet|cuLaunchGrid")
    TOUCHES = re.compile(r"Memcpy|Memset|Launch|Prefetch|WriteValue|Decompress|cuLink")       # also of whom began a linking
    # The tables of at_random.h.
    TABLES = {"CUstream": "streams", "CUevent": "events", "CUmodule": "modules", "CUfunction": "functions", "CUarray": "arrays", "CUmipmappedArray": "mipmaps",
              "CUgraph": "graphs", "CUgraphNode": "nodes", "CUgraphExec": "execs", "CUlinkState": "links", "CUlibrary": "libraries", "CUmemoryPool": "pools",
              "CUmemGenericAllocationHandle": "pieces", "CUgreenCtx": "greens"}
    CALLBACKS = {"CUhostFn": "count_host", "CUstreamCallback": "count_stream"}
    MADE = ()
    # A node's parameters are those of its type: a function or an array of pointers at the place of a number is the program's fault.
    CHOSEN = {"CUgraphNodeParams": ("type", {name: f"CU_GRAPH_NODE_TYPE_{t}" for name, t in {
        "kernel": "KERNEL", "memcpy": "MEMCPY", "memset": "MEMSET", "host": "HOST", "graph": "GRAPH", "eventWait": "WAIT_EVENT", "eventRecord": "EVENT_RECORD",
        "extSemSignal": "EXT_SEMAS_SIGNAL", "extSemWait": "EXT_SEMAS_WAIT", "alloc": "MEM_ALLOC", "free": "MEM_FREE", "conditional": "CONDITIONAL"}.items()},
        "CU_GRAPH_NODE_TYPE_EMPTY")}

    @staticmethod
    def calls(f):
        return f.get("in_toolkit", True)

    def plain(self, bare):
        if bare.startswith("CUdeviceptr"):
            return f"({bare})address(s)"
        return "(CUdevice)device(s)" if bare == "CUdevice" else None

    def lengths(self, f):
        lengths = super().lengths(f)
        if f["name"].startswith("cuMemHostRegister"):
            lengths["bytesize"] = 4096
        return lengths


class Runtime(Writer):
    RESULT, SUCCESS = "cudaError_t", "cudaSuccess"
    # What compilers write calls of, and what the driver's model leaves out or has no other end of here; lists of buffers by their sizes.
    LEFT_OUT = re.compile(r"^__cuda(Register|Unregister|Init)|External|Graphics|GL|EGL|VDPAU|NvSci|ImportFromShareableHandle|Logs|cudaMemRangeGetAttributes")
    TOUCHES = re.compile(r"Memcpy|Memset|Launch|Prefetch|Discard")
    TABLES = {"cudaArray_const_t": "any_cudaArray_t", "cudaMipmappedArray_const_t": "any_cudaMipmappedArray_t", "cudaGraphDeviceNode_t": "any_cudaGraphNode_t"}
    NUMBERS = ("cudaTextureObject_t", "cudaSurfaceObject_t", "cudaGraphConditionalHandle")       # handles that are numbers in C
    CALLBACKS = {"cudaHostFn_t": "count_host", "cudaStreamCallback_t": "count_stream"}
    MADE = ("dim3",)
    CHOSEN = {"cudaGraphNodeParams": ("type", {name: f"cudaGraphNodeType{t}" for name, t in {
        "kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset", "host": "Host", "graph": "Graph", "eventWait": "WaitEvent", "eventRecord": "EventRecord",
        "extSemSignal": "ExtSemaphoreSignal", "extSemWait": "ExtSemaphoreWait", "alloc": "MemAlloc", "free": "MemFree", "conditional": "Conditional"}.items()},
        "cudaGraphNodeTypeEmpty"),
        # A handle is no address of memory.
        "cudaMemcpy3DOperand": ("type", {"ptr": "cudaMemcpyOperandTypePointer", "array": "cudaMemcpyOperandTypeArray"}, None)}

    @staticmethod
    def calls(f):
        return 13 in f.get("in", [13])

    def plain(self, bare):
        return f"({bare})(uintptr_t)handle(s, {self.table(bare)})" if bare in self.NUMBERS else None

    def pointed(self, type_, inner, name):
        if inner != "void":
            return f"({type_})nothing(s)"
        if re.search(r"func|symbol|entry", name, re.I):
            return f"({type_})name(s)"
        if re.search(r"^value|Values|^data|shareable|dptr_out|userData", name):
            return f"({type_})data(s)"
        return f"({type_})" + ("pinned_place(s)" if re.match(r"cudaFreeHost|cudaHostGet", self.function) else "place(s)")

    def lengths(self, f):
        lengths = super().lengths(f)
        if any(p["kind"] == "host_pointer" and p["dir"] == "in" for p in f["params"]):
            sizes = [p["name"] for p in f["params"] if p["kind"] == "size" and p["dir"] == "in"]
            lengths.update({name: 4096 if len(sizes) < 3 else 256 for name in sizes if name not in lengths})
        return lengths

    def kept(self, f, p):
        if p["kind"] == "host_pointer":
            return {"cudaMallocHost": "pinned", "cudaHostAlloc": "pinned"}.get(f["name"], "memory") if re.match(r"cuda(Malloc|HostAlloc)", f["name"]) else None
        inner = p["type"].replace("const ", "").strip()[:-1].strip()
        return self.table(inner) if inner in self.NUMBERS else super().kept(f, p)


def main():
    api, folder, out = {"driver": Driver, "runtime": Runtime}[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    types, enums, functions = load(folder)
    w = api(types, enums)
    chosen = [f for f in functions if api.calls(f) and f.get("returns", api.RESULT) == api.RESULT and not api.LEFT_OUT.search(f["name"])]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(w.text(chosen))


main()
