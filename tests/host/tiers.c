/* SPDX-License-Identifier: Apache-2.0
 * tiers swap|off|cached|unload|exit|fork|lanes|kept|plain LOGFILE [INSTRUCTIONS]: a kernel of 10,200 random instructions, with branches and a barrier, is run at
 * once, without optimisation, and optimised in the background when that code has run for some three seconds. The expected results are computed here, from the same random program.
 * LOGFILE: what CUDAWAY_LOG_FILE names, at info level; lines of it tell that the code was exchanged. */
#include "tests/driver/leaks.h"
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REGS = 40, THREADS = 128, BLOCKS = 2 };

static unsigned insts = 10200;         /* a little more than those that are optimised at once (impl/host/tier.c) */
static struct op { uint8_t kind, d, a, b; } *program;

/* A barrier, by which lanes of different warps exchange a register, in the middle; skips jump over the next instruction. */
enum { ADD, SUB, XOR, AND, OR, MUL, SKIP, EXCHANGE };

static uint32_t
next(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    return *s ^= *s << 5;
}

static char *
make(uint32_t seed)
{
    static const char *const names[] = { "add.u32", "sub.u32", "xor.b32", "and.b32", "or.b32", "mul.lo.u32" };
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    program = calloc(insts, sizeof *program);
    if (!f || !program)
        exit(2);
    fprintf(f, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry big(.param .u64 out)\n{\n.reg .b32 %%r<%d>, %%t, %%i, %%s;\n"
            ".reg .b64 %%a, %%o;\n.reg .pred %%p;\n.shared .b32 sh[%d];\nld.param.u64 %%a, [out];\nmov.u32 %%t, %%tid.x;\n"
            "mov.u32 %%i, %%ctaid.x;\nmad.lo.u32 %%i, %%i, %d, %%t;\n", REGS, THREADS, THREADS);
    for (unsigned r = 0; r < REGS; r++)
        fprintf(f, "mad.lo.u32 %%r%u, %%i, %u, %u;\n", r, 2 * r + 1, r * 77777u);
    for (unsigned i = 0; i < insts; i++) {
        struct op *o = &program[i];
        *o = (struct op){ (uint8_t)(next(&seed) % (SKIP + 1)), (uint8_t)(next(&seed) % REGS), (uint8_t)(next(&seed) % REGS), (uint8_t)(next(&seed) % REGS) };
        bool skipped = i && program[i - 1].kind == SKIP;
        if (i == insts / 2)
            o->kind = EXCHANGE;
        else if (o->kind == SKIP && (skipped || i + 1 == insts / 2 || i + 1 == insts))
            o->kind = ADD;
        if (skipped)
            fprintf(f, "@%%p bra L%u;\n", i);
        if (o->kind == EXCHANGE)
            fprintf(f, "shl.b32 %%s, %%t, 2;\nst.shared.b32 [%%s], %%r%u;\nbar.sync 0;\nxor.b32 %%s, %%s, 272;\nld.shared.b32 %%r%u, [%%s];\n", o->a, o->d);
        else if (o->kind == SKIP)
            fprintf(f, "setp.lt.u32 %%p, %%r%u, %%r%u;\n", o->a, o->b);
        else
            fprintf(f, "%s %%r%u, %%r%u, %%r%u;\n", names[o->kind], o->d, o->a, o->b);
        if (skipped)
            fprintf(f, "L%u:\n", i);
    }
    fprintf(f, "mul.wide.u32 %%o, %%i, 4;\nadd.u64 %%a, %%a, %%o;\n");
    for (unsigned r = 1; r < REGS; r++)
        fprintf(f, "xor.b32 %%r0, %%r0, %%r%u;\n", r);
    fprintf(f, "st.global.u32 [%%a], %%r0;\nret;\n}\n");
    fclose(f);
    return text;
}

static void
execute(uint32_t r[REGS], unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const struct op *o = &program[i];
        uint32_t a = r[o->a], b = r[o->b];
        switch (o->kind) {
        case ADD: r[o->d] = a + b; break;
        case SUB: r[o->d] = a - b; break;
        case XOR: r[o->d] = a ^ b; break;
        case AND: r[o->d] = a & b; break;
        case OR: r[o->d] = a | b; break;
        case MUL: r[o->d] = a * b; break;
        default: i += a < b; break;     /* the next is jumped over */
        }
    }
}

static uint32_t expected[BLOCKS][THREADS];

static void
expect(void)
{
    static uint32_t r[THREADS][REGS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t sent[THREADS];
        for (uint32_t t = 0; t < THREADS; t++) {
            for (uint32_t k = 0; k < REGS; k++)
                r[t][k] = (b * THREADS + t) * (2 * k + 1) + k * 77777u;
            execute(r[t], 0, insts / 2);
            sent[t] = r[t][program[insts / 2].a];
        }
        for (uint32_t t = 0; t < THREADS; t++) {
            r[t][program[insts / 2].d] = sent[t ^ 68];
            execute(r[t], insts / 2 + 1, insts);
            expected[b][t] = 0;
            for (uint32_t k = 0; k < REGS; k++)
                expected[b][t] ^= r[t][k];
        }
    }
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many lines of the log have it. */
static int
logged(const char *path, const char *what)
{
    char line[512];
    int n = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, what) != NULL;
    if (f)
        fclose(f);
    return n;
}

static void
launch(CUfunction f, CUdeviceptr out)
{
    uint32_t got[BLOCKS][THREADS];
    void *params[] = { &out };
    OK(cuMemsetD8_v2(out, 0xee, sizeof got));
    OK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(got, out, sizeof got));
    EXPECT(!memcmp(got, expected, sizeof got));
}

/* After the first launch, whose code is quick. */
static CUmodule
start(const char *ptx, CUfunction *f, CUdeviceptr *out)
{
    CUmodule m = NULL;
    make_context();
    OK(cuMemAlloc_v2(out, sizeof expected));
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(f, m, "big"));
    double begin = now();
    launch(*f, *out);
    printf("first launch: %.2f s\n", now() - begin);
    return m;
}

static const char QUICK[] = "this code is not optimised", BEGUN[] = "kernel big: optimising it", SWAPPED[] = "kernel big: optimised in";

/* Launches until the log has the line for the n-th time. */
static void
until(const char *line, int n, const char *log, CUfunction f, CUdeviceptr out)
{
    double begin = now();
    while (logged(log, line) < n && now() - begin < 100)
        for (int i = 0; i < 20; i++)
            launch(f, out);
    EXPECT(logged(log, line) == n);
}

static void
swap(const char *ptx, const char *log)
{
    CUfunction f;
    CUdeviceptr out;
    double begin = now();
    start(ptx, &f, &out);
    EXPECT(logged(log, QUICK));
    until(BEGUN, 1, log, f, out);
    EXPECT(now() - begin > 3);
    until(SWAPPED, 1, log, f, out);
    printf("optimised: %.2f s\n", now() - begin);
    for (int i = 0; i < 3; i++)
        launch(f, out);
}

/* CUDAWAY_TIERS=off, or the optimised code is in the cache: nothing happens in the background. */
static void
one_tier(const char *ptx, const char *log)
{
    CUfunction f;
    CUdeviceptr out;
    start(ptx, &f, &out);
    EXPECT(!logged(log, QUICK));
    launch(f, out);
}

/* A kernel of more than 50,000 instructions: one lane at a time first. With `kept`, that code is in the cache. */
static void
lanes(const char *ptx, const char *log, bool kept)
{
    CUfunction f;
    CUdeviceptr out;
    start(ptx, &f, &out);
    EXPECT(logged(log, "ms, gangs of 1, barriers"));
    EXPECT(logged(log, QUICK));
    EXPECT((logged(log, "kernel big: loaded in") > 0) == kept);
    fflush(NULL);
    _exit(failures);                    /* exit would wait for LLVM, which needs a minute for this kernel */
}

/* A kernel whose vector code would take minutes: scalar code is all that is made. */
static void
plain(const char *ptx, const char *log)
{
    CUfunction f;
    CUdeviceptr out;
    start(ptx, &f, &out);
    EXPECT(logged(log, "ms, gangs of 1, barriers"));
    EXPECT(logged(log, "it keeps this code"));
    EXPECT(!logged(log, QUICK));
    launch(f, out);
}

/* Unloaded while it is optimised, and loaded again. */
static void
unload(const char *ptx, const char *log)
{
    CUfunction f;
    CUdeviceptr out;
    CUmodule m = start(ptx, &f, &out);
    for (int i = 0; i < 2; i++) {
        until(BEGUN, i + 1, log, f, out);
        OK(cuModuleUnload(m));
        OK(cuModuleLoadData(&m, ptx));
        OK(cuModuleGetFunction(&f, m, "big"));
        launch(f, out);
    }
    EXPECT(logged(log, QUICK));
    EXPECT(!logged(log, SWAPPED));
}

/* The process ends while it is optimised; a child that was forked meanwhile as well. */
static void
leave(const char *ptx, const char *log, bool forked)
{
    double *ends = mmap(NULL, sizeof *ends, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);     /* when the process began to end */
    EXPECT(ends != MAP_FAILED);
    if (ends == MAP_FAILED)
        return;
    pid_t process = fork();
    int status = 0;
    if (!process) {
        CUfunction f;
        CUdeviceptr out;
        start(ptx, &f, &out);
        until(BEGUN, 1, log, f, out);
        leaks_looked_for = getpid();
        pid_t child = forked ? fork() : 0;
        if (forked && !child) {
            int n;
            exit(cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 9);
        }
        if (forked) {
            EXPECT(waitpid(child, &status, 0) == child && !status);
            launch(f, out);
        }
        *ends = now();
        exit(failures);
    }
    EXPECT(waitpid(process, &status, 0) == process && !status);
    EXPECT(*ends && now() - *ends < 90);        /* at its end it waits for LLVM, where that is a shared library, for a minute (jit/llvm/ending.c) */
    munmap(ends, sizeof *ends);
    EXPECT(logged(log, QUICK));
}

int
main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (argc > 3)
        insts = (unsigned)atoi(argv[3]);
    const char *mode = argv[1], *log = argv[2];
    unlink(log);
    setenv("CUDAWAY_LOG", "info", 0);
    setenv("CUDAWAY_LOG_FILE", log, 1);
    char *ptx = make(12345);
    expect();
    if (!strcmp(mode, "swap"))
        swap(ptx, log);
    else if (!strcmp(mode, "off") || !strcmp(mode, "cached"))
        one_tier(ptx, log);
    else if (!strcmp(mode, "lanes") || !strcmp(mode, "kept"))
        lanes(ptx, log, !strcmp(mode, "kept"));
    else if (!strcmp(mode, "plain"))
        plain(ptx, log);
    else if (!strcmp(mode, "unload"))
        unload(ptx, log);
    else
        leave(ptx, log, !strcmp(mode, "fork"));
    free(ptx);
    free(program);
    return failures;
}
