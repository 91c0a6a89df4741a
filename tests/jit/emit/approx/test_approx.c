/* SPDX-License-Identifier: Apache-2.0
 * The approximate functions against sums that an H200 recorded: each form is evaluated by a kernel over blocks of 2^16 operands,
 * and the kernel adds up a hash of operand and result. One differing bit changes a sum. The file has the sums of 65 blocks
 * spread over all operands, for the quick test, and the sums of all binades (128 blocks), which together are all 2^32.
 *   test_approx FILE [STEP]     the spread blocks, every STEP-th of them
 *   test_approx FILE --all [FIRST [LAST]]  all operands: a few minutes on the host device; or of the binades FIRST to LAST (0 to 511, 256
 *                               and up negative) of the forms that have so many
 *   test_approx FILE --record   write the file; with NVIDIA's libcuda.so.1 in LD_LIBRARY_PATH, what the GPU computes */
#include "impl/api/cuda.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 65536, SPREAD = 1021, PER_SUM = 128, MAX_SUMS = BLOCKS / PER_SUM, THREADS = 256 };

/* What a form's operands are made of: the number x of the operand. */
enum kind {
    ONE,        /* f32: x */
    TWO,        /* f32: two hashes of x; for odd x with equal exponents */
    UPPER,      /* f64: upper half x, lower half zero */
    WIDE,       /* f64: two hashes of x */
    HALF,       /* 16 bits: x */
    PAIR,       /* 2 x 16 bits: x and its complement */
};

static const struct form {
    const char *op;
    enum kind kind;
} forms[] = {
    { "rcp.approx.ftz.f32", ONE }, { "rcp.approx.f32", ONE }, { "rsqrt.approx.ftz.f32", ONE }, { "rsqrt.approx.f32", ONE },
    { "sqrt.approx.ftz.f32", ONE }, { "sqrt.approx.f32", ONE }, { "lg2.approx.ftz.f32", ONE }, { "lg2.approx.f32", ONE },
    { "ex2.approx.ftz.f32", ONE }, { "ex2.approx.f32", ONE }, { "sin.approx.ftz.f32", ONE }, { "sin.approx.f32", ONE },
    { "cos.approx.ftz.f32", ONE }, { "cos.approx.f32", ONE }, { "tanh.approx.f32", ONE }, { "div.approx.f32", TWO },
    { "div.approx.ftz.f32", TWO }, { "div.full.f32", TWO }, { "div.full.ftz.f32", TWO }, { "rcp.approx.ftz.f64", UPPER },
    { "rsqrt.approx.ftz.f64", UPPER }, { "rsqrt.approx.f64", WIDE }, { "ex2.approx.f16", HALF }, { "ex2.approx.ftz.bf16", HALF },
    { "tanh.approx.f16", HALF }, { "tanh.approx.bf16", HALF }, { "ex2.approx.f16x2", PAIR }, { "ex2.approx.ftz.bf16x2", PAIR },
    { "tanh.approx.f16x2", PAIR }, { "tanh.approx.bf16x2", PAIR },
};
enum { FORMS = sizeof forms / sizeof *forms };

#define MUST(call) \
    do { \
        CUresult r_ = (call); \
        if (r_ != CUDA_SUCCESS) { \
            fprintf(stderr, "%s: error %d\n", #call, (int)r_); \
            exit(1); \
        } \
    } while (0)

static uint32_t
blocks_of(const struct form *f)
{
    return f->kind == HALF || f->kind == PAIR ? 1 : f->kind == TWO || f->kind == WIDE ? 2048 : BLOCKS;
}

/* to = hash(x ^ salt) */
static int
hash(char *p, const char *to, const char *salt)
{
    return sprintf(p, "xor.b32 %s, x, %s;\nshr.u32 t, %s, 16;\nxor.b32 %s, %s, t;\nmul.lo.u32 %s, %s, 0x7feb352d;\n"
                   "shr.u32 t, %s, 15;\nxor.b32 %s, %s, t;\nmul.lo.u32 %s, %s, 0x846ca68b;\nshr.u32 t, %s, 16;\nxor.b32 %s, %s, t;\n",
                   to, salt, to, to, to, to, to, to, to, to, to, to, to, to, to);
}

/* y = the result for operand x */
static char *
evaluation(char *p, const struct form *f)
{
    switch (f->kind) {
    case ONE:
        return p + sprintf(p, "mov.b32 fx, x;\n%s fy, fx;\nmov.b32 y, fy;\n", f->op);
    case TWO:
        p += hash(p, "a", "0");
        p += hash(p, "b", "0x5bd1e995");
        return p + sprintf(p, "and.b32 t, x, 1;\nsetp.ne.u32 odd, t, 0;\n@odd and.b32 b, b, 0x807fffff;\n@odd and.b32 t, a, 0x7f800000;\n"
                           "@odd or.b32 b, b, t;\nmov.b32 fx, a;\nmov.b32 fz, b;\n%s fy, fx, fz;\nmov.b32 y, fy;\n", f->op);
    case UPPER:
        return p + sprintf(p, "mov.b32 t, 0;\nmov.b64 dx, {t, x};\n%s dx, dx;\nmov.b64 {t, y}, dx;\nxor.b32 y, y, t;\n", f->op);
    case WIDE:
        p += hash(p, "a", "0");
        p += hash(p, "b", "0x5bd1e995");
        return p + sprintf(p, "mov.b64 dx, {b, a};\n%s dx, dx;\nmov.b64 {t, y}, dx;\nmul.lo.u32 t, t, 0x01000193;\nxor.b32 y, y, t;\n", f->op);
    case HALF:
        return p + sprintf(p, "cvt.u16.u32 h, x;\n%s h, h;\ncvt.u32.u16 y, h;\n", f->op);
    default:
        return p + sprintf(p, "shl.b32 t, x, 16;\nnot.b32 t, t;\nand.b32 t, t, 0xffff0000;\nand.b32 y, x, 0xffff;\nor.b32 y, y, t;\n%s y, y;\n", f->op);
    }
}

/* Kernel sums(out, first, shift): block b sums up operands (first + b) * 2^16 ... in out[b >> shift]. */
static CUfunction
kernel(const struct form *f)
{
    static char text[8192];
    char *p = text;
    CUmodule m;
    CUfunction fn;

    p += sprintf(p, ".version 7.8\n.target sm_%d\n.address_size 64\n.visible .entry sums(.param .u64 out, .param .u32 first, .param .u32 shift)\n{\n"
                 ".reg .b64 p;\n.reg .b32 i, x, y, t, a, b, k, sum;\n.reg .pred more, odd;\n.reg .f32 fx, fy, fz;\n.reg .f64 dx;\n.reg .b16 h;\n"
                 "mov.u32 i, %%ctaid.x;\nld.param.u32 t, [first];\nadd.u32 x, i, t;\nshl.b32 x, x, 16;\nmov.u32 t, %%tid.x;\nor.b32 x, x, t;\n"
                 "mov.u32 k, 0;\nmov.u32 sum, 0;\nagain:\n", strstr(f->op, "bf16") ? 90 : 75);
    p = evaluation(p, f);
    sprintf(p, "mul.lo.u32 t, x, 0x9E3779B1;\nxor.b32 y, y, t;\nmul.lo.u32 y, y, 0x85ebca6b;\nshr.u32 t, y, 15;\nxor.b32 y, y, t;\n"
            "mul.lo.u32 y, y, 0xc2b2ae35;\nshr.u32 t, y, 13;\nxor.b32 y, y, t;\nadd.u32 sum, sum, y;\nadd.u32 x, x, 256;\nadd.u32 k, k, 1;\n"
            "setp.lt.u32 more, k, 256;\n@more bra again;\nld.param.u32 t, [shift];\nshr.u32 i, i, t;\nld.param.u64 p, [out];\n"
            "mad.wide.u32 p, i, 4, p;\nred.global.add.u32 [p], sum;\nret;\n}\n");
    MUST(cuModuleLoadData(&m, text));
    MUST(cuModuleGetFunction(&fn, m, "sums"));
    return fn;
}

static void
run(CUfunction fn, uint32_t first, uint32_t count, uint32_t shift, uint32_t *sums, CUdeviceptr d)
{
    void *args[] = { &d, &first, &shift };

    MUST(cuMemsetD32_v2(d, 0, MAX_SUMS));
    MUST(cuLaunchKernel(fn, count, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    MUST(cuMemcpyDtoH_v2(sums, d, (((size_t)count - 1) >> shift) * 4 + 4));
}

/* The line "KIND OP" of the file: its numbers. */
static unsigned
recorded(const char *text, const char *kind, const char *op, uint32_t *sums)
{
    char head[80];
    unsigned n = 0;

    snprintf(head, sizeof head, "\n%s %s ", kind, op);
    const char *p = strstr(text, head);
    if (!p)
        return 0;
    for (p += strlen(head); n < MAX_SUMS; n++) {
        char *end;
        unsigned long v = strtoul(p, &end, 16);
        if (end == p || memchr(p, '\n', (size_t)(end - p)))
            break;
        sums[n] = (uint32_t)v;
        p = end;
    }
    return n;
}

static void
print(FILE *f, const char *kind, const char *op, const uint32_t *sums, unsigned n)
{
    fprintf(f, "%s %s ", kind, op);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%x%c", (unsigned)sums[i], i + 1 < n ? ' ' : '\n');
}

static int
compare(const struct form *f, CUfunction fn, const char *text, bool all, unsigned step, unsigned first, unsigned last, CUdeviceptr d)
{
    uint32_t want[MAX_SUMS] = { 0 }, got[MAX_SUMS], blocks = blocks_of(f), each = all ? PER_SUM : SPREAD;
    unsigned n = recorded(text, all ? "binades" : "blocks", f->op, want), bad = 0;

    if (n != (blocks + each - 1) / each) {
        printf("%s: %u sums in the file\n", f->op, n);
        return 1;
    }
    for (unsigned i = first; i < n && i <= last; i += step) {
        uint32_t count = all ? blocks - i * each < each ? blocks - i * each : each : 1;
        run(fn, i * each, count, 7, got, d);
        if (got[0] != want[i] && bad++ < 4)
            printf("FAIL: %s from operand %#x: %#x, recorded %#x\n", f->op, (unsigned)(i * each) << 16, (unsigned)got[0], (unsigned)want[i]);
    }
    return bad != 0;
}

static int
record(const char *path, CUdeviceptr d)
{
    uint32_t sums[MAX_SUMS];
    char name[256] = "?";
    int version = 0;
    FILE *out = fopen(path, "w");

    if (!out) {
        perror(path);
        return 1;
    }
    MUST(cuDeviceGetName(name, sizeof name, 0));
    MUST(cuDriverGetVersion(&version));
    fprintf(out, "# Sums of results and operands (test_approx.c), recorded on %s, CUDA %d.\n", name, version);
    for (const struct form *f = forms; f < forms + FORMS; f++) {
        CUfunction fn = kernel(f);
        uint32_t blocks = blocks_of(f), n = 0;
        for (uint32_t b = 0; b < blocks; b += SPREAD)
            run(fn, b, 1, 7, &sums[n++], d);
        print(out, "blocks", f->op, sums, n);
        run(fn, 0, blocks, 7, sums, d);
        print(out, "binades", f->op, sums, (blocks + PER_SUM - 1) / PER_SUM);
    }
    return fclose(out) != 0;
}

int
main(int argc, char **argv)
{
    static char text[1 << 18];
    bool all = argc > 2 && !strcmp(argv[2], "--all");
    unsigned step = argc > 2 ? (unsigned)atoi(argv[2]) : 1, first = all && argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    unsigned last = all && argc > 4 ? (unsigned)atoi(argv[4]) : MAX_SUMS;
    CUcontext context;
    CUdeviceptr d;

    if (argc < 2) {
        fprintf(stderr, "usage: test_approx FILE [STEP|--all|--record]\n");
        return 2;
    }
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuMemAlloc_v2(&d, MAX_SUMS * 4));
    if (argc > 2 && !strcmp(argv[2], "--record"))
        return record(argv[1], d);
    FILE *in = fopen(argv[1], "r");
    if (!in || !fread(text, 1, sizeof text - 1, in)) {
        perror(argv[1]);
        return 1;
    }
    fclose(in);
    int failed = 0;
    for (const struct form *f = forms; f < forms + FORMS; f++) {
        int bad = compare(f, kernel(f), text, all, step ? step : 1, first, last, d);
        if (all)
            printf("%s: %s\n", f->op, bad ? "differs" : first || last < MAX_SUMS ? "as recorded there" : "all as recorded");
        fflush(stdout);
        failed += bad;
    }
    printf("%d forms, %d failures\n", (int)FORMS, failed);
    return failed != 0;
}
