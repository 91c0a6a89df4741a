/* SPDX-License-Identifier: Apache-2.0
 * LLVM fails in the middle of a compilation, and the process goes on. This program's malloc makes it fail: at its Nth allocation by a
 * thread of the compiler's, which gets no memory, once or from then on, or which becomes a fatal error of LLVM's. Each case is a child:
 *   warm   a compilation, one that fails, and one that must work again
 *   cold   the first compilation fails; a later one works, or is refused with P5912
 * and a child that hangs or dies fails the test. N goes through the whole compilation, in steps.
 *   test_jit_fault [STEPS]
 *   test_jit_fault AMD WARM FAULT N             one case: 0 or 1, 0 or 1, 1 to 3
 *   test_jit_fault AMD WARM FAULT FROM TO STEP  each in a child */
#define _GNU_SOURCE
#include "jit/driver/aot.h"
#include "jit/link/program.h"
#include "jit/llvm/contain.h"
#include "jit/llvm/lld.h"
#include "jit/loader/loader.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* fatal.cpp */
_Noreturn void test_fatal(const char *reason);

enum fault { NOTHING, ONCE, EVER, FATAL };
enum { FEW = 500 };             /* allocations before a compilation begins */

static atomic_long countdown, counted;
static atomic_int armed;
static pthread_t main_thread;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

/* True: this allocation fails. */
static bool
fails(void)
{
    int fault = atomic_load(&armed);
    if (fault == NOTHING || pthread_equal(pthread_self(), main_thread))
        return false;
    atomic_fetch_add(&counted, 1);
    if (atomic_fetch_sub(&countdown, 1) > 1)
        return false;
    if (fault != EVER)
        armed = NOTHING;
    if (fault == FATAL)
        test_fatal("injected");
    return true;
}

__attribute__((visibility("default"))) void *
malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *
calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

__attribute__((visibility("default"))) void *
realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

static unsigned failures;

static void
expect(bool ok, const char *what, const char *where)
{
    if (!ok) {
        printf("FAIL %s: %s\n", where, what);
        failures++;
    }
}

/* ---- compilations -------------------------------------------------------------------------------------------------------- */

static const char text[] =
    ".version 7.1\n.target sm_80\n.address_size 64\n"
    ".visible .entry scale(.param .u64 data, .param .f32 by)\n"
    "{ .reg .b64 p, q; .reg .b32 t, i; .reg .f32 f, g; .reg .pred c;\n"
    "ld.param.u64 p, [data]; ld.param.f32 g, [by]; mov.u32 t, %tid.x; mul.wide.u32 q, t, 4; add.u64 p, p, q;\n"
    "ld.global.f32 f, [p]; mov.u32 i, 0;\n"
    "again: fma.rn.f32 f, f, g, 0f3F800000; add.u32 i, i, 1; setp.lt.u32 c, i, t; @c bra again;\n"
    "div.rn.f32 f, f, 0f40400000; st.global.f32 [p], f; ret; }\n";

static void
no_runtime(void)
{
    abort();
}

struct answer {
    cw_result result;
    unsigned code;              /* of the first diagnostic, or 0 */
    char text[200];
};

static void
note(struct answer *a, cw_result r, const struct cwj_diags *d)
{
    *a = (struct answer){ .result = r, .code = d->first ? d->first->code : 0u };
    snprintf(a->text, sizeof a->text, "%s", d->first ? d->first->text : "");
}

static struct cwj_program *
parse(struct cwj_diags *d)
{
    struct cwj_input in = { "fault", text, sizeof text - 1 };
    struct cwj_program *p = NULL;
    cwj_diags_init(d);
    if (cwj_program_create(&in, 1, false, &p, d))
        abort();
    return p;
}

/* For this CPU; what comes of it is run. */
static struct answer
on_host(struct cwj_program *p)
{
    const void *addresses[64];
    struct cwj_host_runtime rt = { 0, addresses };
#define X(ret, name, params) addresses[rt.count++] = (const void *)no_runtime;
    CWH_RT_MAP(X)
#undef X
    struct cwj_diags d;
    struct cwj_host_code *code = NULL;
    struct cwh_variant v = { 0 };
    struct answer a;
    cwj_diags_init(&d);
    note(&a, cwj_host_compile(p, 0, &v, &rt, &code, &d), &d);
    cwj_diags_finish(&d);
    if (a.result)
        return a;
    float data[40];
    struct { float *data; float by; } params = { data, 0.5f };
    struct cwh_launch launch = { { 1, 1, 1 }, { 40, 1, 1 }, .params = (const uint8_t *)&params };
    struct cwh_block block = { .launch = &launch };
    for (unsigned i = 0; i < 40; i++)
        data[i] = 2;            /* 2 * 0.5 + 1 = 2 */
    for (uint32_t first = 0; first < 40; first += code->info.width) {
        struct cwh_gang gang = { .block = &block, .first = first, .lanes = 40 - first < code->info.width ? 40 - first : code->info.width };
        code->run(&gang);
    }
    for (unsigned i = 0; i < 40; i++)
        expect(data[i] == 2.0f / 3.0f, "the kernel's result", "host");
    cwj_host_release(code);
    return a;
}

/* A code object, which LLD links. */
static struct answer
for_amd(struct cwj_program *p, struct cw_buf *out)
{
    struct cwj_diags d;
    struct cwj_aot_options o = { .target = CWJ_TARGET_AMDGCN, .cpu = "gfx1100", .emit = CWJ_EMIT_OBJ, .opt_level = 3 };
    struct answer a;
    cwj_diags_init(&d);
    note(&a, cwj_aot(p, &o, out, &d), &d);
    cwj_diags_finish(&d);
    return a;
}

static struct answer
compile(struct cwj_program *p, bool amd)
{
    if (!amd)
        return on_host(p);
    struct cw_buf out;
    cw_buf_init(&out);
    struct answer a = for_amd(p, &out);
    if (!a.result)
        expect(out.size > 1000 && !memcmp(out.data, "\177ELF", 4), "the code object", "gfx1100");
    cw_buf_finish(&out);
    return a;
}

/* ---- cases ---------------------------------------------------------------------------------------------------------------- */

static const char *const names[] = { "nothing", "one allocation fails", "allocations fail from here on", "a fatal error" };

struct shared {
    long allocations;           /* of the compilation that is to fail */
    unsigned refused, worked;   /* compilations after a failure */
};
static struct shared *shared;

static struct answer
compile_with(struct cwj_program *p, bool amd, enum fault fault, long n)
{
    countdown = n;
    counted = 0;
    armed = fault;
    struct answer a = compile(p, amd);
    armed = NOTHING;
    return a;
}

static void
in_child(bool amd, bool warm, enum fault fault, long n)
{
    char where[100];
    struct cwj_diags d;
    struct cwj_program *p = parse(&d);
    snprintf(where, sizeof where, "%s, %s, %s at %ld", amd ? "gfx1100" : "host", warm ? "warm" : "cold", names[fault], n);
    alarm(300);
    if (warm)
        expect(!compile(p, amd).result, "the first compilation", where);
    struct answer bad = compile_with(p, amd, fault, n);
    if (fault == NOTHING) {
        compile_with(p, amd, ONCE, 1L << 60);
        shared->allocations = counted;
        return;
    }
    if (bad.result) {
        bool memory = fault != FATAL;
        expect(bad.result == (memory ? CW_ERR_NOMEM : CW_ERR_LLVM), cw_result_name(bad.result), where);
        /* Our own allocations fail without a diagnostic; the result says it. */
        expect(bad.code == (memory ? 5911u : 5910u) || (memory && !bad.code), bad.text, where);
    } else {
        /* What does not need the memory goes on; and what looks into the cache may fail in any way. */
        expect(fault == ONCE || (fault == FATAL && n < FEW), "nothing failed", where);
    }
    struct answer good = compile(p, amd);
    if (good.result) {
        expect(!warm && bad.result && good.code == 5912, good.text, where);
        shared->refused++;
    } else {
        shared->worked++;
    }
}

static void
run_child(bool amd, bool warm, enum fault fault, long n)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        main_thread = pthread_self();
        failures = 0;
        in_child(amd, warm, fault, n);
        fflush(stdout);
        _exit(failures != 0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status) {
        printf("FAIL %s, %s, %s at %ld: %s %d\n", amd ? "gfx1100" : "host", warm ? "warm" : "cold", names[fault], n,
               WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        failures++;
    }
}

static void
sweep(bool amd, bool warm, enum fault fault, unsigned steps)
{
    run_child(amd, warm, NOTHING, 0);
    long all = shared->allocations;
    expect(all > 1000, "a compilation allocates", "count");
    shared->refused = shared->worked = 0;
    /* Each of the first, too, in which a thread makes what it needs and LLVM is set up: there LLVM reports no fatal errors. */
    for (unsigned i = 0; i < steps; i++)
        run_child(amd, warm, fault, i < 5 && fault != FATAL ? 1 + (long)i : (long)((double)all * (i + 1) / (steps + 1)));
    printf("%s, %s, %s: of %u compilations afterwards %u worked, %u were refused\n", amd ? "gfx1100" : "host", warm ? "warm" : "cold",
           names[fault], steps, shared->worked, shared->refused);
    expect(!warm || !shared->refused, "refused after a warm failure", names[fault]);
}

/* ---- LLD ------------------------------------------------------------------------------------------------------------------ */

static cw_result
link_one(const void *data, size_t size, unsigned *code)
{
    struct cw_buf object, out, *objects[] = { &object };
    struct cwj_diags d;
    cw_buf_init(&object);
    cw_buf_init(&out);
    cwj_diags_init(&d);
    cw_buf_append(&object, data, size);
    cw_result r = cwj_lld_link(true, objects, 1, &out, &d);
    *code = d.first ? d.first->code : 0;
    cwj_diags_finish(&d);
    cw_buf_finish(&object);
    cw_buf_finish(&out);
    return r;
}

/* What LLD calls an error, and what it calls fatal and would end the process for; then it works again. */
static void
bad_links(void)
{
    struct cwj_diags d;
    struct cwj_program *p = parse(&d);
    struct cw_buf good;
    unsigned code;
    cw_buf_init(&good);
    expect(!for_amd(p, &good).result, "the code object", "link");
    expect(link_one("no object", 9, &code) == CW_ERR_LLVM && code == 5906, "no object file", "link");
    expect(link_one(good.data, 80, &code) == CW_ERR_LLVM && code == 5906, "half a header", "link");
    good.data[18] = 0;          /* e_machine */
    expect(link_one(good.data, good.size, &code) == CW_ERR_LLVM && code == 5906, "another machine", "link");
    cw_buf_finish(&good);
    cw_buf_init(&good);
    expect(!for_amd(p, &good).result, "the code object afterwards", "link");
    cw_buf_finish(&good);
    cwj_program_destroy(p);
    cwj_diags_finish(&d);
}

/* ---- the caller ------------------------------------------------------------------------------------------------------------ */

static struct cw_buf plain, strange;

static void *
compile_for_amd(void *out)
{
    struct cwj_diags d;
    struct cwj_program *p = parse(&d);
    expect(!for_amd(p, out).result, "the code object", "caller");
    cwj_program_destroy(p);
    cwj_diags_finish(&d);
    return NULL;
}

/* A thread that rounds up, with a small stack: the code is the same. */
static void
strange_caller(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    cw_buf_init(&plain);
    cw_buf_init(&strange);
    compile_for_amd(&plain);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    fesetround(FE_UPWARD);
    pthread_create(&thread, &attr, compile_for_amd, &strange);
    pthread_join(thread, NULL);
    expect(fegetround() == FE_UPWARD, "the rounding mode stays", "caller");
    fesetround(FE_TONEAREST);
    expect(plain.size == strange.size && !memcmp(plain.data, strange.data, plain.size), "the same code", "caller");
    pthread_attr_destroy(&attr);
}

int
main(int argc, char **argv)
{
    main_thread = pthread_self();
    setenv("CUDAWAY_CACHE_SIZE", "0", 1);
    setenv("CUDAWAY_LOG", "off", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc == 5) {            /* one case, here: for a debugger */
        in_child(atoi(argv[1]), atoi(argv[2]), (enum fault)atoi(argv[3]), atol(argv[4]));
        return failures != 0;
    }
    if (argc == 7) {
        for (long n = atol(argv[4]); n < atol(argv[5]); n += atol(argv[6]))
            run_child(atoi(argv[1]), atoi(argv[2]), (enum fault)atoi(argv[3]), n);
        return failures != 0;
    }
    const unsigned steps = argc > 1 ? (unsigned)atoi(argv[1]) : 16;
    for (unsigned amd = 0; amd < 2; amd++)
        for (unsigned cold = 0; cold < 2; cold++)
            for (enum fault fault = ONCE; fault <= (cold ? EVER : FATAL); fault++)
                sweep(amd, !cold, fault, steps);
    bad_links();
    strange_caller();
    printf("%u failures\n", failures);
    return failures != 0;
}
