/* SPDX-License-Identifier: Apache-2.0
 * What a driver answers where graphs and stream capture are used rightly and wrongly, one line a fact: the same program runs on
 * NVIDIA's driver (graph_observed.txt holds what it printed) and on this one, and the lines must agree. Each section runs in a
 * process of its own, so that a crash costs one section. */
#include "tests/driver/graph_facts.h"

#include <pthread.h>
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
static bool strict;                     /* also what this driver is known to answer otherwise */

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

/* A node's place in its graph's list, or -1. */
static int
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

/* Types of a graph's nodes and its edges as places, in the order given. */
static void
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

/* The thread's own mode decides too. */
static void
exchange(void)
{
    setup();
    for (int begin = 0; begin < 3; begin++)
        for (int own = 0; own < 3; own++) {
            CUstream s = stream(0);
            CUstreamCaptureMode m = own;
            CUdeviceptr p;
            CUgraph g = NULL;
            MUST(cuStreamBeginCapture_v2(s, begin));
            CUresult x = cuThreadExchangeStreamCaptureMode(&m);
            CUresult a = cuMemAlloc_v2(&p, 256);
            int st = status(s);
            CUresult e = cuStreamEndCapture(s, &g);
            fact("exchange begin %d own %d: %d old %d, alloc %d status %d end %d", begin, own, (int)x, (int)m, (int)a, st, (int)e);
            m = CU_STREAM_CAPTURE_MODE_GLOBAL;
            (void)cuThreadExchangeStreamCaptureMode(&m);
        }
    /* (NVIDIA's driver 580 takes mode 3, and crashes at a null pointer) */
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------------------- */

static CUstream end_stream;
static CUgraph end_graph;
static CUresult t_end(void) { end_graph = NULL; return cuStreamEndCapture(end_stream, &end_graph); }

static void
ends(void)
{
    setup();
    CUstream s = stream(0), t = stream(0);
    CUgraph g = (CUgraph)8;
    CUevent e = event(), f = event();
    fact("begin null stream: %d", (int)cuStreamBeginCapture_v2(NULL, 0));
    fact("begin legacy: %d", (int)cuStreamBeginCapture_v2(LEGACY, 0));
    fact("begin per-thread: %d", (int)cuStreamBeginCapture_v2(PER_THREAD, 0));
    fact("end per-thread: %d", (int)cuStreamEndCapture(PER_THREAD, &g));
    fact("begin bad mode: %d", (int)cuStreamBeginCapture_v2(s, 3));
    fact("end idle: %d", (int)cuStreamEndCapture(s, &g));
    fact("end idle graph null: %d", g == NULL);
    fact("end legacy: %d", (int)cuStreamEndCapture(NULL, &g));
    fact("status legacy: %d", status(NULL));
    fact("status null: %d", (int)cuStreamIsCapturing(s, NULL));
    fact("begin: %d", (int)cuStreamBeginCapture_v2(s, 0));
    fact("status legacy during blocking capture: %d", status(NULL));
    fact("status after: %d", status(s));
    fact("begin twice: %d", (int)cuStreamBeginCapture_v2(s, 0));
    fact("status: %d", status(s));
    fact("end null: %d", (int)cuStreamEndCapture(s, NULL));
    fact("status: %d", status(s));
    MUST(cuStreamBeginCapture_v2(s, 0));
    fact("end: %d", (int)cuStreamEndCapture(s, &g));
    shape("empty capture", g);
    fact("record external, no capture: %d", (int)cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    fact("wait external, no capture: %d", (int)cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    /* an event of an ended capture, and one never recorded, in another capture */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamEndCapture(s, &g));
    MUST(cuStreamBeginCapture_v2(s, 0));
    fact("never recorded event: %d", (int)cuStreamWaitEvent(s, f, 0));
    fact("status: %d", status(s));
    (void)cuStreamEndCapture(s, &g);
    MUST(cuStreamBeginCapture_v2(s, 0));
    fact("event of an ended capture: %d", (int)cuStreamWaitEvent(s, e, 0));
    fact("status: %d", status(s));
    (void)cuStreamEndCapture(s, &g);
    for (int mode = 0; mode < 3; mode++) {
        pthread_t th;
        MUST(cuStreamBeginCapture_v2(s, mode));
        MUST(launch(s, mad));
        end_stream = s;
        pthread_create(&th, NULL, in_thread, (void *)(uintptr_t)t_end);
        pthread_join(th, NULL);
        fact("end in other thread, mode %d: %d graph %d status %d", mode, (int)call_result, end_graph != NULL, status(s));
        if (status(s)) {
            CUresult r = t_end();
            fact("then here: %d graph %d", (int)r, end_graph != NULL);
        }
    }
    /* a stream that joined by an event cannot end */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    CUresult w = cuStreamWaitEvent(t, e, 0);
    fact("fork: %d status %d", (int)w, status(t));
    end_stream = t;
    CUresult r = t_end();
    fact("end on fork: %d status %d %d", (int)r, status(s), status(t));
    end_stream = s;
    r = t_end();
    fact("end unjoined without work: %d graph %d status %d %d", (int)r, end_graph != NULL, status(s), status(t));
    if (status(t)) {
        end_stream = t;
        r = t_end();
        fact("end on fork again: %d status %d", (int)r, status(t));
    }
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(cuEventRecord(e, s));
    w = cuStreamWaitEvent(t, e, 0);
    fact("fork of empty: %d status %d", (int)w, status(t));
    end_stream = s;
    r = t_end();
    fact("end unjoined, empty: %d graph %d status %d %d", (int)r, end_graph != NULL, status(s), status(t));
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    MUST(launch(t, zero));
    end_stream = s;
    r = t_end();
    fact("end unjoined with work: %d graph %d status %d %d", (int)r, end_graph != NULL, status(s), status(t));
    fact("launch on fork after: %d", (int)launch(t, zero));
    fact("wait for its event: %d", (int)cuStreamWaitEvent(t, e, 0));
    fact("query its event: %d", (int)cuEventQuery(e));
    fact("sync its event: %d", (int)cuEventSynchronize(e));
    MUST(cuEventRecord(e, t));
    MUST(cuStreamSynchronize(t));
    fact("query it: %d", (int)cuEventQuery(e));
    /* joined */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    MUST(launch(t, zero));
    MUST(launch(s, mad));
    MUST(cuEventRecord(f, t));
    MUST(cuStreamWaitEvent(s, f, 0));
    MUST(launch(s, zero));
    r = t_end();
    fact("end joined: %d status %d %d", (int)r, status(s), status(t));
    shape("joined", end_graph);
    fact("wait for event of ended capture: %d", (int)cuStreamWaitEvent(t, e, 0));
    fact("query event of ended capture: %d", (int)cuEventQuery(e));
    /* work in the fork after the join */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    MUST(launch(t, zero));
    MUST(cuEventRecord(f, t));
    MUST(cuStreamWaitEvent(s, f, 0));
    MUST(launch(t, zero));
    r = t_end();
    fact("work after the join: %d status %d %d", (int)r, status(s), status(t));
    /* joined without more work in the origin */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    MUST(launch(t, zero));
    MUST(cuEventRecord(f, t));
    MUST(cuStreamWaitEvent(s, f, 0));
    r = t_end();
    fact("join is the last: %d", (int)r);
    shape("join is the last", end_graph);
    /* destroying streams and contexts of a capture */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    fact("destroy captured: %d", (int)cuStreamDestroy_v2(s));
    s = stream(0);
    end_stream = s;
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    w = cuStreamDestroy_v2(t);
    fact("destroy idle fork: %d status %d", (int)w, status(s));
    r = t_end();
    fact("end: %d", (int)r);
    t = stream(0);
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    MUST(launch(t, zero));
    w = cuStreamDestroy_v2(t);
    fact("destroy busy fork: %d status %d", (int)w, status(s));
    r = t_end();
    fact("end: %d", (int)r);
    t = stream(0);
    /* two captures */
    MUST(cuStreamBeginCapture_v2(s, 0));
    fact("second capture: %d", (int)cuStreamBeginCapture_v2(t, 0));
    MUST(launch(s, mad));
    MUST(launch(t, mad));
    MUST(cuEventRecord(e, s));
    r = cuStreamWaitEvent(t, e, 0);
    fact("merge: %d status %d %d", (int)r, status(s), status(t));
    r = cuStreamEndCapture(s, &g);
    fact("end first: %d", (int)r);
    r = cuStreamEndCapture(t, &g);
    fact("end second: %d", (int)r);
    /* after invalidation */
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(launch(s, mad));
    MUST(cuEventRecord(e, s));
    (void)cuStreamSynchronize(s);
    fact("invalidated: status %d", status(s));
    fact("invalidated: launch %d", (int)launch(s, mad));
    fact("invalidated: copy %d", (int)cuMemcpyDtoDAsync_v2(mem, mem2, 64, s));
    fact("invalidated: record %d", (int)cuEventRecord(f, s));
    fact("invalidated: wait %d", (int)cuStreamWaitEvent(s, e, 0));
    fact("invalidated: other waits %d", (int)cuStreamWaitEvent(t, e, 0));
    fact("invalidated: other's status %d", status(t));
    fact("invalidated: query of its event %d", (int)cuEventQuery(e));
    fact("invalidated: sync %d", (int)cuStreamSynchronize(s));
    fact("invalidated: query %d", (int)cuStreamQuery(s));
    fact("invalidated: begin %d", (int)cuStreamBeginCapture_v2(s, 0));
    cuuint64_t id = 0;
    CUstreamCaptureStatus st = 0;
    size_t nd = 99;
    CUgraph ig = (CUgraph)8;
    const CUgraphNode *deps = NULL;
    r = cuStreamGetCaptureInfo_v2(s, &st, &id, &ig, &deps, &nd);
    fact("invalidated: info %d status %d nodes %zu", (int)r, (int)st, nd);
    CUdeviceptr p;
    fact("invalidated: alloc %d", (int)cuMemAlloc_v2(&p, 64));
    r = cuStreamEndCapture(s, &g);
    fact("invalidated: end %d graph %d status %d", (int)r, g != NULL, status(s));
    fact("once more: end %d", (int)cuStreamEndCapture(s, &g));
}

/* ---- what a capture says of itself -------------------------------------------------------------------------------------------- */

static void
info(const char *name, CUstream s)
{
    CUstreamCaptureStatus st = 77;
    cuuint64_t id = 0;
    CUgraph g = NULL;
    const CUgraphNode *deps = NULL;
    size_t n = 99;
    CUresult r = cuStreamGetCaptureInfo_v2(s, &st, &id, &g, &deps, &n);
    printf("info %s: %d status %d id %d graph %d n %zu:", name, (int)r, (int)st, id != 0, g != NULL, n);
    for (size_t i = 0; !r && st == CU_STREAM_CAPTURE_STATUS_ACTIVE && i < n; i++)
        printf(" %d", place(g, deps[i]));
    fact("");
}

static void
infos(void)
{
    setup();
    CUstream s = stream(0), t = stream(0);
    CUevent e = event(), f = event();
    CUgraph g = NULL, g2 = NULL;
    CUgraphNode n, list[4];
    info("idle", s);
    info("legacy", NULL);
    MUST(cuStreamBeginCapture_v2(s, 0));
    info("empty", s);
    info("other", t);
    info("legacy during capture", NULL);
    MUST(launch(s, mad));
    info("one", s);
    MUST(cuMemsetD32Async(mem, 7, 4, s));
    info("two", s);
    MUST(cuEventRecord(e, s));
    info("record", s);
    MUST(cuStreamWaitEvent(t, e, 0));
    info("fork", t);
    MUST(launch(t, zero));
    info("fork one", t);
    MUST(cuEventRecord(f, t));
    MUST(cuStreamWaitEvent(s, f, 0));
    info("joined", s);
    MUST(cuStreamWaitEvent(s, f, 0));
    info("joined twice", s);
    MUST(cuStreamWaitEvent(s, e, 0));
    info("waits for its own past", s);
    cuuint64_t id = 0, id2 = 0;
    CUstreamCaptureStatus st;
    fact("v1: %d", (int)cuStreamGetCaptureInfo(s, &st, &id));
    fact("v1 id alone: %d", (int)cuStreamGetCaptureInfo(t, &st, &id2));
    fact("same id: %d", id == id2);
    fact("null status: %d", (int)cuStreamGetCaptureInfo_v2(s, NULL, &id, NULL, NULL, NULL));
    fact("status only: %d", (int)cuStreamGetCaptureInfo_v2(s, &st, NULL, NULL, NULL, NULL));
    size_t nd = 9;
    CUresult i = cuStreamGetCaptureInfo_v2(s, &st, NULL, NULL, NULL, &nd);
    fact("count only: %d %zu", (int)i, nd);
    const CUgraphNode *deps;
    fact("nodes without count: %d", (int)cuStreamGetCaptureInfo_v2(s, &st, NULL, NULL, &deps, NULL));
    MUST(cuStreamGetCaptureInfo_v2(s, &st, NULL, &g, NULL, NULL));
    /* dependencies by hand */
    MUST(cuGraphAddEmptyNode(&n, g, NULL, 0));
    info("node added by hand", s);
    fact("add dependency: %d", (int)cuStreamUpdateCaptureDependencies(s, &n, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    info("added", s);
    fact("add it again: %d", (int)cuStreamUpdateCaptureDependencies(s, &n, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    info("added again", s);
    fact("set: %d", (int)cuStreamUpdateCaptureDependencies(s, &n, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    info("set", s);
    fact("set none: %d", (int)cuStreamUpdateCaptureDependencies(s, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    info("set none", s);
    fact("bad flags: %d", (int)cuStreamUpdateCaptureDependencies(s, &n, 1, 2));
    fact("null list: %d", (int)cuStreamUpdateCaptureDependencies(s, NULL, 1, 0));
    CUgraphNode foreign;
    MUST(cuGraphCreate(&g2, 0));
    MUST(cuGraphAddEmptyNode(&foreign, g2, NULL, 0));
    fact("foreign node: %d status %d", (int)cuStreamUpdateCaptureDependencies(s, &foreign, 1, 0), status(s));
    MUST(launch(s, mad));
    info("after set none", s);
    CUresult r = cuStreamEndCapture(s, &g);
    fact("end after set: %d", (int)r);
    if (!r)
        shape("after set", g);
    fact("update idle: %d", (int)cuStreamUpdateCaptureDependencies(s, &n, 1, 0));
    /* to a graph that exists */
    CUgraph h;
    MUST(cuGraphCreate(&h, 0));
    MUST(cuGraphAddEmptyNode(&list[0], h, NULL, 0));
    MUST(cuGraphAddEmptyNode(&list[1], h, NULL, 0));
    fact("to graph: %d", (int)cuStreamBeginCaptureToGraph(s, h, list, NULL, 2, 0));
    info("to graph", s);
    MUST(launch(s, mad));
    g = NULL;
    r = cuStreamEndCapture(s, &g);
    fact("to graph end: %d same %d", (int)r, g == h);
    shape("to graph", h);
    fact("to graph, foreign: %d", (int)cuStreamBeginCaptureToGraph(s, h, &foreign, NULL, 1, 0));
    fact("to graph, null: %d", (int)cuStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, 0));
}

/* ---- what becomes of each operation --------------------------------------------------------------------------------------------- */

static void
copy_params(const char *name, CUgraphNode n)
{
    CUDA_MEMCPY3D p;
    memset(&p, 0x55, sizeof p);
    CUresult r = cuGraphMemcpyNodeGetParams(n, &p);
    fact("%s: %d, %zu x %zu x %zu, src type %d x %zu y %zu z %zu pitch %zu height %zu, dst type %d x %zu y %zu z %zu pitch %zu height %zu", name, (int)r,
         p.WidthInBytes, p.Height, p.Depth, (int)p.srcMemoryType, p.srcXInBytes, p.srcY, p.srcZ, p.srcPitch, p.srcHeight,
         (int)p.dstMemoryType, p.dstXInBytes, p.dstY, p.dstZ, p.dstPitch, p.dstHeight);
}

static void
set_params(const char *name, CUgraphNode n)
{
    CUDA_MEMSET_NODE_PARAMS p;
    memset(&p, 0x55, sizeof p);
    CUresult r = cuGraphMemsetNodeGetParams(n, &p);
    fact("%s: %d, %zu x %zu of %u, value %x, pitch %zu", name, (int)r, p.width, p.height, p.elementSize, p.value, p.pitch);
}

static void
operations(void)
{
    setup();
    CUstream s = stream(0);
    CUgraph g;
    CUevent e = event();
    CUgraphNode n[32];
    size_t count = COUNT(n);
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(cuMemcpyHtoDAsync_v2(mem, pageable, 64, s));
    MUST(cuMemcpyHtoDAsync_v2(mem, pinned, 64, s));
    MUST(cuMemcpyDtoHAsync_v2(pageable, mem, 64, s));
    MUST(cuMemcpyDtoDAsync_v2(mem, mem2, 60, s));
    MUST(cuMemcpyAsync(mem, (CUdeviceptr)(uintptr_t)pinned, 64, s));
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = mem, .srcPitch = 64, .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = pinned, .dstPitch = 32, .srcXInBytes = 8, .srcY = 1, .WidthInBytes = 16, .Height = 3 };
    MUST(cuMemcpy2DAsync_v2(&c, s));
    MUST(cuMemsetD8Async(mem, 0xab, 7, s));
    MUST(cuMemsetD16Async(mem, 0xabcd, 7, s));
    MUST(cuMemsetD32Async(mem, 0x12345678, 7, s));
    MUST(cuMemsetD2D32Async(mem, 64, 5, 3, 4, s));
    MUST(cuLaunchHostFunc(s, nothing, &count));
    MUST(launch(s, mad));
    fact("copy of nothing: %d", (int)cuMemcpyDtoDAsync_v2(mem, mem2, 0, s));
    fact("fill of nothing: %d", (int)cuMemsetD8Async(mem, 0, 0, s));
    MUST(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    MUST(cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    fact("end: %d", (int)cuStreamEndCapture(s, &g));
    shape("operations", g);
    MUST(cuGraphGetNodes(g, n, &count));
    for (size_t i = 0; i < 6 && i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "copy %zu", i);
        copy_params(name, n[i]);
    }
    for (size_t i = 6; i < 10 && i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "fill %zu", i);
        set_params(name, n[i]);
    }
    CUDA_HOST_NODE_PARAMS h;
    CUresult r = cuGraphHostNodeGetParams(n[10], &h);
    fact("host: %d %d", (int)r, h.fn == nothing && h.userData == &count);
    CUDA_KERNEL_NODE_PARAMS k;
    memset(&k, 0, sizeof k);
    r = cuGraphKernelNodeGetParams_v2(n[11], &k);
    fact("kernel: %d func %d kern %d ctx %d grid %u %u %u block %u %u %u shared %u params %d extra %d", (int)r, k.func == mad, k.kern != NULL,
         k.ctx == ctx, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY, k.blockDimZ, k.sharedMemBytes, k.kernelParams != NULL,
         k.extra != NULL);
    if (!r && k.kernelParams)
        fact("kernel arguments: %d %u %u %u", *(CUdeviceptr *)k.kernelParams[0] == mem, *(uint32_t *)k.kernelParams[1],
             *(uint32_t *)k.kernelParams[2], *(uint32_t *)k.kernelParams[3]);
    fact("memset params of a kernel: %d", (int)cuGraphMemsetNodeGetParams(n[11], &(CUDA_MEMSET_NODE_PARAMS){ 0 }));
    fact("kernel params of a copy: %d", (int)cuGraphKernelNodeGetParams_v2(n[0], &k));
    fact("event of a copy: %d", (int)cuGraphEventRecordNodeGetEvent(n[0], &e));
    /* parameters by "extra" */
    uint32_t three = 3;
    struct { CUdeviceptr p; uint32_t n, m, a; } block = { mem, 5, three, 9 };
    size_t size = 20;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    MUST(cuStreamBeginCapture_v2(s, 0));
    MUST(cuLaunchKernel(mad, 1, 1, 1, 32, 1, 1, 0, s, NULL, extra));
    r = cuStreamEndCapture(s, &g);
    fact("end: %d", (int)r);
    if (!r) {
        count = COUNT(n);
        MUST(cuGraphGetNodes(g, n, &count));
        memset(&k, 0, sizeof k);
        r = cuGraphKernelNodeGetParams_v2(n[0], &k);
        if (strict)                     /* this driver gives a list of pointers in either case */
            fact("kernel by extra: %d params %d extra %d", (int)r, k.kernelParams != NULL, k.extra != NULL);
    }
    /* allocation in stream order */
    CUdeviceptr p = 0;
    MUST(cuStreamBeginCapture_v2(s, 0));
    r = cuMemAllocAsync(&p, 1000, s);
    fact("alloc: %d %d", (int)r, p != 0);
    fact("fill it: %d", (int)cuMemsetD8Async(p, 1, 1000, s));
    fact("free it: %d", (int)cuMemFreeAsync(p, s));
    r = cuStreamEndCapture(s, &g);
    fact("end: %d", (int)r);
    if (!r) {
        shape("alloc and free", g);
        count = COUNT(n);
        MUST(cuGraphGetNodes(g, n, &count));
        CUDA_MEM_ALLOC_NODE_PARAMS a;
        memset(&a, 0, sizeof a);
        r = cuGraphMemAllocNodeGetParams(n[0], &a);
        fact("alloc params: %d type %d location %d %d size %zu same %d descs %zu", (int)r, (int)a.poolProps.allocType,
             (int)a.poolProps.location.type, a.poolProps.location.id, a.bytesize, a.dptr == p, a.accessDescCount);
        CUdeviceptr q = 0;
        r = cuGraphMemFreeNodeGetParams(n[2], &q);
        fact("free params: %d %d", (int)r, p == q);
    }
}

/* ---- graphs built by hand --------------------------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS
kernel_params(CUfunction f, void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
                                      .kernelParams = args };
}

static void
explicit_graphs(void)
{
    setup();
    uint32_t n16 = 16, m2 = 2, a1 = 1;
    void *args[] = { &mem, &n16, &m2, &a1 };
    CUgraph g, g2;
    CUgraphNode a, b, c, d, x;
    CUDA_KERNEL_NODE_PARAMS k = kernel_params(mad, args);
    fact("create flags: %d", (int)cuGraphCreate(&g, 1));
    fact("create null: %d", (int)cuGraphCreate(NULL, 0));
    fact("create: %d", (int)cuGraphCreate(&g, 0));
    MUST(cuGraphCreate(&g2, 0));
    fact("destroy null: %d", (int)cuGraphDestroy(NULL));
    fact("kernel: %d", (int)cuGraphAddKernelNode_v2(&a, g, NULL, 0, &k));
    fact("kernel null node: %d", (int)cuGraphAddKernelNode_v2(NULL, g, NULL, 0, &k));
    fact("kernel null graph: %d", (int)cuGraphAddKernelNode_v2(&x, NULL, NULL, 0, &k));
    fact("kernel null params: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, NULL));
    fact("kernel null list: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 1, &k));
    k.func = NULL;
    fact("kernel null func: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, args), k.gridDimX = 0;
    fact("kernel grid 0: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, args), k.blockDimX = 2048;
    fact("kernel block 2048: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, NULL);
    fact("kernel no arguments: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, args), k.sharedMemBytes = 1 << 20;
    fact("kernel shared 1 MiB: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    shape("one", g);
    fact("empty: %d", (int)cuGraphAddEmptyNode(&b, g, &a, 1));
    fact("empty null graph: %d", (int)cuGraphAddEmptyNode(&x, NULL, NULL, 0));
    CUgraphNode twice[] = { a, a };
    fact("same dependency twice: %d", (int)cuGraphAddEmptyNode(&x, g, twice, 2));
    CUgraphNode bad[] = { NULL };
    fact("null dependency: %d", (int)cuGraphAddEmptyNode(&x, g, bad, 1));
    fact("foreign dependency: %d", (int)cuGraphAddEmptyNode(&x, g2, &a, 1));
    shape("two", g);
    CUDA_MEMSET_NODE_PARAMS s = { .dst = mem, .elementSize = 4, .width = 4, .height = 1, .value = 5 };
    fact("memset: %d", (int)cuGraphAddMemsetNode(&c, g, &b, 1, &s, ctx));
    set_params("memset", c);
    fact("memset null ctx: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, NULL));
    s.elementSize = 3;
    fact("memset size 3: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.elementSize = 4, s.width = 0;
    fact("memset width 0: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.width = 4, s.height = 0;
    fact("memset height 0: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.height = 3, s.pitch = 8;
    fact("memset small pitch: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.height = 1, s.pitch = 0, s.width = 4096;
    fact("memset beyond: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.width = 4, s.dst = mem + 1;
    fact("memset misaligned: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.dst = 0;
    fact("memset null: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.dst = (CUdeviceptr)(uintptr_t)pageable;
    fact("memset pageable: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 64, .srcHeight = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = mem, .dstPitch = 64, .dstHeight = 1, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    fact("memcpy: %d", (int)cuGraphAddMemcpyNode(&d, g, NULL, 0, &m, ctx));
    copy_params("memcpy", d);
    m.srcPitch = m.srcHeight = m.dstPitch = m.dstHeight = 0;
    fact("memcpy pitch 0: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    copy_params("memcpy pitch 0", x);
    fact("memcpy null ctx: %d", (int)cuGraphAddMemcpyNode(&x, g, NULL, 0, &m, NULL));
    m.WidthInBytes = 0;
    fact("memcpy width 0: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    m.WidthInBytes = (size_t)1 << 40;
    fact("memcpy beyond: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    m.WidthInBytes = 64, m.dstDevice = 64;
    fact("memcpy bad address: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    m.dstMemoryType = 9;
    fact("memcpy bad type: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    CUDA_HOST_NODE_PARAMS h = { .fn = nothing };
    fact("host: %d", (int)cuGraphAddHostNode(&x, g2, NULL, 0, &h));
    h.fn = NULL;
    fact("host null: %d", (int)cuGraphAddHostNode(&x, g2, NULL, 0, &h));
    CUevent e = event();
    fact("record: %d", (int)cuGraphAddEventRecordNode(&x, g2, NULL, 0, e));
    fact("record null: %d", (int)cuGraphAddEventRecordNode(&x, g2, NULL, 0, NULL));
    fact("wait: %d", (int)cuGraphAddEventWaitNode(&x, g2, NULL, 0, e));
    fact("child: %d", (int)cuGraphAddChildGraphNode(&x, g, NULL, 0, g2));
    CUgraph inner = NULL;
    CUresult r = cuGraphChildGraphNodeGetGraph(x, &inner);
    fact("child's graph: %d, %d", (int)r, inner && inner != g2);
    fact("child null: %d", (int)cuGraphAddChildGraphNode(&x, g, NULL, 0, NULL));
    shape("all", g);
    /* edges */
    fact("add edge: %d", (int)cuGraphAddDependencies(g, &b, &d, 1));
    fact("add it again: %d", (int)cuGraphAddDependencies(g, &b, &d, 1));
    fact("to itself: %d", (int)cuGraphAddDependencies(g, &b, &b, 1));
    fact("null from: %d", (int)cuGraphAddDependencies(g, NULL, &b, 1));
    fact("none: %d", (int)cuGraphAddDependencies(g, NULL, NULL, 0));
    fact("remove edge: %d", (int)cuGraphRemoveDependencies(g, &b, &d, 1));
    fact("remove it again: %d", (int)cuGraphRemoveDependencies(g, &b, &d, 1));
    CUgraphNode from[] = { c, b }, to[] = { d, b };
    fact("second of two is bad: %d", (int)cuGraphAddDependencies(g, from, to, 2));
    shape("edges", g);
    /* looking */
    CUgraphNode list[8];
    size_t count = 2;
    memset(list, 0x11, sizeof list);
    r = cuGraphGetNodes(g, list, &count);
    fact("two of the nodes: %d %zu", (int)r, count);
    count = 8;
    memset(list, 0x11, sizeof list);
    r = cuGraphGetNodes(g, list, &count);
    fact("eight of the nodes: %d %zu, rest null %d", (int)r, count, list[7] == NULL);
    count = 0;
    fact("roots: %d", (int)cuGraphGetRootNodes(g, NULL, &count));
    fact("roots count: %zu", count);
    fact("nodes null count: %d", (int)cuGraphGetNodes(g, list, NULL));
    count = 8;
    r = cuGraphNodeGetDependencies(c, list, &count);
    fact("dependencies: %d %zu %d", (int)r, count, count && list[0] == b);
    count = 8;
    r = cuGraphNodeGetDependentNodes(a, list, &count);
    fact("dependents: %d %zu %d", (int)r, count, count && list[0] == b);
    CUgraphNode f8[8];
    count = 8;
    memset(list, 0x11, sizeof list);
    r = cuGraphGetEdges(g, f8, list, &count);
    fact("edges: %d %zu, rest null %d", (int)r, count, list[7] == NULL);
    count = 8;
    fact("edges null to: %d", (int)cuGraphGetEdges(g, f8, NULL, &count));
    CUgraphNodeType t;
    fact("type null: %d", (int)cuGraphNodeGetType(NULL, &t));
    fact("type to null: %d", (int)cuGraphNodeGetType(a, NULL));
    /* a cycle */
    CUgraph g3;
    CUgraphNode p, q;
    CUgraphExec exec = NULL;
    MUST(cuGraphCreate(&g3, 0));
    MUST(cuGraphAddEmptyNode(&p, g3, NULL, 0));
    MUST(cuGraphAddEmptyNode(&q, g3, &p, 1));
    fact("cycle: %d", (int)cuGraphAddDependencies(g3, &q, &p, 1));
    fact("instantiate it: %d", (int)cuGraphInstantiateWithFlags(&exec, g3, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
    fact("instantiate it with params: %d", (int)cuGraphInstantiateWithParams(&exec, g3, &ip));
    fact("result %d node %d", (int)ip.result_out, ip.hErrNode_out != NULL);
    /* destroying */
    fact("destroy node: %d", (int)cuGraphDestroyNode(b));
    shape("without it", g);
    fact("destroy node null: %d", (int)cuGraphDestroyNode(NULL));
    fact("destroy: %d", (int)cuGraphDestroy(g));
}

/* Changing parameters in graphs. */
static void
node_params(void)
{
    setup();
    uint32_t n16 = 16, m2 = 2, a1 = 1;
    void *args[] = { &mem, &n16, &m2, &a1 }, *zargs[] = { &mem };
    CUgraph g, g2;
    CUgraphNode k, c, s, h, e, w, y, ch;
    CUDA_KERNEL_NODE_PARAMS kp = kernel_params(mad, args);
    CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pinned, .srcPitch = 64, .srcHeight = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = mem, .dstPitch = 64, .dstHeight = 1, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    CUDA_MEMSET_NODE_PARAMS f = { .dst = mem, .elementSize = 4, .width = 4, .height = 1, .value = 5 };
    CUDA_HOST_NODE_PARAMS hp = { .fn = nothing };
    CUevent ev = event(), ev2 = event();
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphCreate(&g2, 0));
    MUST(cuGraphAddEmptyNode(&y, g2, NULL, 0));
    MUST(cuGraphAddKernelNode_v2(&k, g, NULL, 0, &kp));
    MUST(cuGraphAddMemcpyNode(&c, g, &k, 1, &m, ctx));
    MUST(cuGraphAddMemsetNode(&s, g, &c, 1, &f, ctx));
    MUST(cuGraphAddHostNode(&h, g, &s, 1, &hp));
    MUST(cuGraphAddEventRecordNode(&e, g, &h, 1, ev));
    MUST(cuGraphAddEventWaitNode(&w, g, &e, 1, ev));
    MUST(cuGraphAddChildGraphNode(&ch, g, &w, 1, g2));
    CUgraphExec x, none = NULL;
    fact("instantiate: %d", (int)cuGraphInstantiateWithFlags(&x, g, 0));
    fact("instantiate bad flags: %d", (int)cuGraphInstantiateWithFlags(&none, g, 0x100));
    fact("instantiate null: %d", (int)cuGraphInstantiateWithFlags(NULL, g, 0));
    fact("instantiate null graph: %d", (int)cuGraphInstantiateWithFlags(&none, NULL, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS ip = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
    fact("instantiate with params: %d", (int)cuGraphInstantiateWithParams(&none, g, &ip));
    fact("result %d node %d", (int)ip.result_out, ip.hErrNode_out != NULL);
    cuuint64_t flags = 99;
    fact("flags: %d", (int)cuGraphExecGetFlags(none, &flags));
    fact("flags are %d", (int)flags);
    fact("upload with flags only: %d", (int)cuGraphInstantiateWithFlags(&none, g, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));
    CUgraphNode err;
    char log[64];
    fact("instantiate_v2: %d", (int)cuGraphInstantiate_v2(&none, g, &err, log, sizeof log));
    /* set in the graph */
    kp.gridDimX = 3;
    fact("set kernel: %d", (int)cuGraphKernelNodeSetParams_v2(k, &kp));
    kp = kernel_params(zero, zargs);
    fact("set other kernel: %d", (int)cuGraphKernelNodeSetParams_v2(k, &kp));
    kp.gridDimX = 0;
    fact("set kernel grid 0: %d", (int)cuGraphKernelNodeSetParams_v2(k, &kp));
    fact("set kernel of a copy: %d", (int)cuGraphKernelNodeSetParams_v2(c, &kp));
    fact("set kernel null: %d", (int)cuGraphKernelNodeSetParams_v2(k, NULL));
    CUDA_MEMCPY3D d2h = { .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned, .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = mem, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    fact("set copy: %d", (int)cuGraphMemcpyNodeSetParams(c, &d2h));
    d2h.WidthInBytes = 0;
    fact("set copy of nothing: %d", (int)cuGraphMemcpyNodeSetParams(c, &d2h));
    f.value = 6, f.height = 2, f.pitch = 64;
    fact("set fill: %d", (int)cuGraphMemsetNodeSetParams(s, &f));
    hp.fn = NULL;
    fact("set host null: %d", (int)cuGraphHostNodeSetParams(h, &hp));
    fact("set event: %d", (int)cuGraphEventRecordNodeSetEvent(e, ev2));
    fact("set wait: %d", (int)cuGraphEventWaitNodeSetEvent(e, ev2));
    /* set in the executable one */
    kp = kernel_params(mad, args), kp.gridDimX = 4;
    fact("exec kernel: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, k, &kp));
    kp = kernel_params(zero, zargs);
    fact("exec other kernel: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, k, &kp));
    kp.gridDimX = 0;
    fact("exec kernel grid 0: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, k, &kp));
    kp.gridDimX = 1;
    fact("exec kernel of a copy: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, c, &kp));
    fact("exec kernel foreign: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, y, &kp));
    fact("exec kernel null node: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, NULL, &kp));
    m.srcHost = pageable;
    fact("exec copy pinned to pageable: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &m, ctx));
    m.WidthInBytes = 32;
    fact("exec copy smaller: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &m, ctx));
    d2h.WidthInBytes = 64;
    fact("exec copy other way: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &d2h, ctx));
    CUDA_MEMCPY3D d2d = { .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = mem2, .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = mem, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    fact("exec copy inside: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &d2d, ctx));
    CUDA_MEMCPY3D two = m;
    two.srcPitch = 64, two.dstPitch = 64, two.srcHeight = two.dstHeight = 2, two.Height = 2;
    fact("exec copy 2D: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &two, ctx));
    f = (CUDA_MEMSET_NODE_PARAMS){ .dst = mem2, .elementSize = 4, .width = 8, .height = 1, .value = 7 };
    fact("exec fill: %d", (int)cuGraphExecMemsetNodeSetParams(x, s, &f, ctx));
    f.elementSize = 1;
    fact("exec fill bytes: %d", (int)cuGraphExecMemsetNodeSetParams(x, s, &f, ctx));
    f.elementSize = 4, f.height = 2, f.pitch = 64;
    fact("exec fill 2D: %d", (int)cuGraphExecMemsetNodeSetParams(x, s, &f, ctx));
    hp.fn = nothing;
    fact("exec host: %d", (int)cuGraphExecHostNodeSetParams(x, h, &hp));
    hp.fn = NULL;
    fact("exec host null: %d", (int)cuGraphExecHostNodeSetParams(x, h, &hp));
    fact("exec event: %d", (int)cuGraphExecEventRecordNodeSetEvent(x, e, ev2));
    fact("exec event of wait: %d", (int)cuGraphExecEventRecordNodeSetEvent(x, w, ev2));
    fact("exec wait: %d", (int)cuGraphExecEventWaitNodeSetEvent(x, w, ev2));
    fact("exec child: %d", (int)cuGraphExecChildGraphNodeSetParams(x, ch, g2));
    CUgraph g3;
    MUST(cuGraphCreate(&g3, 0));
    fact("exec child empty: %d", (int)cuGraphExecChildGraphNodeSetParams(x, ch, g3));
    unsigned on = 99;
    fact("enabled: %d", (int)cuGraphNodeGetEnabled(x, k, &on));
    fact("enabled is %u", on);
    fact("disable: %d", (int)cuGraphNodeSetEnabled(x, k, 0));
    fact("enabled: %d", (int)cuGraphNodeGetEnabled(x, k, &on));
    fact("enabled is %u", on);
    fact("disable copy: %d", (int)cuGraphNodeSetEnabled(x, c, 0));
    fact("disable fill: %d", (int)cuGraphNodeSetEnabled(x, s, 0));
    fact("disable host: %d", (int)cuGraphNodeSetEnabled(x, h, 0));
    fact("disable child: %d", (int)cuGraphNodeSetEnabled(x, ch, 0));
    fact("get enabled of host: %d", (int)cuGraphNodeGetEnabled(x, h, &on));
    /* a node that was destroyed in the graph is gone for the executable */
    CUstream st = stream(0);
    fact("launch: %d", (int)cuGraphLaunch(x, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    fact("launch null: %d", (int)cuGraphLaunch(NULL, st));
    fact("launch legacy: %d", (int)cuGraphLaunch(x, NULL));
    fact("upload: %d", (int)cuGraphUpload(x, st));
    fact("upload null: %d", (int)cuGraphUpload(NULL, st));
    fact("sync: %d", (int)cuCtxSynchronize());
    fact("destroy exec: %d", (int)cuGraphExecDestroy(x));
    fact("destroy exec null: %d", (int)cuGraphExecDestroy(NULL));
    /* attributes of a kernel node */
    CUkernelNodeAttrValue v;
    memset(&v, 0x55, sizeof v);
    fact("attribute cooperative: %d", (int)cuGraphKernelNodeGetAttribute(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    fact("is %d", v.cooperative);
    v.cooperative = 1;
    fact("set: %d", (int)cuGraphKernelNodeSetAttribute(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    v.cooperative = 0;
    (void)cuGraphKernelNodeGetAttribute(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
    fact("is %d", v.cooperative);
    memset(&v, 0x55, sizeof v);
    fact("attribute priority: %d", (int)cuGraphKernelNodeGetAttribute(k, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    fact("is %d", v.priority);
    fact("attribute of a copy: %d", (int)cuGraphKernelNodeGetAttribute(c, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    fact("attribute 99: %d", (int)cuGraphKernelNodeGetAttribute(k, 99, &v));
}

/* cuGraphExecUpdate. */
static CUgraph
update_graph(int what)
{
    uint32_t n16 = 16, m2 = 2, a1 = what == 1 ? 7 : 1;
    void *args[] = { &mem, &n16, &m2, &a1 }, *zargs[] = { &mem };
    CUgraph g;
    CUgraphNode a, b, c;
    CUDA_KERNEL_NODE_PARAMS k = kernel_params(mad, args), z = kernel_params(zero, zargs);
    CUDA_MEMSET_NODE_PARAMS f = { .dst = what == 2 ? mem2 : mem, .elementSize = what == 9 ? 1 : 4, .width = 4, .height = what == 10 ? 2 : 1, .value = 5,
                                  .pitch = what == 10 ? 64 : 0 };
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddKernelNode_v2(&a, g, NULL, 0, what == 3 ? &z : &k));
    if (what == 4)
        MUST(cuGraphAddEmptyNode(&b, g, &a, 1));
    else
        MUST(cuGraphAddMemsetNode(&b, g, what == 5 ? NULL : &a, what == 5 ? 0 : 1, &f, ctx));
    MUST(cuGraphAddKernelNode_v2(&c, g, &b, 1, &k));
    if (what == 6)
        MUST(cuGraphAddEmptyNode(&b, g, &c, 1));
    if (what == 7)
        MUST(cuGraphAddDependencies(g, &a, &c, 1));
    if (what == 8)
        MUST(cuGraphDestroyNode(c));
    return g;
}

static void
updates(void)
{
    setup();
    CUgraph g = update_graph(0);
    CUgraphExec x;
    MUST(cuGraphInstantiateWithFlags(&x, g, 0));
    static const char *const names[] = { "same", "argument", "fill elsewhere", "other kernel", "other type", "edge less", "node more", "edge more", "node less",
                                         "fill bytes", "fill 2D" };
    for (int i = 0; i < (int)COUNT(names); i++) {
        CUgraph h = update_graph(i);
        CUgraphExecUpdateResultInfo info;
        memset(&info, 0, sizeof info);
        CUresult r = cuGraphExecUpdate_v2(x, h, &info);
        fact("update %s: %d result %d node %d from %d", names[i], (int)r, (int)info.result, info.errorNode ? place(h, info.errorNode) : -9,
             info.errorFromNode ? place(h, info.errorFromNode) : -9);
        CUgraphNode n = NULL;
        CUgraphExecUpdateResult res = 99;
        r = cuGraphExecUpdate(x, h, &n, &res);
        fact("update v1 %s: %d", names[i], (int)r);
    }
    CUgraphExecUpdateResultInfo info;
    fact("update null graph: %d", (int)cuGraphExecUpdate_v2(x, NULL, &info));
    fact("update null info: %d", (int)cuGraphExecUpdate_v2(x, g, NULL));
}

/* Clones, children, user objects, picture, memory. */
static int destroyed;
static void destroy_fn(void *p) { destroyed++; }

static void
others(void)
{
    setup();
    CUgraph g = update_graph(0), c, d;
    CUgraphNode n[8], m = NULL;
    size_t count = 8;
    MUST(cuGraphGetNodes(g, n, &count));
    fact("clone: %d", (int)cuGraphClone(&c, g));
    shape("clone", c);
    fact("clone null: %d", (int)cuGraphClone(NULL, g));
    fact("clone of null: %d", (int)cuGraphClone(&d, NULL));
    CUresult r = cuGraphNodeFindInClone(&m, n[1], c);
    fact("find: %d %d", (int)r, place(c, m));
    MUST(cuGraphClone(&d, c));
    m = NULL;
    r = cuGraphNodeFindInClone(&m, n[1], d);
    fact("find in clone of clone: %d %d", (int)r, m ? place(d, m) : -9);
    fact("find in itself: %d", (int)cuGraphNodeFindInClone(&m, n[1], g));
    MUST(cuGraphNodeFindInClone(&m, n[1], c));
    fact("destroy found: %d", (int)cuGraphDestroyNode(m));
    fact("find destroyed: %d", (int)cuGraphNodeFindInClone(&m, n[1], c));
    /* child graphs are copies */
    CUgraph parent, inner;
    CUgraphNode child, extra;
    MUST(cuGraphCreate(&parent, 0));
    MUST(cuGraphAddChildGraphNode(&child, parent, NULL, 0, g));
    MUST(cuGraphAddEmptyNode(&extra, g, NULL, 0));
    MUST(cuGraphChildGraphNodeGetGraph(child, &inner));
    shape("inner", inner);
    fact("find in inner: %d", (int)cuGraphNodeFindInClone(&m, n[0], inner));
    fact("add to inner: %d", (int)cuGraphAddEmptyNode(&extra, inner, NULL, 0));
    /* (a graph as child of itself makes NVIDIA's driver 580 crash) */
    /* user objects */
    CUuserObject o = NULL;
    fact("object: %d", (int)cuUserObjectCreate(&o, &destroyed, destroy_fn, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    fact("object no flags: %d", (int)cuUserObjectCreate(&(CUuserObject){ 0 }, &destroyed, destroy_fn, 1, 0));
    fact("object no count: %d", (int)cuUserObjectCreate(&(CUuserObject){ 0 }, &destroyed, destroy_fn, 0, 1));
    fact("object no function: %d", (int)cuUserObjectCreate(&(CUuserObject){ 0 }, &destroyed, NULL, 1, 1));
    fact("retain: %d", (int)cuUserObjectRetain(o, 1));
    fact("retain 0: %d", (int)cuUserObjectRetain(o, 0));
    fact("release: %d", (int)cuUserObjectRelease(o, 1));
    fact("graph retain: %d", (int)cuGraphRetainUserObject(g, o, 1, 0));
    fact("graph retain move: %d", (int)cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    fact("graph retain flags: %d", (int)cuGraphRetainUserObject(g, o, 1, 4));
    fact("graph release: %d", (int)cuGraphReleaseUserObject(g, o, 1));
    fact("release: %d", (int)cuUserObjectRelease(o, 1));
    fact("not yet: %d", destroyed);
    CUgraphExec x;
    MUST(cuGraphInstantiateWithFlags(&x, g, 0));
    fact("destroy graph: %d", (int)cuGraphDestroy(g));
    usleep(100000);
    fact("held by exec: %d", destroyed);
    fact("destroy exec: %d", (int)cuGraphExecDestroy(x));
    usleep(300000);
    fact("destroyed: %d", destroyed);
    /* Graphviz */
    char path[] = "/tmp/graph_facts.XXXXXX";
    int fd = mkstemp(path);
    fact("dot: %d", (int)cuGraphDebugDotPrint(c, path, 0));
    char text[64] = "";
    ssize_t got = read(fd, text, sizeof text - 1);
    fact("dot begins with digraph: %d", got > 0 && strstr(text, "digraph") != NULL);
    fact("dot bad path: %d", (int)cuGraphDebugDotPrint(c, "/nowhere/x", 0));
    fact("dot null path: %d", (int)cuGraphDebugDotPrint(c, NULL, 0));
    unlink(path);
}

static void
memory_nodes(void)
{
    setup();
    CUgraph g, c;
    CUgraphNode a, f, s, x;
    CUgraphExec e1, e2;
    CUstream st = stream(0);
    CUdevice dev;
    MUST(cuCtxGetDevice(&dev));
    CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, dev }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, dev } },
                                     .bytesize = 1024 };
    (void)desc;
    MUST(cuGraphCreate(&g, 0));
    CUresult r = cuGraphAddMemAllocNode(&a, g, NULL, 0, &p);
    fact("alloc: %d %d", (int)r, p.dptr != 0);
    CUDA_MEM_ALLOC_NODE_PARAMS bad = p;
    bad.bytesize = 0;
    fact("alloc 0: %d", (int)cuGraphAddMemAllocNode(&x, g, NULL, 0, &bad));
    CUDA_MEMSET_NODE_PARAMS fill = { .dst = p.dptr, .elementSize = 4, .width = 256, .height = 1, .value = 77 };
    fact("fill it: %d", (int)cuGraphAddMemsetNode(&s, g, &a, 1, &fill, ctx));
    fact("clone: %d", (int)cuGraphClone(&c, g));
    CUgraph parent;
    MUST(cuGraphCreate(&parent, 0));
    fact("as child: %d", (int)cuGraphAddChildGraphNode(&x, parent, NULL, 0, g));
    fact("destroy node: %d", (int)cuGraphDestroyNode(a));
    fact("remove edge: %d", (int)cuGraphRemoveDependencies(g, &a, &s, 1));
    if (strict)                         /* this driver has the memory there from the start */
        fact("copy before launch: %d", (int)cuMemcpyDtoH_v2(pageable, p.dptr, 4));
    fact("instantiate: %d", (int)cuGraphInstantiateWithFlags(&e1, g, 0));
    fact("instantiate again: %d", (int)cuGraphInstantiateWithFlags(&e2, g, 0));
    fact("launch: %d", (int)cuGraphLaunch(e1, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    r = cuMemcpyDtoH_v2(pageable, p.dptr, 4);
    fact("read: %d %u", (int)r, pageable[0]);
    fact("launch again: %d", (int)cuGraphLaunch(e1, st));
    fact("free: %d", (int)cuMemFree_v2(p.dptr));
    fact("free again: %d", (int)cuMemFree_v2(p.dptr));
    fact("launch after free: %d", (int)cuGraphLaunch(e1, st));
    fact("free async: %d", (int)cuMemFreeAsync(p.dptr, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    fact("destroy exec: %d", (int)cuGraphExecDestroy(e1));
    fact("instantiate auto free: %d", (int)cuGraphInstantiateWithFlags(&e1, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    fact("launch: %d", (int)cuGraphLaunch(e1, st));
    fact("launch again: %d", (int)cuGraphLaunch(e1, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    CUgraph h;
    MUST(cuGraphCreate(&h, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS q = p;
    MUST(cuGraphAddMemAllocNode(&a, h, NULL, 0, &q));
    fact("free node: %d", (int)cuGraphAddMemFreeNode(&f, h, &a, 1, q.dptr));
    fact("free it twice: %d", (int)cuGraphAddMemFreeNode(&x, h, &f, 1, q.dptr));
    fact("free not ordered after: %d", (int)cuGraphAddMemFreeNode(&x, h, NULL, 0, q.dptr));
    fact("free of other memory: %d", (int)cuGraphAddMemFreeNode(&x, h, NULL, 0, mem));
    fact("free null: %d", (int)cuGraphAddMemFreeNode(&x, h, NULL, 0, 0));
    fact("instantiate: %d", (int)cuGraphInstantiateWithFlags(&e2, h, 0));
    fact("launch: %d %d", (int)cuGraphLaunch(e2, st), (int)cuGraphLaunch(e2, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    cuuint64_t v = 1;
    fact("attribute: %d", (int)cuDeviceGetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
    fact("set attribute: %d", (int)cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &(cuuint64_t){ 0 }));
    fact("set attribute 1: %d", (int)cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &(cuuint64_t){ 1 }));
    fact("set current: %d", (int)cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &(cuuint64_t){ 0 }));
    fact("trim: %d", (int)cuDeviceGraphMemTrim(dev));
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
