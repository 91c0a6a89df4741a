/* SPDX-License-Identifier: Apache-2.0
 * What a kernel prints is device memory: addresses of the host, of nothing, and a format that changes after the call make the host read
 * nothing else and end nothing. Each case is a process of its own, whose output is compared. The argument "unified": kernels may read the
 * process's memory (the host device), and a bad address in printf is a fault as everywhere. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD ".version 7.1\n.target sm_60\n.address_size 64\n" \
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n" \
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n" \
    ".global .align 1 .b8 fmt[8] = {60, 37, 115, 62, 10, 0, 0, 0};\n" /* "<%s>\n" */ \
    ".visible .entry k(.param .u64 p)\n{\n    .local .align 8 .b8 args[8];\n" \
    "    .reg .b64 %d<6>; .reg .b32 %r<3>; .reg .pred %q<2>;\n    ld.param.u64 %d1, [p];\n"
#define PRINT(format) "    st.local.u64 [args], %d1;\n    mov.u64 %d2, args;\n    cvta.local.u64 %d2, %d2;\n" \
    "    " format "\n    { .param .b64 a; .param .b64 b; .param .b32 r;\n    st.param.b64 [a], %d3;\n    st.param.b64 [b], %d2;\n" \
    "    call.uni (r), vprintf, (a, b);\n    ld.param.b32 %r1, [r]; }\n"
#define STRING PRINT("mov.u64 %d3, fmt; cvta.global.u64 %d3, %d3;")

static const char print_string[] = HEAD STRING "    ret;\n}\n";

/* The format is the parameter's memory, which the kernel fills with "%lx," after the call. */
static const char print_changed[] = HEAD PRINT("mov.u64 %d3, %d1;")
    "    mov.u32 %r1, 0;\n    mov.u32 %r2, 0x2c786c25;\nMORE:\n    st.global.u32 [%d1], %r2;\n    add.u64 %d1, %d1, 4;\n    add.u32 %r1, %r1, 1;\n"
    "    setp.lt.u32 %q1, %r1, 1000;\n    @%q1 bra MORE;\n    ret;\n}\n";

static const char assert_wild[] = HEAD
    "    { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n    st.param.b64 [a], %d1;\n    st.param.b64 [b], %d1;\n"
    "    st.param.b32 [c], 5;\n    st.param.b64 [d], %d1;\n    st.param.b64 [e], 1;\n    call.uni __assertfail, (a, b, c, d, e); }\n    ret;\n}\n";

static bool unified, isolated;         /* isolated: CUDAWAY_ISOLATE=1 */
static char secret[64] = "the host's memory";
enum { ROOM = 4096 };

static CUresult
run(const char *text, CUdeviceptr p)
{
    CUmodule m;
    CUfunction f;
    void *params[] = { &p };
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cuCtxSynchronize();
}

static CUdeviceptr
device_text(const char *text, size_t size)
{
    CUdeviceptr p;
    OK(cuMemAlloc_v2(&p, ROOM));
    OK(cuMemsetD8_v2(p, 0, ROOM));
    OK(cuMemcpyHtoD_v2(p, text, size));
    return p;
}

static void good(void) { OK(run(print_string, device_text("device", 7))); }
static void null(void) { OK(run(print_string, 0)); }
static void host(void) { EXPECT_RESULT(run(print_string, (uintptr_t)secret), isolated ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS); }
static void wild(void) { EXPECT_RESULT(run(print_string, 0x123456), unified ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS); }
static void aperture(void) { (void)run(print_string, 0x7fffffff00000010u); }
static void changed(void) { OK(run(print_changed, device_text("x\n", 3))); }
static void asserted(void) { EXPECT_RESULT(run(assert_wild, 0x123456), unified ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_ASSERT); }
static void
asserted_host(void)
{
    EXPECT_RESULT(run(assert_wild, (uintptr_t)secret), isolated ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_ASSERT);
}


/* The text ends with the allocation. */
static void
unended(void)
{
    static char full[ROOM];
    CUdeviceptr p;
    memset(full, 'y', sizeof full);
    p = device_text(full, sizeof full);
    OK(run(print_string, p + ROOM - 3));
}

/* Threads that wait for the device print what it has written so far, while it writes more. */
enum { LAUNCHES = 200, LINES = LAUNCHES * 32 };
static char many_lines[LINES * 9 + 1];
static _Atomic bool over;

static void *
synchronise(void *context)
{
    OK(cuCtxSetCurrent(context));
    while (!atomic_load(&over))
        OK(cuCtxSynchronize());
    return NULL;
}

static void
many(void)
{
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUdeviceptr p = device_text("device", 7);
    void *params[] = { &p };
    pthread_t t[2];
    OK(cuCtxGetCurrent(&c));
    OK(cuModuleLoadData(&m, print_string));
    OK(cuModuleGetFunction(&f, m, "k"));
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, synchronise, c);
    for (int i = 0; i < LAUNCHES; i++)
        OK(cuLaunchKernel(f, 4, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    OK(cuCtxSynchronize());
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *text, *unified;         /* what is printed; NULL: not looked at */
} cases[] = {
    { "good", good, "<device>\n", "<device>\n" }, { "null", null, "<(null)>\n", "<(null)>\n" }, { "host", host, "<>\n", NULL },
    { "wild", wild, "<>\n", "" }, { "aperture", aperture, "<>\n", "" }, { "changed", changed, "", "x\n" }, { "unended", unended, "<yyy>\n", NULL },
    { "asserted", asserted, "", "" }, { "asserted_host", asserted_host, "", NULL },
    { "many", many, many_lines, many_lines },
};

int
main(int argc, char **argv)
{
    isolated = argc > 1 && !strcmp(argv[1], "isolated");
    unified = isolated || (argc > 1 && !strcmp(argv[1], "unified"));
    for (int i = 0; i < LINES; i++)
        memcpy(many_lines + i * 9, "<device>\n", 10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[65536] = "";
        size_t n = 0;
        int out[2], status = -1;
        if (pipe(out))
            return 2;
        pid_t pid = fork();
        if (!pid) {
            dup2(out[1], 1);
            dup2(out[1], 2);            /* asserts, and what must not be in them */
            close(out[0]);
            failures = 0;
            make_context();
            cases[i].run();
            _exit(failures != 0);
        }
        close(out[1]);
        for (ssize_t r; n < sizeof got - 1 && (r = read(out[0], got + n, sizeof got - 1 - n)) > 0;)
            n += (size_t)r;
        got[n] = 0;
        close(out[0]);
        waitpid(pid, &status, 0);
        const char *want = unified ? cases[i].unified : cases[i].text;
        bool text = !strstr(cases[i].name, "assert");   /* an assert's line is the device's own */
        if (status || (want && text && strcmp(got, want)) || ((!unified || isolated) && strstr(got, secret))) {
            fprintf(stderr, "%s: status %#x, printed:\n%.500s\nnot:\n%s\n", cases[i].name, (unsigned)status, got, want ? want : "anything");
            failures++;
        }
    }
    return failures != 0;
}
