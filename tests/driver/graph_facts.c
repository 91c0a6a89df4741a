/* SPDX-License-Identifier: Apache-2.0
 * What a driver answers where graphs and stream capture are used rightly and wrongly, one line a fact: the same program runs on
 * NVIDIA's driver (graph_observed.txt holds what it printed) and on this one, and the lines must agree. Each section runs in a
 * process of its own, so that a crash costs one section. The sections are in graph_capture.c, graph_built.c and graph_calls.c. */
#include "tests/driver/graph_facts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .u32 global;\n"
    ".visible .entry mad(.param .u64 p, .param .u32 n, .param .u32 m, .param .u32 a) {\n"
    "  .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [m]; ld.param.u32 %r2, [a];\n"
    "  mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r3, %r4, %r5, %r3;\n"
    "  setp.ge.u32 %q, %r3, %r0; @%q ret;\n"
    "  mul.wide.u32 %d1, %r3, 4; add.u64 %d0, %d0, %d1; ld.global.u32 %r6, [%d0];\n"
    "  mad.lo.u32 %r6, %r6, %r1, %r2; st.global.u32 [%d0], %r6; ret;\n}\n"
    ".visible .entry zero(.param .u64 p) {\n"
    "  .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p]; mov.u32 %r, 0; st.global.u32 [%d], %r; ret;\n}\n";

CUcontext ctx;
CUmodule mod;
CUfunction mad, zero;
CUdeviceptr mem, mem2;
void *pinned;
uint32_t pageable[64];
bool strict;

void
setup(void)
{
    CUdevice dev;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&dev, 0));
    MUST(cuCtxCreate_v2(&ctx, 0, dev));
    MUST(cuModuleLoadData(&mod, ptx));
    MUST(cuModuleGetFunction(&mad, mod, "mad"));
    MUST(cuModuleGetFunction(&zero, mod, "zero"));
    MUST(cuMemAlloc_v2(&mem, 4096));
    MUST(cuMemAlloc_v2(&mem2, 4096));
    MUST(cuMemHostAlloc(&pinned, 4096, 0));
    MUST(cuMemsetD8_v2(mem, 0, 4096));
    MUST(cuCtxSynchronize());
}

CUresult
launch(CUstream s, CUfunction f)
{
    uint32_t n = 16, m = 2, a = 1;
    void *args[] = { &mem, &n, &m, &a };
    return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, args, NULL);
}

void
fact(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

int
status(CUstream s)
{
    CUstreamCaptureStatus st = 77;
    CUresult r = cuStreamIsCapturing(s, &st);
    return r ? 1000 + (int)r : (int)st;
}

CUstream
stream(unsigned flags)
{
    CUstream s;
    MUST(cuStreamCreate(&s, flags));
    return s;
}

CUevent
event(void)
{
    CUevent e;
    MUST(cuEventCreate(&e, 0));
    return e;
}

int
place(CUgraph g, CUgraphNode n)
{
    CUgraphNode list[64];
    size_t count = COUNT(list);
    if (!g || cuGraphGetNodes(g, list, &count))
        return -2;
    for (size_t i = 0; i < count; i++)
        if (list[i] == n)
            return (int)i;
    return -1;
}

void
shape(const char *name, CUgraph g)
{
    CUgraphNode n[64], from[128], to[128];
    size_t count = COUNT(n), edges = COUNT(from);
    CUresult r = cuGraphGetNodes(g, n, &count);
    if (r) {
        fact("%s: no nodes: %d", name, (int)r);
        return;
    }
    printf("%s:", name);
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType t = -1;
        (void)cuGraphNodeGetType(n[i], &t);
        printf(" %d", (int)t);
    }
    r = cuGraphGetEdges(g, from, to, &edges);
    printf(" edges");
    /* sorted: the order of edges is nowhere promised */
    unsigned char has[64][64] = { 0 };
    for (size_t i = 0; !r && i < edges; i++)
        has[place(g, from[i]) & 63][place(g, to[i]) & 63]++;
    for (int a = 0; a < 64; a++)
        for (int b = 0; b < 64; b++)
            if (has[a][b])
                printf(" %d-%d%s", a, b, has[a][b] > 1 ? "!" : "");
    fact("");
}

void
nothing(void *p)
{
}

CUresult call_result;

void *
in_thread(void *call)
{
    MUST(cuCtxSetCurrent(ctx));
    call_result = ((CUresult (*)(void))(uintptr_t)call)();
    return NULL;
}

void
copy_params(const char *name, CUgraphNode n)
{
    CUDA_MEMCPY3D p;
    memset(&p, 0x55, sizeof p);
    CUresult r = cuGraphMemcpyNodeGetParams(n, &p);
    fact("%s: %d, %zu x %zu x %zu, src type %d x %zu y %zu z %zu pitch %zu height %zu, dst type %d x %zu y %zu z %zu pitch %zu height %zu", name, (int)r,
         p.WidthInBytes, p.Height, p.Depth, (int)p.srcMemoryType, p.srcXInBytes, p.srcY, p.srcZ, p.srcPitch, p.srcHeight,
         (int)p.dstMemoryType, p.dstXInBytes, p.dstY, p.dstZ, p.dstPitch, p.dstHeight);
}

void
set_params(const char *name, CUgraphNode n)
{
    CUDA_MEMSET_NODE_PARAMS p;
    memset(&p, 0x55, sizeof p);
    CUresult r = cuGraphMemsetNodeGetParams(n, &p);
    fact("%s: %d, %zu x %zu of %u, value %x, pitch %zu", name, (int)r, p.width, p.height, p.elementSize, p.value, p.pitch);
}

static const struct { const char *name; void (*run)(void); } sections[] = {
    { "ends", ends }, { "infos", infos }, { "operations", operations }, { "explicit", explicit_graphs }, { "params", node_params },
    { "updates", updates }, { "others", others }, { "memory", memory_nodes }, { "exchange", exchange }, { "calls-global", calls_global },
    { "calls-thread", calls_thread }, { "calls-relaxed", calls_relaxed },
};

int
main(int argc, char **argv)
{
    strict = argc > 1 && !strcmp(argv[1], "--all");
    for (size_t i = 0; i < COUNT(sections); i++) {
        if (!strict && argc > 1 && strcmp(argv[1], sections[i].name))
            continue;
        printf("== %s\n", sections[i].name);
        fflush(stdout);
        pid_t p = fork();
        if (!p) {
            alarm(300);
            sections[i].run();
            fflush(stdout);
            _exit(0);
        }
        int st = 0;
        waitpid(p, &st, 0);
        if (WIFSIGNALED(st))
            printf("crashed: signal %d\n", WTERMSIG(st));
    }
    return 0;
}
