/* SPDX-License-Identifier: Apache-2.0
 * Graphs: built by hand, captured, updated ("Graph Management", CUDA Runtime API). */
#include "test.h"

__global__ void
add(int *p, int v)
{
    p[TID_X] += v;
}

__device__ int variable;
static int called;

static void
host_function(void *user)
{
    called += *(int *)user;
}

static void
built(void)
{
    cudaGraph_t g, copy;
    cudaGraphExec_t x;
    cudaGraphNode_t set, kernel, host, copied, nodes[8], from[8], to[8];
    cudaGraphEdgeData edges[8];
    int *d, v = 5, three = 3, h[4] = { 0 };
    size_t n = 8;
    void *args[] = { &d, &v };

    OK(cudaMalloc((void **)&d, 16));
    OK(cudaGraphCreate(&g, 0));
    cudaMemsetParams m;
    memset(&m, 0, sizeof m);
    m.dst = d;
    m.value = 1;
    m.elementSize = 4;
    m.width = 4;
    m.height = 1;
    OK(cudaGraphAddMemsetNode(&set, g, NULL, 0, &m));
    cudaKernelNodeParams k, k2;
    memset(&k, 0, sizeof k);
    k.func = (void *)add;
    k.gridDim = dim3(1);
    k.blockDim = dim3(4);
    k.kernelParams = args;
    OK(cudaGraphAddKernelNode(&kernel, g, &set, 1, &k));
    cudaHostNodeParams hp = { host_function, &three };
    OK(cudaGraphAddHostNode(&host, g, &kernel, 1, &hp));
    OK(cudaGraphAddMemcpyNode1D(&copied, g, &kernel, 1, h, d, 16, cudaMemcpyDeviceToHost));

    OK(cudaGraphGetNodes(g, nodes, &n));
    EXPECT(n == 4);
    n = 8;
    memset(edges, 0xff, sizeof edges);
    OK(cudaGraphGetEdges(g, from, to, edges, &n));
    EXPECT(n == 3 && edges[0].type == 0);
    n = 8;
    OK(cudaGraphGetRootNodes(g, nodes, &n));
    EXPECT(n == 1 && nodes[0] == set);
    n = 8;
    OK(cudaGraphNodeGetDependentNodes(kernel, nodes, NULL, &n));
    EXPECT(n == 2);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(kernel, &type));
    EXPECT(type == cudaGraphNodeTypeKernel);
    OK(cudaGraphKernelNodeGetParams(kernel, &k2));
    EXPECT(k2.func == (void *)add && k2.gridDim.x == 1 && k2.blockDim.x == 4);
    OK(cudaGraphMemsetNodeGetParams(set, &m));
    EXPECT(m.dst == d && m.value == 1 && m.width == 4);

    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(h[0] == 6 && h[3] == 6 && called == 3);
    v = 10;
    OK(cudaGraphExecKernelNodeSetParams(x, kernel, &k));
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(h[0] == 11 && called == 6);
    /* Kernels, fills and copies can be turned off, nothing else. */
    OK(cudaGraphNodeSetEnabled(x, copied, 0));
    unsigned enabled = 1;
    OK(cudaGraphNodeGetEnabled(x, copied, &enabled));
    EXPECT(enabled == 0);
    REFUSED(cudaGraphNodeSetEnabled(x, host, 0), cudaErrorInvalidValue);
    h[0] = 0;
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(called == 9 && h[0] == 0);
    OK(cudaGraphNodeSetEnabled(x, copied, 1));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(x, g, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphClone(&copy, g));
    cudaGraphNode_t twin;
    OK(cudaGraphNodeFindInClone(&twin, kernel, copy));
    EXPECT(twin != kernel);
    k.func = (void *)host_function;
    REFUSED(cudaGraphKernelNodeSetParams(kernel, &k), NOT_A_KERNEL);
    REFUSED(cudaGraphInstantiate(NULL, g, 0), cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(copy));
    OK(cudaGraphDestroy(g));
    if (!on_nvidia())
        REFUSED(cudaGraphDestroy(g), cudaErrorInvalidValue);
    OK(cudaFree(d));
}

static void
captured(void)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaStreamCaptureStatus status;
    int *d, h[4] = { 0 };
    size_t n = 0;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&d, 16));
    OK(cudaMemset(d, 0, 16));
    OK(cudaDeviceSynchronize());                     /* the stream does not wait for the legacy one */
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(s, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    REFUSED(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated ? cudaSuccess : cudaErrorUnknown);
    cudaGetLastError();

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    for (int i = 1; i <= 3; i++)
        add<<<1, 4, 0, s>>>(d, i);
    OK(cudaMemcpyAsync(h, d, 16, cudaMemcpyDeviceToHost, s));
    unsigned long long id = 0;
    cudaGraph_t of = NULL;
    const cudaGraphNode_t *deps = NULL;
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &of, &deps, NULL, &n));
    EXPECT(status == cudaStreamCaptureStatusActive && id && of && n == 1);
    OK(cudaStreamEndCapture(s, &g));
    n = 0;
    OK(cudaGraphGetNodes(g, NULL, &n));
    EXPECT(n == 4);
    cudaGraphNode_t root;
    n = 1;
    OK(cudaGraphGetRootNodes(g, &root, &n));
    cudaKernelNodeParams k;
    OK(cudaGraphKernelNodeGetParams(root, &k));
    EXPECT(k.func == (void *)add);
    OK(cudaGraphInstantiateWithFlags(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(h[0] == 12 && h[3] == 12);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(d));
    OK(cudaStreamDestroy(s));
}

static void
generic(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t node, next, sym;
    /* Its union has no constructor in C++. */
    cudaGraphNodeParams &p = *(cudaGraphNodeParams *)calloc(1, sizeof(cudaGraphNodeParams));
    int *d, v = 21, h = 0;
    void *args[] = { &d, &v };

    OK(cudaMalloc((void **)&d, 4));
    OK(cudaGraphCreate(&g, 0));
    p.type = cudaGraphNodeTypeMemset;
    p.memset.dst = d;
    p.memset.elementSize = 1;
    p.memset.width = 4;
    p.memset.height = 1;
    OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
    memset((void *)&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = (void *)add;
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = args;
    OK(cudaGraphAddNode(&next, g, &node, NULL, 1, &p));
    /* "Unused bytes must be zero": behind the parameters, and in the reserved fields. */
    p.reserved1[sizeof p.kernel / 8] = 1;
    EXPECT(cudaGraphAddNode(&sym, g, NULL, NULL, 0, &p) == cudaErrorInvalidValue);
    EXPECT(cudaGraphNodeSetParams(next, &p) == cudaErrorInvalidValue);
    p.reserved1[sizeof p.kernel / 8] = 0;
    p.reserved2 = 1;
    EXPECT(cudaGraphAddNode(&sym, g, NULL, NULL, 0, &p) == cudaErrorInvalidValue);
    p.reserved2 = 0;
    p.reserved0[2] = 1;
    EXPECT(cudaGraphAddNode(&sym, g, NULL, NULL, 0, &p) == cudaErrorInvalidValue);
    /* nor are a copy's flags and reserved words anything but zero */
    memset((void *)&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeMemcpy;
    p.memcpy.copyParams.srcPtr = p.memcpy.copyParams.dstPtr = (cudaPitchedPtr){ d, 4, 4, 1 };
    p.memcpy.copyParams.extent = (cudaExtent){ 4, 1, 1 };
    p.memcpy.copyParams.kind = cudaMemcpyDeviceToDevice;
    for (int i = 0; i < 4; i++) {
        int *word = i ? &p.memcpy.reserved[i - 1] : &p.memcpy.flags;
        *word = 1;
        EXPECT(cudaGraphAddNode(&sym, g, &next, NULL, 1, &p) == cudaErrorInvalidValue);
        *word = 0;
    }
    OK(cudaGraphAddNode(&sym, g, &next, NULL, 1, &p));
    OK(cudaGraphDestroyNode(sym));
    (void)cudaGetLastError();
    OK(cudaGraphAddMemcpyNodeToSymbol(&sym, g, &next, 1, (const void *)&variable, d, 4, 0, cudaMemcpyDeviceToDevice));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, 0));
    OK(cudaMemcpyFromSymbol(&h, (const void *)&variable, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(h == 21);
    free(&p);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(d));
}

int
main(void)
{
    built();
    captured();
    generic();
    return test_result();
}
