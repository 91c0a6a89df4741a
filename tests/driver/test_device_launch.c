/* SPDX-License-Identifier: Apache-2.0
 * Kernels that launch kernels (impl/driver/device_launch.c), by the functions of the device runtime that compilers call. */
#include "tests/driver/test.h"

/* step(p, v): p[0] = p[0] * 10 + v by one thread, so that the digits of p[0] are the order of the children. */
static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync(.param .b64 t, .param .b64 f, .param .b64 n, .param .b32 k, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 t, .param .b32 v, .param .b64 n, .param .b64 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
    ".visible .entry step(.param .u64 p, .param .u32 v)\n{\n"
    "    .reg .u64 %p; .reg .u32 %a, %b;\n"
    "    ld.param.u64 %p, [p]; ld.param.u32 %b, [v];\n"
    "    ld.global.u32 %a, [%p]; mad.lo.u32 %a, %a, 10, %b; st.global.u32 [%p], %a;\n    ret;\n}\n"
    /* launch(f, p, v, threads, stream): one block; the result of the launch */
    ".func (.param .b32 r) launch(.param .b64 f, .param .b64 p, .param .b32 v, .param .b32 threads, .param .b64 stream)\n{\n"
    "    .reg .u64 %f, %p, %q, %s; .reg .u32 %v, %t, %e; .reg .pred %z;\n"
    "    ld.param.b64 %f, [f]; ld.param.b64 %p, [p]; ld.param.b32 %v, [v]; ld.param.b32 %t, [threads]; ld.param.b64 %s, [stream];\n"
    "    { .param .b64 r0; .param .b64 a; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 m;\n"
    "      st.param.b64 [a], %f; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "      st.param.b32 [b], %t; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [m], 0;\n"
    "      call.uni (r0), __cudaCDP2GetParameterBufferV2, (a, g, b, m); ld.param.b64 %q, [r0]; }\n"
    "    setp.eq.u64 %z, %q, 0;\n    @%z bra go;\n    st.u64 [%q], %p; st.u32 [%q+8], %v;\n"
    "go: { .param .b32 r0; .param .b64 a; .param .b64 b; st.param.b64 [a], %q; st.param.b64 [b], %s;\n"
    "      call.uni (r0), __cudaCDP2LaunchDeviceV2, (a, b); ld.param.b32 %e, [r0]; }\n"
    "    st.param.b32 [r], %e;\n    ret;\n}\n"
    /* order(p): a tail launch of 9, then 1, 2, 3; the copy of p[0] to p[1] after them, a fill of p[2] */
    ".visible .entry order(.param .u64 p)\n{\n    .reg .u64 %f, %p, %q; .reg .u32 %v, %n; .reg .pred %z;\n"
    "    ld.param.u64 %p, [p]; mov.u64 %f, step;\n"
    "    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 d; .param .b64 s;\n"
    "      st.param.b64 [a], %f; st.param.b64 [b], %p; st.param.b32 [c], 9; st.param.b32 [d], 1; st.param.b64 [s], 3;\n"
    "      call.uni (r), launch, (a, b, c, d, s); }\n    mov.u32 %v, 1;\n"
    "more:\n    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 d; .param .b64 s;\n"
    "      st.param.b64 [a], %f; st.param.b64 [b], %p; st.param.b32 [c], %v; st.param.b32 [d], 1; st.param.b64 [s], 0;\n"
    "      call.uni (r), launch, (a, b, c, d, s); }\n"
    "    add.u32 %v, %v, 1; setp.le.u32 %z, %v, 3;\n    @%z bra more;\n    add.u64 %q, %p, 4;\n"
    "    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b64 c; .param .b32 d; .param .b64 s;\n"
    "      st.param.b64 [a], %q; st.param.b64 [b], %p; st.param.b64 [c], 4; st.param.b32 [d], 3; st.param.b64 [s], 0;\n"
    "      call.uni (r), __cudaCDP2MemcpyAsync, (a, b, c, d, s); }\n    add.u64 %q, %p, 8;\n"
    "    { .param .b32 r; .param .b64 a; .param .b32 b; .param .b64 c; .param .b64 s;\n"
    "      st.param.b64 [a], %q; st.param.b32 [b], 0xab; st.param.b64 [c], 4; st.param.b64 [s], 0;\n"
    "      call.uni (r), __cudaCDP2MemsetAsync, (a, b, c, s); }\n    ret;\n}\n"
    /* down(p, n): launches itself for n - 1 down to 0 and counts in p[0] */
    ".visible .entry down(.param .u64 p, .param .u32 n)\n{\n    .reg .u64 %f, %p; .reg .u32 %v; .reg .pred %z;\n"
    "    ld.param.u64 %p, [p]; ld.param.u32 %v, [n]; red.global.add.u32 [%p], 1;\n"
    "    setp.eq.u32 %z, %v, 0;\n    @%z ret;\n    sub.u32 %v, %v, 1; mov.u64 %f, down;\n"
    "    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 d; .param .b64 s;\n"
    "      st.param.b64 [a], %f; st.param.b64 [b], %p; st.param.b32 [c], %v; st.param.b32 [d], 1; st.param.b64 [s], 0;\n"
    "      call.uni (r), launch, (a, b, c, d, s); }\n    ret;\n}\n"
    /* flood(p): 1100 threads launch: p[1] counts refusals, the last error goes to p[2] */
    ".visible .entry flood(.param .u64 p)\n{\n    .reg .u64 %f, %p; .reg .u32 %v; .reg .pred %z;\n"
    "    ld.param.u64 %p, [p]; mov.u64 %f, down;\n"
    "    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 d; .param .b64 s;\n"
    "      st.param.b64 [a], %f; st.param.b64 [b], %p; st.param.b32 [c], 0; st.param.b32 [d], 1; st.param.b64 [s], 0;\n"
    "      call.uni (r), launch, (a, b, c, d, s); ld.param.b32 %v, [r]; }\n"
    "    setp.eq.u32 %z, %v, 69;\n    @!%z ret;\n    red.global.add.u32 [%p+4], 1;\n"
    "    { .param .b32 r; call.uni (r), __cudaCDP2GetLastError, (); ld.param.b32 %v, [r]; }\n    red.global.max.u32 [%p+8], %v;\n    ret;\n}\n"
    /* wrong(p): a child of 5000 threads, then one that counts */
    ".visible .entry wrong(.param .u64 p)\n{\n    .reg .u64 %f, %p;\n    ld.param.u64 %p, [p]; mov.u64 %f, down;\n"
    "    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 d; .param .b64 s;\n"
    "      st.param.b64 [a], %f; st.param.b64 [b], %p; st.param.b32 [c], 0; st.param.b32 [d], 5000; st.param.b64 [s], 0;\n"
    "      call.uni (r), launch, (a, b, c, d, s); st.param.b32 [d], 1; call.uni (r), launch, (a, b, c, d, s); }\n    ret;\n}\n";

/* Functions of the same names by means that only NVIDIA's driver has, as a linked libcudadevrt brings them. */
static const char library[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.extern .func (.param .b32 r) __cuda_syscall_unknown();\n"
    ".visible .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s)\n{\n    .reg .u32 %v;\n"
    "    { .param .b32 a; call.uni (a), __cuda_syscall_unknown, (); ld.param.b32 %v, [a]; }\n    st.param.b32 [r], %v;\n    ret;\n}\n";

static CUdeviceptr p;
static uint32_t v[4];

static CUresult
run(CUmodule m, const char *name, unsigned blocks, unsigned threads, uint32_t n, CUstream s)
{
    CUfunction f;
    uint32_t zero[4] = { 0 };
    void *args[] = { &p, &n };
    OK(cuModuleGetFunction(&f, m, name));
    OK(cuMemcpyHtoD_v2(p, zero, sizeof zero));
    CUresult e = cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, args, NULL);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH_v2(v, p, sizeof v));
    return e;
}

int
main(void)
{
    CUcontext c = make_context();
    CUmodule m, linked;
    CUstream s;
    CUlinkState state;
    void *image;
    size_t size;
    OK(cuModuleLoadData(&m, text));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&p, 64));

    OK(run(m, "order", 1, 1, 0, s));
    EXPECT(v[0] == 1239 && v[1] == 123 && v[2] == 0xabababab);
    OK(run(m, "down", 1, 1, 40, NULL));
    EXPECT(v[0] == 41);
    OK(run(m, "down", 2, 3, 1, s));
    EXPECT(v[0] == 12);
    OK(run(m, "flood", 10, 110, 0, s));             /* there are 1023 records */
    EXPECT(v[0] == 1023 && v[1] == 77 && v[2] == 69);
    OK(run(m, "flood", 1, 10, 0, s));               /* and again, once these have run */
    EXPECT(v[0] == 10 && v[1] == 0);
    EXPECT_RESULT(run(m, "wrong", 1, 1, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(v[0] == 1);

    CUgraph graph;
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUfunction f;
    uint32_t n = 0;
    void *args[] = { &p, &n };
    OK(cuModuleGetFunction(&f, m, "down"));
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL), CUDA_ERROR_NOT_SUPPORTED);
    (void)cuStreamEndCapture(s, &graph);

    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)text, sizeof text, "text", 0, NULL, NULL));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)library, sizeof library, "library", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    OK(cuModuleLoadData(&linked, image));
    OK(cuLinkDestroy(state));
    OK(run(linked, "order", 1, 1, 0, s));
    EXPECT(v[0] == 1239);
    OK(cuModuleUnload(linked));
    OK(cuModuleUnload(m));
    OK(cuCtxDestroy_v2(c));
    return failures;
}
