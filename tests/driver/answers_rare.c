/* SPDX-License-Identifier: Apache-2.0
 * Sections of `answers`: calls that few programs make. */
#include "tests/driver/answers.h"

static void
context_create(void)
{
    CUcontext c = NULL;
    CUexecAffinityParam a;
    CUctxCreateParams p;
    CUctxCigParam cig;
    memset(&a, 0, sizeof a);
    memset(&p, 0, sizeof p);
    memset(&cig, 0, sizeof cig);
    a.type = (CUexecAffinityType)P(affinity, 0, 1, 99);
    a.param.smCount.val = (unsigned)P(count, 1, 0, 10000);
    unsigned flags = (unsigned)P(flags, 0, 3, 7, 99);
    if (!A(cuCtxCreate_v3(PP(CUcontext *, out, U(&c), 0), PP(CUexecAffinityParam *, list, 0, U(&a)), (int)P(n, 0, 1, -1, 2), flags,
        (CUdevice)P(device, 0, -1, 99))))
        A(cuCtxDestroy_v2(c));
    p.execAffinityParams = PP(CUexecAffinityParam *, list4, 0, U(&a));
    p.numExecAffinityParams = (int)P(n4, 0, 1, -1);
    p.cigParams = PP(CUctxCigParam *, cig, 0, U(&cig));
    cig.sharedDataType = (CUcigDataType)P(cig_type, 1, 0, 2, 99);
    if (!A(cuCtxCreate_v4(PP(CUcontext *, out4, U(&c), 0), PP(CUctxCreateParams *, p, 0, U(&p)), flags, 0)))
        A(cuCtxDestroy_v2(c));
    (void)cuCtxSetCurrent(o.ctx);
}

static void
context_more(void)
{
    CUcontext c = PP(CUcontext, ctx, U(o.ctx), 0, U(other));
    CUevent e = PP(CUevent, event, U(o.event), 0, U(o.timed), U(o.late));
    A(cuCtxRecordEvent(c, e));
    A(cuCtxWaitEvent(c, e));
    CUdevice d = 99;
    A(cuCtxGetDevice_v2(PP(CUdevice *, device, U(&d), 0), c));
    A(cuCtxSynchronize_v2(c));
    CUfunc_cache f = (CUfunc_cache)99;
    A(cuCtxGetCacheConfig(PP(CUfunc_cache *, cache, U(&f), 0)));
    CUsharedconfig b;
    A(cuCtxGetSharedMemConfig(PP(CUsharedconfig *, banks, U(&b), 0)));
    A(cuCtxResetPersistingL2Cache());
    const char *text_at = NULL;
    CUresult code = (CUresult)P(code, 1, 0, 3, 101, 700, 999, 9999, -1);
    A(cuGetErrorName(code, PP(const char **, name, U(&text_at), 0)));
    A(cuGetErrorString(code, PP(const char **, string, U(&text_at), 0)));
    int v = -1;
    A(cuDriverGetVersion(PP(int *, version, U(&v), 0)));
    A(cuProfilerInitialize(host, host, (CUoutput_mode)P(mode, 0, 1, 99)));
    void *table;
    CUuuid uuid;
    memset(&uuid, 1, sizeof uuid);
    A(cuGetExportTable((const void **)PP(void **, table, U(&table), 0), PP(CUuuid *, uuid, U(&uuid), 0)));
}

static void
batch3d(void)
{
    CUDA_MEMCPY3D_BATCH_OP op;
    memset(&op, 0, sizeof op);
    op.src.type = (CUmemcpy3DOperandType)P(src_type, 1, 0, 2, 3, 99);
    op.dst.type = (CUmemcpy3DOperandType)P(dst_type, 1, 0, 2, 3, 99);
    if (op.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        op.src.op.array.array = PP(CUarray, src_array, U(o.array3d), 0, U(o.array));
        op.src.op.array.offset.x = P(src_x, 0, 1, 32);
    } else {
        op.src.op.ptr.ptr = P(src, U(o.dev), 0, U(o.freed), U(host), U(o.pinned));
        op.src.op.ptr.rowLength = P(src_row, 0, 1, 8, 16);
        op.src.op.ptr.layerHeight = P(src_layer, 0, 1, 4);
        op.src.op.ptr.locHint.type = (CUmemLocationType)P(src_hint, 0, 1, 99);
    }
    if (op.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        op.dst.op.array.array = o.array3d;
    } else {
        op.dst.op.ptr.ptr = P(dst, U(o.dev + 8192), 0, U(o.freed), U(o.managed));
        op.dst.op.ptr.rowLength = P(dst_row, 0, 1, 8, 16);
        op.dst.op.ptr.layerHeight = P(dst_layer, 0, 1, 4);
    }
    op.extent.width = P(width, 8, 0, 1 << 20);
    op.extent.height = P(height, 2, 0, 17);
    op.extent.depth = P(depth, 1, 0, 5);
    op.srcAccessOrder = (CUmemcpySrcAccessOrder)P(order, 1, 0, 2, 3, 99);
    op.flags = (unsigned)P(opflags, 0, 1, 2, 99);
    A(cuMemcpy3DBatchAsync_v2(P(n, 1, 0), PP(CUDA_MEMCPY3D_BATCH_OP *, list, U(&op), 0), P(flags, 0, 1), STREAM(stream)));
    (void)cuCtxSynchronize();
}

static void
multicast(void)
{
    CUmulticastObjectProp p = { .numDevices = (unsigned)P(devices, 1, 0, 2, 99), .size = P(size, 2 << 20, 0, 1), .handleTypes = P(handles, 1, 0, 99),
        .flags = P(flags, 0, 1) };
    size_t g = 0;
    A(cuMulticastGetGranularity(PP(size_t *, out, U(&g), 0), PP(CUmulticastObjectProp *, p, U(&p), 0), (CUmulticastGranularity_flags)P(option, 0, 1,
        2, 99)));
}

static void
external(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC m;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC s;
    CUexternalMemory em = NULL;
    CUexternalSemaphore es = NULL;
    memset(&m, 0, sizeof m);
    memset(&s, 0, sizeof s);
    m.type = (CUexternalMemoryHandleType)P(type, 1, 0, 2, 3, 4, 8, 9, 99);
    m.handle.fd = (int)P(fd, -1, 0, 999);
    if (m.type != 1)
        m.handle.win32.handle = NULL;
    m.size = P(size, 4096, 0);
    m.flags = (unsigned)P(flags, 0, 1, 2);
    A(cuImportExternalMemory(PP(CUexternalMemory *, out, U(&em), 0), PP(CUDA_EXTERNAL_MEMORY_HANDLE_DESC *, desc, U(&m), 0)));
    s.type = (CUexternalSemaphoreHandleType)P(stype, 1, 0, 2, 3, 4, 9, 10, 99);
    s.handle.fd = s.type == 1 || s.type == 9 ? -1 : 0;
    s.flags = (unsigned)P(sflags, 0, 1);
    A(cuImportExternalSemaphore(PP(CUexternalSemaphore *, outs, U(&es), 0), PP(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *, sdesc, U(&s), 0)));
    A(cuDestroyExternalMemory(NULL));
    A(cuDestroyExternalSemaphore(NULL));
    CUmemGenericAllocationHandle h;
    A(cuMemImportFromShareableHandle(PP(CUmemGenericAllocationHandle *, outh, U(&h), 0), (void *)(intptr_t)-1, (CUmemAllocationHandleType)P(htype, 1,
        0, 2, 8, 99)));
    CUmemoryPool p;
    A(cuMemPoolImportFromShareableHandle(PP(CUmemoryPool *, outp, U(&p), 0), (void *)(intptr_t)-1, (CUmemAllocationHandleType)P(ptype, 1, 0, 2, 8,
        99), P(pflags, 0, 1)));
    CUmemPoolPtrExportData data;
    memset(&data, 0, sizeof data);
    CUdeviceptr d;
    A(cuMemPoolImportPointer(PP(CUdeviceptr *, outd, U(&d), 0), o.pool, PP(CUmemPoolPtrExportData *, data, U(&data), 0)));
    A(cuGraphicsMapResources((unsigned)P(resources, 0, 1), NULL, o.stream));
    CUgraphNode n;
    A(cuGraphAddExternalSemaphoresSignalNode(&n, o.graph, NULL, 0, NULL));
}

static void
graph_batch(void)
{
    CUgraph g = NULL;
    CUgraphNode n = NULL;
    CUgraphExec x = NULL;
    CUstreamBatchMemOpParams op;
    MUST(cuGraphCreate(&g, 0));
    memset(&op, 0, sizeof op);
    op.operation = (CUstreamBatchMemOpType)P(op, 2, 0, 3, 5, 6, 99);
    op.writeValue.address = P(p, U(o.dev), 0, U(o.dev + 1), U(o.freed), U(o.pinned));
    op.writeValue.flags = (unsigned)P(opflags, 0, 1, 2);
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = { .ctx = PP(CUcontext, ctx, U(o.ctx), 0, U(other)), .count = (unsigned)P(count, 1, 0, 257),
        .paramArray = PP(CUstreamBatchMemOpParams *, list, U(&op), 0),
                                        .flags = (unsigned)P(flags, 0, 1) };
    A(cuGraphAddBatchMemOpNode(PP(CUgraphNode *, out, U(&n), 0), PP(CUgraph, graph, U(g), 0), NULL, 0, PP(CUDA_BATCH_MEM_OP_NODE_PARAMS *, params,
        U(&p), 0)));
    if (!A(cuGraphInstantiateWithFlags(&x, g, 0)))
        (void)cuGraphExecDestroy(x);
    (void)cuGraphDestroy(g);
}

static void
capture_to_graph(void)
{
    CUgraph g = NULL, made = NULL;
    CUgraphNode n = NULL;
    CUgraphEdgeData e;
    memset(&e, 0, sizeof e);
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddEmptyNode(&n, g, NULL, 0));
    e.type = (unsigned char)P(edge_type, 0, 1, 99);
    CUgraphNode deps[1] = { PP(CUgraphNode, dependency, U(n), 0, U(o.node)) };
    CUstream s = STREAM(stream);
    A(cuStreamBeginCaptureToGraph(s, PP(CUgraph, graph, U(g), 0), PP(CUgraphNode *, deps, U(deps), 0), PP(CUgraphEdgeData *, edges, 0, U(&e)), P(n,
        1, 0), (CUstreamCaptureMode)P(mode, 0, 1, 2, 3, 99)));
    A(cuMemsetD8Async(o.dev, 0, 16, s));
    CUstreamCaptureStatus st = (CUstreamCaptureStatus)99;
    const CUgraphNode *list;
    const CUgraphEdgeData *edges;
    size_t count = 99;
    cuuint64_t id;
    A(cuStreamGetCaptureInfo_v2(s, &st, &id, &made, &list, &count));
    V(st);
    A(cuStreamGetCaptureInfo_v3(s, &st, &id, &made, PP(const CUgraphNode **, list, U(&list), 0), PP(const CUgraphEdgeData **, edge_list, U(&edges),
        0), PP(size_t *, list_n, U(&count), 0)));
    A(cuStreamUpdateCaptureDependencies(s, PP(CUgraphNode *, set, U(deps), 0), P(set_n, 1, 0), (unsigned)P(flags, 0, 1, 2, 99)));
    A(cuStreamEndCapture(s, &made));
    V(made == g);
    A(cuGraphGetNodes(g, NULL, &count));
    V(count);
    (void)cuGraphDestroy(g);
}

static void
per_thread(void)
{
    CUstream s = STREAM(stream);
    A(cuMemsetD8Async_ptsz(P(dst, U(o.dev), 0, U(o.freed)), 0, 16, s));
    A(cuMemcpyDtoDAsync_v2_ptsz(o.dev, o.dev + 4096, P(n, 16, 0, SIZE), s));
    A(cuEventRecord_ptsz(PP(CUevent, event, U(o.event), 0), s));
    A(cuStreamSynchronize_ptsz(s));
    A(cuLaunchKernel_ptsz(PP(CUfunction, function, U(o.func), 0), 1, 1, 1, (unsigned)P(bx, 1, 0, 2000), 1, 1, 0, s, NULL, NULL));
    A(cuMemcpy_ptds(o.dev, o.dev + 4096, 16));
    A(cuMemsetD8_v2_ptds(o.dev, 0, 16));
    unsigned f = 99;
    A(cuStreamGetFlags_ptsz(s, &f));
    V(f);
    (void)cuCtxSynchronize();
}

static void
sparse(void)
{
    CUarray a = NULL;
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = P(width, 1024, 0, 100), .Height = P(height, 1024, 0, 100), .Depth = P(depth, 0, 4),
        .Format = (CUarray_format)P(format, 0x20, 1, 0x99),
                                  .NumChannels = (unsigned)P(channels, 1, 3, 4), .Flags = (unsigned)P(flags, 0x40, 0x41, 0x42, 0x80, 0xc0, 0x44,
                                      0x48) };
    if (!A(cuArray3DCreate_v2(&a, &d))) {
        CUDA_ARRAY_SPARSE_PROPERTIES s;
        CUDA_ARRAY_MEMORY_REQUIREMENTS r;
        A(cuArrayGetSparseProperties(PP(CUDA_ARRAY_SPARSE_PROPERTIES *, out, U(&s), 0), a));
        A(cuArrayGetMemoryRequirements(PP(CUDA_ARRAY_MEMORY_REQUIREMENTS *, need, U(&r), 0), a, (CUdevice)P(device, 0, -1, 99)));
        A(cuArrayDestroy(a));
    }
    CUarrayMapInfo m;
    memset(&m, 0, sizeof m);
    m.resourceType = (CUresourcetype)P(resource, 0, 1, 2, 99);
    m.resource.array = o.array;
    m.memOperationType = (CUmemOperationType)P(operation, 1, 0, 2, 99);
    m.deviceBitMask = (unsigned)P(mask, 1, 0, 2);
    A(cuMemMapArrayAsync(PP(CUarrayMapInfo *, list, U(&m), 0), (unsigned)P(n, 1, 0), o.stream));
}

static void
asked(void)
{
    size_t n = P(size, 4, 0, 1, 8, 256);
    char value[256];
    memset(value, 0, sizeof value);
    A(cuCoredumpGetAttribute((CUcoredumpSettings)RANGE(setting, 1, 0, 10), PP(void *, value, U(value), 0), PP(size_t *, at, U(&n), 0)));
    unsigned caps[4] = { 0 };
    CUatomicOperation op = (CUatomicOperation)P(op, 0, 1, 13, 14, 99);
    A(cuDeviceGetHostAtomicCapabilities(PP(unsigned *, caps, U(caps), 0), PP(CUatomicOperation *, ops, U(&op), 0), (unsigned)P(count, 1, 0),
        (CUdevice)P(device, 0, -1, 99)));
    CUmoduleLoadingMode m;
    A(cuModuleGetLoadingMode(&m));
    CUmodule mod = NULL;
    if (!A(cuModuleLoadFatBinary(PP(CUmodule *, out, U(&mod), 0), PP(const void *, image, U(text), 0))))
        A(cuModuleUnload(mod));
    A(cuModuleLoad(&mod, PP(const char *, path, U("/nonexistent/x"), 0, U(""), U("/dev/null"), U("/tmp"))));
    CUlibrary l;
    A(cuLibraryLoadFromFile(&l, PP(const char *, lpath, U("/nonexistent/x"), 0, U(""), U("/dev/null"), U("/tmp")), NULL, NULL, 0, NULL, NULL, 0));
    (void)P(algorithm, 1, 0, 2, 99);        /* of nothing: where points are decides which pairs are made, and a record has these */
    (void)P(src_bytes, 16, 0);
    CUlogIterator it;
    A(cuLogsCurrent(PP(CUlogIterator *, it, U(&it), 0), (unsigned)P(lflags, 0, 1)));
    A(cuLogsDumpToFile(NULL, PP(const char *, file, U("/nonexistent/x"), 0, U("/dev/null")), (unsigned)P(dflags, 0, 1)));
}

const struct section rare_sections[] = {
    { "context_create", context_create, 40 }, { "context_more", context_more, 80 }, { "batch3d", batch3d, 150 }, { "multicast", multicast, 40 },
        { "external", external, 60 },
    { "graph_batch", graph_batch, 60 }, { "capture_to_graph", capture_to_graph, 150 }, { "per_thread", per_thread, 80 }, { "sparse", sparse, 60 },
        { "asked", asked, 80 }, { NULL, NULL, 0 },
};
