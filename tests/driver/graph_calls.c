/* SPDX-License-Identifier: Apache-2.0
 * Every kind of call made while a stream is captured: allowed or not, with what error, and what becomes of the capture. */
#include "tests/driver/graph_facts.h"

#include <pthread.h>
#include <string.h>

/* ---- which calls are allowed while a stream is captured -------------------------------------------------------------------- */

static CUstream cs, os, bs;             /* captured, another (non-blocking), another (blocking) */
static CUevent ce, oe, oe2;             /* recorded in the capture, outside */
static CUdeviceptr spare, pooled;
static CUmodule spare_module;
static CUstream spare_stream;
static CUevent spare_event;
static CUgraph small;
static CUgraphExec small_exec, spare_exec;
static CUarray spare_array;
static CUlibrary spare_library;
static char page[4096] __attribute__((aligned(4096))), page2[4096] __attribute__((aligned(4096)));
static void nothing_cb(CUstream s, CUresult r, void *p) { }

static CUresult t_query_cs(void) { return cuStreamQuery(cs); }
static CUresult t_sync_cs(void) { return cuStreamSynchronize(cs); }
static CUresult t_query_os(void) { CUresult r = cuStreamQuery(os); return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r; }
static CUresult t_sync_os(void) { return cuStreamSynchronize(os); }
static CUresult t_query_legacy(void) { CUresult r = cuStreamQuery(NULL); return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r; }
static CUresult t_sync_legacy(void) { return cuStreamSynchronize(NULL); }
static CUresult t_sync_ctx(void) { return cuCtxSynchronize(); }
static CUresult t_query_ce(void) { return cuEventQuery(ce); }
static CUresult t_sync_ce(void) { return cuEventSynchronize(ce); }
static CUresult t_query_oe(void) { return cuEventQuery(oe); }
static CUresult t_sync_oe(void) { return cuEventSynchronize(oe); }
static CUresult t_elapsed_oe(void) { float f; return cuEventElapsedTime(&f, oe, oe2); }
static CUresult t_elapsed_ce(void) { float f; return cuEventElapsedTime(&f, oe, ce); }
static CUresult t_record_os(void) { return cuEventRecord(oe, os); }
static CUresult t_record_bs(void) { return cuEventRecord(oe, bs); }
static CUresult t_record_legacy(void) { return cuEventRecord(oe, NULL); }
static CUresult t_record_cs(void) { return cuEventRecord(oe, cs); }
static CUresult t_rerecord_ce(void) { return cuEventRecord(ce, os); }
static CUresult t_record_ext_cs(void) { return cuEventRecordWithFlags(oe, cs, CU_EVENT_RECORD_EXTERNAL); }
static CUresult t_wait_ext_cs(void) { return cuStreamWaitEvent(cs, oe, CU_EVENT_WAIT_EXTERNAL); }
static CUresult t_wait_oe_cs(void) { return cuStreamWaitEvent(cs, oe, 0); }
static CUresult t_wait_ce_os(void) { return cuStreamWaitEvent(os, ce, 0); }
static CUresult t_wait_ce_ext_os(void) { return cuStreamWaitEvent(os, ce, CU_EVENT_WAIT_EXTERNAL); }
static CUresult t_wait_ce_legacy(void) { return cuStreamWaitEvent(NULL, ce, 0); }
static CUresult t_wait_oe_os(void) { return cuStreamWaitEvent(os, oe, 0); }
static CUresult t_event_create(void) { CUevent e; return cuEventCreate(&e, 0); }
static CUresult t_event_destroy(void) { return cuEventDestroy_v2(spare_event); }
static CUresult t_destroy_ce(void) { CUresult r = cuEventDestroy_v2(ce); ce = event(); return r; }
static CUresult t_stream_create(void) { CUstream s; return cuStreamCreate(&s, 0); }
static CUresult t_stream_destroy(void) { return cuStreamDestroy_v2(spare_stream); }
static CUresult t_alloc(void) { CUdeviceptr p; return cuMemAlloc_v2(&p, 256); }
static CUresult t_alloc_pitch(void) { CUdeviceptr p; size_t q; return cuMemAllocPitch_v2(&p, &q, 64, 4, 4); }
static CUresult t_alloc_managed(void) { CUdeviceptr p; return cuMemAllocManaged(&p, 256, CU_MEM_ATTACH_GLOBAL); }
static CUresult t_free(void) { return cuMemFree_v2(spare); }
static CUresult t_host_alloc(void) { void *p; return cuMemHostAlloc(&p, 256, 0); }
static CUresult t_host_free(void) { void *p = pinned; pinned = NULL; return cuMemFreeHost(p); }
static CUresult t_get_info(void) { size_t a, b; return cuMemGetInfo_v2(&a, &b); }
static CUresult t_h2d(void) { return cuMemcpyHtoD_v2(mem, pageable, 64); }
static CUresult t_d2h(void) { return cuMemcpyDtoH_v2(pageable, mem, 64); }
static CUresult t_d2d(void) { return cuMemcpyDtoD_v2(mem, mem2, 64); }
static CUresult t_memset(void) { return cuMemsetD8_v2(mem, 0, 64); }
static CUresult t_h2d_cs(void) { return cuMemcpyHtoDAsync_v2(mem, pageable, 64, cs); }
static CUresult t_d2h_cs(void) { return cuMemcpyDtoHAsync_v2(pageable, mem, 64, cs); }
static CUresult t_d2d_cs(void) { return cuMemcpyDtoDAsync_v2(mem, mem2, 64, cs); }
static CUresult t_h2d_os(void) { return cuMemcpyHtoDAsync_v2(mem, pageable, 64, os); }
static CUresult t_memset_bs(void) { return cuMemsetD8Async(mem, 0, 64, bs); }
static CUresult t_memset_legacy(void) { return cuMemsetD8Async(mem, 0, 64, NULL); }
static CUresult t_launch_os(void) { return launch(os, mad); }
static CUresult t_launch_bs(void) { return launch(bs, mad); }
static CUresult t_launch_legacy(void) { return launch(NULL, mad); }
static CUresult t_launch_ptds(void) { return launch(PER_THREAD, mad); }
static CUresult t_launch_cs(void) { return launch(cs, mad); }
static CUresult t_host_cs(void) { return cuLaunchHostFunc(cs, nothing, NULL); }
static CUresult t_callback_cs(void) { return cuStreamAddCallback(cs, nothing_cb, NULL, 0); }
static CUresult t_alloc_async_cs(void) { CUdeviceptr p; return cuMemAllocAsync(&p, 256, cs); }
static CUresult t_alloc_async_os(void) { CUdeviceptr p; return cuMemAllocAsync(&p, 256, os); }
static CUresult t_free_async_cs(void) { return cuMemFreeAsync(pooled, cs); }
static CUresult t_free_async_os(void) { return cuMemFreeAsync(pooled, os); }
static CUresult t_module_load(void) { CUmodule m; return cuModuleLoadData(&m, ptx); }
static CUresult t_module_unload(void) { return cuModuleUnload(spare_module); }
static CUresult t_get_function(void) { CUfunction f; return cuModuleGetFunction(&f, mod, "zero"); }
static CUresult t_func_attribute(void) { int v; return cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, mad); }
static CUresult t_pointer_attribute(void) { CUmemorytype t; return cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mem); }
static CUresult t_limit(void) { return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048); }
static CUresult t_array(void) { CUarray a; CUDA_ARRAY_DESCRIPTOR d = { 8, 8, CU_AD_FORMAT_UNSIGNED_INT8, 1 }; return cuArrayCreate_v2(&a, &d); }
static CUresult t_write_cs(void) { return cuStreamWriteValue32_v2(cs, mem, 1, 0); }
static CUresult t_wait_cs(void) { return cuStreamWaitValue32_v2(cs, mem, 0, CU_STREAM_WAIT_VALUE_GEQ); }
static CUresult t_begin_os(void) { CUresult r = cuStreamBeginCapture_v2(os, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); CUgraph g; if (!r) { r = cuStreamEndCapture(os, &g); cuGraphDestroy(g); } return r; }
static CUresult t_instantiate(void) { CUgraphExec x; return cuGraphInstantiateWithFlags(&x, small, 0); }
static CUresult t_graph_launch_cs(void) { return cuGraphLaunch(small_exec, cs); }
static CUresult t_graph_launch_os(void) { return cuGraphLaunch(small_exec, os); }
static CUresult t_graph_launch_legacy(void) { return cuGraphLaunch(small_exec, NULL); }
static CUresult t_upload_cs(void) { return cuGraphUpload(small_exec, cs); }
static CUresult t_upload_os(void) { return cuGraphUpload(small_exec, os); }
static CUresult t_bad_launch_cs(void) { uint32_t n = 1; void *a[] = { &mem, &n, &n, &n }; return cuLaunchKernel(mad, 0, 1, 1, 1, 1, 1, 0, cs, a, NULL); }
static CUresult t_bad_copy_cs(void) { return cuMemcpyDtoDAsync_v2(mem, 64, 64, cs); }
static CUresult t_copy0_cs(void) { return cuMemcpyDtoDAsync_v2(mem, mem2, 0, cs); }
static CUresult t_priority_cs(void) { int p; return cuStreamGetPriority(cs, &p); }

static CUresult t_host_register(void) { CUresult r = cuMemHostRegister_v2(page, sizeof page, 0); if (!r) cuMemHostUnregister(page); return r; }
static CUresult t_host_unregister(void) { return cuMemHostUnregister(page2); }
static CUresult t_array_destroy(void) { return cuArrayDestroy(spare_array); }
static CUresult t_mipmap(void) { CUmipmappedArray a; CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 }; return cuMipmappedArrayCreate(&a, &d, 1); }
static CUresult t_exec_destroy(void) { return cuGraphExecDestroy(spare_exec); }
static CUresult t_exec_update(void) { CUgraphExecUpdateResultInfo i; return cuGraphExecUpdate_v2(small_exec, small, &i); }
static CUresult t_graph_create(void) { CUgraph g; CUresult r = cuGraphCreate(&g, 0); return r ? r : cuGraphDestroy(g); }
static CUresult t_pool_create(void) { CUmemoryPool p; CUmemPoolProps q = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } }; CUresult r = cuMemPoolCreate(&p, &q); if (!r) cuMemPoolDestroy(p); return r; }
static CUresult t_pool_trim(void) { CUmemoryPool p; CUresult r = cuDeviceGetDefaultMemPool(&p, 0); return r ? r : cuMemPoolTrimTo(p, 0); }
static CUresult t_reserve(void) { CUdeviceptr p; CUresult r = cuMemAddressReserve(&p, 2 << 20, 0, 0, 0); if (!r) cuMemAddressFree(p, 2 << 20); return r; }
static CUresult t_physical(void) { CUmemGenericAllocationHandle h; CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } }; CUresult r = cuMemCreate(&h, 2 << 20, &p, 0); if (!r) cuMemRelease(h); return r; }
static CUresult t_get_global(void) { CUdeviceptr p; size_t n; return cuModuleGetGlobal_v2(&p, &n, mod, "global"); }
static CUresult t_library_load(void) { CUlibrary l; return cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0); }
static CUresult t_library_unload(void) { CUlibrary l = spare_library; spare_library = NULL; return cuLibraryUnload(l); }
static CUresult t_func_set(void) { return cuFuncSetAttribute(mad, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024); }
static CUresult t_cache_config(void) { return cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1); }
static CUresult t_batch_cs(void) { CUstreamBatchMemOpParams p = { .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32, mem, { 1 }, 0, 0 } }; return cuStreamBatchMemOp_v2(cs, 1, &p, 0); }
static CUresult t_write_os(void) { return cuStreamWriteValue32_v2(os, mem, 1, 0); }
static CUresult t_cooperative_cs(void) { uint32_t n = 1; void *a[] = { &mem, &n, &n, &n }; return cuLaunchCooperativeKernel(mad, 1, 1, 1, 32, 1, 1, 0, cs, a); }
static CUresult t_bad_memset_cs(void) { return cuMemsetD32Async(mem + 1, 0, 4, cs); }
static CUresult t_bad_function_cs(void) { void *a[] = { NULL }; return cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, cs, a, NULL); }
static CUresult t_no_params_cs(void) { return cuLaunchKernel(mad, 1, 1, 1, 1, 1, 1, 0, cs, NULL, NULL); }
static CUresult t_sync_ptds(void) { return cuStreamSynchronize(PER_THREAD); }
static CUresult t_destroy_cs(void) { CUresult r = cuStreamDestroy_v2(cs); cs = stream(CU_STREAM_NON_BLOCKING); return r; }
static CUresult t_module_load_file(void) { CUmodule m; return cuModuleLoad(&m, "/nowhere"); }
static CUresult t_get_limit(void) { return cuCtxGetLimit(&(size_t){ 0 }, CU_LIMIT_STACK_SIZE); }

static const struct { const char *name; CUresult (*call)(void); } calls[] = {
#define T(n) { #n, t_##n }
    T(query_cs), T(sync_cs), T(query_os), T(sync_os), T(query_legacy), T(sync_legacy), T(sync_ctx), T(query_ce), T(sync_ce), T(query_oe),
    T(sync_oe), T(elapsed_oe), T(elapsed_ce), T(record_os), T(record_bs), T(record_legacy), T(record_cs), T(rerecord_ce), T(record_ext_cs),
    T(wait_ext_cs), T(wait_oe_cs), T(wait_ce_os), T(wait_ce_ext_os), T(wait_ce_legacy), T(wait_oe_os), T(event_create), T(event_destroy),
    T(destroy_ce), T(stream_create), T(stream_destroy), T(alloc), T(alloc_pitch), T(alloc_managed), T(free), T(host_alloc), T(host_free),
    T(get_info), T(h2d), T(d2h), T(d2d), T(memset), T(h2d_cs), T(d2h_cs), T(d2d_cs), T(h2d_os), T(memset_bs), T(memset_legacy),
    T(launch_os), T(launch_bs), T(launch_legacy), T(launch_ptds), T(launch_cs), T(host_cs), T(callback_cs), T(alloc_async_cs),
    T(alloc_async_os), T(free_async_cs), T(free_async_os), T(module_load), T(module_unload), T(get_function), T(func_attribute),
    T(pointer_attribute), T(limit), T(array), T(write_cs), T(wait_cs), T(begin_os), T(instantiate), T(graph_launch_cs),
    T(graph_launch_os), T(graph_launch_legacy), T(upload_cs), T(upload_os), T(bad_launch_cs), T(bad_copy_cs), T(copy0_cs), T(priority_cs),
    T(host_register), T(host_unregister), T(array_destroy), T(mipmap), T(exec_destroy), T(exec_update), T(graph_create), T(pool_create),
    T(pool_trim), T(reserve), T(physical), T(get_global), T(library_load), T(library_unload), T(func_set), T(cache_config), T(batch_cs),
    T(write_os), T(cooperative_cs), T(bad_memset_cs), T(bad_function_cs), T(no_params_cs), T(sync_ptds), T(destroy_cs),
    T(module_load_file), T(get_limit),
#undef T
};

/* What a call gave, the states of the captured stream and of the other one then, what ending the capture gave, and the nodes. */
static struct answer {
    int result, status, other, end;
    size_t nodes;
} answers[2][2];                        /* blocking, non-blocking; this thread, another */

static void
one_call(size_t i, CUstreamCaptureMode mode, bool other_thread, unsigned flags)
{
    MUST(cuStreamCreate(&cs, flags));
    MUST(cuEventRecord(oe, os));
    MUST(cuEventRecord(oe2, os));
    MUST(cuMemAlloc_v2(&spare, 256));
    MUST(cuMemAllocAsync(&pooled, 256, os));
    MUST(cuModuleLoadData(&spare_module, ptx));
    MUST(cuStreamCreate(&spare_stream, 0));
    MUST(cuEventCreate(&spare_event, 0));
    MUST(cuGraphInstantiateWithFlags(&spare_exec, small, 0));
    MUST(cuArrayCreate_v2(&spare_array, &(CUDA_ARRAY_DESCRIPTOR){ 8, 8, CU_AD_FORMAT_UNSIGNED_INT8, 1 }));
    (void)cuMemHostRegister_v2(page2, sizeof page2, 0);
    if (!spare_library)
        MUST(cuLibraryLoadData(&spare_library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    if (!pinned)
        MUST(cuMemHostAlloc(&pinned, 4096, 0));
    MUST(cuCtxSynchronize());
    MUST(cuStreamBeginCapture_v2(cs, mode));
    MUST(launch(cs, mad));
    MUST(cuEventRecord(ce, cs));
    if (other_thread) {
        pthread_t t;
        pthread_create(&t, NULL, in_thread, (void *)(uintptr_t)calls[i].call);
        pthread_join(t, NULL);
    } else {
        call_result = calls[i].call();
    }
    struct answer *x = &answers[flags != 0][other_thread];
    *x = (struct answer){ .result = (int)call_result, .status = status(cs), .other = status(os) };
    CUgraph g = NULL;
    x->end = (int)cuStreamEndCapture(cs, &g);
    if (g)
        (void)cuGraphGetNodes(g, NULL, &x->nodes);
    if (g)
        (void)cuGraphDestroy(g);
    if (status(os)) {
        (void)cuStreamDestroy_v2(os);
        os = stream(CU_STREAM_NON_BLOCKING);
    }
    (void)cuStreamDestroy_v2(cs);
    (void)cuCtxSynchronize();
    (void)cuModuleUnload(spare_module);     /* what the call freed gives an error here, which is nothing to us */
    (void)cuArrayDestroy(spare_array);
    (void)cuGraphExecDestroy(spare_exec);
}

static void
calls_section(CUstreamCaptureMode mode)
{
    setup();
    os = stream(CU_STREAM_NON_BLOCKING);
    bs = stream(0);
    ce = event(), oe = event(), oe2 = event();
    MUST(cuStreamBeginCapture_v2(bs, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(launch(bs, mad));
    MUST(cuStreamEndCapture(bs, &small));
    MUST(cuGraphInstantiateWithFlags(&small_exec, small, 0));
    for (size_t i = 0; i < COUNT(calls); i++) {
        printf("%s:", calls[i].name);
        bool same = true;
        for (int flags = 0; flags < 2; flags++)
            for (int t = 0; t < 2; t++) {
                one_call(i, mode, t, flags ? CU_STREAM_NON_BLOCKING : 0);
                same &= !memcmp(&answers[flags][t], &answers[0][0], sizeof answers[0][0]);
            }
        for (int k = 0; k < (same ? 1 : 4); k++) {
            const struct answer *a = &answers[k / 2][k % 2];
            printf(" %d/%d/%d/%d/%zu", a->result, a->status, a->other, a->end, a->nodes);
        }
        fact("");
    }
}

void calls_global(void) { calls_section(CU_STREAM_CAPTURE_MODE_GLOBAL); }
void calls_thread(void) { calls_section(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); }
void calls_relaxed(void) { calls_section(CU_STREAM_CAPTURE_MODE_RELAXED); }
