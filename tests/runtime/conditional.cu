/* SPDX-License-Identifier: Apache-2.0
 * Graphs with conditional nodes (CUDA Programming Guide, "Conditional Graph Nodes"): what runs is counted on the device. */
#include "test.h"

#include <unistd.h>

#ifndef __NVCC__
extern "C" __device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value);
#endif

typedef cudaGraphConditionalHandle Handle;

__global__ void
count(int *p, int v)
{
    *p += v;
}

/* One step of a loop that ends at 0. */
__global__ void
down(Handle h, int *left, int *steps)
{
    ++*steps;
    cudaGraphSetConditional(h, --*left > 0);
}

__global__ void
choose(Handle h, const int *value)
{
    cudaGraphSetConditional(h, *value);
}

/* The outer loop's number is how often the inner one runs. */
__global__ void
begin_inner(Handle inner, const int *outer, int *left)
{
    *left = *outer;
    cudaGraphSetConditional(inner, 1);
}

static cudaGraphNode_t
kernel(cudaGraph_t g, const void *f, cudaGraphNode_t after, void **args)
{
    cudaGraphNode_t n = 0;
    cudaKernelNodeParams k;
    memset(&k, 0, sizeof k);
    k.func = (void *)f;
    k.gridDim = dim3(1);
    k.blockDim = dim3(1);
    k.kernelParams = args;
    OK(cudaGraphAddKernelNode(&n, g, &after, after ? 1 : 0, &k));
    return n;
}

static cudaGraphNode_t
add_count(cudaGraph_t g, cudaGraphNode_t after, int *p, int v)
{
    void *args[] = { &p, &v };
    return kernel(g, (const void *)count, after, args);
}

static cudaError_t
try_conditional(cudaGraph_t g, cudaGraphNode_t after, Handle h, cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *n, cudaGraph_t **bodies)
{
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = size;
    cudaError_t e = cudaGraphAddNode(n, g, &after, NULL, after ? 1 : 0, &p);
    *bodies = p.conditional.phGraph_out;
    return e;
}

static cudaGraphNode_t
conditional(cudaGraph_t g, cudaGraphNode_t after, Handle h, cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t **bodies)
{
    cudaGraphNode_t n = 0;
    OK(try_conditional(g, after, h, type, size, &n, bodies));
    return n;
}

static int *
numbers(int n)
{
    int *p;
    OK(cudaMalloc((void **)&p, n * sizeof *p));
    OK(cudaMemset(p, 0, n * sizeof *p));
    return p;
}

static int
at(const int *p)
{
    int v = -1;
    OK(cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

static void
set(int *p, int v)
{
    OK(cudaMemcpy(p, &v, sizeof v, cudaMemcpyHostToDevice));
}

static void
run(cudaGraphExec_t x)
{
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
}

static void
loop()
{
    cudaGraph_t g, *body;
    cudaGraphExec_t x;
    Handle h;
    int *p = numbers(4), *left = p, *steps = p + 1, *before = p + 2, *behind = p + 3;
    void *args[] = { &h, &left, &steps };

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    cudaGraphNode_t first = add_count(g, 0, before, 1);
    cudaGraphNode_t n = conditional(g, first, h, cudaGraphCondTypeWhile, 1, &body);
    kernel(body[0], (const void *)down, 0, args);
    add_count(g, n, behind, 1);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(n, &type));
    EXPECT(type == cudaGraphNodeTypeConditional);
    OK(cudaGraphInstantiate(&x, g, 0));
    set(left, 5);
    run(x);
    EXPECT(at(left) == 0 && at(steps) == 5 && at(before) == 1 && at(behind) == 1);
    set(left, 3);                       /* the default holds for each launch, though the last step set 0 */
    run(x);
    EXPECT(at(left) == 0 && at(steps) == 8 && at(before) == 2 && at(behind) == 2);
    set(left, 1);
    OK(cudaGraphLaunch(x, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    EXPECT(at(left) == 0 && at(steps) == 9 && at(behind) == 3);

    char path[] = "/tmp/conditional-XXXXXX", text[4096];
    int fd = mkstemp(path);
    EXPECT(fd >= 0 && !close(fd));
    OK(cudaGraphDebugDotPrint(g, path, cudaGraphDebugDotFlagsVerbose));
    FILE *f = fopen(path, "r");
    size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[size] = 0;
    EXPECT(strstr(text, "digraph"));
    if (!on_nvidia())                   /* how a node is written is the implementation's */
        EXPECT(strstr(text, "conditional") && strstr(text, "while") && strstr(text, "down"));
    if (f)
        fclose(f);
    remove(path);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

static void
if_else()
{
    cudaGraph_t g, *body;
    cudaGraphExec_t x;
    Handle h;
    int *p = numbers(2), *value = p, *sum = p + 1;
    void *args[] = { &h, &value };

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
    conditional(g, kernel(g, (const void *)choose, 0, args), h, cudaGraphCondTypeIf, 2, &body);
    add_count(body[0], 0, sum, 100);
    cudaGraphNode_t n = add_count(body[1], 0, sum, 1000);
    OK(cudaGraphInstantiate(&x, g, 0));
    set(value, 7);
    run(x);
    EXPECT(at(sum) == 100);
    set(value, 0);
    run(x);
    EXPECT(at(sum) == 1100);
    /* A node inside of a body changes like any other. */
    int v = 5000;
    void *changed[] = { &sum, &v };
    cudaKernelNodeParams k;
    memset(&k, 0, sizeof k);
    k.func = (void *)count;
    k.gridDim = k.blockDim = dim3(1);
    k.kernelParams = changed;
    OK(cudaGraphExecKernelNodeSetParams(x, n, &k));
    run(x);
    EXPECT(at(sum) == 6100);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

static void
choice()
{
    static const int after[] = { 1, 11, 111, 111, 111 };
    cudaGraph_t g, *body;
    cudaGraphExec_t x;
    Handle h;
    int *p = numbers(2), *value = p, *sum = p + 1;
    void *args[] = { &h, &value };

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
    conditional(g, kernel(g, (const void *)choose, 0, args), h, cudaGraphCondTypeSwitch, 3, &body);
    for (int i = 0, v = 1; i < 3; i++, v *= 10)
        add_count(body[i], 0, sum, v);
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 5; i++) {
        set(value, i == 4 ? -1 : i);
        run(x);
        EXPECT(at(sum) == after[i]);
    }
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

/* For 3, 2, 1: the inner loop runs so often: 6 times in all. Its handle is the outer graph's. */
static void
nested()
{
    cudaGraph_t g, *outer, *inner;
    cudaGraphExec_t x;
    Handle ho, hi;
    int *p = numbers(4), *o = p, *i = p + 1, *inner_steps = p + 2, *outer_steps = p + 3;
    void *begin[] = { &hi, &o, &i }, *step[] = { &hi, &i, &inner_steps }, *end[] = { &ho, &o, &outer_steps };

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&ho, g, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&hi, g, 0, 0));
    conditional(g, 0, ho, cudaGraphCondTypeWhile, 1, &outer);
    cudaGraphNode_t n = kernel(outer[0], (const void *)begin_inner, 0, begin);
    n = conditional(outer[0], n, hi, cudaGraphCondTypeWhile, 1, &inner);
    kernel(inner[0], (const void *)down, 0, step);
    kernel(outer[0], (const void *)down, n, end);
    OK(cudaGraphInstantiate(&x, g, 0));
    set(o, 3);
    run(x);
    EXPECT(at(o) == 0 && at(i) == 0 && at(inner_steps) == 6 && at(outer_steps) == 3);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

/* Copies, fills, a child graph and captured work in a body: each of 4 steps adds 2 to what a fill set to 0x01010101. */
static void
contents()
{
    cudaGraph_t g, child, *body;
    cudaGraphExec_t x;
    cudaGraphNode_t n, m;
    cudaStream_t s;
    Handle h;
    int *p = numbers(4), *left = p, *steps = p + 1, *filled = p + 2, *copied = p + 3;
    void *args[] = { &h, &left, &steps };

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    conditional(g, 0, h, cudaGraphCondTypeWhile, 1, &body);
    cudaMemsetParams fill;
    memset(&fill, 0, sizeof fill);
    fill.dst = filled;
    fill.value = 1;
    fill.elementSize = 1;
    fill.width = 4;
    fill.height = 1;
    OK(cudaGraphAddMemsetNode(&n, body[0], NULL, 0, &fill));
    OK(cudaGraphCreate(&child, 0));
    add_count(child, 0, filled, 2);
    OK(cudaGraphAddChildGraphNode(&m, body[0], &n, 1, child));
    OK(cudaGraphAddMemcpyNode1D(&n, body[0], &m, 1, copied, filled, 4, cudaMemcpyDeviceToDevice));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCaptureToGraph(s, body[0], &n, NULL, 1, cudaStreamCaptureModeThreadLocal));
    OK(cudaLaunchKernel((const void *)down, dim3(1), dim3(1), args, 0, s));
    cudaGraph_t captured;
    OK(cudaStreamEndCapture(s, &captured));
    EXPECT(captured == body[0]);
    OK(cudaGraphInstantiate(&x, g, 0));
    set(left, 4);
    run(x);
    EXPECT(at(steps) == 4 && at(filled) == 0x01010103 && at(copied) == 0x01010103);
    OK(cudaGraphExecDestroy(x));
    OK(cudaStreamDestroy(s));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

static cudaGraph_t
simple(unsigned initial, int *p, int v, Handle *h, cudaGraphConditionalNodeType type)
{
    cudaGraph_t g, *body;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(h, g, initial, cudaGraphCondAssignDefault));
    conditional(g, 0, *h, type, 1, &body);
    add_count(body[0], 0, p, v);
    return g;
}

/* An update brings the new graph's default value and the new body's parameters. */
static void
update()
{
    cudaGraphExec_t x;
    cudaGraphExecUpdateResultInfo info;
    Handle h;
    int *p = numbers(1);
    cudaGraph_t never = simple(0, p, 1, &h, cudaGraphCondTypeIf), always = simple(1, p, 20, &h, cudaGraphCondTypeIf);
    cudaGraph_t other = simple(1, p, 300, &h, cudaGraphCondTypeSwitch);

    OK(cudaGraphInstantiate(&x, never, 0));
    run(x);
    EXPECT(at(p) == 0);
    OK(cudaGraphExecUpdate(x, always, &info));
    run(x);
    EXPECT(at(p) == 20);
    REFUSED(cudaGraphExecUpdate(x, other, &info), cudaErrorGraphExecUpdateFailure);
    if (on_nvidia())                    /* the manual does not say which: print it */
        printf("an update that changes a conditional node's type: result %d\n", (int)info.result);
    else
        EXPECT(info.result == cudaGraphExecUpdateErrorParametersChanged);
    run(x);
    EXPECT(at(p) == 40);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(never));
    OK(cudaGraphDestroy(always));
    OK(cudaGraphDestroy(other));
    OK(cudaFree(p));
}

static void
nothing(void *)
{
}

static void
errors()
{
    cudaGraph_t g, g2, clone, *body;
    cudaGraphExec_t x, x2;
    cudaGraphNode_t n;
    Handle h, h2;
    int *p = numbers(1);

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&g2, 0));
    REFUSED(cudaGraphConditionalHandleCreate(&h, g, 0, 2), cudaErrorInvalidValue);
    REFUSED(cudaGraphConditionalHandleCreate(NULL, g, 0, 0), cudaErrorInvalidValue);
    OK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
    REFUSED(try_conditional(g, 0, h, cudaGraphCondTypeIf, 0, &n, &body), cudaErrorInvalidValue);
    REFUSED(try_conditional(g, 0, h, cudaGraphCondTypeIf, 3, &n, &body), cudaErrorInvalidValue);
    REFUSED(try_conditional(g, 0, h, cudaGraphCondTypeWhile, 2, &n, &body), cudaErrorInvalidValue);
    REFUSED(try_conditional(g, 0, h, (cudaGraphConditionalNodeType)3, 1, &n, &body), cudaErrorInvalidValue);
    REFUSED(try_conditional(g, 0, h ^ 0x1000, cudaGraphCondTypeIf, 1, &n, &body), cudaErrorInvalidValue);
    REFUSED(try_conditional(g2, 0, h, cudaGraphCondTypeIf, 1, &n, &body), cudaErrorInvalidValue);

    cudaGraphInstantiateParams ip;
    memset(&ip, 0, sizeof ip);
    REFUSED(cudaGraphInstantiateWithParams(&x, g, &ip), cudaErrorInvalidValue);
    EXPECT(ip.result_out == cudaGraphInstantiateConditionalHandleUnused);
    OK(try_conditional(g, 0, h, cudaGraphCondTypeIf, 1, &n, &body));
    REFUSED(try_conditional(g, 0, h, cudaGraphCondTypeIf, 1, &n, &body), cudaErrorInvalidValue);    /* one node a handle */

    OK(cudaGraphInstantiate(&x, g, 0));
    REFUSED(cudaGraphInstantiate(&x2, g, 0), cudaErrorNotSupported);        /* one instantiation at a time */
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphExecDestroy(x));
    REFUSED(cudaGraphClone(&clone, g), cudaErrorNotSupported);
    REFUSED(cudaGraphAddChildGraphNode(&n, g2, NULL, 0, g), cudaErrorNotSupported);
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(g2));

    g = simple(1, p, 1, &h2, cudaGraphCondTypeIf);
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    OK(cudaGraphGetNodes(g, nodes, &count));
    EXPECT(count == 1);
    cudaHostNodeParams host = { nothing, NULL };
    Handle h3;
    OK(cudaGraphConditionalHandleCreate(&h3, g, 0, 0));
    OK(try_conditional(g, 0, h3, cudaGraphCondTypeIf, 1, &n, &body));
    REFUSED(cudaGraphDestroy(body[0]), cudaErrorInvalidValue);
    OK(cudaGraphAddHostNode(&n, body[0], NULL, 0, &host));
    REFUSED(cudaGraphInstantiate(&x, g, 0), cudaErrorInvalidValue);     /* as an H200 has it */
    OK(cudaGraphDestroyNode(n));
    OK(cudaGraphInstantiate(&x, g, 0));
    run(x);
    EXPECT(at(p) == 1);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
}

int
main()
{
    loop();
    if_else();
    choice();
    nested();
    contents();
    update();
    errors();
    return test_result();
}
