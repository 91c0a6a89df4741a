/* SPDX-License-Identifier: Apache-2.0
 * What each fault gives: a line `NAME CODE` each, CODE the CUresult that the program sees first (0: the work succeeded, SIG<n>: the process was ended
 * by signal n, hang: it did not end in 120 s). Every fault is in a process of its own.
 *
 *     fault_table [--library LIBCUDA] [NAME...]       the default library is libcuda.so.1 */
#define _GNU_SOURCE
#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4 << 20, TIME_S = 120 };

#define FUNCTIONS(X) X(cuInit) X(cuCtxCreate_v2) X(cuCtxSynchronize) X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuMemAlloc_v2) \
    X(cuMemFree_v2) X(cuMemcpyDtoH_v2) X(cuMemcpy) X(cuMemsetD32_v2) X(cuMemsetD32Async) X(cuMemAddressReserve) X(cuMemCreate) X(cuMemMap) \
    X(cuMemSetAccess) X(cuMemUnmap) X(cuStreamCreate) X(cuStreamSynchronize) X(cuLaunchHostFunc) X(cuGraphCreate) X(cuGraphAddMemsetNode) \
    X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuCtxGetCurrent)
static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} cu;

#define TRY(call) do { CUresult e_ = cu.call; if (e_ != CUDA_SUCCESS) return e_; } while (0)

/* ---- kernels: the parameter is SIZE bytes of memory, aligned to 2 MiB ---- */

#define BEGIN ".version 7.1\n.target sm_60\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 p)\n{\n    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .b16 %h<4>; .reg .pred %q<2>;\n" \
    "    .local .align 16 .b8 l[64]; .shared .align 16 .b8 s[64];\n    ld.param.u64 %d1, [p];\n    mov.u32 %r1, 1; mov.u64 %d2, 1;\n"
#define K(body) BEGIN ENTRY "    " body "\n    ret;\n}\n"
#define AT(offset) "add.u64 %d1, %d1, " #offset "; "

static const struct kernel {
    const char *name, *text;
} kernels[] = {
    { "global.null", K("mov.u64 %d1, 0; st.global.u32 [%d1], %r1;") },
    { "global.behind", K(AT(0x10000000000) "st.global.u32 [%d1], %r1;") },
    { "global.not_canonical", K("mov.u64 %d1, 0x8123456789abcdef; and.b64 %d1, %d1, -16; st.global.u32 [%d1], %r1;") },
    { "misaligned.global.load.u16", K(AT(1) "ld.global.u16 %h1, [%d1]; st.global.u16 [%d1+63], %h1;") },
    { "misaligned.global.load.u32", K(AT(2) "ld.global.u32 %r2, [%d1]; st.global.u32 [%d1+62], %r2;") },
    { "misaligned.global.load.u64", K(AT(4) "ld.global.u64 %d3, [%d1]; st.global.u64 [%d1+60], %d3;") },
    { "misaligned.global.store.u16", K(AT(1) "st.global.u16 [%d1], %r1;") },
    { "misaligned.global.store.u32", K(AT(2) "st.global.u32 [%d1], %r1;") },
    { "misaligned.global.store.u64", K(AT(4) "st.global.u64 [%d1], %d2;") },
    { "misaligned.global.store.v2.u32", K(AT(4) "st.global.v2.u32 [%d1], {%r1, %r1};") },
    { "misaligned.global.store.v4.u32", K(AT(8) "st.global.v4.u32 [%d1], {%r1, %r1, %r1, %r1};") },
    { "misaligned.global.store.v2.u64", K(AT(8) "st.global.v2.u64 [%d1], {%d2, %d2};") },
    { "misaligned.global.lanes.u32", K("mov.u32 %r2, %tid.x; mul.wide.u32 %d3, %r2, 6; add.u64 %d1, %d1, %d3; st.global.u32 [%d1], %r1;") },
    { "misaligned.global.atom.u32", K(AT(2) "atom.global.add.u32 %r2, [%d1], %r1;") },
    { "misaligned.global.atom.u64", K(AT(4) "atom.global.add.u64 %d3, [%d1], %d2;") },
    { "misaligned.global.volatile.u32", K(AT(2) "st.volatile.global.u32 [%d1], %r1;") },
    { "misaligned.shared.store.u32", K("st.shared.u32 [s+2], %r1;") },
    { "misaligned.shared.register.u32", K("cvt.u32.u64 %r3, %d1; and.b32 %r3, %r3, 1; add.u32 %r3, %r3, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r1;") },
    { "misaligned.shared.atom.u32", K("mov.u32 %r4, s; add.u32 %r4, %r4, 2; atom.shared.add.u32 %r2, [%r4], %r1;") },
    { "misaligned.local.store.u32", K("cvt.u32.u64 %r3, %d1; and.b32 %r3, %r3, 1; add.u32 %r3, %r3, 2; mov.u32 %r4, l; add.u32 %r4, %r4, %r3; st.local.u32 [%r4], %r1; ld.local.u32 %r5, [l]; st.global.u32 [%d1], %r5;") },
    { "shared.behind", K("mov.u32 %r4, s; add.u32 %r4, %r4, 0x1000000; st.shared.u32 [%r4], %r1;") },
    { "local.behind", K("ld.global.u32 %r2, [%d1]; cvt.u64.u32 %d4, %r2; mov.u64 %d3, l; add.u64 %d3, %d3, %d4; add.u64 %d3, %d3, 0x1000000; ld.local.u32 %r5, [%d3]; st.global.u32 [%d1], %r5;") },
    { "local.far_behind", K("ld.global.u32 %r2, [%d1]; cvt.u64.u32 %d4, %r2; mov.u64 %d3, l; add.u64 %d3, %d3, %d4; add.u64 %d3, %d3, 0x70000000; ld.local.u32 %r5, [%d3]; st.global.u32 [%d1], %r5;") },
    { "local.before", K("ld.global.u32 %r2, [%d1]; cvt.u64.u32 %d4, %r2; mov.u64 %d3, l; add.u64 %d3, %d3, %d4; sub.u64 %d3, %d3, 0x1000000; ld.local.u32 %r5, [%d3]; st.global.u32 [%d1], %r5;") },
    { "generic.local.atom", K("mov.u64 %d3, l; cvta.local.u64 %d3, %d3; atom.add.u32 %r2, [%d3], %r1; st.global.u32 [%d1], %r2;") },
    { "trap", K("trap;") },
    { "brkpt", K("brkpt;") },
    { "division", K("mov.u32 %r2, 0; div.u32 %r3, %r1, %r2; st.global.u32 [%d1], %r3;") },
    { "assert", BEGIN ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n.global .b8 t[2] = {120, 0};\n"
      ENTRY "    mov.u64 %d3, t; cvta.global.u64 %d3, %d3;\n    { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
      "    st.param.b64 [a], %d3; st.param.b64 [b], %d3; st.param.b32 [c], 1; st.param.b64 [d], %d3; st.param.b64 [e], 1;\n"
      "    call.uni __assertfail, (a, b, c, d, e); }\n    ret;\n}\n" },
    { "recursion", BEGIN ".func (.param .b32 r) f(.param .b32 n)\n{\n    .reg .b32 %r<4>; .local .b8 l[1024]; .reg .b64 %d<3>;\n    ld.param.b32 %r1, [n];\n"
      "    mov.u64 %d1, l; st.volatile.local.u32 [%d1], %r1; add.u32 %r1, %r1, 1;\n    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
      "    call.uni (b), f, (a); ld.param.b32 %r2, [b]; }\n    ld.volatile.local.u32 %r3, [%d1]; add.u32 %r2, %r2, %r3; st.param.b32 [r], %r2;\n    ret;\n}\n"
      ENTRY "    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f, (a); ld.param.b32 %r2, [b]; }\n    st.global.u32 [%d1], %r2;\n    ret;\n}\n" },
    { "call.nowhere", BEGIN ".func g()\n{\n    ret;\n}\n" ENTRY "    mov.u64 %d3, 64;\nT: .callprototype _ ();\n    call %d3, (), T;\n    ret;\n}\n" },
};

static CUresult
run_kernel(const char *text)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    void *params[] = { &p };
    TRY(cuMemAlloc_v2(&p, SIZE));
    TRY(cuMemsetD32_v2(p, 0, SIZE / 4));
    TRY(cuModuleLoadData(&m, text));
    TRY(cuModuleGetFunction(&f, m, "k"));
    TRY(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    return cu.cuCtxSynchronize();
}

/* ---- the host's calls ---- */

static CUresult
freed_kernel(void)
{
    CUdeviceptr p, q;
    CUmodule m;
    CUfunction f;
    void *params[] = { &p };
    TRY(cuMemAlloc_v2(&q, SIZE));
    TRY(cuMemAlloc_v2(&p, SIZE));
    TRY(cuMemFree_v2(p));
    TRY(cuModuleLoadData(&m, K("st.global.u32 [%d1], %r1;")));
    TRY(cuModuleGetFunction(&f, m, "k"));
    TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cu.cuCtxSynchronize();
}

static CUresult
host_kernel(void)
{
    CUdeviceptr p = (uintptr_t)malloc(64);
    CUmodule m;
    CUfunction f;
    void *params[] = { &p };
    TRY(cuModuleLoadData(&m, K("st.global.u32 [%d1], %r1;")));
    TRY(cuModuleGetFunction(&f, m, "k"));
    TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cu.cuCtxSynchronize();
}

static CUresult
freed_copy(void)
{
    CUdeviceptr p;
    int v;
    TRY(cuMemAlloc_v2(&p, SIZE));
    TRY(cuMemFree_v2(p));
    return cu.cuMemcpyDtoH_v2(&v, p, 4);
}

static CUresult
freed_copy_unified(void)
{
    CUdeviceptr p, q;
    TRY(cuMemAlloc_v2(&q, SIZE));
    TRY(cuMemAlloc_v2(&p, SIZE));
    TRY(cuMemFree_v2(p));
    TRY(cuMemcpy(q, p, 4));
    return cu.cuCtxSynchronize();
}

static CUresult
freed_graph(void)
{
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUcontext c;
    CUDA_MEMSET_NODE_PARAMS set = { .elementSize = 4, .value = 3, .width = 100, .height = 1 };
    TRY(cuCtxGetCurrent(&c));
    TRY(cuMemAlloc_v2(&set.dst, SIZE));
    TRY(cuGraphCreate(&g, 0));
    TRY(cuGraphAddMemsetNode(&n, g, NULL, 0, &set, c));
    TRY(cuGraphInstantiateWithFlags(&x, g, 0));
    TRY(cuMemFree_v2(set.dst));
    TRY(cuGraphLaunch(x, NULL));
    return cu.cuCtxSynchronize();
}

static CUresult
map(CUdeviceptr *p, CUmemAccess_flags flags)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemAccessDesc access = { prop.location, flags };
    CUmemGenericAllocationHandle h;
    TRY(cuMemAddressReserve(p, SIZE, 0, 0, 0));
    TRY(cuMemCreate(&h, SIZE, &prop, 0));
    TRY(cuMemMap(*p, SIZE, 0, h, 0));
    return cu.cuMemSetAccess(*p, SIZE, &access, 1);
}

static CUresult
unmapped_kernel(void)
{
    CUdeviceptr p;
    CUmodule m;
    CUfunction f;
    void *params[] = { &p };
    TRY(cuModuleLoadData(&m, K("st.global.u32 [%d1], %r1;")));
    TRY(cuModuleGetFunction(&f, m, "k"));
    CUresult e = map(&p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (e != CUDA_SUCCESS)
        return e;
    TRY(cuMemUnmap(p, SIZE));
    TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cu.cuCtxSynchronize();
}

static void CUDA_CB
wait_a_little(void *unused)
{
    (void)unused;
    usleep(300000);
}

static CUresult
unmapped_fill(void)
{
    CUdeviceptr p;
    CUstream s;
    TRY(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUresult e = map(&p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (e != CUDA_SUCCESS)
        return e;
    TRY(cuLaunchHostFunc(s, wait_a_little, NULL));
    TRY(cuMemsetD32Async(p, 7, 100, s));
    TRY(cuMemUnmap(p, SIZE));
    return cu.cuStreamSynchronize(s);
}

static const struct call {
    const char *name;
    CUresult (*run)(void);
} calls[] = {
    { "kernel.freed", freed_kernel }, { "kernel.host_memory", host_kernel }, { "kernel.unmapped", unmapped_kernel }, { "copy.freed", freed_copy },
    { "copy.freed.unified", freed_copy_unified }, { "graph.freed", freed_graph }, { "fill.unmapped_while_queued", unmapped_fill },
};

/* ---- all of them ---- */

static void
child(const char *library, int to, const char *text, CUresult (*run)(void))
{
    CUcontext c;
    void *h = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!h) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(2);
    }
#define X(name) if (!(cu.name = (__typeof__(name) *)dlsym(h, #name))) _exit(2);
    FUNCTIONS(X)
#undef X
    alarm(TIME_S);
    CUresult e = cu.cuInit(0);
    if (e == CUDA_SUCCESS)
        e = cu.cuCtxCreate_v2(&c, 0, 0);
    if (e == CUDA_SUCCESS)
        e = text ? run_kernel(text) : run();
    _exit(write(to, &e, sizeof e) == sizeof e ? 0 : 2);
}

static bool
report(const char *library, const char *name, const char *text, CUresult (*run)(void))
{
    int p[2], status = 0;
    CUresult e;
    if (pipe(p))
        return false;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        child(library, p[1], text, run);
    close(p[1]);
    bool got = pid > 0 && read(p[0], &e, sizeof e) == sizeof e;
    close(p[0]);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        return false;
    if (got)
        printf("%s %d\n", name, (int)e);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("%s hang\n", name);
    else
        printf("%s SIG%d\n", name, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return true;
}

static bool
wanted(const char *name, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

int
main(int argc, char **argv)
{
    const char *library = "libcuda.so.1";
    char **names = argv + 1;
    if (argc > 2 && !strcmp(argv[1], "--library")) {
        library = argv[2];
        names += 2;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof kernels / sizeof *kernels; i++)
        if (wanted(kernels[i].name, names))
            ok = report(library, kernels[i].name, kernels[i].text, NULL);
    for (size_t i = 0; ok && i < sizeof calls / sizeof *calls; i++)
        if (wanted(calls[i].name, names))
            ok = report(library, calls[i].name, NULL, calls[i].run);
    return ok ? 0 : 2;
}
