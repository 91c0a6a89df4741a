/* SPDX-License-Identifier: Apache-2.0
 * isolate LABEL: on the host device, the time to a first context; of a launch of one empty block, waited for and a hundred in a row; of an allocation
 * and its end; and of a kernel that reads and writes 64 MiB. tools/bench runs it with and without CUDAWAY_ISOLATE. */
#define cuMust(call) MUST(call)
#include "tools/bench.d/bench.h"

enum { TURNS = 51, CALLS = 100, WORDS = 16 << 20 };

static const char text[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry nothing(.param .u64 p)\n{\n    ret;\n}\n"
    ".visible .entry add(.param .u64 p)\n{\n    .reg .b64 %d<4>; .reg .b32 %r<6>;\n    ld.param.u64 %d1, [p];\n    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n    mad.lo.u32 %r4, %r1, %r2, %r3;\n    mul.wide.u32 %d2, %r4, 4;\n    add.u64 %d1, %d1, %d2;\n"
    "    ld.global.u32 %r5, [%d1];\n    add.u32 %r5, %r5, 1;\n    st.global.u32 [%d1], %r5;\n    ret;\n}\n";

static CUfunction nothing, add;
static CUdeviceptr memory;

static void
run(CUfunction f, unsigned blocks, unsigned threads)
{
    void *params[] = { &memory };
    MUST(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
}

static void
one(void)
{
    run(nothing, 1, 32);
    MUST(cuCtxSynchronize());
}

static void
many(void)
{
    for (unsigned i = 0; i < CALLS; i++)
        run(nothing, 1, 32);
    MUST(cuCtxSynchronize());
}

static void
allocate(void)
{
    CUdeviceptr p;
    MUST(cuMemAlloc_v2(&p, 4096));
    MUST(cuMemFree_v2(p));
}

static void
large(void)
{
    run(add, WORDS / 256, 256);
    MUST(cuCtxSynchronize());
}

static void
measure(const char *label, const char *what, void (*fn)(void), double divisor)
{
    double t[TURNS];
    fn();
    for (unsigned i = 0; i < TURNS; i++) {
        double from = now();
        fn();
        t[i] = (now() - from) / divisor * 1e6;
    }
    printf("isolate %-10s %-28s %10.1f us\n", label, what, median(t, TURNS));
}

int
main(int argc, char **argv)
{
    const char *label = argc > 1 ? argv[1] : "";
    CUcontext c;
    CUmodule m;
    double from = now();
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&c, 0, 0));
    printf("isolate %-10s %-28s %10.1f us\n", label, "first context", (now() - from) * 1e6);
    MUST(cuModuleLoadData(&m, text));
    MUST(cuModuleGetFunction(&nothing, m, "nothing"));
    MUST(cuModuleGetFunction(&add, m, "add"));
    MUST(cuMemAlloc_v2(&memory, WORDS * sizeof(int)));
    MUST(cuMemsetD8_v2(memory, 0, WORDS * sizeof(int)));
    measure(label, "launch, waited for", one, 1);
    measure(label, "launch, of 100 in a row", many, CALLS);
    measure(label, "cuMemAlloc and cuMemFree", allocate, 1);
    measure(label, "64 MiB read and written", large, 1);
    return 0;
}
