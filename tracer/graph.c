/* SPDX-License-Identifier: Apache-2.0
 * Graph launches for observers of kernel launches. A graph's kernels run without a call of their own, so while such an observer
 * is active a launch of an executable graph is replaced by its nodes, one call each, in an order that respects the edges; these
 * calls go through the observers like the application's. A clone of the graph at its instantiation is kept, and every change of
 * the executable graph is repeated on it. A graph that cannot be followed is launched as it is, and observers are notified. */
#include "tracer/layer_private.h"

#include "impl/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct followed {
    CUgraphExec exec;
    CUgraph clone;              /* NULL: not followed */
    const char *why;
    CUstream last;              /* of the latest launch */
    bool launched, last_per_thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct followed *list;   /* lock */
static size_t count, capacity;
static const struct cw_cuda_table *below;
static const struct cw_cuda_table *const top = &cw_layer_observed;

/* lock held */
static struct followed *
find(CUgraphExec x)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].exec == x)
            return &list[i];
    return NULL;
}

static void
follow(CUgraphExec x, CUgraph g)
{
    CUgraph clone = NULL;
    const char *why = NULL;
    if (below->cuGraphClone(&clone, g) != CUDA_SUCCESS) {
        clone = NULL;
        why = "it cannot be cloned (it allocates memory)";
    }
    pthread_mutex_lock(&lock);
    struct followed *f = find(x);
    if (!f && count == capacity) {
        size_t n = capacity ? capacity * 2 : 16;
        struct followed *l = realloc(list, n * sizeof *l);
        if (l) {
            list = l;
            capacity = n;
        }
    }
    if (!f && count < capacity)
        f = &list[count++], *f = (struct followed){ .exec = x };
    CUgraph old = f ? f->clone : clone;
    if (f) {
        f->clone = clone;
        f->why = why;
    }
    pthread_mutex_unlock(&lock);
    if (old)
        (void)below->cuGraphDestroy(old);
}

static void
lose(CUgraphExec x, const char *why)
{
    CUgraph old = NULL;
    pthread_mutex_lock(&lock);
    struct followed *f = find(x);
    if (f) {
        old = f->clone;
        f->clone = NULL;
        f->why = why;
    }
    pthread_mutex_unlock(&lock);
    if (old)
        (void)below->cuGraphDestroy(old);
}

/* The clone's node for one of the application's; on NULL the graph is no longer followed. */
static CUgraphNode
in_clone(CUgraphExec x, CUgraphNode n)
{
    CUgraphNode found = NULL;
    pthread_mutex_lock(&lock);
    struct followed *f = find(x);
    if (f && f->clone && below->cuGraphNodeFindInClone(&found, n, f->clone) != CUDA_SUCCESS)
        found = NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- running node by node ------------------------------------------------------------------------------------------------- */

struct place {
    CUstream stream;
    bool per_thread;
};

#define CALL(p, name, ...) ((p)->per_thread ? top->name##_ptsz(__VA_ARGS__) : top->name(__VA_ARGS__))

static CUresult
run_kernel(const struct place *p, CUgraphNode n)
{
    CUDA_KERNEL_NODE_PARAMS k;
    CUkernelNodeAttrValue coop = { .cooperative = 0 }, cluster = { .clusterDim = { 0, 0, 0 } };
    memset(&k, 0, sizeof k);
    CUresult r = below->cuGraphKernelNodeGetParams_v2(n, &k);
    if (r != CUDA_SUCCESS)
        return r;
    (void)below->cuGraphKernelNodeGetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &coop);
    (void)below->cuGraphKernelNodeGetAttribute(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster);
    CUfunction f = k.func ? k.func : (CUfunction)k.kern;
    if (cluster.clusterDim.x) {
        CUlaunchAttribute attributes[2] = { { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value = cluster }, { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = coop } };
        CUlaunchConfig config = { .gridDimX = k.gridDimX, .gridDimY = k.gridDimY, .gridDimZ = k.gridDimZ, .blockDimX = k.blockDimX, .blockDimY = k.blockDimY,
                                  .blockDimZ = k.blockDimZ, .sharedMemBytes = k.sharedMemBytes, .hStream = p->stream, .attrs = attributes,
                                  .numAttrs = coop.cooperative ? 2 : 1 };
        return CALL(p, cuLaunchKernelEx, &config, f, k.kernelParams, k.kernelParams ? NULL : k.extra);
    }
    if (coop.cooperative)
        return CALL(p, cuLaunchCooperativeKernel, f, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY, k.blockDimZ,
                    k.sharedMemBytes, p->stream, k.kernelParams);
    return CALL(p, cuLaunchKernel, f, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY, k.blockDimZ, k.sharedMemBytes,
                p->stream, k.kernelParams, k.kernelParams ? NULL : k.extra);
}

static CUresult
run_memset(const struct place *p, CUgraphNode n)
{
    CUDA_MEMSET_NODE_PARAMS s;
    CUresult r = below->cuGraphMemsetNodeGetParams(n, &s);
    if (r != CUDA_SUCCESS)
        return r;
    if (s.height > 1)
        return s.elementSize == 1 ? CALL(p, cuMemsetD2D8Async, s.dst, s.pitch, (unsigned char)s.value, s.width, s.height, p->stream)
               : s.elementSize == 2 ? CALL(p, cuMemsetD2D16Async, s.dst, s.pitch, (unsigned short)s.value, s.width, s.height, p->stream)
                                    : CALL(p, cuMemsetD2D32Async, s.dst, s.pitch, s.value, s.width, s.height, p->stream);
    return s.elementSize == 1 ? CALL(p, cuMemsetD8Async, s.dst, (unsigned char)s.value, s.width, p->stream)
           : s.elementSize == 2 ? CALL(p, cuMemsetD16Async, s.dst, (unsigned short)s.value, s.width, p->stream)
                                : CALL(p, cuMemsetD32Async, s.dst, s.value, s.width, p->stream);
}

static CUresult run_graph(const struct place *p, CUgraph g);

static CUresult
run_node(const struct place *p, CUgraphNode n)
{
    CUgraphNodeType type;
    CUresult r = below->cuGraphNodeGetType(n, &type);
    if (r != CUDA_SUCCESS)
        return r;
    switch ((int)type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return run_kernel(p, n);
    case CU_GRAPH_NODE_TYPE_MEMSET: return run_memset(p, n);
    case CU_GRAPH_NODE_TYPE_EMPTY:  return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
        CUDA_MEMCPY3D c;
        r = below->cuGraphMemcpyNodeGetParams(n, &c);
        return r == CUDA_SUCCESS ? p->per_thread ? top->cuMemcpy3DAsync_v2_ptsz(&c, p->stream) : top->cuMemcpy3DAsync_v2(&c, p->stream) : r;
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
        CUDA_HOST_NODE_PARAMS h;
        r = below->cuGraphHostNodeGetParams(n, &h);
        return r == CUDA_SUCCESS ? CALL(p, cuLaunchHostFunc, p->stream, h.fn, h.userData) : r;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
        CUgraph child;
        r = below->cuGraphChildGraphNodeGetGraph(n, &child);
        return r == CUDA_SUCCESS ? run_graph(p, child) : r;
    }
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
        CUevent e;
        r = below->cuGraphEventRecordNodeGetEvent(n, &e);
        return r == CUDA_SUCCESS ? CALL(p, cuEventRecord, e, p->stream) : r;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
        CUevent e;
        r = below->cuGraphEventWaitNodeGetEvent(n, &e);
        return r == CUDA_SUCCESS ? CALL(p, cuStreamWaitEvent, p->stream, e, 0) : r;
    }
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* Whether run_node knows all node types, children included; asked before the first runs. */
static bool
known(CUgraph g)
{
    size_t n = 0;
    if (below->cuGraphGetNodes(g, NULL, &n) != CUDA_SUCCESS)
        return false;
    CUgraphNode *nodes = calloc(n + 1, sizeof *nodes);
    bool ok = nodes && below->cuGraphGetNodes(g, nodes, &n) == CUDA_SUCCESS;
    for (size_t i = 0; ok && i < n; i++) {
        CUgraphNodeType t;
        CUgraph child;
        ok = below->cuGraphNodeGetType(nodes[i], &t) == CUDA_SUCCESS && (int)t <= CU_GRAPH_NODE_TYPE_EVENT_RECORD;
        if (ok && t == CU_GRAPH_NODE_TYPE_GRAPH)
            ok = below->cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS && known(child);
    }
    free(nodes);
    return ok;
}

static int
by_value(const void *a, const void *b)
{
    CUgraphNode x = *(CUgraphNode const *)a, y = *(CUgraphNode const *)b;
    return (x > y) - (x < y);
}

static size_t
place_of(const CUgraphNode *sorted, size_t n, CUgraphNode h)
{
    const CUgraphNode *p = bsearch(&h, sorted, n, sizeof h, by_value);
    return p ? (size_t)(p - sorted) : 0;
}

/* Run ready nodes until none is left; an instantiated graph has no cycle. */
static CUresult
run_graph(const struct place *p, CUgraph g)
{
    size_t n = 0, edges = 0;
    CUresult r = below->cuGraphGetNodes(g, NULL, &n);
    if (r == CUDA_SUCCESS)
        r = below->cuGraphGetEdges(g, NULL, NULL, &edges);
    CUgraphNode *nodes = calloc(n + 1, sizeof *nodes), *sorted = calloc(n + 1, sizeof *sorted);
    CUgraphNode *from = calloc(edges + 1, sizeof *from), *to = calloc(edges + 1, sizeof *to), *line = calloc(n + 1, sizeof *line);
    size_t *left = calloc(n + 1, sizeof *left);
    if (r == CUDA_SUCCESS && (!nodes || !sorted || !from || !to || !left || !line))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS)
        r = below->cuGraphGetNodes(g, nodes, &n);
    if (r == CUDA_SUCCESS && edges)
        r = below->cuGraphGetEdges(g, from, to, &edges);
    if (r == CUDA_SUCCESS) {
        size_t head = 0, tail = 0;
        memcpy(sorted, nodes, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
        for (size_t i = 0; i < edges; i++)
            left[place_of(sorted, n, to[i])]++;
        for (size_t i = 0; i < n; i++)
            if (!left[place_of(sorted, n, nodes[i])])
                line[tail++] = nodes[i];
        while (head < tail && r == CUDA_SUCCESS) {
            CUgraphNode now = line[head++];
            r = run_node(p, now);
            for (size_t i = 0; i < edges; i++)
                if (from[i] == now && !--left[place_of(sorted, n, to[i])])
                    line[tail++] = to[i];
        }
    }
    free(nodes);
    free(sorted);
    free(from);
    free(to);
    free(line);
    free(left);
    return r;
}

static CUresult
launch(CUgraphExec x, CUstream s, bool per_thread)
{
    CUstreamCaptureStatus st = CU_STREAM_CAPTURE_STATUS_NONE;
    (void)(per_thread ? below->cuStreamIsCapturing_ptsz(s, &st) : below->cuStreamIsCapturing(s, &st));
    CUgraph g = NULL;
    const char *why = NULL;
    CUstream last = NULL;
    bool elsewhere = false, last_per_thread = false;
    pthread_mutex_lock(&lock);
    struct followed *f = find(x);
    if (f) {
        g = f->clone;
        why = f->why;
        last = f->last, last_per_thread = f->last_per_thread;
        elsewhere = f->launched && (f->last != s || f->last_per_thread != per_thread);
        f->launched = true;
        f->last = s, f->last_per_thread = per_thread;
    }
    pthread_mutex_unlock(&lock);
    if (f && st == CU_STREAM_CAPTURE_STATUS_NONE && g && !known(g)) {
        g = NULL;
        why = "it has nodes of a kind that is not followed";
    }
    if (!f || !g || st != CU_STREAM_CAPTURE_STATUS_NONE) {
        if (f && st == CU_STREAM_CAPTURE_STATUS_NONE)
            cw_layer_unseen("the kernels of a graph launch", why ? why : "it is not followed");
        return per_thread ? below->cuGraphLaunch_ptsz(x, s) : below->cuGraphLaunch(x, s);
    }
    if (elsewhere)              /* launches of one executable graph follow each other */
        (void)(last_per_thread ? below->cuStreamSynchronize_ptsz(last) : below->cuStreamSynchronize(last));
    return run_graph(&(struct place){ s, per_thread }, g);
}

/* ---- the functions that are replaced ------------------------------------------------------------------------------------------ */

static CUresult CUDAAPI graph_launch(CUgraphExec x, CUstream s) { return launch(x, s, false); }
static CUresult CUDAAPI graph_launch_ptsz(CUgraphExec x, CUstream s) { return launch(x, s, true); }

static CUresult
instantiated(CUresult r, const CUgraphExec *x, CUgraph g)
{
    if (r == CUDA_SUCCESS)
        follow(*x, g);
    return r;
}

static CUresult CUDAAPI
instantiate(CUgraphExec *x, CUgraph g, CUgraphNode *n, char *log, size_t size)
{
    return instantiated(below->cuGraphInstantiate(x, g, n, log, size), x, g);
}

static CUresult CUDAAPI
instantiate_v2(CUgraphExec *x, CUgraph g, CUgraphNode *n, char *log, size_t size)
{
    return instantiated(below->cuGraphInstantiate_v2(x, g, n, log, size), x, g);
}

static CUresult CUDAAPI
instantiate_flags(CUgraphExec *x, CUgraph g, unsigned long long flags)
{
    return instantiated(below->cuGraphInstantiateWithFlags(x, g, flags), x, g);
}

static CUresult CUDAAPI
instantiate_params(CUgraphExec *x, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    return instantiated(below->cuGraphInstantiateWithParams(x, g, p), x, g);
}

static CUresult CUDAAPI
instantiate_params_ptsz(CUgraphExec *x, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    return instantiated(below->cuGraphInstantiateWithParams_ptsz(x, g, p), x, g);
}

static CUresult CUDAAPI
exec_destroy(CUgraphExec x)
{
    CUresult r = below->cuGraphExecDestroy(x);
    if (r != CUDA_SUCCESS)
        return r;
    lose(x, NULL);
    pthread_mutex_lock(&lock);
    struct followed *f = find(x);
    if (f)
        *f = list[--count];
    pthread_mutex_unlock(&lock);
    return r;
}

static CUresult CUDAAPI
exec_update(CUgraphExec x, CUgraph g, CUgraphNode *n, CUgraphExecUpdateResult *result)
{
    return instantiated(below->cuGraphExecUpdate(x, g, n, result), &x, g);
}

static CUresult CUDAAPI
exec_update_v2(CUgraphExec x, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
    return instantiated(below->cuGraphExecUpdate_v2(x, g, info), &x, g);
}

/* Repeats a change of the executable graph on the clone. */
#define REPEAT(x, n, r, call)                                                                                          \
    do {                                                                                                               \
        CUgraphNode m = r == CUDA_SUCCESS ? in_clone(x, n) : NULL;                                                     \
        if (r == CUDA_SUCCESS && (!m || (call) != CUDA_SUCCESS))                                                       \
            lose(x, "a node was changed in a way that is not followed");                                               \
        return r;                                                                                                      \
    } while (0)

static CUresult CUDAAPI
set_kernel(CUgraphExec x, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUresult r = below->cuGraphExecKernelNodeSetParams(x, n, p);
    REPEAT(x, n, r, below->cuGraphKernelNodeSetParams(m, p));
}

static CUresult CUDAAPI
set_kernel_v2(CUgraphExec x, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUresult r = below->cuGraphExecKernelNodeSetParams_v2(x, n, p);
    REPEAT(x, n, r, below->cuGraphKernelNodeSetParams_v2(m, p));
}

static CUresult CUDAAPI
set_memcpy(CUgraphExec x, CUgraphNode n, const CUDA_MEMCPY3D *p, CUcontext c)
{
    CUresult r = below->cuGraphExecMemcpyNodeSetParams(x, n, p, c);
    REPEAT(x, n, r, below->cuGraphMemcpyNodeSetParams(m, p));
}

static CUresult CUDAAPI
set_memset(CUgraphExec x, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
    CUresult r = below->cuGraphExecMemsetNodeSetParams(x, n, p, c);
    REPEAT(x, n, r, below->cuGraphMemsetNodeSetParams(m, p));
}

static CUresult CUDAAPI
set_host(CUgraphExec x, CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p)
{
    CUresult r = below->cuGraphExecHostNodeSetParams(x, n, p);
    REPEAT(x, n, r, below->cuGraphHostNodeSetParams(m, p));
}

static CUresult CUDAAPI
set_record(CUgraphExec x, CUgraphNode n, CUevent e)
{
    CUresult r = below->cuGraphExecEventRecordNodeSetEvent(x, n, e);
    REPEAT(x, n, r, below->cuGraphEventRecordNodeSetEvent(m, e));
}

static CUresult CUDAAPI
set_wait(CUgraphExec x, CUgraphNode n, CUevent e)
{
    CUresult r = below->cuGraphExecEventWaitNodeSetEvent(x, n, e);
    REPEAT(x, n, r, below->cuGraphEventWaitNodeSetEvent(m, e));
}

static CUresult CUDAAPI
set_any(CUgraphExec x, CUgraphNode n, CUgraphNodeParams *p)
{
    CUresult r = below->cuGraphExecNodeSetParams(x, n, p);
    REPEAT(x, n, r, below->cuGraphNodeSetParams(m, p));
}

static CUresult CUDAAPI
set_child(CUgraphExec x, CUgraphNode n, CUgraph g)
{
    CUresult r = below->cuGraphExecChildGraphNodeSetParams(x, n, g);
    if (r == CUDA_SUCCESS)
        lose(x, "a child graph was changed");
    return r;
}

static CUresult CUDAAPI
set_enabled(CUgraphExec x, CUgraphNode n, unsigned on)
{
    CUresult r = below->cuGraphNodeSetEnabled(x, n, on);
    if (r == CUDA_SUCCESS)
        lose(x, "a node was switched on or off");
    return r;
}

void
cw_layer_graphs_start(const struct cw_cuda_table *next, struct cw_cuda_table *t)
{
    below = next;
    t->cuGraphLaunch = graph_launch;
    t->cuGraphLaunch_ptsz = graph_launch_ptsz;
    t->cuGraphInstantiate = instantiate;
    t->cuGraphInstantiate_v2 = instantiate_v2;
    t->cuGraphInstantiateWithFlags = instantiate_flags;
    t->cuGraphInstantiateWithParams = instantiate_params;
    t->cuGraphInstantiateWithParams_ptsz = instantiate_params_ptsz;
    t->cuGraphExecDestroy = exec_destroy;
    t->cuGraphExecUpdate = exec_update;
    t->cuGraphExecUpdate_v2 = exec_update_v2;
    t->cuGraphExecKernelNodeSetParams = set_kernel;
    t->cuGraphExecKernelNodeSetParams_v2 = set_kernel_v2;
    t->cuGraphExecMemcpyNodeSetParams = set_memcpy;
    t->cuGraphExecMemsetNodeSetParams = set_memset;
    t->cuGraphExecHostNodeSetParams = set_host;
    t->cuGraphExecEventRecordNodeSetEvent = set_record;
    t->cuGraphExecEventWaitNodeSetEvent = set_wait;
    t->cuGraphExecNodeSetParams = set_any;
    t->cuGraphExecChildGraphNodeSetParams = set_child;
    t->cuGraphNodeSetEnabled = set_enabled;
}
