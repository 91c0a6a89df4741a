/* SPDX-License-Identifier: Apache-2.0
 * A kernel that needs many registers at a time is compiled for blocks of fewer than 1024 threads (many.ptx), and again for larger ones that come. */
#include "tests/driver/test.h"

#include <stdlib.h>

enum { VALUES = 160, MOST = 1024 };

/* Each thread reads VALUES words in[t], in[t + 1] ..., all before the barrier, and has ((v0 * 31 + v1) * 31 + v2) ... behind it. */
static char *
source(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f, ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry many(.param .u64 out, .param .u64 in)\n{\n"
            ".reg .b32 %%r<4>; .reg .b32 %%v<%d>; .reg .b64 %%d<6>;\nld.param.u64 %%d0, [out];\nld.param.u64 %%d1, [in];\nmov.u32 %%r0, %%tid.x;\n"
            "mul.wide.u32 %%d2, %%r0, 4;\nadd.u64 %%d3, %%d0, %%d2;\nadd.u64 %%d4, %%d1, %%d2;\n", VALUES);
    for (unsigned i = 0; i < VALUES; i++)
        fprintf(f, "ld.global.u32 %%v%u, [%%d4 + %u];\n", i, 4 * i);
    fprintf(f, "bar.sync 0;\nmov.u32 %%r1, 0;\n");
    for (unsigned i = 0; i < VALUES; i++)
        fprintf(f, "mad.lo.u32 %%r1, %%r1, 31, %%v%u;\n", i);
    fprintf(f, "st.global.u32 [%%d3], %%r1;\nret;\n}\n");
    fclose(f);
    return text;
}

static CUdeviceptr in, out;

static void
runs(CUfunction f, unsigned threads)
{
    static unsigned v[MOST];
    void *params[] = { &out, &in };
    OK(cuMemsetD8_v2(out, 0xee, sizeof v));
    OK(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(v, out, sizeof v));
    for (unsigned t = 0; t < MOST; t++) {
        unsigned want = 0;
        for (unsigned i = 0; i < VALUES; i++)
            want = want * 31 + 7 * (t + i);
        EXPECT(v[t] == (t < threads ? want : 0xeeeeeeee));
    }
}

int
main(void)
{
    static unsigned words[MOST + VALUES];
    CUdevice d;
    CUcontext c;
    CUmodule m;
    CUfunction f;
    int most = -1;
    for (unsigned i = 0; i < MOST + VALUES; i++)
        words[i] = 7 * i;
    OK(cuInit(0));
    OK(cuDeviceGet(&d, 0));
    OK(cuCtxCreate_v2(&c, 0, d));
    OK(cuMemAlloc_v2(&in, sizeof words));
    OK(cuMemAlloc_v2(&out, MOST * 4));
    OK(cuMemcpyHtoD_v2(in, words, sizeof words));
    char *text = source();
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "many"));
    OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    EXPECT(most == MOST);
    static const unsigned threads[] = { 64, MOST, 96, 512, 513, 640, 641, MOST };
    for (unsigned i = 0; i < sizeof threads / sizeof *threads; i++)
        runs(f, threads[i]);
    OK(cuModuleUnload(m));
    free(text);
    return failures != 0;
}
