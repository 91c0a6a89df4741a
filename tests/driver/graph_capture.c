/* SPDX-License-Identifier: Apache-2.0
 * Capturing: how it begins and ends, what is known of it meanwhile, and what becomes of each operation. */
#include "tests/driver/graph_facts.h"

#include <pthread.h>
#include <string.h>

/* The thread's own mode decides too. */
void
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

void
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

void
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

void
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
