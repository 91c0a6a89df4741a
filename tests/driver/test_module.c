/* SPDX-License-Identifier: Apache-2.0
 * Modules from PTX text: variables, functions and their attributes, launches with both forms of parameters, the JIT log,
 * linking, libraries, textures by object. On a device that executes, results are checked too. */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .const .align 8 .b8 table[16] = {1, 2, 3, 4};\n"
    ".visible .entry scale(.param .u64 p, .param .f32 a, .param .u32 n)\n"
    ".maxntid 256, 1, 1\n"
    "{\n"
    "    .reg .pred %q<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<5>;\n"
    "    ld.param.u64 %d1, [p]; ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %q1, %r5, %r1;\n"
    "    @%q1 bra DONE;\n"
    "    cvta.to.global.u64 %d2, %d1; mul.wide.u32 %d3, %r5, 4; add.s64 %d4, %d2, %d3;\n"
    "    ld.global.f32 %f2, [%d4]; mul.f32 %f3, %f1, %f2; st.global.f32 [%d4], %f3;\n"
    "DONE:\n    ret;\n}\n"
    ".visible .entry nothing()\n{\n    .shared .align 4 .b8 room[1000];\n    .reg .b32 %r<2>;\n"
    "    mov.u32 %r1, 1; st.shared.u32 [room], %r1;\n    ret;\n}\n";

static const char part_a[] = ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".visible .entry go(.param .u64 p)\n{\n    .reg .b64 %d<3>; .reg .b32 %r<3>;\n"
    "    ld.param.u64 %d1, [p]; cvta.to.global.u64 %d2, %d1; ld.global.u32 %r1, [%d2];\n"
    "    { .param .b32 x0; .param .b32 r0; st.param.b32 [x0], %r1; call (r0), twice, (x0); ld.param.b32 %r2, [r0]; }\n"
    "    st.global.u32 [%d2], %r2;\n    ret;\n}\n";
static const char part_b[] = ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n    .reg .b32 %r<3>;\n"
    "    ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret;\n}\n";

static const char fetch[] = ".version 7.1\n.target sm_60, texmode_unified\n.address_size 64\n"
    ".global .texref tex;\n.global .surfref surf;\n"
    ".visible .entry get(.param .u64 p)\n{\n    .reg .b64 %d<4>; .reg .b32 %r<2>; .reg .f32 %f<5>;\n"
    "    ld.param.u64 %d1, [p]; cvta.to.global.u64 %d2, %d1; mov.u32 %r1, %tid.x;\n"
    "    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%r1}];\n"
    "    mad.wide.u32 %d3, %r1, 4, %d2; st.global.f32 [%d3], %f1;\n    ret;\n}\n";

static bool executes;

static void
launches(CUmodule m)
{
    enum { N = 1000 };
    static float data[N];
    CUfunction f, none;
    CUdeviceptr p, g;
    size_t size;
    unsigned value = 0;
    int v;
    const char *name;
    CUmodule back;

    OK(cuModuleGetGlobal_v2(&g, &size, m, "counter"));
    EXPECT(size == 4);
    OK(cuMemcpyDtoH_v2(&value, g, 4));
    EXPECT(value == 5);
    OK(cuModuleGetGlobal_v2(&g, &size, m, "table"));
    EXPECT(size == 16);
    uint8_t bytes[16];
    OK(cuMemcpyDtoH_v2(bytes, g, 16));
    EXPECT(bytes[0] == 1 && bytes[3] == 4 && bytes[4] == 0);
    EXPECT_RESULT(cuModuleGetGlobal_v2(&g, &size, m, "absent"), CUDA_ERROR_NOT_FOUND);
    EXPECT_RESULT(cuMemFree_v2(g), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuModuleGetFunction(&none, m, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "scale"));
    CUfunction again;
    OK(cuModuleGetFunction(&again, m, "scale"));
    EXPECT(f == again);
    OK(cuFuncGetName(&name, f));
    EXPECT(!strcmp(name, "scale"));
    OK(cuFuncGetModule(&back, f));
    EXPECT(back == m);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    EXPECT(v == 256);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, f));
    EXPECT(v == 16 || !executes);       /* the null device has no facts of kernels */
    size_t offset = 99;
    OK(cuFuncGetParamInfo(f, 1, &offset, &size));
    EXPECT(offset == 8 && size == 4);
    OK(cuFuncGetParamInfo(f, 2, &offset, &size));
    EXPECT(offset == 12 && size == 4);
    EXPECT_RESULT(cuFuncGetParamInfo(f, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleGetFunction(&none, m, "nothing"));
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, none));
    EXPECT(v == 1000);
    OK(cuFuncSetAttribute(none, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    EXPECT_RESULT(cuFuncSetAttribute(none, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernel(none, 2, 2, 2, 8, 4, 2, 60000, NULL, NULL, NULL));
    unsigned count;
    OK(cuModuleGetFunctionCount(&count, m));
    EXPECT(count == 2);

    for (int i = 0; i < N; i++)
        data[i] = (float)i;
    OK(cuMemAlloc_v2(&p, sizeof data));
    OK(cuMemcpyHtoD_v2(p, data, sizeof data));
    float a = 2.5f;
    unsigned n = N;
    void *params[] = { &p, &a, &n };
    OK(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    struct { CUdeviceptr p; float a; unsigned n; } block = { p, 2.0f, N };
    size_t block_size = sizeof block;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &block_size, CU_LAUNCH_PARAM_END };
    OK(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
    OK(cuFuncSetBlockShape(f, 250, 1, 1));
    OK(cuParamSetv(f, 0, &p, 8));
    OK(cuParamSetf(f, 8, 0.5f));
    OK(cuParamSeti(f, 12, N));
    OK(cuParamSetSize(f, 16));
    OK(cuLaunchGrid(f, 4, 1));
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_IGNORE };
    CUlaunchConfig config = { .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 250, .blockDimY = 1, .blockDimZ = 1, .attrs = &attr, .numAttrs = 1 };
    OK(cuLaunchKernelEx(&config, f, params, NULL));
    OK(cuMemcpyDtoH_v2(data, p, sizeof data));
    if (executes)
        for (int i = 0; i < N; i++)
            EXPECT(data[i] == (float)i * 6.25f);        /* 2.5 * 2 * 0.5 * 2.5 */

    EXPECT_RESULT(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 512, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);      /* .maxntid */
    EXPECT_RESULT(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 50000, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
    block_size = 8;
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));

    int blocks, grid, best;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 1024, 0));
    EXPECT(blocks == 2);                /* 2048 threads a multiprocessor */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 32, 0));
    EXPECT(blocks == 32);               /* the most blocks a multiprocessor takes */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 32, 49000));
    int shared;
    OK(cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 0));
    EXPECT(blocks == shared / 51072);   /* 1000 + 49000 + 1024, up to 128: twice in 100 KiB */
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &best, f, NULL, 0, 0));
    EXPECT(best == 256 && grid >= 1);
    OK(cuMemFree_v2(p));
}

static void
logs(void)
{
    CUmodule m;
    char error[400], info[100];
    memset(error, 'x', sizeof error);
    CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                         CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL };
    void *v[] = { error, (void *)sizeof error, info, (void *)sizeof info, (void *)3 };
    EXPECT_RESULT(cuModuleLoadDataEx(&m, ".version 7.1\n.target sm_60\n.address_size 64\n.entry x() { frobnicate.u32 a, b; }\n", 5, o, v),
                  CUDA_ERROR_INVALID_PTX);
    EXPECT(memchr(error, 0, sizeof error) && strstr(error, "frobnicate"));
    EXPECT((size_t)v[1] == strlen(error) + 1);
    v[1] = (void *)10;
    EXPECT_RESULT(cuModuleLoadDataEx(&m, ".version 7.1\n.target sm_60\n.entry x( {", 2, o, v), CUDA_ERROR_INVALID_PTX);
    EXPECT(strlen(error) <= 9 && (size_t)v[1] <= 10);
    v[1] = (void *)sizeof error;
    OK(cuModuleLoadDataEx(&m, text, 5, o, v));
    EXPECT(!error[0] && !(size_t)v[1]);
    OK(cuModuleUnload(m));
    EXPECT_RESULT(cuModuleLoadDataEx(&m, text, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuModuleLoadData(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuModuleLoadData(&m, "this is not PTX"), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoad(&m, "/nonexistent/file.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    /* An ELF for machine 190 holds machine code only. */
    static uint8_t cubin[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 190, [20] = 1, [52] = 64, [58] = 64 };
    EXPECT_RESULT(cuModuleLoadData(&m, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void
links(void)
{
    CUlinkState s;
    CUmodule m;
    CUfunction f;
    void *image;
    size_t size;
    char error[300] = "";
    CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *v[] = { error, (void *)sizeof error };
    OK(cuLinkCreate_v2(2, o, v, &s));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)part_a, sizeof part_a, "a.ptx", 0, NULL, NULL));
    EXPECT_RESULT(cuLinkComplete(s, &image, &size), CUDA_ERROR_UNKNOWN);
    EXPECT(strstr(error, "twice"));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)part_b, sizeof part_b, "b.ptx", 0, NULL, NULL));
    OK(cuLinkComplete(s, &image, &size));
    EXPECT(size > sizeof part_a);
    OK(cuModuleLoadData(&m, image));
    OK(cuLinkDestroy(s));
    EXPECT_RESULT(cuLinkDestroy(s), CUDA_ERROR_INVALID_HANDLE);
    /* What is wrong with an input is said when it is added, and it does not belong to the link then. */
    CUmodule none;
    unsigned count = 9;
    static char wrong[] = ".version 7.1\n.target sm_60\n.address_size 64\n.entry x() { frobnicate.u32 a, b; }\n";
    v[1] = (void *)sizeof error;
    OK(cuLinkCreate_v2(2, o, v, &s));
    EXPECT_RESULT(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, wrong, sizeof wrong, "wrong.ptx", 0, NULL, NULL), CUDA_ERROR_INVALID_PTX);
    EXPECT(strstr(error, "frobnicate"));
    OK(cuLinkComplete(s, &image, &size));
    OK(cuModuleLoadData(&none, image));
    OK(cuModuleGetFunctionCount(&count, none));
    EXPECT(count == 0);
    OK(cuModuleUnload(none));
    OK(cuLinkDestroy(s));
    OK(cuModuleGetFunction(&f, m, "go"));
    CUdeviceptr p;
    unsigned value = 21;
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuMemcpyHtoD_v2(p, &value, 4));
    void *params[] = { &p };
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(&value, p, 4));
    if (executes)
        EXPECT(value == 42);
    OK(cuMemFree_v2(p));
    OK(cuModuleUnload(m));
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);

    /* Clients link libcudadevrt whole, whose parts call NVIDIA's driver (cnp...): what no other part uses is left out. */
    static const char runtime[] = ".version 6.0\n.target sm_52\n.address_size 64\n.extern .func cnpGetDevice;\n"
                                  ".visible .func unused()\n{\ncall cnpGetDevice;\nret;\n}\n";
    OK(cuLinkCreate_v2(0, NULL, NULL, &s));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)part_a, sizeof part_a, "a.ptx", 0, NULL, NULL));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)part_b, sizeof part_b, "b.ptx", 0, NULL, NULL));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)runtime, sizeof runtime, "runtime.ptx", 0, NULL, NULL));
    OK(cuLinkComplete(s, &image, &size));
    OK(cuModuleLoadData(&m, image));
    OK(cuModuleGetFunction(&f, m, "go"));
    OK(cuModuleUnload(m));
    OK(cuLinkDestroy(s));

    /* The image remembers the bound of registers. */
    CUjit_option bound[] = { CU_JIT_MAX_REGISTERS };
    void *one[] = { (void *)1 };
    int n = 0;
    OK(cuLinkCreate_v2(1, bound, one, &s));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)part_a, sizeof part_a, "a.ptx", 0, NULL, NULL));
    OK(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)part_b, sizeof part_b, "b.ptx", 0, NULL, NULL));
    OK(cuLinkComplete(s, &image, &size));
    OK(cuModuleLoadData(&m, image));
    OK(cuModuleGetFunction(&f, m, "go"));
    OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    EXPECT(n == 1);
    OK(cuModuleUnload(m));
    OK(cuLinkDestroy(s));
}

/* Does the log name this place and code, with the line and a caret below the column (counted from 1)? */
static bool
points_at(const char *log, unsigned line, unsigned column, unsigned code, const char *source)
{
    char place[64], below[160];
    snprintf(place, sizeof place, ":%u:%u: error P%04u: ", line, column, code);
    snprintf(below, sizeof below, "\n    %s\n    %*s^", source, (int)column - 1, "");
    const char *s = strstr(log, place);
    if (s && strstr(s, below))
        return true;
    printf("expected %s ...%s\ngot %s\n", place, below, log);
    return false;
}

/* Bad input of every kind: what is wrong and where reaches the buffers of the calls that got it. */
static void
hostile(void)
{
    static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
    static const struct { const char *body; unsigned line, column, code; const char *source; } cases[] = {
        { ".entry k() { mov.u32 \x01; }", 4, 22, 1009, ".entry k() { mov.u32 ?; }" },     /* shown as it can be printed */
        { ".entry k() { /* open", 4, 14, 1002, ".entry k() { /* open" },
        { ".entry k() {\n.reg .u32 %r<2>;\nadd.u32 %r0, %r1\n}", 7, 1, 2001, "}" },
        { ".entry k() {\n.reg .u32 %r<2>;\n  add.f64 %r0, %r1, %r1;\n}", 6, 3, 3034, "  add.f64 %r0, %r1, %r1;" },
        { ".entry k() {\n.reg .u32 %r<2>;\nadd.u32 %r0, %r1, %r2;\n}", 6, 19, 3001, "add.u32 %r0, %r1, %r2;" },
        { ".entry k() {\n bra nowhere;\n}", 5, 6, 3002, " bra nowhere;" },
    };
    static char error[8192], big[1 << 20], source[2048];
    CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    CUmodule m;
    CUlinkState l;
    void *image;
    size_t size;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = snprintf(source, sizeof source, "%s%s\n", head, cases[i].body);
        void *v[] = { error, (void *)sizeof error };
        EXPECT_RESULT(cuModuleLoadDataEx(&m, source, 2, o, v), CUDA_ERROR_INVALID_PTX);
        EXPECT(points_at(error, cases[i].line, cases[i].column, cases[i].code, cases[i].source));
        memset(error, 0, sizeof error);
        v[1] = (void *)sizeof error;
        OK(cuLinkCreate_v2(2, o, v, &l));
        CUresult r = cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, source, (size_t)n + 1, "bad.ptx", 0, NULL, NULL);
        if (r == CUDA_SUCCESS)
            r = cuLinkComplete(l, &image, &size);
        EXPECT_RESULT(r, CUDA_ERROR_INVALID_PTX);
        EXPECT(strstr(error, "bad.ptx:"));
        EXPECT(points_at(error, cases[i].line, cases[i].column, cases[i].code, cases[i].source));
        OK(cuLinkDestroy(l));
    }
    /* A line of a megabyte, and a megabyte of lines that are all wrong: the message fits, and still begins with the place. */
    for (unsigned k = 0; k < 2; k++) {
        size_t n = (size_t)snprintf(big, sizeof big, "%s.entry k() {\n", head);
        while (n + 32 < sizeof big)
            n += (size_t)snprintf(big + n, sizeof big - n, k ? "wrong %%r1, %%r2;\n" : "           ");
        snprintf(big + n, sizeof big - n, "wrong;\n}\n");
        void *v[] = { error, (void *)sizeof error };
        EXPECT_RESULT(cuModuleLoadDataEx(&m, big, 2, o, v), CUDA_ERROR_INVALID_PTX);
        EXPECT(strstr(error, k ? ":5:1: error P2003: " : ":5:") && strstr(error, "P2003") && memchr(error, 0, sizeof error));
        EXPECT((size_t)v[1] == strlen(error) + 1);
    }
}

static void
libraries(void)
{
    CUlibrary l;
    CUkernel k;
    CUfunction f;
    CUmodule m;
    unsigned n;
    CUdeviceptr g, g2;
    size_t size;
    OK(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&n, l));
    EXPECT(n == 2);
    OK(cuLibraryGetKernel(&k, l, "nothing"));
    EXPECT_RESULT(cuLibraryGetKernel(&k, l, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetFunction(&f, k));
    OK(cuLibraryGetModule(&m, l));
    OK(cuLibraryGetGlobal(&g, &size, l, "counter"));
    OK(cuModuleGetGlobal_v2(&g2, &size, m, "counter"));
    EXPECT(g == g2 && size == 4);
    EXPECT_RESULT(cuLibraryGetManaged(&g, &size, l, "counter"), CUDA_ERROR_NOT_FOUND);
    OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuLibraryUnload(l));
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuKernelGetFunction(&f, k), CUDA_ERROR_INVALID_HANDLE);
}

static void
textures(void)
{
    CUarray a;
    CUtexObject t;
    CUsurfObject s;
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY }, back;
    CUDA_TEXTURE_DESC d = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP }, .filterMode = CU_TR_FILTER_MODE_LINEAR }, dback;
    CUDA_RESOURCE_VIEW_DESC view;
    CUDA_ARRAY3D_DESCRIPTOR desc = { .Width = 32, .Height = 32, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4, .Flags = CUDA_ARRAY3D_SURFACE_LDST };
    OK(cuArray3DCreate_v2(&a, &desc));
    r.res.array.hArray = a;
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    EXPECT(t != 0);
    OK(cuTexObjectGetResourceDesc(&back, t));
    EXPECT(back.resType == CU_RESOURCE_TYPE_ARRAY && back.res.array.hArray == a);
    OK(cuTexObjectGetTextureDesc(&dback, t));
    EXPECT(dback.filterMode == CU_TR_FILTER_MODE_LINEAR);
    OK(cuTexObjectGetResourceViewDesc(&view, t));            /* none was given: all zeros (an H200, driver 580) */
    EXPECT(view.format == CU_RES_VIEW_FORMAT_NONE && !view.width);
    OK(cuSurfObjectCreate(&s, &r));
    OK(cuSurfObjectDestroy(s));
    EXPECT_RESULT(cuSurfObjectDestroy(s), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexObjectDestroy(t));
    EXPECT_RESULT(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
    d.filterMode = (CUfilter_mode)7;
    EXPECT_RESULT(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
    d.filterMode = CU_TR_FILTER_MODE_POINT;
    r.res.array.hArray = (CUarray)(uintptr_t)0x1230;
    EXPECT_RESULT(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_HANDLE);
    CUdeviceptr p;
    size_t pitch;
    OK(cuMemAllocPitch_v2(&p, &pitch, 100, 10, 4));
    CUDA_RESOURCE_DESC q = { .resType = CU_RESOURCE_TYPE_PITCH2D, .res.pitch2D = { p, CU_AD_FORMAT_UNSIGNED_INT8, 1, 100, 10, pitch } };
    OK(cuTexObjectCreate(&t, &q, &d, NULL));
    OK(cuTexObjectDestroy(t));
    q.res.pitch2D.height = 11;
    EXPECT_RESULT(cuTexObjectCreate(&t, &q, &d, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    OK(cuArrayDestroy(a));
    CUmipmappedArray mm;
    CUarray level, same;
    OK(cuMipmappedArrayCreate(&mm, &desc, 99));
    OK(cuMipmappedArrayGetLevel(&level, mm, 5));
    OK(cuMipmappedArrayGetLevel(&same, mm, 5));
    EXPECT(level == same);
    EXPECT_RESULT(cuMipmappedArrayGetLevel(&same, mm, 6), CUDA_ERROR_INVALID_VALUE);
    OK(cuArray3DGetDescriptor_v2(&desc, level));
    EXPECT(desc.Width == 1 && desc.Height == 1 && desc.Depth == 0);
    OK(cuArrayDestroy(level));           /* a level stays its mipmapped array's (an H200, driver 580) */
    OK(cuMipmappedArrayDestroy(mm));
    EXPECT_RESULT(cuArray3DGetDescriptor_v2(&desc, level), CUDA_ERROR_INVALID_HANDLE);
}

static void
references(void)
{
    enum { N = 32 };
    CUmodule m;
    CUfunction f;
    CUtexref t, same;
    CUsurfref s;
    CUarray_format format;
    int channels;
    CUdeviceptr in[2], out;
    float data[N];
    OK(cuModuleLoadData(&m, fetch));
    OK(cuModuleGetFunction(&f, m, "get"));
    OK(cuModuleGetTexRef(&t, m, "tex"));
    OK(cuModuleGetTexRef(&same, m, "tex"));
    EXPECT(t == same);
    EXPECT_RESULT(cuModuleGetTexRef(&same, m, "surf"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetSurfRef(&s, m, "surf"));
    EXPECT_RESULT(cuTexRefSetFlags((CUtexref)s, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefGetFormat(&format, &channels, t));
    EXPECT(format == CU_AD_FORMAT_FLOAT && channels == 1);
    OK(cuMemAlloc_v2(&out, sizeof data));
    void *params[] = { &out };
    for (int round = 0; round < 2; round++) {   /* the second binding replaces the first */
        size_t offset = 1;
        OK(cuMemAlloc_v2(&in[round], sizeof data));
        for (int i = 0; i < N; i++)
            data[i] = (float)(i * 3 + round);
        OK(cuMemcpyHtoD_v2(in[round], data, sizeof data));
        OK(cuTexRefSetAddress_v2(&offset, t, in[round], sizeof data));
        EXPECT(offset == 0);
        OK(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
        OK(cuMemcpyDtoH_v2(data, out, sizeof data));
        for (int i = 0; executes && i < N; i++)
            EXPECT(data[i] == (float)(i * 3 + round));
    }
    OK(cuTexRefSetFilterMode(t, (CUfilter_mode)99));    /* kept, but no texture can be made of it */
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT));
    OK(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    OK(cuModuleUnload(m));
    EXPECT_RESULT(cuTexRefSetFlags(t, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuMemFree_v2(out));
    OK(cuMemFree_v2(in[0]));
    OK(cuMemFree_v2(in[1]));
}

static double
cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A module of thousands of kernels and variables: each is found by its name, and finding all of them takes less time than loading them did. */
static void
many(void)
{
    enum { N = 8000, LINE = 128 };
    static CUfunction f[N];
    static CUdeviceptr p[N];
    char *long_text = malloc((size_t)2 * N * LINE), *at = long_text, name[LINE];
    CUmodule m;
    CUlibrary l;
    CUkernel k;
    CUdeviceptr d;
    size_t size;
    at += sprintf(at, ".version 7.1\n.target sm_60\n.address_size 64\n");
    for (int i = 0; i < N; i++)
        at += sprintf(at, ".visible .global .align 4 .b8 variable_%d[%d];\n.visible .entry kernel_%d()\n{\n    ret;\n}\n", i, i % 100 + 1, i);
    const double start = cpu_seconds();
    OK(cuModuleLoadData(&m, long_text));
    const double loaded = cpu_seconds();
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "variable_%d", i);
        OK(cuModuleGetGlobal_v2(&p[i], &size, m, name));
        EXPECT(size == (size_t)i % 100 + 1 && (!i || p[i] != p[i - 1]));
        EXPECT_RESULT(cuModuleGetFunction(&f[i], m, name), CUDA_ERROR_NOT_FOUND);
    }
    const double found = cpu_seconds();
    EXPECT(found - loaded < loaded - start);
    for (int i = 0; i < N; i++) {
        const char *is;
        snprintf(name, sizeof name, "kernel_%d", i);
        OK(cuModuleGetFunction(&f[i], m, name));
        OK(cuFuncGetName(&is, f[i]));
        EXPECT(!strcmp(is, name));
        EXPECT_RESULT(cuModuleGetGlobal_v2(&d, &size, m, name), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_RESULT(cuModuleGetFunction(&f[0], m, "kernel_8000"), CUDA_ERROR_NOT_FOUND);
    EXPECT_RESULT(cuModuleGetGlobal_v2(&d, &size, m, "kernel_"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(m));
    OK(cuLibraryLoadData(&l, long_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&k, l, "kernel_7999"));
    OK(cuLibraryGetGlobal(&d, &size, l, "variable_7999"));
    EXPECT(size == 100);
    EXPECT_RESULT(cuLibraryGetManaged(&d, &size, l, "variable_7999"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryUnload(l));
    free(long_text);
}

int
main(void)
{
    const bool over_cuda = is_over_cuda();
    const char *device = getenv("CUDAWAY_DEVICE");
    executes = !device || strncmp(device, "null", 4);
    CUcontext c = make_context();
    CUmodule m, kept;
    OK(cuModuleLoadData(&m, text));
    launches(m);
    OK(cuModuleUnload(m));
    EXPECT_RESULT(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    logs();
    links();
    hostile();
    libraries();
    textures();
    references();
    if (!over_cuda)                     /* which compiles all of a module when it is loaded */
        many();
    OK(cuModuleLoadData(&kept, text));
    CUfunction f;
    OK(cuModuleGetFunction(&f, kept, "nothing"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxDestroy_v2(c));             /* with a module loaded */
    return failures != 0;
}
