/* SPDX-License-Identifier: Apache-2.0
 * What a kernel can do wrong besides a wild address: jump and call to where it must not, use up its stack in the middle of a call into the engine, and
 * name host memory in what the host does for it. Each is an error of the context, and the process goes on. Each case is a process of its own, since on AMD
 * a kernel's fault is the process's. The argument "stack": local memory is on the stack that the engine
 * uses, too; "local": it is not. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD ".version 7.3\n.target sm_60\n.address_size 64\n"

/* What a child leaves. */
static struct result {
    CUresult launch;                    /* or of what follows it */
    uint32_t out[32];
    bool done;
} *result;

/* k<<<1, threads>>>(out, a, b); the name OUT in place of a or b: where `out` is, and behind it bytes of 1, 2, 3... */
static const uint64_t OUT = 0xc0de000000000000;

static char secret[16] = "of the program";

static void
child(const char *text, unsigned threads, uint64_t a, uint64_t b)
{
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUdeviceptr out;
    uint8_t bytes[64];
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)(i + 1);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuMemAlloc_v2(&out, 4096));
    OK(cuMemsetD8_v2(out, 0, 4096));
    OK(cuMemcpyHtoD_v2(out + 2048, bytes, sizeof bytes));
    a = a >= OUT ? out + (a - OUT) : a;
    b = b >= OUT ? out + (b - OUT) : b;
    void *params[] = { &out, &a, &b };
    result->launch = cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
    if (result->launch == CUDA_SUCCESS)
        result->launch = cuCtxSynchronize();
    if (cuMemcpyDtoH_v2(result->out, out, sizeof result->out) != CUDA_SUCCESS)
        EXPECT(result->launch != CUDA_SUCCESS);
    OK(cuCtxDestroy_v2(c));
    EXPECT(!strcmp(secret, "of the program"));
    result->done = !failures;
}

static CUresult
run(const char *text, unsigned threads, uint64_t a, uint64_t b)
{
    int status = -1;
    memset(result, 0, sizeof *result);
    pid_t p = fork();
    if (!p) {
        alarm(120);
        failures = 0;
        child(text, threads, a, b);
        _exit(0);
    }
    waitpid(p, &status, 0);
    if (status || !result->done) {
        fprintf(stderr, "a process ended with status 0x%x\n", status);
        failures++;
    }
    return result->launch;
}

/* ---- an index outside of brx.idx's targets ---- */

#define PARAMS ".visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b)\n{\n    .reg .b64 %o, %a, %b, %d; .reg .b32 %i, %v; .reg .pred %p;\n" \
               "    ld.param.u64 %o, [out]; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; cvt.u32.u64 %i, %a; mov.u32 %v, 0;\n"
#define TARGETS "targets: .branchtargets A, B, C, D, E, F, G, H;\n"
#define LABEL(name, value) #name ": mov.u32 %v, " #value "; bra.uni done;\n"
#define LABELS LABEL(A, 10) LABEL(B, 11) LABEL(C, 12) LABEL(D, 13) LABEL(E, 14) LABEL(F, 15) LABEL(G, 16) LABEL(H, 17) \
               "done: st.global.u32 [%o], %v; ret;\n}\n"
static const char uniform[] = HEAD PARAMS TARGETS "    brx.idx.uni %i, targets;\n" LABELS;
/* The lanes of a warp go to different places: a, a + 1, ... modulo 8, of which one is moved outside by b. */
static const char divergent[] = HEAD PARAMS TARGETS
    "    mov.u32 %v, %tid.x; add.u32 %i, %i, %v; and.b32 %i, %i, 7; setp.eq.u32 %p, %v, 5; cvt.u32.u64 %v, %b; @%p add.u32 %i, %i, %v;\n"
    "    mov.u32 %v, %tid.x; mul.wide.u32 %d, %v, 4; add.u64 %o, %o, %d; brx.idx %i, targets;\n" LABELS;

static void
test_branches(void)
{
    static const uint32_t outside[] = { 8, 9, 0x7fffffff, 0xffffffff };
    for (uint32_t i = 0; i < 8; i += 7) {
        OK(run(uniform, 1, i, 0));
        EXPECT(result->out[0] == 10 + i);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        EXPECT_RESULT(run(uniform, 1, outside[i], 0), CUDA_ERROR_INVALID_PC);
    OK(run(divergent, 32, 3, 0));
    for (uint32_t i = 0; i < 32; i++)
        EXPECT(result->out[i] == 10 + (i + 3) % 8);
    EXPECT_RESULT(run(divergent, 32, 3, 64), CUDA_ERROR_INVALID_PC);
}

/* ---- an indirect call with another signature than the function's ---- */

/* Eight functions of one signature, so that the call goes through a table; and one of another. */
#define ONE(n) ".func (.param .b32 r) one" #n "(.param .b32 x)\n{ .reg .b32 %x; ld.param.b32 %x, [x]; add.u32 %x, %x, " #n "; st.param.b32 [r], %x; ret; }\n"
#define PUT(n) "    mov.u64 %d, one" #n "; st.global.u64 [%o+1024], %d;\n"
static const char signature[] = HEAD
    ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) ONE(7) ONE(8)
    ".func (.param .b32 r) other(.param .b64 p, .param .b64 q)\n{ .reg .b64 %p; .reg .b32 %x; ld.param.b64 %p, [p]; st.global.u64 [%p], %p; mov.u32 %x, 1; st.param.b32 [r], %x; ret; }\n"
    PARAMS PUT(1) PUT(2) PUT(3) PUT(4) PUT(5) PUT(6) PUT(7) PUT(8)
    "    mov.u64 %d, other; setp.eq.u64 %p, %a, 0; @%p mov.u64 %d, one5; mov.u32 %v, 40;\n"
    "    setp.eq.u64 %p, %a, 2; @%p bra fits;\n"
    "    { .param .b32 r; .param .b32 x; st.param.b32 [x], %v;\n      p: .callprototype (.param .b32 _) _ (.param .b32 _);\n      call (r), %d, (x), p; ld.param.b32 %v, [r]; }\n"
    "    bra.uni done;\n"
    "fits:\n    { .param .b32 r; .param .b64 x; .param .b64 y; st.param.b64 [x], %o; st.param.b64 [y], %o;\n      q: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
    "      call (r), %d, (x, y), q; ld.param.b32 %v, [r]; }\n"
    "done: st.global.u32 [%o], %v; ret;\n}\n";

static void
test_signatures(void)
{
    OK(run(signature, 1, 0, 0));
    EXPECT(result->out[0] == 45);
    OK(run(signature, 1, 2, 0));
    EXPECT(result->out[0] == 1);
    EXPECT_RESULT(run(signature, 1, 1, 0), CUDA_ERROR_INVALID_PC);
}

/* ---- a stack that ends in the middle of what the engine does; in bounded code local memory is no part of it, and ends first ---- */

/* Takes a bytes of local memory, then: b = 0 nothing, 1 malloc, 2 printf, 3 trap. */
static const char stack[] = HEAD
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 nothing[1];\n" PARAMS
    "    bar.sync 0; alloca.u64 %d, %a, 16; st.local.u32 [%d], 1; cvt.u32.u64 %i, %b;\n"
    "    setp.eq.u32 %p, %i, 1; @%p bra heap; setp.eq.u32 %p, %i, 2; @%p bra print; setp.eq.u32 %p, %i, 3; @%p trap; bra.uni done;\n"
    "heap:\n    { .param .b64 r; .param .b64 n; st.param.b64 [n], 64; call.uni (r), malloc, (n); ld.param.b64 %a, [r]; } bra.uni done;\n"
    "print:\n    { .param .b32 r; .param .b64 f; .param .b64 n; mov.u64 %a, nothing; cvta.global.u64 %a, %a; st.param.b64 [f], %a; st.param.b64 [n], %a;\n"
    "      call.uni (r), vprintf, (f, n); ld.param.b32 %v, [r]; }\n"
    "done: ld.local.u32 %v, [%d]; st.global.u32 [%o], %v; ret;\n}\n";

static void
test_stack(bool on_stack)
{
    uint64_t fits = 0, too_much = 64 << 20;
    while (too_much - fits > 16) {
        uint64_t middle = (fits + too_much) / 2 & ~15ull;
        CUresult e = run(stack, 1, middle, 0);
        EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_HARDWARE_STACK_ERROR);
        *(e == CUDA_SUCCESS ? &fits : &too_much) = middle;
    }
    for (uint64_t what = 1; what <= 3; what++) {
        bool ended = false;
        for (int64_t below = 90 << 10; below >= 0; below -= below <= 960 ? 48 : below <= 6 << 10 ? 480 : 8 << 10) {
            CUresult e = run(stack, 1, fits > (uint64_t)below ? fits - (uint64_t)below : 0, what);
            EXPECT(e == CUDA_ERROR_HARDWARE_STACK_ERROR || (!ended && e == (what == 3 ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS)));
            ended |= e == CUDA_ERROR_HARDWARE_STACK_ERROR;
        }
        EXPECT(ended || !on_stack);
    }
}

/* ---- a copy that a kernel asks for, of memory that is the program's alone ---- */

static const char copies[] = HEAD
    ".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync(.param .b64 t, .param .b64 f, .param .b64 n, .param .b32 k, .param .b64 s);\n" PARAMS
    "    { .param .b32 r; .param .b64 t; .param .b64 f; .param .b64 n; .param .b32 k; .param .b64 s;\n"
    "      st.param.b64 [t], %a; st.param.b64 [f], %b; st.param.b64 [n], 16; st.param.b32 [k], 4; st.param.b64 [s], 0;\n"
    "      call.uni (r), __cudaCDP2MemcpyAsync, (t, f, n, k, s); }\n    ret;\n}\n";

static void
test_copies(void)
{
    const uint64_t own = (uintptr_t)secret, pairs[][2] = { { OUT, own }, { own, OUT + 2048 }, { OUT + 4096 - 8, OUT + 2048 }, { OUT, OUT + 4096 - 8 } };
    for (int i = 0; i < 4; i++) {
        EXPECT(run(copies, 1, pairs[i][0], pairs[i][1]) != CUDA_SUCCESS);
        EXPECT(!result->out[0]);
    }
    OK(run(copies, 1, OUT, OUT + 2048));
    EXPECT(result->out[0] == 0x04030201 && result->out[3] == 0x100f0e0d && !result->out[4]);
}

int
main(int argc, char **argv)
{
    result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED)
        return 2;
    test_branches();
    test_signatures();
    test_copies();
    if (argc > 1)
        test_stack(!strcmp(argv[1], "stack"));
    return failures != 0;
}
