/* SPDX-License-Identifier: Apache-2.0
 * One PTX kernel a case, each taking the address of an output array of one u32 a thread; the expected values are worked
 * out beside it in C. Block sizes are chosen to hit full gangs, partial gangs and blocks narrower than a warp. */
#include "impl/api/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void
check(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return;
    const char *n = "?";
    cuGetErrorName(r, &n);
    fprintf(stderr, "FAIL: %s: %s\n", what, n);
    exit(1);
}

#define HEAD ".version 7.1\n.target sm_70\n.address_size 64\n"
#define ENTRY                                                                                                          \
    ".visible .entry k(.param .u64 out)\n{\n"                                                                          \
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n"                                                         \
    "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd2, %rd0, %rd1;\n"
#define STORE(reg) "st.global.u32 [%rd2], " reg ";\nret;\n}\n"

struct test {
    const char *name, *ptx;
    uint32_t (*expect)(uint32_t tid, uint32_t n);
    uint32_t blocks[4];
};

/* A value set before a divergent branch, changed on one side only through a uniform inner choice, read on the other. */
static uint32_t
sides_expect(uint32_t t, uint32_t n)
{
    (void)n;
    return t % 3 == 0 ? 1 + 10 : 7;
}
static const char sides[] = HEAD ENTRY
    "mov.u32 %r1, 7; mov.u32 %r9, %ntid.x; rem.u32 %r2, %r0, 3; setp.ne.u32 %p0, %r2, 0; setp.eq.u32 %p1, %r9, 0;\n"
    "@%p0 bra ELSE;\n"
    "@%p1 bra JOIN;\n"              /* uniform: never */
    "mov.u32 %r1, 1;\n"
    "JOIN: add.u32 %r3, %r1, 10; bra DONE;\n"
    "ELSE: mov.u32 %r3, %r1;\n"
    "DONE:\n" STORE("%r3");

/* Lanes leave a loop at different iterations; the counter is read after it. */
static uint32_t
leave_expect(uint32_t t, uint32_t n)
{
    (void)n;
    return 1000 * (t % 5) + t % 5 * 3;
}
static const char leave[] = HEAD ENTRY
    "rem.u32 %r1, %r0, 5; mov.u32 %r2, 0; mov.u32 %r4, 0;\n"
    "LOOP: setp.ge.u32 %p0, %r2, %r1; @%p0 bra OUT;\n"
    "add.u32 %r2, %r2, 1; add.u32 %r4, %r4, 3; bra LOOP;\n"
    "OUT: mad.lo.u32 %r3, %r2, 1000, %r4;\n" STORE("%r3");

/* Nested loops with a divergent inner trip count, continue and break. */
static uint32_t
nest_expect(uint32_t t, uint32_t n)
{
    (void)n;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if ((t + i) % 3 == 1)
            continue;
        for (uint32_t j = 0; j < t % 7; j++) {
            if (j == i + 2)
                break;
            sum += i * 16 + j + 1;
        }
    }
    return sum;
}
static const char nest[] = HEAD ENTRY
    "mov.u32 %r1, 0; mov.u32 %r2, 0; rem.u32 %r8, %r0, 7;\n"
    "I: setp.ge.u32 %p0, %r2, 4; @%p0 bra END;\n"
    "add.u32 %r3, %r0, %r2; rem.u32 %r3, %r3, 3; setp.eq.u32 %p1, %r3, 1; @%p1 bra NEXT;\n"
    "mov.u32 %r4, 0; add.u32 %r5, %r2, 2;\n"
    "J: setp.ge.u32 %p2, %r4, %r8; @%p2 bra NEXT;\n"
    "setp.eq.u32 %p3, %r4, %r5; @%p3 bra NEXT;\n"
    "mad.lo.u32 %r6, %r2, 16, %r4; add.u32 %r6, %r6, 1; add.u32 %r1, %r1, %r6; add.u32 %r4, %r4, 1; bra J;\n"
    "NEXT: add.u32 %r2, %r2, 1; bra I;\n"
    "END:\n" STORE("%r1");

/* A jump into the middle of what another branch skips: no structured nesting. */
static uint32_t
goto_expect(uint32_t t, uint32_t n)
{
    (void)n;
    uint32_t r = 0;
    if (t & 1)
        goto middle;
    r += 1;
    if (t & 2)
        goto end;
    r += 10;
middle:
    r += 100;
    if (t & 4)
        goto end;
    r += 1000;
end:
    return r;
}
static const char into[] = HEAD ENTRY
    "mov.u32 %r1, 0; and.b32 %r2, %r0, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra MIDDLE;\n"
    "add.u32 %r1, %r1, 1; and.b32 %r2, %r0, 2; setp.ne.u32 %p1, %r2, 0; @%p1 bra END;\n"
    "add.u32 %r1, %r1, 10;\n"
    "MIDDLE: add.u32 %r1, %r1, 100; and.b32 %r2, %r0, 4; setp.ne.u32 %p2, %r2, 0; @%p2 bra END;\n"
    "add.u32 %r1, %r1, 1000;\n"
    "END:\n" STORE("%r1");

/* A cycle with two entries (irreducible): lanes enter at A or at B. */
static uint32_t
cycle_expect(uint32_t t, uint32_t n)
{
    (void)n;
    uint32_t r = 0, k = t % 4 + 1;
    if (t & 1)
        goto b;
a:
    r += 5;
b:
    r = r * 2 + 1;
    if (--k)
        goto a;
    return r;
}
static const char cycle[] = HEAD ENTRY
    "mov.u32 %r1, 0; rem.u32 %r2, %r0, 4; add.u32 %r2, %r2, 1; and.b32 %r3, %r0, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra B;\n"
    "A: add.u32 %r1, %r1, 5;\n"
    "B: shl.b32 %r1, %r1, 1; add.u32 %r1, %r1, 1; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;\n" STORE("%r1");

/* brx.idx with an index that differs between lanes. */
static uint32_t
table_expect(uint32_t t, uint32_t n)
{
    static const uint32_t value[4] = { 11, 22, 33 + 44, 44 };
    (void)n;
    return value[t % 4] + t;
}
static const char table[] = HEAD ENTRY
    "TARGETS: .branchtargets L0, L1, L2, L3;\n"
    "rem.u32 %r1, %r0, 4; mov.u32 %r2, 0; brx.idx %r1, TARGETS;\n"
    "L0: mov.u32 %r2, 11; bra END;\n"
    "L1: mov.u32 %r2, 22; bra END;\n"
    "L2: mov.u32 %r2, 33;\n"
    "L3: add.u32 %r2, %r2, 44;\n"
    "END: add.u32 %r2, %r2, %r0;\n" STORE("%r2");

/* exit in a device function ends the thread: odd ones never come back to store. */
static uint32_t
exit_expect(uint32_t t, uint32_t n)
{
    (void)n;
    return t & 1 ? 0xcccccccc : t + 5;
}
static const char leaves[] = HEAD
    ".func (.param .u32 r) f(.param .u32 a)\n{\n.reg .pred %p<2>; .reg .b32 %r<4>;\n"
    "ld.param.u32 %r0, [a]; and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra EVEN; exit;\n"
    "EVEN: add.u32 %r2, %r0, 5; st.param.u32 [r], %r2; ret;\n}\n" ENTRY
    "{ .param .u32 a; .param .u32 r; st.param.u32 [a], %r0; call (r), f, (a); ld.param.u32 %r1, [r]; }\n" STORE("%r1");

/* The second warp sets a flag that the first one waits for; no barrier anywhere. */
static uint32_t
flag_expect(uint32_t t, uint32_t n)
{
    (void)n;
    return t < 32 ? 77 : 1;
}
static const char flag[] = HEAD ".shared .align 4 .u32 f;\n" ENTRY
    "mov.u32 %r1, 1; setp.ge.u32 %p0, %r0, 32; @%p0 bra SET;\n"
    "WAIT: ld.volatile.shared.u32 %r2, [f]; setp.ne.u32 %p1, %r2, 77; @%p1 bra WAIT; mov.u32 %r1, %r2; bra END;\n"
    "SET: st.volatile.shared.u32 [f], 77;\n"
    "END:\n" STORE("%r1");

/* Lanes of a warp talk through volatile shared memory without a barrier, as code for old GPUs does. */
static uint32_t
step_expect(uint32_t t, uint32_t n)
{
    (void)n;
    uint32_t sum = 0;
    for (uint32_t i = t / 32 * 32; i < t / 32 * 32 + 32; i++)
        sum += i + 1;
    return t % 32 == 0 ? sum : 0;
}
static const char step[] = HEAD ".shared .align 4 .u32 s[128];\n" ENTRY
    "mov.u64 %rd3, s; add.s64 %rd4, %rd3, %rd1; add.u32 %r1, %r0, 1; st.volatile.shared.u32 [%rd4], %r1;\n"
    "and.b32 %r5, %r0, 31;\n"
    "setp.ge.u32 %p0, %r5, 16; @%p0 bra END;\n"
    "ld.volatile.shared.u32 %r2, [%rd4]; ld.volatile.shared.u32 %r3, [%rd4+64]; add.u32 %r2, %r2, %r3; st.volatile.shared.u32 [%rd4], %r2;\n"
    "ld.volatile.shared.u32 %r2, [%rd4]; ld.volatile.shared.u32 %r3, [%rd4+32]; add.u32 %r2, %r2, %r3; st.volatile.shared.u32 [%rd4], %r2;\n"
    "ld.volatile.shared.u32 %r2, [%rd4]; ld.volatile.shared.u32 %r3, [%rd4+16]; add.u32 %r2, %r2, %r3; st.volatile.shared.u32 [%rd4], %r2;\n"
    "ld.volatile.shared.u32 %r2, [%rd4]; ld.volatile.shared.u32 %r3, [%rd4+8]; add.u32 %r2, %r2, %r3; st.volatile.shared.u32 [%rd4], %r2;\n"
    "ld.volatile.shared.u32 %r2, [%rd4]; ld.volatile.shared.u32 %r3, [%rd4+4]; add.u32 %r2, %r2, %r3; st.volatile.shared.u32 [%rd4], %r2;\n"
    "END: mov.u32 %r4, 0; setp.ne.u32 %p1, %r5, 0; @!%p1 ld.volatile.shared.u32 %r4, [%rd4];\n" STORE("%r4");

static const struct test tests[] = {
    { "sides", sides, sides_expect, { 64, 33, 5 } },   { "leave", leave, leave_expect, { 64, 33, 5 } },
    { "nest", nest, nest_expect, { 128, 47, 3 } },     { "into", into, goto_expect, { 64, 40, 7 } },
    { "cycle", cycle, cycle_expect, { 64, 40, 7 } },   { "table", table, table_expect, { 64, 40, 6 } },
    { "exit", leaves, exit_expect, { 64, 40, 7 } },    { "flag", flag, flag_expect, { 64 } },
    { "step", step, step_expect, { 64, 128 } },
};

static CUfunction
load(const char *ptx)
{
    CUmodule m;
    CUfunction f;
    char log[4096] = "";
    CUjit_option options[2] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[2] = { log, (void *)sizeof log };
    CUresult r = cuModuleLoadDataEx(&m, ptx, 2, options, values);
    if (r != CUDA_SUCCESS)
        fprintf(stderr, "%s\n", log);
    check(r, "loading");
    check(cuModuleGetFunction(&f, m, "k"), "the kernel");
    return f;
}

static void
run(const struct test *t)
{
    CUfunction f = load(t->ptx);
    CUdeviceptr out;
    uint32_t got[1024];
    check(cuMemAlloc_v2(&out, sizeof got), "memory");
    for (unsigned b = 0; b < 4 && t->blocks[b]; b++) {
        uint32_t n = t->blocks[b], bad = 0;
        void *params[] = { &out };
        check(cuMemsetD8_v2(out, 0xcc, sizeof got), "memset");
        check(cuLaunchKernel(f, 1, 1, 1, n, 1, 1, 0, NULL, params, NULL), t->name);
        check(cuMemcpyDtoH_v2(got, out, sizeof got), t->name);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t want = t->expect(i, n);
            if (got[i] != want && !bad++)
                fprintf(stderr, "FAIL: %s, %u threads: thread %u gave %u, not %u\n", t->name, n, i, got[i], want);
        }
        failures += bad != 0;
    }
    check(cuMemFree_v2(out), "free");
    printf("%s\n", t->name);
}

/* Indexes that wrap around 2^32 inside a warp: addresses 16 GiB apart, as PTX's 32-bit arithmetic has it. */
static const char wrap[] = HEAD
    ".visible .entry k(.param .u64 base, .param .u32 start)\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd0, [base]; ld.param.u32 %r1, [start]; mov.u32 %r0, %tid.x; add.u32 %r2, %r0, %r1;\n"
    "mul.wide.u32 %rd1, %r2, 4; add.s64 %rd2, %rd0, %rd1; ld.global.u32 %r3, [%rd2]; add.u32 %r3, %r3, %r0; st.global.u32 [%rd2], %r3;\nret;\n}\n";

static void
run_wrap(void)
{
    const uint64_t far = 16ull << 30, granule = 2ull << 20;
    CUdeviceptr base;
    CUmemGenericAllocationHandle low, high;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    check(cuMemAddressReserve(&base, far + granule, granule, 0, 0), "reserving addresses");
    check(cuMemCreate(&low, granule, &prop, 0), "memory");
    check(cuMemCreate(&high, granule, &prop, 0), "memory");
    check(cuMemMap(base, granule, 0, low, 0), "mapping");
    check(cuMemMap(base + far - granule, granule, 0, high, 0), "mapping");
    check(cuMemSetAccess(base, granule, &access, 1), "access");
    check(cuMemSetAccess(base + far - granule, granule, &access, 1), "access");
    CUfunction f = load(wrap);
    const uint32_t n = 64;
    for (uint32_t back = 0; back <= 64; back += 3) {
        uint32_t start = 0u - back, got[64];
        void *params[] = { &base, &start };
        check(cuMemsetD8_v2(base, 0, granule), "memset");
        check(cuMemsetD8_v2(base + far - granule, 0, granule), "memset");
        check(cuLaunchKernel(f, 1, 1, 1, n, 1, 1, 0, NULL, params, NULL), "wrap");
        if (back)
            check(cuMemcpyDtoH_v2(got, base + far - back * 4ull, back * 4ull), "wrap");
        if (back < n)
            check(cuMemcpyDtoH_v2(got + back, base, (n - back) * 4ull), "wrap");
        for (uint32_t i = 0; i < n; i++)
            if (got[i] != i) {
                fprintf(stderr, "FAIL: wrap, %u before the end: thread %u gave %u\n", back, i, got[i]);
                failures++;
                break;
            }
    }
    printf("wrap\n");
}

int
main(void)
{
    CUcontext c;
    check(cuInit(0), "cuInit");
    check(cuCtxCreate_v2(&c, 0, 0), "a context");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        run(&tests[i]);
    run_wrap();
    printf("%d failed\n", failures);
    return failures != 0;
}
