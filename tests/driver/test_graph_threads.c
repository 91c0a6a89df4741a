/* SPDX-License-Identifier: Apache-2.0
 * Graphs that several threads use at once, also against CUDA's rules: calls wait for no launch, and what is wrong is nobody's memory. */
#include "tests/driver/graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static CUcontext ctx;
static CUdeviceptr x;                   /* 512 bytes */
static CUfunction store, spin;

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry store(.param .u64 p, .param .u32 v) {\n"
    "  .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p]; ld.param.u32 %r, [v]; st.global.u32 [%d], %r; ret;\n}\n"
    ".visible .entry spin(.param .u64 p) {\n"          /* until it is not 0 */
    "  .reg .b32 %r; .reg .pred %q; .reg .b64 %d; ld.param.u64 %d, [p];\n"
    "L: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra L; ret;\n}\n";

/* One thread launches a graph that binds a texture anew each time, another updates it, while a third stream captures: they take the graphs'
 * lock and the executable graph's in one order. */
struct bound_graph {
    CUgraph g;
    CUgraphExec e;
    CUtexref ref;
};

enum { ROUNDS = 300 };

static void *
launch_bound(void *p)
{
    struct bound_graph *b = p;
    OK(cuCtxSetCurrent(ctx));
    CUstream s = stream();
    for (unsigned i = 0; i < ROUNDS; i++) {
        OK(cuTexRefSetFlags(b->ref, i & 1 ? CU_TRSF_READ_AS_INTEGER : 0));
        OK(cuGraphLaunch(b->e, s));
    }
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy_v2(s));
    return NULL;
}

static void *
update_bound(void *p)
{
    struct bound_graph *b = p;
    CUgraphExecUpdateResultInfo info;
    for (unsigned i = 0; i < ROUNDS * 10; i++)
        OK(cuGraphExecUpdate_v2(b->e, b->g, &info));
    return NULL;
}

static void
lock_order(void)
{
    static const char bound[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.global .texref t;\n"
        ".visible .entry k() { .reg .f32 %f<4>; .reg .b32 %r; mov.b32 %r, 0; tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [t, {%r}]; ret; }\n";
    struct bound_graph b;
    CUmodule m;
    CUfunction f;
    CUgraphNode n;
    CUgraph captured;
    size_t offset;
    CUstream s = stream();
    pthread_t t[2];
    OK(cuModuleLoadData(&m, bound));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuModuleGetTexRef(&b.ref, m, "t"));
    OK(cuTexRefSetFormat(b.ref, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefSetAddress_v2(&offset, b.ref, x, 512));
    CUDA_KERNEL_NODE_PARAMS k = one_thread(f, NULL);
    OK(cuGraphCreate(&b.g, 0));
    OK(cuGraphAddKernelNode_v2(&n, b.g, NULL, 0, &k));
    b.e = instantiate(b.g);
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    pthread_create(&t[0], NULL, launch_bound, &b);
    pthread_create(&t[1], NULL, update_bound, &b);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    OK(cuStreamEndCapture(s, &captured));
    OK(cuGraphDestroy(captured));
    OK(cuGraphExecDestroy(b.e));
    OK(cuGraphDestroy(b.g));
    OK(cuModuleUnload(m));
    OK(cuStreamDestroy_v2(s));
}

/* A launch waits for the value of a condition, and an update for the launch, but nothing else for either: not the calls that end the wait here. */
struct waiting {
    CUgraph g;
    CUgraphExec e;
    _Atomic int launched, updated;
};

static void *
launch_waiting(void *p)
{
    struct waiting *w = p;
    OK(cuCtxSetCurrent(ctx));
    CUstream s = stream();
    OK(cuGraphLaunch(w->e, s));
    atomic_store(&w->launched, 1);
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy_v2(s));
    return NULL;
}

static void *
update_waiting(void *p)
{
    struct waiting *w = p;
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphExecUpdate_v2(w->e, w->g, &info));
    atomic_store(&w->updated, 1);
    return NULL;
}

static void
condition_waits(void)
{
    static struct waiting w;
    _Atomic uint32_t *flag;
    CUgraphConditionalHandle h;
    CUgraphNode first, n;
    CUgraph other;
    pthread_t t[2];
    OK(cuMemHostAlloc((void **)&flag, 4, 0));
    atomic_init(flag, 0);
    void *args[] = { &flag };
    CUDA_KERNEL_NODE_PARAMS k = one_thread(spin, args);
    OK(cuGraphCreate(&w.g, 0));
    OK(cuGraphAddKernelNode_v2(&first, w.g, NULL, 0, &k));
    OK(cuGraphConditionalHandleCreate(&h, w.g, ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .conditional = { .handle = h, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = ctx } };
    OK(cuGraphAddNode_v2(&n, w.g, &first, NULL, 1, &p));
    w.e = instantiate(w.g);
    pthread_create(&t[0], NULL, launch_waiting, &w);
    usleep(100000);
    pthread_create(&t[1], NULL, update_waiting, &w);
    usleep(100000);
    EXPECT(!w.launched && !w.updated);
    alarm(60);                          /* the two wait for what comes now */
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddEmptyNode(&n, other, NULL, 0));
    OK(cuGraphDestroy(other));
    atomic_store(flag, 1);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    alarm(0);
    OK(cuGraphExecDestroy(w.e));
    OK(cuGraphDestroy(w.g));
    OK(cuMemFreeHost(flag));
}

/* Launches that allocate, and frees of the same memory in other threads. */
static _Atomic bool over;

static void *
free_again(void *p)
{
    OK(cuCtxSetCurrent(ctx));
    while (!atomic_load(&over)) {
        CUresult e = cuMemFree_v2(*(CUdeviceptr *)p);
        EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_INVALID_VALUE);
    }
    return NULL;
}

static void
frees(void)
{
    for (int i = 0; i < 5; i++) {
        CUstream s = stream();
        CUgraph g;
        CUgraphNode n;
        pthread_t t[2];
        CUDA_MEM_ALLOC_NODE_PARAMS a = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                         .bytesize = 4096 };
        OK(cuGraphCreate(&g, 0));
        OK(cuGraphAddMemAllocNode(&n, g, NULL, 0, &a));
        CUgraphExec e = instantiate(g);
        OK(cuGraphDestroy(g));
        atomic_store(&over, false);
        for (int k = 0; k < 2; k++)
            pthread_create(&t[k], NULL, free_again, &a.dptr);
        for (int k = 0; k < 2000; k++) {
            CUresult r = cuGraphLaunch(e, s);
            EXPECT(r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE);
        }
        OK(cuGraphExecDestroy(e));
        atomic_store(&over, true);
        for (int k = 0; k < 2; k++)
            pthread_join(t[k], NULL);
        OK(cuStreamDestroy_v2(s));
    }
}

/* A node's parameters are replaced while the graph is cloned, instantiated and asked about: each sees the old or the new ones. */
static CUgraphNode changing;

static void *
change(void *unused)
{
    uint32_t v = 1;
    void *args[] = { &x, &v };
    CUDA_KERNEL_NODE_PARAMS k = one_thread(store, args);
    OK(cuCtxSetCurrent(ctx));
    while (!atomic_load(&over))
        OK(cuGraphKernelNodeSetParams_v2(changing, &k));
    return unused;
}

static void
changes(void)
{
    uint32_t v = 1;
    void *args[] = { &x, &v };
    CUDA_KERNEL_NODE_PARAMS k = one_thread(store, args), is;
    CUgraph g, clone;
    pthread_t t;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode_v2(&changing, g, NULL, 0, &k));
    atomic_store(&over, false);
    pthread_create(&t, NULL, change, NULL);
    for (int i = 0; i < 1000; i++) {
        OK(cuGraphClone(&clone, g));
        OK(cuGraphExecDestroy(instantiate(clone)));
        OK(cuGraphDestroy(clone));
        OK(cuGraphKernelNodeGetParams_v2(changing, &is));
        EXPECT(is.func == store && is.gridDimX == 1);
    }
    atomic_store(&over, true);
    pthread_join(t, NULL);
    OK(cuGraphDestroy(g));
}

int
main(void)
{
    CUmodule m;
    ctx = make_context();
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&store, m, "store"));
    OK(cuModuleGetFunction(&spin, m, "spin"));
    OK(cuMemAlloc_v2(&x, 512));
    if (failures)
        return 1;
    static const struct graph_case tests[] = {
        { "lock_order", lock_order }, { "condition_waits", condition_waits }, { "frees", frees }, { "changes", changes },
    };
    run_cases(tests, sizeof tests / sizeof *tests);
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
