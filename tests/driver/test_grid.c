/* SPDX-License-Identifier: Apache-2.0
 * What a kernel knows of its launch: %gridid, which no other launch has, and the workspace of a cooperative grid (%envreg1 and %envreg2,
 * as CUDA's cooperative groups use it), of which two grids of one kernel that run at the same time have one each; and shared memory
 * up to what the device says that a block can have; local memory and constants up to what CUDA has; blocks that wait for each other. */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>

enum { BLOCKS = 4, ROUNDS = 5 };

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* All blocks of the grid: each adds 1 to the second word, block 0 what flips its top bit when all are there. */
    ".func sync()\n{\n"
    "    .reg .b32 %lo, %hi, %t, %n, %add, %old, %now; .reg .b64 %ws; .reg .pred %p;\n"
    "    mov.b32 %hi, %envreg1; mov.b32 %lo, %envreg2; mov.b64 %ws, {%lo, %hi};\n"
    "    bar.sync 0;\n    mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0;\n    @%p bra $behind;\n"
    "    mov.u32 %n, %nctaid.x; sub.u32 %n, 0x80000001, %n;\n"
    "    mov.u32 %t, %ctaid.x; setp.eq.u32 %p, %t, 0; selp.b32 %add, %n, 1, %p;\n"
    "    fence.acq_rel.gpu; atom.add.release.gpu.u32 %old, [%ws+4], %add;\n"
    "$poll:\n    ld.acquire.gpu.u32 %now, [%ws+4]; xor.b32 %now, %now, %old; setp.ge.s32 %p, %now, 0;\n    @%p bra $poll;\n"
    "$behind:\n    bar.sync 0;\n    ret;\n}\n"
    /* Says that it is here, waits until the other is (or for long), then synchronises its grid `rounds` times: before each, every block
     * writes the round's number, behind it adds all blocks' numbers up. result: the other was met; wrong sums; the workspace; %gridid. */
    ".visible .entry meet(.param .u64 mine, .param .u64 other, .param .u64 words, .param .u64 result, .param .u32 rounds)\n{\n"
    "    .reg .b32 %b, %n, %r, %end, %i, %v, %sum, %want, %t, %met, %left; .reg .b64 %mine, %other, %words, %out, %at, %id; .reg .pred %p, %q;\n"
    "    .reg .b32 %lo, %hi; .reg .b64 %ws;\n"
    "    ld.param.u64 %mine, [mine]; ld.param.u64 %other, [other]; ld.param.u64 %words, [words]; ld.param.u64 %out, [result];\n"
    "    ld.param.u32 %end, [rounds]; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %t, %tid.x;\n"
    "    or.b32 %v, %b, %t; setp.ne.u32 %q, %v, 0;\n    @%q bra $start;\n"
    "    st.volatile.global.u32 [%mine], 1;\n    mov.u32 %left, 3000000;\n"
    "$spin:\n    ld.volatile.global.u32 %met, [%other]; sub.u32 %left, %left, 1;\n"
    "    setp.eq.u32 %p, %met, 0; setp.ne.and.u32 %p, %left, 0, %p;\n    @%p bra $spin;\n"
    "    st.global.u32 [%out], %met;\n    mov.b32 %hi, %envreg1; mov.b32 %lo, %envreg2; mov.b64 %ws, {%lo, %hi};\n"
    "    st.global.u64 [%out+8], %ws;\n    mov.u64 %id, %gridid; st.global.u64 [%out+16], %id;\n"
    "$start:\n    setp.eq.u32 %p, %end, 0;\n    @%p bra $done;\n    mov.u32 %r, 1;\n"
    "$round:\n    mul.wide.u32 %at, %b, 4; add.u64 %at, %words, %at;\n    setp.ne.u32 %p, %t, 0;\n    @!%p st.volatile.global.u32 [%at], %r;\n"
    "    call sync;\n    mov.u32 %sum, 0; mov.u32 %i, 0;\n"
    "$add:\n    mul.wide.u32 %at, %i, 4; add.u64 %at, %words, %at; ld.volatile.global.u32 %v, [%at]; add.u32 %sum, %sum, %v;\n"
    "    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n;\n    @%p bra $add;\n"
    "    mul.lo.u32 %want, %n, %r; setp.ne.u32 %p, %sum, %want;\n    @%p red.global.add.u32 [%out+4], 1;\n"
    "    call sync;\n    add.u32 %r, %r, 1; setp.le.u32 %p, %r, %end;\n    @%p bra $round;\n"
    "$done:\n    ret;\n}\n"
    /* Each thread writes its number into every 128th word of shared memory, and adds up what its neighbour wrote: result[thread]. */
    ".extern .shared .align 16 .b8 rest[];\n"
    ".visible .entry fill(.param .u64 result)\n{\n    .shared .align 4 .b32 own[1024];\n"
    "    .reg .b32 %t, %u, %at, %end, %sum, %v; .reg .b64 %out, %o; .reg .pred %p;\n"
    "    ld.param.u64 %out, [result]; mov.u32 %t, %tid.x; mov.u32 %end, %dynamic_smem_size;\n"
    "    mul.lo.u32 %at, %t, 4; mov.u32 %u, own; add.u32 %at, %at, %u; mov.u32 %v, own; add.u32 %u, %v, 4096;\n"
    "$own:\n    st.shared.u32 [%at], %t; add.u32 %at, %at, 512; setp.lt.u32 %p, %at, %u;\n    @%p bra $own;\n"
    "    mov.u32 %u, rest; add.u32 %end, %end, %u; mul.lo.u32 %at, %t, 4; add.u32 %at, %at, %u;\n"
    "$write:\n    st.shared.u32 [%at], %t; add.u32 %at, %at, 512; setp.lt.u32 %p, %at, %end;\n    @%p bra $write;\n"
    "    bar.sync 0;\n    mov.u32 %sum, 0; xor.b32 %at, %t, 1; mul.lo.u32 %at, %at, 4; add.u32 %v, %v, %at; add.u32 %at, %at, %u;\n"
    "$read:\n    ld.shared.u32 %u, [%at]; add.u32 %sum, %sum, %u; add.u32 %at, %at, 512; setp.lt.u32 %p, %at, %end;\n    @%p bra $read;\n"
    "    mov.u32 %at, 0;\n"
    "$mine:\n    ld.shared.u32 %u, [%v]; add.u32 %sum, %sum, %u; add.u32 %v, %v, 512; add.u32 %at, %at, 1; setp.lt.u32 %p, %at, 8;\n    @%p bra $mine;\n"
    "    mul.wide.u32 %o, %t, 4; add.u64 %out, %out, %o; st.global.u32 [%out], %sum;\n    ret;\n}\n"
    /* Each block waits for the next one's word: 1 in the last, one more in each before. */
    ".visible .entry chain(.param .u64 words)\n{\n    .reg .b32 %b, %n, %t, %v; .reg .b64 %at, %words; .reg .pred %p;\n"
    "    mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %t, %tid.x; mul.wide.u32 %at, %b, 4;\n"
    "    ld.param.u64 %words, [words]; add.u64 %at, %at, %words;\n"
    "    setp.ne.u32 %p, %t, 0;\n    @%p bra $other;\n    add.u32 %b, %b, 1; mov.u32 %v, 0; setp.eq.u32 %p, %b, %n;\n    @%p bra $last;\n"
    "$wait:\n    ld.acquire.gpu.global.u32 %v, [%at+4]; setp.eq.u32 %p, %v, 0;\n    @%p bra $wait;\n"
    "$last:\n    add.u32 %v, %v, 1; st.release.gpu.global.u32 [%at], %v;\n"
    "$other:\n    bar.sync 0;\n    ret;\n}\n"
    /* The same as unoptimised code has it: a function reads the word into a local variable, at a generic address. */
    ".func look(.param .b64 from, .param .b64 to)\n{\n    .reg .b32 %v; .reg .b64 %from, %to;\n"
    "    ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.acquire.gpu.u32 %v, [%from]; st.u32 [%to], %v;\n    ret;\n}\n"
    ".visible .entry chain_by_call(.param .u64 words)\n{\n    .local .align 8 .b8 depot[8];\n"
    "    .reg .b32 %b, %n, %t, %v; .reg .b64 %at, %words, %next, %spl, %sp; .reg .pred %p;\n"
    "    mov.u64 %spl, depot; cvta.local.u64 %sp, %spl; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %t, %tid.x; mul.wide.u32 %at, %b, 4;\n"
    "    ld.param.u64 %words, [words]; add.u64 %at, %at, %words; add.u64 %next, %at, 4; mov.u32 %v, 0; st.u32 [%sp+4], %v;\n"
    "    setp.ne.u32 %p, %t, 0;\n    @%p bra $other;\n    add.u32 %b, %b, 1; setp.eq.u32 %p, %b, %n;\n    @%p bra $last;\n"
    "$wait:\n    { .param .b64 p0; .param .b64 p1; st.param.b64 [p0], %next; add.u64 %at, %sp, 4; st.param.b64 [p1], %at; call.uni look, (p0, p1); }\n"
    "    ld.u32 %v, [%sp+4]; setp.eq.u32 %p, %v, 0;\n    @%p bra $wait;\n"
    "$last:\n    ld.u32 %v, [%sp+4]; add.u32 %v, %v, 1; st.release.gpu.u32 [%next+-4], %v;\n"
    "$other:\n    bar.sync 0;\n    ret;\n}\n";

struct result {
    uint32_t met, wrong;
    uint64_t workspace, id;
};

static CUfunction meet;

static void
launch(CUstream s, CUdeviceptr mine, CUdeviceptr other, CUdeviceptr words, CUdeviceptr result, unsigned rounds, bool cooperative)
{
    void *params[] = { &mine, &other, &words, &result, &rounds };
    if (cooperative)
        OK(cuLaunchCooperativeKernel(meet, BLOCKS, 1, 1, 32, 1, 1, 0, s, params));
    else
        OK(cuLaunchKernel(meet, BLOCKS, 1, 1, 32, 1, 1, 0, s, params, NULL));
}

/* As much as a block can have, of which 4096 bytes are the kernel's own (hashcat's bcrypt takes all). */
static void
all_shared(CUmodule m)
{
    enum { THREADS = 128, OWN = 4096 };
    CUfunction fill;
    CUdeviceptr result;
    int most = 0, own = 0;
    uint32_t sums[THREADS] = { 0 };
    OK(cuModuleGetFunction(&fill, m, "fill"));
    OK(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    OK(cuFuncGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fill));
    EXPECT(own == OWN);
    OK(cuMemAlloc_v2(&result, sizeof sums));
    OK(cuMemsetD8_v2(result, 0, sizeof sums));
    void *params[] = { &result };
    EXPECT_RESULT(cuLaunchKernel(fill, 2, 1, 1, THREADS, 1, 1, (unsigned)most - OWN, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - OWN + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - OWN));
    EXPECT_RESULT(cuLaunchKernel(fill, 2, 1, 1, THREADS, 1, 1, (unsigned)most - OWN + 1, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernel(fill, 2, 1, 1, THREADS, 1, 1, (unsigned)most - OWN, NULL, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(sums, result, sizeof sums));
    /* A kernel's own beyond 48 KiB needs no asking, and leaves the rest; more than the device has is no PTX for it (an H200, driver 580). */
    char text[600], log[400] = "";
    CUmodule large = NULL;
    CUfunction k;
    int room = 0;
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)(uintptr_t)sizeof log };
    static const char form[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n    .shared .align 4 .b8 own[%d];\n    .reg .b32 %%r;\n"
                               "    mov.u32 %%r, own;\n    st.shared.u32 [%%r+%d], %%r;\n    ret;\n}\n";
    snprintf(text, sizeof text, form, 50000, 49996);
    OK(cuModuleLoadData(&large, text));
    OK(cuModuleGetFunction(&k, large, "k"));
    OK(cuFuncGetAttribute(&room, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k));
    EXPECT(room == most - 50000);
    OK(cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, (unsigned)room, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(large));
    snprintf(text, sizeof text, form, most + 4, most);
    EXPECT_RESULT(cuModuleLoadDataEx(&large, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
    EXPECT(strstr(log, "'k' has"));
    for (uint32_t t = 0; t < THREADS; t++)
        EXPECT(sums[t] == (t ^ 1) * ((uint32_t)most / (4 * THREADS)));
    OK(cuMemFree_v2(result));
}

/* What a thread can have of local memory is a launch's question, what a module can have of constants the loader's (an H200, driver 580). */
static void
all_local(void)
{
    static const struct { const char *declaration, *body; CUresult load, launch; } cases[] = {
        { "", ".local .align 4 .b8 l[262144]; mov.u64 %d, l; st.local.u32 [%d], 1;", CUDA_SUCCESS, CUDA_SUCCESS },
        { "", ".local .align 4 .b8 l[524288]; mov.u64 %d, l; st.local.u32 [%d], 1;", CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE },
        { "", ".local .b8 unused[1048576];", CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE },
        { ".visible .func f() { .reg .b64 %d; .local .align 4 .b8 l[524288]; mov.u64 %d, l; st.local.u32 [%d], 1; ret; }", "call f;", CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE },
        { ".const .align 4 .b8 c[65532];\n.const .b8 d[4];\n", "", CUDA_SUCCESS, CUDA_SUCCESS },
        { ".const .b8 unused[65537];\n", "", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS },
        { ".const .b8 c[65533];\n.const .align 4 .b8 d[4];\n", "", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS },
        { ".visible .func f(.param .b8 a[8589934592]) { ret; }", "", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char large[600];
        CUmodule m = NULL;
        CUfunction k;
        snprintf(large, sizeof large, ".version 7.0\n.target sm_70\n.address_size 64\n%s\n.visible .entry k()\n{\n.reg .b64 %%d;\n%s\nret;\n}\n", cases[i].declaration, cases[i].body);
        EXPECT_RESULT(cuModuleLoadData(&m, large), cases[i].load);
        if (cases[i].load != CUDA_SUCCESS)
            continue;
        OK(cuModuleGetFunction(&k, m, "k"));
        EXPECT_RESULT(cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), cases[i].launch);
        OK(cuCtxSynchronize());
        OK(cuModuleUnload(m));
    }
}

/* Blocks of an ordinary launch wait for each other, as they can on a GPU, which has room for all of them. */
static void
waiting_blocks(CUmodule m, const char *kernel)
{
    enum { N = 24 };
    CUfunction f;
    CUdeviceptr p;
    uint32_t got[N];
    OK(cuMemAlloc_v2(&p, sizeof got));
    OK(cuModuleGetFunction(&f, m, kernel));
    for (unsigned again = 0; again < 2; again++) {
        OK(cuMemsetD32_v2(p, 0, N));
        OK(cuLaunchKernel(f, N, 1, 1, 64, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
        OK(cuMemcpyDtoH_v2(got, p, sizeof got));
        for (unsigned i = 0; i < N; i++)
            EXPECT(got[i] == N - i);
    }
    OK(cuMemFree_v2(p));
}

int
main(void)
{
    make_context();
    all_local();
    CUmodule m;
    CUstream s[2];
    CUdeviceptr flags, words[2], results;
    struct result r[4] = { 0 };
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&meet, m, "meet"));
    all_shared(m);
    OK(cuMemAlloc_v2(&flags, 8));
    OK(cuMemAlloc_v2(&results, sizeof r));
    for (int i = 0; i < 2; i++) {
        OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
        OK(cuMemAlloc_v2(&words[i], 4 * BLOCKS));
        OK(cuMemsetD32_v2(words[i], 0, BLOCKS));
    }

    /* Two at once, each twice over: the second launch of a stream starts from zero whatever the first left. */
    for (unsigned again = 0; again < 2; again++) {
        OK(cuMemsetD32_v2(flags, 0, 2));
        OK(cuMemsetD8_v2(results, 0, sizeof r));
        OK(cuCtxSynchronize());
        for (unsigned i = 0; i < 2; i++)
            launch(s[i], flags + 4 * i, flags + 4 * !i, words[i], results + i * sizeof *r, ROUNDS + i, true);
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH_v2(r, results, sizeof r));
        EXPECT(r[0].met == 1 && r[1].met == 1);
        EXPECT(r[0].wrong == 0 && r[1].wrong == 0);
        EXPECT(r[0].workspace && r[1].workspace && r[0].workspace != r[1].workspace);
        EXPECT(r[0].id && r[1].id && r[0].id != r[1].id);
    }
    uint64_t before = r[1].id;

    /* A number of its own for each launch, in one stream or another. */
    OK(cuMemsetD32_v2(flags, 1, 2));
    OK(cuMemsetD8_v2(results, 0, sizeof r));
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 4; i++)
        launch(s[i & 1], flags, flags, words[0], results + i * sizeof *r, 0, false);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(r, results, sizeof r));
    for (unsigned i = 0; i < 4; i++) {
        EXPECT(r[i].met == 1 && r[i].id && r[i].id != before);
        for (unsigned k = 0; k < i; k++)
            EXPECT(r[k].id != r[i].id);
    }
    for (unsigned i = 0; i < 2; i++)
        OK(cuStreamDestroy_v2(s[i]));
    waiting_blocks(m, "chain");
    waiting_blocks(m, "chain_by_call");
    OK(cuModuleUnload(m));
    return failures != 0;
}
