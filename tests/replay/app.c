/* SPDX-License-Identifier: Apache-2.0
 * A program over the driver API with kernels of its own in PTX, for the tests of dumps, replay and diff. Loads the
 * libcuda.so.1 that the loader finds. Each argument names a case; results are checked against values computed here. */
#include "cudaway/cuda_table.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct cw_cuda_table cu;

#define CHECK(call)                                                                     \
    do {                                                                                \
        CUresult r_ = (call);                                                           \
        if (r_ != CUDA_SUCCESS) {                                                       \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, (int)r_); \
            exit(3);                                                                    \
        }                                                                               \
    } while (0)
#define EXPECT(cond)                                                             \
    do {                                                                         \
        if (!(cond)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);   \
            exit(4);                                                             \
        }                                                                        \
    } while (0)

static const char ptx[] =
    ".version 6.5\n.target sm_60\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter[4];\n"
    ".visible .global .align 8 .u64 where;\n"
    ".visible .const .align 4 .f32 factor[2];\n"
    /* c[i] = a[i] + b[i] */
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "setp.ge.u32 %p, %r5, %r1; @%p bra END;\n"
    "mul.wide.u32 %rd4, %r5, 4; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;\n"
    "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd3], %f3;\n"
    "END: ret;\n}\n"
    /* Follow a list of { next, value }: value += 1; the sum goes to *sum, the address of the last node to *last. */
    ".visible .entry chase(.param .u64 head, .param .u64 sum, .param .u64 last)\n{\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [head]; ld.param.u64 %rd2, [sum]; ld.param.u64 %rd3, [last]; mov.u32 %r1, 0; mov.u64 %rd4, 0;\n"
    "LOOP: setp.eq.u64 %p, %rd1, 0; @%p bra END;\n"
    "ld.u32 %r2, [%rd1+8]; add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; st.u32 [%rd1+8], %r2;\n"
    "mov.u64 %rd4, %rd1; ld.u64 %rd1, [%rd1]; bra LOOP;\n"
    "END: st.global.u32 [%rd2], %r1; st.global.u64 [%rd3], %rd4; ret;\n}\n"
    /* counter[tid] += tid * factor[0] + factor[1], through the pointer in `where`; out[tid] = &counter[tid] */
    ".visible .entry vars(.param .u64 out)\n{\n"
    ".reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;\n"
    "ld.const.f32 %f2, [factor]; ld.const.f32 %f3, [factor+4]; fma.rn.f32 %f4, %f1, %f2, %f3; cvt.rzi.u32.f32 %r2, %f4;\n"
    "ld.global.u64 %rd2, [where]; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3; ld.u32 %r3, [%rd2]; add.u32 %r3, %r3, %r2;\n"
    "st.u32 [%rd2], %r3; mul.wide.u32 %rd3, %r1, 8; add.s64 %rd1, %rd1, %rd3; st.global.u64 [%rd1], %rd2; ret;\n}\n"
    /* out[y * 8 + x] = tex(x + 0.5, y + 0.5).x, and tex2 (linear memory) at x, and surf[x, y] += 1 */
    ".visible .entry sample(.param .u64 t, .param .u64 l, .param .u64 s, .param .u64 out)\n{\n"
    ".reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [l]; ld.param.u64 %rd3, [s]; ld.param.u64 %rd4, [out];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r2; add.f32 %f1, %f1, 0f3F000000;\n"
    "add.f32 %f2, %f2, 0f3F000000; tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n"
    "tex.1d.v4.f32.s32 {%f7, %f8, %f9, %f10}, [%rd2, {%r1}]; add.f32 %f3, %f3, %f7;\n"
    "mad.lo.u32 %r3, %r2, 8, %r1; mul.wide.u32 %rd5, %r3, 4; add.s64 %rd4, %rd4, %rd5; st.global.f32 [%rd4], %f3;\n"
    "shl.b32 %r4, %r1, 2; suld.b.2d.b32.trap {%r5}, [%rd3, {%r4, %r2}]; add.u32 %r5, %r5, 1;\n"
    "sust.b.2d.b32.trap [%rd3, {%r4, %r2}], {%r5}; ret;\n}\n"
    /* Never the same twice: out[0] = 7, out[1] = the time */
    ".visible .entry clock(.param .u64 out)\n{\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [out]; mov.u64 %rd2, %globaltimer;\n"
    "st.global.u64 [%rd1], 7; st.global.u64 [%rd1+8], %rd2; ret;\n}\n";

static CUmodule module;

static void
load(const char *library)
{
    void *lib = dlopen(library ? library : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
#define X(index, name, type, parameters, arguments) \
    cw_cuda_table_set(&cu, index, dlsym(lib, #name));
    CW_CUDA_FUNCTIONS(X)
#undef X
    CUdevice d;
    CUcontext c;
    CHECK(cu.cuInit(0));
    CHECK(cu.cuDeviceGet(&d, 0));
    CHECK(cu.cuDevicePrimaryCtxRetain(&c, d));
    CHECK(cu.cuCtxSetCurrent(c));
    CHECK(cu.cuModuleLoadData(&module, ptx));
}

static CUdeviceptr
device(const void *data, size_t size)
{
    CUdeviceptr p;
    CHECK(cu.cuMemAlloc_v2(&p, size));
    if (data)
        CHECK(cu.cuMemcpyHtoD_v2(p, data, size));
    return p;
}

static void
launch(const char *name, unsigned grid, unsigned x, unsigned y, void **params)
{
    CUfunction f;
    CHECK(cu.cuModuleGetFunction(&f, module, name));
    CHECK(cu.cuLaunchKernel(f, grid, 1, 1, x, y, 1, 0, NULL, params, NULL));
    CHECK(cu.cuCtxSynchronize());
}

enum { N = 1000 };

static void
case_add(void)
{
    float a[N], b[N], c[N];
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f * (float)i, c[i] = -1;
    CUdeviceptr da = device(a, sizeof a), db = device(b, sizeof b), dc = device(c, sizeof c);
    unsigned n = N - 3;
    launch("add", 8, 128, 1, (void *[]){ &da, &db, &dc, &n });
    CHECK(cu.cuMemcpyDtoH_v2(c, dc, sizeof c));
    for (int i = 0; i < N; i++)
        EXPECT(c[i] == (i < (int)n ? 1.5f * (float)i : -1.0f));
    CHECK(cu.cuMemFree_v2(da));
    CHECK(cu.cuMemFree_v2(db));
    CHECK(cu.cuMemFree_v2(dc));
}

struct node {
    uint64_t next;
    uint32_t value, pad;
};

/* Nodes in device, managed, page-locked and registered memory. */
static void
case_chase(void)
{
    /* no malloc: with a sanitizer that one takes the same place in every process */
    struct node *host, *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr d = device(NULL, 64), m, h, o, out = device(NULL, 32);
    CHECK(cu.cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    CHECK(cu.cuMemHostAlloc((void **)&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cu.cuMemHostGetDevicePointer_v2(&h, host, 0));
    CHECK(cu.cuMemHostRegister_v2(own, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK(cu.cuMemHostGetDevicePointer_v2(&o, own, 0));
    struct node n1 = { m, 10, 0 };
    CHECK(cu.cuMemcpyHtoD_v2(d + 16, &n1, sizeof n1));
    *(struct node *)(uintptr_t)m = (struct node){ h, 20, 0 };
    *host = (struct node){ o + 32, 30, 0 };
    own[2] = (struct node){ 0, 40, 0 };
    CUdeviceptr head = d + 16, last = out + 8;
    launch("chase", 1, 1, 1, (void *[]){ &head, &out, &last });
    uint64_t result[2];
    CHECK(cu.cuMemcpyDtoH_v2(result, out, sizeof result));
    EXPECT((uint32_t)result[0] == 100);
    EXPECT(result[1] == o + 32);
    EXPECT(own[2].value == 41 && host->value == 31);
    CHECK(cu.cuMemHostUnregister(own));
    CHECK(cu.cuMemFreeHost(host));
    munmap(own, 4096);
}

static void
case_vars(void)
{
    CUdeviceptr counter, where, factor, out = device(NULL, 4 * 8);
    size_t size;
    uint32_t start[4] = { 5, 6, 7, 8 };
    float f[2] = { 3, 100 };
    CHECK(cu.cuModuleGetGlobal_v2(&counter, &size, module, "counter"));
    CHECK(cu.cuModuleGetGlobal_v2(&where, &size, module, "where"));
    CHECK(cu.cuModuleGetGlobal_v2(&factor, &size, module, "factor"));
    CHECK(cu.cuMemcpyHtoD_v2(counter, start, sizeof start));
    CHECK(cu.cuMemcpyHtoD_v2(where, &counter, sizeof counter));
    CHECK(cu.cuMemcpyHtoD_v2(factor, f, sizeof f));
    launch("vars", 1, 4, 1, (void *[]){ &out });
    uint64_t pointers[4];
    CHECK(cu.cuMemcpyDtoH_v2(start, counter, sizeof start));
    CHECK(cu.cuMemcpyDtoH_v2(pointers, out, sizeof pointers));
    for (unsigned i = 0; i < 4; i++) {
        EXPECT(start[i] == 5 + i + 3 * i + 100);
        EXPECT(pointers[i] == counter + 4 * i);
    }
}

static void
case_texture(void)
{
    enum { W = 8, H = 4 };
    float image[H][W], line[W], result[H][W];
    uint32_t surface[H][W];
    CUDA_ARRAY3D_DESCRIPTOR ad = { .Width = W, .Height = H, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 }, sd = ad;
    CUarray array, target;
    for (unsigned y = 0; y < H; y++)
        for (unsigned x = 0; x < W; x++) {
            image[y][x] = (float)(y * 10 + x);
            surface[y][x] = y * 1000 + x;
        }
    for (unsigned x = 0; x < W; x++)
        line[x] = 0.25f * (float)x;
    sd.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    sd.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    CHECK(cu.cuArray3DCreate_v2(&array, &ad));
    CHECK(cu.cuArray3DCreate_v2(&target, &sd));
    CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = image, .srcPitch = W * 4, .srcHeight = H,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = W * 4, .Height = H, .Depth = 1 };
    CHECK(cu.cuMemcpy3D_v2(&m));
    m.srcHost = surface;
    m.dstArray = target;
    CHECK(cu.cuMemcpy3D_v2(&m));
    CUDA_RESOURCE_DESC rd = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
    CUDA_TEXTURE_DESC td = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP } };
    CUtexObject t, l;
    CUsurfObject s;
    CHECK(cu.cuTexObjectCreate(&t, &rd, &td, NULL));
    CUDA_RESOURCE_DESC ld = { .resType = CU_RESOURCE_TYPE_LINEAR };
    ld.res.linear.devPtr = device(line, sizeof line);
    ld.res.linear.format = CU_AD_FORMAT_FLOAT;
    ld.res.linear.numChannels = 1;
    ld.res.linear.sizeInBytes = sizeof line;
    CHECK(cu.cuTexObjectCreate(&l, &ld, &td, NULL));
    rd.res.array.hArray = target;
    CHECK(cu.cuSurfObjectCreate(&s, &rd));
    CUdeviceptr out = device(NULL, sizeof result);
    launch("sample", 1, W, H, (void *[]){ &t, &l, &s, &out });
    CHECK(cu.cuMemcpyDtoH_v2(result, out, sizeof result));
    m = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = target, .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = surface, .dstPitch = W * 4, .dstHeight = H, .WidthInBytes = W * 4, .Height = H, .Depth = 1 };
    CHECK(cu.cuMemcpy3D_v2(&m));
    for (unsigned y = 0; y < H; y++)
        for (unsigned x = 0; x < W; x++) {
            EXPECT(result[y][x] == image[y][x] + line[x]);
            EXPECT(surface[y][x] == y * 1000 + x + 1);
        }
    CHECK(cu.cuTexObjectDestroy(t));
    CHECK(cu.cuTexObjectDestroy(l));
    CHECK(cu.cuSurfObjectDestroy(s));
}

static void
case_clock(void)
{
    CUdeviceptr out = device(NULL, 16);
    launch("clock", 1, 1, 1, (void *[]){ &out });
}

/* A captured graph that adds 1 to c: launched inside a child graph, alone, and with fewer elements. With memory of its own it cannot be
 * cloned, and runs alone. */
static void
graph(bool own_memory)
{
    CUstream s;
    CUgraph g, parent;
    CUgraphNode node, nodes[8];
    CUgraphExec x;
    CUfunction f;
    size_t count = 8;
    unsigned n = 256;
    float c[256];
    CUdeviceptr da = device(NULL, sizeof c), db = device(NULL, sizeof c), dc = device(NULL, sizeof c), own = 0;
    void *args[] = { &da, &db, &dc, &n };
    CHECK(cu.cuModuleGetFunction(&f, module, "add"));
    CHECK(cu.cuMemsetD32_v2(dc, 0, n));
    CHECK(cu.cuCtxSynchronize());
    CHECK(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    if (own_memory)
        CHECK(cu.cuMemAllocAsync(&own, 64, s));
    CHECK(cu.cuMemsetD32Async(da, 0x3f800000, n, s));           /* 1 */
    CHECK(cu.cuMemcpyDtoDAsync_v2(db, dc, sizeof c, s));
    CHECK(cu.cuLaunchKernel(f, 2, 1, 1, 128, 1, 1, 0, s, args, NULL));
    if (own_memory)
        CHECK(cu.cuMemFreeAsync(own, s));
    CHECK(cu.cuStreamEndCapture(s, &g));
    if (own_memory) {
        CHECK(cu.cuGraphInstantiateWithFlags(&x, g, 0));
    } else {
        CHECK(cu.cuGraphCreate(&parent, 0));
        CHECK(cu.cuGraphAddChildGraphNode(&node, parent, NULL, 0, g));
        CHECK(cu.cuGraphInstantiateWithFlags(&x, parent, 0));
        CHECK(cu.cuGraphLaunch(x, s));                          /* c = 1 + 0 */
        CHECK(cu.cuStreamSynchronize(s));
        CHECK(cu.cuGraphInstantiateWithFlags(&x, g, 0));
    }
    CHECK(cu.cuGraphLaunch(x, s));                              /* c = 1 + c */
    CHECK(cu.cuStreamSynchronize(s));
    CHECK(cu.cuGraphGetNodes(g, nodes, &count));
    n = 100;
    if (!own_memory) {
        CUDA_KERNEL_NODE_PARAMS k = { .func = f, .gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1, .blockDimZ = 1,
                                      .kernelParams = args };
        CHECK(cu.cuGraphExecKernelNodeSetParams_v2(x, nodes[2], &k));
        CHECK(cu.cuGraphLaunch(x, s));                          /* the first hundred: once more */
        CHECK(cu.cuStreamSynchronize(s));
    }
    CHECK(cu.cuMemcpyDtoH_v2(c, dc, sizeof c));
    for (unsigned i = 0; i < 256; i++)
        EXPECT(c[i] == (own_memory ? 1 : i < 100 ? 3 : 2));
    CHECK(cu.cuGraphExecDestroy(x));
    CHECK(cu.cuStreamDestroy_v2(s));
}

static void
case_graph(void)
{
    graph(false);
}

static void
case_graphmem(void)
{
    graph(true);
}

static size_t
read_text(const char *file, char *text, size_t size)
{
    FILE *f = fopen(file, "rb");
    EXPECT(f);
    size_t n = fread(text, 1, size - 1, f);
    text[n] = 0;
    fclose(f);
    return n + 1;
}

/* A kernel of locate.ptx: in[i] = 1 + i / 4. Nothing is expected of its result. With a second file the two are linked. */
static void
kernel_of(const char *file, const char *second, const char *kernel)
{
    static char text[1 << 18], more[1 << 16];
    float in[256];
    size_t size = read_text(file, text, sizeof text);
    for (unsigned i = 0; i < 256; i++)
        in[i] = 1 + 0.25f * (float)i;
    if (second) {
        CUlinkState link;
        void *image;
        size_t n = read_text(second, more, sizeof more);
        CHECK(cu.cuLinkCreate_v2(0, NULL, NULL, &link));
        CHECK(cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text, size, "first", 0, NULL, NULL));
        CHECK(cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, more, n, "second", 0, NULL, NULL));
        CHECK(cu.cuLinkComplete(link, &image, &n));
        CHECK(cu.cuModuleLoadData(&module, image));
        CHECK(cu.cuLinkDestroy(link));
    } else {
        CHECK(cu.cuModuleLoadData(&module, text));
    }
    CUdeviceptr a = device(in, sizeof in), b = device(NULL, sizeof in);
    CHECK(cu.cuMemsetD32_v2(b, 0, 256));
    CHECK(cu.cuCtxSynchronize());
    launch(kernel, 4, 64, 1, (void *[]){ &a, &b });
}

/* The function of a library's kernel, in a module that the program does not ask for; a kernel node of a graph leads to one, too. */
static void
case_library(void)
{
    CUlibrary library;
    CUkernel k;
    CUfunction f;
    float in[64], out[64];
    unsigned n = 64;
    for (unsigned i = 0; i < n; i++)
        in[i] = (float)i;
    CHECK(cu.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cu.cuLibraryGetKernel(&k, library, "add"));
    CHECK(cu.cuKernelGetFunction(&f, k));
    CUdeviceptr a = device(in, sizeof in), b = device(NULL, sizeof in);
    CHECK(cu.cuMemsetD32_v2(b, 0, n));
    CHECK(cu.cuLaunchKernel(f, 1, 1, 1, n, 1, 1, 0, NULL, (void *[]){ &a, &a, &b, &n }, NULL));
    CHECK(cu.cuMemcpyDtoH_v2(out, b, sizeof out));
    for (unsigned i = 0; i < n; i++)
        EXPECT(out[i] == 2 * in[i]);
    CHECK(cu.cuLibraryUnload(library));
}

/* As many blocks at once as a device with 24 multiprocessors has, and fewer do not. */
static void
case_cooperative(void)
{
    enum { BLOCKS = 48, THREADS = 1024, ALL = BLOCKS * THREADS };
    static float in[ALL], out[ALL];
    CUfunction f;
    unsigned n = ALL;
    for (unsigned i = 0; i < n; i++)
        in[i] = (float)i;
    CUdeviceptr a = device(in, sizeof in), b = device(NULL, sizeof in);
    CHECK(cu.cuMemsetD32_v2(b, 0, n));
    CHECK(cu.cuModuleGetFunction(&f, module, "add"));
    CHECK(cu.cuLaunchCooperativeKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &a, &a, &b, &n }));
    CHECK(cu.cuMemcpyDtoH_v2(out, b, sizeof out));
    for (unsigned i = 0; i < n; i++)
        EXPECT(out[i] == 2 * in[i]);
}

/* Each block tells its cluster's size and its number in it, launched in clusters of 1, 2 and 4 blocks; the last in a graph. */
static void
case_clusters(void)
{
    static const char text[] =
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry place(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<3>;\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;\n"
        "mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %cluster_ctarank; mad.lo.u32 %r2, %r2, 100, %r3; st.global.u32 [%rd1], %r2; ret;\n}\n";
    CUfunction f;
    CUstream s;
    CUgraph g;
    CUgraphExec x;
    uint32_t place[8];
    CHECK(cu.cuModuleLoadData(&module, text));
    CHECK(cu.cuModuleGetFunction(&f, module, "place"));
    CHECK(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (unsigned n = 1; n <= 4; n *= 2) {
        CUdeviceptr out = device(NULL, sizeof place);
        CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { n, 1, 1 } };
        CUlaunchConfig c = { 8, 1, 1, 1, 1, 1, 0, s, &a, 1 };
        CHECK(cu.cuMemsetD32_v2(out, 0, 8));
        if (n == 4)
            CHECK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        CHECK(cu.cuLaunchKernelEx(&c, f, (void *[]){ &out }, NULL));
        if (n == 4) {
            CHECK(cu.cuStreamEndCapture(s, &g));
            /* What an H100 answers for the node. */
            CUgraphNode node;
            CUkernelNodeAttrValue v;
            size_t count = 1;
            CHECK(cu.cuGraphGetNodes(g, &node, &count));
            CHECK(cu.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
            EXPECT(v.clusterDim.x == 4 && v.clusterDim.y == 1 && v.clusterDim.z == 1);
            v.clusterDim.x = 3;
            EXPECT(cu.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
            v.clusterDim.x = 0;
            EXPECT(cu.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
            CHECK(cu.cuGraphInstantiateWithFlags(&x, g, 0));
            CHECK(cu.cuGraphLaunch(x, s));
        }
        CHECK(cu.cuStreamSynchronize(s));
        CHECK(cu.cuMemcpyDtoH_v2(place, out, sizeof place));
        for (unsigned i = 0; i < 8; i++)
            EXPECT(place[i] == n * 100 + i % n);
    }
}

static void
case_fail(void)
{
    exit(5);
}

int
main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        { "add", case_add }, { "chase", case_chase }, { "vars", case_vars }, { "texture", case_texture },
        { "clock", case_clock }, { "graph", case_graph }, { "graphmem", case_graphmem }, { "clusters", case_clusters },
        { "library", case_library }, { "cooperative", case_cooperative }, { "fail", case_fail },
    };
    load(NULL);
    if (argc > 2 && !strcmp(argv[1], "kernels")) {
        for (int i = 3; i < argc; i++)
            kernel_of(argv[2], NULL, argv[i]);
        return 0;
    }
    if (argc == 5 && !strcmp(argv[1], "linked")) {
        kernel_of(argv[2], argv[3], argv[4]);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++)
            if (!strcmp(argv[i], cases[c].name))
                cases[c].run();
    return 0;
}
