/* SPDX-License-Identifier: Apache-2.0
 * What driver 580 was seen to do on an H100 and the manual does not say, or says otherwise: one part each. */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

static const char text[] =
    ".version 7.1\n.target sm_80\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 8 .b64 m = 7;\n"
    ".visible .entry k()\n{\n    ret;\n}\n"
    ".visible .entry few()\n.maxnreg 24\n{\n"
    "    .reg .f64 %d<100>;\n    mov.f64 %d1, 0d3ff0000000000000;\n    add.f64 %d2, %d1, %d1;\n    ret;\n}\n"
    ".visible .entry many()\n{\n"
    "    .reg .f64 %d<100>;\n    mov.f64 %d1, 0d3ff0000000000000;\n    add.f64 %d2, %d1, %d1;\n    ret;\n}\n";

static bool executes;

/* A primary context that nobody retains can be made current; what needs it says that it is not there, until it is retained. */
static void
unretained(void)
{
    CUcontext p, got = NULL;
    CUdeviceptr a;
    OK(cuDevicePrimaryCtxRetain(&p, 0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuCtxSetCurrent(p));
    OK(cuCtxGetCurrent(&got));
    EXPECT(got == p);
    EXPECT_RESULT(cuMemAlloc_v2(&a, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRetain(&p, 0));
    OK(cuMemAlloc_v2(&a, 16));
    OK(cuMemFree_v2(a));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuCtxSetCurrent(NULL));
}

/* Calls that name a stream or an event need no current context. */
static void
no_context(void)
{
    CUcontext c = make_context(), got;
    CUstream s, bad = (CUstream)0x4000000000000010u;
    CUevent e, f;
    CUdeviceptr p;
    CUmodule m;
    CUfunction k;
    unsigned u;
    int n;
    float ms;
    CUgraph g;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, 0));
    OK(cuEventCreate(&f, 0));
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&k, m, "k"));
    OK(cuCtxSetCurrent(NULL));
    OK(cuEventRecord(e, s));
    OK(cuEventRecordWithFlags(f, s, 0));
    OK(cuStreamWaitEvent(s, e, 0));
    OK(cuMemsetD8Async(p, 1, 64, s));
    OK(cuMemsetD32Async(p, 1, 8, s));
    OK(cuMemcpyDtoDAsync_v2(p, p + 32, 32, s));
    OK(cuMemcpyAsync(p, p + 32, 32, s));
    OK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
    OK(cuStreamSynchronize(s));
    OK(cuStreamQuery(s));
    OK(cuEventSynchronize(f));
    OK(cuEventQuery(e));
    OK(cuEventElapsedTime(&ms, e, f));
    OK(cuStreamGetFlags(s, &u));
    EXPECT(u == CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetPriority(s, &n));
    OK(cuStreamGetCtx(s, &got));
    EXPECT(got == c);
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemsetD8Async(p, 1, 64, s));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphDestroy(g));
    CUdeviceptr q;
    OK(cuMemAllocAsync(&q, 64, s));
    OK(cuMemFreeAsync(q, s));
    OK(cuStreamSynchronize(s));
    /* A handle that is none is an invalid handle, the default streams are the current context's. */
    EXPECT_RESULT(cuStreamSynchronize(bad), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuMemsetD8Async(p, 1, 64, bad), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuMemsetD8Async(p, 1, 64, NULL), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuEventRecord(e, NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuStreamDestroy_v2(s));
    OK(cuEventDestroy_v2(e));
    OK(cuCtxDestroy_v2(c));
}

static void
managed(void)
{
    CUlibrary l;
    CUdeviceptr p = 0;
    size_t n = 0;
    OK(cuCtxSetCurrent(NULL));
    OK(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetManaged(&p, &n, l, "m"));
    EXPECT(p && n == 8);
    EXPECT_RESULT(cuLibraryGetManaged(&p, &n, l, "nothing"), CUDA_ERROR_NOT_FOUND);
    EXPECT_RESULT(cuLibraryGetGlobal(&p, &n, l, "m"), CUDA_ERROR_INVALID_CONTEXT);
    /* The same variable as in the first device's primary context. */
    CUcontext c;
    CUdeviceptr q = 0;
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuLibraryGetManaged(&q, &n, l, "m"));
    EXPECT(p == q);
    if (executes) {
        uint64_t v = 0;
        OK(cuMemcpyDtoH_v2(&v, q, 8));
        EXPECT(v == 7);
    }
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuLibraryGetManaged(&q, &n, l, "m"));
    EXPECT(p == q);
    OK(cuLibraryUnload(l));
    unsigned flags;
    int active;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(!active);                    /* nothing keeps it */
}

static int
attribute(CUmodule m, const char *name, CUfunction_attribute a)
{
    CUfunction f;
    int v = -1;
    OK(cuModuleGetFunction(&f, m, name));
    OK(cuFuncGetAttribute(&v, a, f));
    return v;
}

static void
attributes(void)
{
    CUcontext c = make_context();
    CUmodule m, limited;
    CUdeviceptr p;
    OK(cuModuleLoadData(&m, text));
    /* Of .target, not of .version. */
    EXPECT(attribute(m, "k", CU_FUNC_ATTRIBUTE_PTX_VERSION) == 80);
    /* A maximum that was asked for holds. */
    EXPECT(attribute(m, "many", CU_FUNC_ATTRIBUTE_NUM_REGS) > 32);
    EXPECT(attribute(m, "few", CU_FUNC_ATTRIBUTE_NUM_REGS) <= 24);
    CUjit_option o = CU_JIT_MAX_REGISTERS;
    void *v = (void *)32;
    OK(cuModuleLoadDataEx(&limited, text, 1, &o, &v));
    EXPECT(attribute(limited, "many", CU_FUNC_ATTRIBUTE_NUM_REGS) <= 32);
    EXPECT(attribute(limited, "few", CU_FUNC_ATTRIBUTE_NUM_REGS) <= 24);

    /* Booleans take four bytes. */
    static const struct {
        CUpointer_attribute a;
        unsigned want;
    } booleans[] = {
        { CU_POINTER_ATTRIBUTE_IS_MANAGED, 0 }, { CU_POINTER_ATTRIBUTE_MAPPED, 1 }, { CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 0 },
    };
    OK(cuMemAlloc_v2(&p, 64));
    for (unsigned i = 0; i < sizeof booleans / sizeof *booleans; i++) {
        unsigned w[2] = { 0xaaaaaaaau, 0x55555555u };
        OK(cuPointerGetAttribute(w, booleans[i].a, p));
        EXPECT(w[0] == booleans[i].want && w[1] == 0x55555555u);
        unsigned z[2] = { 0xaaaaaaaau, 0x55555555u };
        void *data = z;
        CUpointer_attribute a = booleans[i].a;
        OK(cuPointerGetAttributes(1, &a, &data, p));
        EXPECT(z[0] == booleans[i].want && z[1] == 0x55555555u);
        int here;                       /* not CUDA's */
        z[0] = 0xaaaaaaaau;
        OK(cuPointerGetAttributes(1, &a, &data, (CUdeviceptr)(uintptr_t)&here));
        EXPECT(z[0] == 0 && z[1] == 0x55555555u);
    }
    OK(cuCtxDestroy_v2(c));
}

/* ---- archives ------------------------------------------------------------------------------------------------------------------------------ */

static size_t
ar_member(char *to, const char *name, const char *data, size_t size)
{
    sprintf(to, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "644", size);
    memcpy(to + 60, data, size);
    if (size & 1)
        to[60 + size] = '\n';
    return 60 + size + (size & 1);
}

#define HEAD ".version 7.1\n.target sm_60\n.address_size 64\n"
#define FUNCTION(n) ".visible .func (.param .b32 r) " n "(.param .b32 a)\n{\n    .reg .b32 %r<2>;\n    ld.param.b32 %r1, [a];\n"               \
                    "    st.param.b32 [r], %r1;\n    ret;\n}\n"

static void
archives(void)
{
    CUcontext c = make_context();
    static const char main_text[] = HEAD ".extern .func (.param .b32 r) one /* comment .visible */ (.param .b32 a);\n"
        ".visible .entry k()\n{\n    .param .b32 x;\n    .param .b32 y;\n    .reg .b32 %r<2>;\n    st.param.b32 [x], 1;\n"
        "    call (y), one, (x);\n    ret;\n}\n";
    static const char one[] = HEAD ".extern .func (.param .b32 r) two(.param .b32 a);\n" FUNCTION("one")
        ".visible .func (.param .b32 r) onetwo(.param .b32 a)\n{\n    .reg .b32 %r<2>;\n    .param .b32 x;\n    .param .b32 y;\n"
        "    st.param.b32 [x], 1;\n    call (y), two, (x);\n    st.param.b32 [r], 0;\n    ret;\n}\n";
    static const char two[] = HEAD ".visible .const .align 4 .b32 data[2] = { 1, 2 };\n" FUNCTION("two");
    static const char unneeded[] = HEAD ".visible .global .align 4 .b32 data[2];\nthis would not be PTX\n";
    static char ar[16384];
    size_t n = 0;
    memcpy(ar, "!<arch>\n", 8);
    n = 8;
    n += ar_member(ar + n, "/", "\0\0\0", 4);                                  /* the symbol table: skipped */
    n += ar_member(ar + n, "//", "a_member_with_a_long_name.o/\n", 29);
    n += ar_member(ar + n, "unneeded.ptx/", unneeded, sizeof unneeded - 1);     /* would break the link */
    n += ar_member(ar + n, "two.ptx/", two, sizeof two - 1);
    n += ar_member(ar + n, "/0", one, sizeof one - 1);
    n += ar_member(ar + n, "readme/", "no image", 8);

    CUlinkState l;
    void *image;
    size_t size;
    CUmodule m;
    CUfunction f;
    OK(cuLinkCreate_v2(0, NULL, NULL, &l));
    OK(cuLinkAddData_v2(l, CU_JIT_INPUT_LIBRARY, ar, n, "library.a", 0, NULL, NULL));
    OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)main_text, sizeof main_text, "main", 0, NULL, NULL));
    OK(cuLinkComplete(l, &image, &size));
    OK(cuModuleLoadData(&m, image));
    OK(cuModuleGetFunction(&f, m, "k"));
    CUdeviceptr p;
    OK(cuModuleGetGlobal_v2(&p, &size, m, "data"));     /* that of two.ptx */
    EXPECT(size == 8);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuLinkDestroy(l));

    /* Without the library the function is missing; a damaged one is refused. */
    OK(cuLinkCreate_v2(0, NULL, NULL, &l));
    OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)main_text, sizeof main_text, "main", 0, NULL, NULL));
    EXPECT(cuLinkComplete(l, &image, &size) != CUDA_SUCCESS);
    EXPECT_RESULT(cuLinkAddData_v2(l, CU_JIT_INPUT_LIBRARY, ar, n - 3, "library.a", 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
    OK(cuLinkDestroy(l));
    OK(cuCtxDestroy_v2(c));
}

/* ---- what is said on the log ------------------------------------------------------------------------------------------------------------------ */

static char said[4096];
static int log_fd = -1, saved;

static void
listen(void)
{
    fflush(stderr);
    saved = dup(2);
    log_fd = fileno(tmpfile());
    dup2(log_fd, 2);
}

static const char *
heard(void)
{
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    ssize_t n = pread(log_fd, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    return said;
}

static void
quiet(void)
{
    CUcontext c = make_context();
    CUmodule m;
    CUlibrary l;
    const void *table;
    CUuuid unknown = { "0123456789abcdef" };
    listen();
    CUresult a = cuModuleLoad(&m, "/nonexistent/file.cubin"), b = cuLibraryLoadFromFile(&l, "/nonexistent/file", NULL, NULL, 0, NULL, NULL, 0),
             e = cuGetExportTable(&table, &unknown);
    EXPECT(!*heard());
    EXPECT(a == CUDA_ERROR_FILE_NOT_FOUND && b == CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT(e == CUDA_ERROR_INVALID_VALUE && !table);
    OK(cuCtxDestroy_v2(c));
}

/* ---- export tables (docs/export-tables.md) ------------------------------------------------------------------------------------------------- */

static unsigned ended;

static void
on_end(CUcontext c, void *key, void *value)
{
    EXPECT(value == &ended);
    ended++;
}

static const void *const *
table(const char *id)
{
    CUuuid u;
    const void *t = NULL;
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        sscanf(id + 2 * i, "%2x", &byte);
        u.bytes[i] = (char)byte;
    }
    OK(cuGetExportTable(&t, &u));
    return t;
}

static void
tables(void)
{
    static int one, two;
    CUcontext c = make_context(), p = NULL, q = NULL;
    const void *const *t = table("6bd5fb6c5bf4e74a8987d93912fd9df9");
    EXPECT((uintptr_t)t[0] == 13 * 8);
    OK(((CUresult (*)(CUcontext *, CUdevice))t[2])(&p, 0));
    unsigned flags;
    int active;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(p && !active);
    OK(cuDevicePrimaryCtxRetain(&q, 0));
    EXPECT(p == q);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    EXPECT_RESULT(((CUresult (*)(void))t[5])(), CUDA_ERROR_NOT_SUPPORTED);

    t = table("a094798c2e742e7493f20800200c0a66");
    void *buffer = NULL;
    size_t size = 0;
    ((void (*)(void **, size_t *))t[2])(&buffer, &size);
    EXPECT(buffer && size == 1024);
    ((void (*)(void **, size_t *))t[6])(&buffer, &size);
    EXPECT(buffer && size == 14);
    EXPECT(table("42d85a8123f6cb478298f6e78a3aecdc"));
    t = table("263e88607cd2614392f6bbd5006dfa7e");
    uint32_t word[2] = { 9, 9 };
    OK(((CUresult (*)(uint32_t *))t[2])(word));
    EXPECT(word[0] == 0 && word[1] == 9);
    OK(((CUresult (*)(void))t[3])());

    t = table("c693336e1121df11a8c368f355d89593");
    typedef CUresult put(CUcontext, void *, void *, void (*)(CUcontext, void *, void *));
    typedef CUresult delete(CUcontext, void *);
    typedef CUresult get(void **, CUcontext, void *);
    void *v = NULL;
    EXPECT_RESULT(((get *)t[2])(&v, c, &one), CUDA_ERROR_INVALID_VALUE);
    OK(((put *)t[0])(c, &one, &ended, on_end));
    OK(((put *)t[0])(NULL, &two, &ended, on_end));      /* the current one */
    EXPECT_RESULT(((put *)t[0])(c, &one, &ended, on_end), CUDA_ERROR_INVALID_VALUE);
    OK(((get *)t[2])(&v, NULL, &one));
    EXPECT(v == &ended);
    OK(((delete *)t[1])(c, &one));
    EXPECT_RESULT(((delete *)t[1])(c, &one), CUDA_ERROR_INVALID_VALUE);
    EXPECT(ended == 0);
    OK(cuCtxDestroy_v2(c));
    EXPECT(ended == 1);

    /* The authenticity check is not answered. */
    CUuuid check = { "\xd4\x08\x20\x55\xbd\xe6\x70\x4b\x8d\x34\xba\x12\x3c\x66\xe1\xf2" };
    const void *none = &one;
    EXPECT_RESULT(cuGetExportTable(&none, &check), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(!none);
}

int
main(void)
{
    const char *d = getenv("CUDAWAY_DEVICE");
    executes = !d || strcmp(d, "null");
    OK(cuInit(0));
    unretained();
    no_context();
    managed();
    attributes();
    archives();
    quiet();
    tables();
    return failures != 0;
}
