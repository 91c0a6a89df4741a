/* SPDX-License-Identifier: Apache-2.0
 * Branches of a launched graph: they overlap (kernels of two branches wait for each other; host functions take turns), and whatever overlaps, every
 * edge holds: random graphs of kernels, host functions and child graphs compute what their nodes do one after another.
 *   test_driver_branches [SEED [GRAPHS]] */
#include "tests/driver/graphs.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { NODES = 24, LAUNCHES = 3, STAGES = 3 };

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* v[at] = 3 v[at] + 1 + the sum of v[list[0]], ..., v[list[n - 1]], after a while. */
    ".visible .entry node(.param .u64 v, .param .u64 list, .param .u32 n, .param .u32 at, .param .u32 delay)\n{\n"
    "    .reg .b64 %v, %list, %p, %mine; .reg .b32 %n, %at, %delay, %i, %k, %x, %sum; .reg .pred %q;\n"
    "    ld.param.u64 %v, [v]; ld.param.u64 %list, [list]; ld.param.u32 %n, [n]; ld.param.u32 %at, [at]; ld.param.u32 %delay, [delay];\n"
    "    mul.wide.u32 %mine, %at, 4; add.u64 %mine, %v, %mine;\n"
    "$wait:\n    ld.volatile.global.u32 %x, [%mine]; sub.u32 %delay, %delay, 1; setp.gt.s32 %q, %delay, 0;\n    @%q bra $wait;\n"
    "    mad.lo.u32 %sum, %x, 3, 1; mov.u32 %i, 0;\n"
    "$add:\n    setp.ge.u32 %q, %i, %n;\n    @%q bra $done;\n"
    "    mul.wide.u32 %p, %i, 4; add.u64 %p, %list, %p; ld.global.u32 %k, [%p];\n"
    "    mul.wide.u32 %p, %k, 4; add.u64 %p, %v, %p; ld.volatile.global.u32 %x, [%p]; add.u32 %sum, %sum, %x;\n"
    "    add.u32 %i, %i, 1;\n    bra $add;\n"
    "$done:\n    st.volatile.global.u32 [%mine], %sum;\n    ret;\n}\n"
    /* mine = 1; waits until other is not 0, or for long; result += other. */
    ".visible .entry meet(.param .u64 mine, .param .u64 other, .param .u64 result)\n{\n"
    "    .reg .b64 %mine, %other, %out; .reg .b32 %x, %left; .reg .pred %p;\n"
    "    ld.param.u64 %mine, [mine]; ld.param.u64 %other, [other]; ld.param.u64 %out, [result];\n"
    "    st.volatile.global.u32 [%mine], 1; mov.u32 %left, 3000000;\n"
    "$spin:\n    ld.volatile.global.u32 %x, [%other]; sub.u32 %left, %left, 1;\n"
    "    setp.eq.u32 %p, %x, 0; setp.ne.and.u32 %p, %left, 0, %p;\n    @%p bra $spin;\n"
    "    red.global.add.u32 [%out], %x;\n    ret;\n}\n";

static CUcontext ctx;
static CUfunction node_kernel, meet_kernel;
static CUstream streams[2];

static uint64_t seed = 1;

static uint32_t
pick(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static CUgraphNode
add_kernel(CUgraph g, const CUgraphNode *deps, size_t n, CUfunction f, void **params)
{
    CUgraphNode out = NULL;
    CUDA_KERNEL_NODE_PARAMS k = one_thread(f, params);
    OK(cuGraphAddKernelNode_v2(&out, g, deps, n, &k));
    return out;
}

/* ---- overlap ---- */

/* Forks and joins in a row, the two branches of each wait for each other. */
static void
kernels_meet(void)
{
    CUdeviceptr words;
    CUgraph g;
    CUgraphNode join = NULL;
    uint32_t met[LAUNCHES * STAGES] = { 0 };
    const size_t flags = 8 * STAGES;
    OK(cuMemAlloc_v2(&words, flags + 4 * STAGES));
    OK(cuMemsetD8_v2(words, 0, flags + 4 * STAGES));
    OK(cuGraphCreate(&g, 0));
    for (unsigned i = 0; i < STAGES; i++) {
        CUdeviceptr a = words + 8 * i, b = a + 4, out = words + flags + 4 * i;
        CUgraphNode both[2];
        both[0] = add_kernel(g, &join, i != 0, meet_kernel, (void *[]){ &a, &b, &out });
        both[1] = add_kernel(g, &join, i != 0, meet_kernel, (void *[]){ &b, &a, &out });
        OK(cuGraphAddEmptyNode(&join, g, both, 2));
    }
    CUDA_MEMSET_NODE_PARAMS zero = { .dst = words, .elementSize = 4, .width = flags / 4, .height = 1 };
    CUgraphNode last;
    OK(cuGraphAddMemsetNode(&last, g, &join, 1, &zero, ctx));
    CUgraphExec x = instantiate(g);
    for (unsigned i = 0; i < LAUNCHES; i++)
        OK(cuGraphLaunch(x, streams[i & 1]));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(met, words + flags, 4 * STAGES));
    for (unsigned i = 0; i < STAGES; i++)
        EXPECT(met[i] == 2 * LAUNCHES);
    OK(cuGraphExecDestroy(x));
    OK(cuGraphDestroy(g));
    OK(cuMemFree_v2(words));
}

/* Host functions take turns in a context, in whichever stream, branch or callback they are ... */
static atomic_int inside, most, called;

static void
take_turn(void *unused)
{
    int n = atomic_fetch_add(&inside, 1) + 1;
    if (n > atomic_load(&most))
        atomic_store(&most, n);
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&called, 1);
}

static void
take_turn_too(CUstream s, CUresult status, void *user)
{
    take_turn(user);
}

static void
hosts_take_turns(void)
{
    CUgraph g;
    CUgraphNode n;
    CUDA_HOST_NODE_PARAMS p = { take_turn, NULL };
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&n, g, NULL, 0, &p));
    OK(cuGraphAddHostNode(&n, g, NULL, 0, &p));
    CUgraphExec x = instantiate(g);
    OK(cuGraphLaunch(x, streams[0]));
    OK(cuGraphExecDestroy(x));              /* the launch goes on */
    OK(cuLaunchHostFunc(streams[1], take_turn, NULL));
    OK(cuStreamAddCallback(CU_STREAM_PER_THREAD, take_turn_too, NULL, 0));
    OK(cuCtxSynchronize());
    EXPECT(atomic_load(&called) == 4 && atomic_load(&most) == 1);
    OK(cuGraphDestroy(g));
}

/* ... and those of two contexts overlap. */
static atomic_int here, together;

static void
host_meet(void *unused)
{
    atomic_fetch_add(&here, 1);
    for (int i = 0; i < 5000 && atomic_load(&here) < 2; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    if (atomic_load(&here) == 2)
        atomic_fetch_add(&together, 1);
}

static void
contexts_meet(void)
{
    CUcontext second;
    CUstream s;
    OK(cuLaunchHostFunc(streams[0], host_meet, NULL));
    OK(cuCtxCreate_v2(&second, 0, 0));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(s, host_meet, NULL));
    OK(cuStreamSynchronize(s));
    OK(cuCtxDestroy_v2(second));
    OK(cuStreamSynchronize(streams[0]));
    EXPECT(atomic_load(&together) == 2);
}

/* ---- order ---- */

static volatile uint32_t *v;
static CUdeviceptr v_device;

struct call {                           /* a node's */
    uint32_t at, n, delay, *list;       /* list: pinned memory */
    bool host;
};

static void
compute(void *user)
{
    const struct call *c = user;
    for (uint32_t i = 0; i < c->delay / 64; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
    uint32_t sum = v[c->at] * 3 + 1;
    for (uint32_t i = 0; i < c->n; i++)
        sum += v[c->list[i]];
    v[c->at] = sum;
}

static CUgraphNode
add_node(CUgraph g, const CUgraphNode *deps, size_t n, struct call *c)
{
    CUgraphNode out = NULL;
    if (c->host) {
        OK(cuGraphAddHostNode(&out, g, deps, n, &(CUDA_HOST_NODE_PARAMS){ compute, c }));
        return out;
    }
    CUdeviceptr list;
    OK(cuMemHostGetDevicePointer_v2(&list, c->list, 0));
    return add_kernel(g, deps, n, node_kernel, (void *[]){ &v_device, &list, &c->n, &c->at, &c->delay });
}

/* Random nodes behind random others of the same graph; some are graphs of two branches. calls[i] computes v[i]; returns their number. */
static uint32_t
random_graph(CUgraph g, struct call *calls, uint32_t first, uint32_t most, uint32_t *lists, bool nested)
{
    CUgraphNode nodes[NODES], deps[NODES];
    uint32_t places[NODES], n = 0, used = first;    /* places: the number that stands for the node */
    uint32_t often = 1 + pick(4);
    while (used < first + most) {
        struct call *c = &calls[used];
        *c = (struct call){ .at = used, .list = lists + used * NODES, .delay = pick(4) ? pick(50) : pick(3000), .host = pick(8) == 0 };
        size_t ndeps = 0;
        for (uint32_t i = 0; i < n; i++)
            if (pick(1 + n / often) == 0) {
                deps[ndeps++] = nodes[i];
                c->list[c->n++] = places[i];
            }
        const uint32_t left = first + most - used;
        if (nested && left > 3 && pick(5) == 0) {
            /* Its nodes read what it depends on only through the first of them: that one is in front of all. */
            CUgraph child;
            nodes[n] = add_node(g, deps, ndeps, c);
            OK(cuGraphCreate(&child, 0));
            uint32_t inner = random_graph(child, calls, used + 1, 1 + pick(left - 2), lists, false);
            CUgraphNode whole = NULL;
            OK(cuGraphAddChildGraphNode(&whole, g, &nodes[n], 1, child));
            OK(cuGraphDestroy(child));
            places[n] = used;
            n++;
            nodes[n] = whole;
            places[n++] = used + pick(inner + 1);
            used += 1 + inner;
            continue;
        }
        nodes[n] = add_node(g, deps, ndeps, c);
        places[n++] = used++;
    }
    return used - first;
}

static void
random_order(uint32_t *lists)
{
    static struct call calls[NODES];
    uint32_t want[NODES] = { 0 };
    CUgraph g;
    for (uint32_t i = 0; i < NODES; i++)
        v[i] = 0;
    OK(cuGraphCreate(&g, 0));
    const uint64_t this = seed;
    uint32_t n = random_graph(g, calls, 0, 2 + pick(NODES - 1), lists, true);
    CUgraphExec x = instantiate(g);
    for (unsigned l = 0; l < LAUNCHES; l++) {
        OK(cuGraphLaunch(x, streams[l & 1]));
        for (uint32_t i = 0; i < n; i++) {      /* calls are in an order that respects the edges */
            want[i] = want[i] * 3 + 1;
            for (uint32_t k = 0; k < calls[i].n; k++)
                want[i] += want[calls[i].list[k]];
        }
    }
    OK(cuCtxSynchronize());
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != want[i]) {
            fprintf(stderr, "graph of seed %llu: node %u of %u is %u, not %u\n", (unsigned long long)this, i, n, v[i], want[i]);
            failures++;
            break;
        }
    OK(cuGraphExecDestroy(x));
    OK(cuGraphDestroy(g));
}

int
main(int argc, char **argv)
{
    CUmodule m;
    void *p;
    ctx = make_context();
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&node_kernel, m, "node"));
    OK(cuModuleGetFunction(&meet_kernel, m, "meet"));
    for (int i = 0; i < 2; i++)
        OK(cuStreamCreate(&streams[i], i));
    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 10);
    } else {
        kernels_meet();
        hosts_take_turns();
    contexts_meet();
    }
    OK(cuMemHostAlloc(&p, 4 * NODES * (NODES + 1), CU_MEMHOSTALLOC_DEVICEMAP));
    v = p;
    OK(cuMemHostGetDevicePointer_v2(&v_device, p, 0));
    for (int i = 0, n = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : 40; i < n && !failures; i++)
        random_order((uint32_t *)p + NODES);
    OK(cuStreamDestroy_v2(streams[0]));
    OK(cuMemFreeHost(p));
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
