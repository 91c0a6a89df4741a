/* SPDX-License-Identifier: Apache-2.0
 * host:checked: every way by which a kernel reaches memory, tried at an address of the program's own, is 700 and changes nothing; memory that the
 * program gave to kernels is theirs until it takes it back, also in a pool. */
#include "tests/driver/test.h"

#include <stdbool.h>

enum { SECRET = 0x5ec4e7 };

#define ENTRY ".visible .entry k(.param .u64 at, .param .u64 out)\n{\n    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .pred %p<2>; .reg .b128 %q<2>;\n" \
              "    .shared .align 128 .b8 s[512]; .local .align 16 .b8 l[64];\n    ld.param.u64 %d1, [at];\n    ld.param.u64 %d2, [out];\n    mov.u32 %r1, 7;\n"
#define K(body) ENTRY body "\n    ret;\n}\n"
#define PRINTF ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 format[4] = {37, 115, 10, 0};\n"
#define PRINT(format, arguments) "    { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], " format "; st.param.b64 [b], " arguments ";\n" \
                                 "    call.uni (c), vprintf, (a, b); }"

static const struct {
    const char *what, *text;
} ways[] = {
    { "ld", K("ld.global.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "ld of a byte", K("ld.global.u8 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "ld, generic", K("ld.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "ld, vector", K("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1]; st.global.u32 [%d2], %r5;") },
    { "ld, volatile", K("ld.volatile.global.u64 %d3, [%d1]; st.global.u64 [%d2], %d3;") },
    { "ld, read-only", K("ld.global.nc.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "ld, acquire", K("ld.acquire.gpu.global.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "ld.const", K("ld.const.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "ld.param", K("mov.b64 %d3, at; sub.u64 %d3, %d1, %d3; mov.b64 %d4, at; add.u64 %d4, %d4, %d3; ld.param.u32 %r2, [%d4]; st.global.u32 [%d2], %r2;") },
    { "ld.shared", K("mov.u64 %d3, s; cvta.shared.u64 %d4, %d3; sub.u64 %d4, %d1, %d4; add.u64 %d3, %d3, %d4; ld.shared.u32 %r2, [%d3]; st.global.u32 [%d2], %r2;") },
    { "ld.local", K("ld.local.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;") },
    { "st", K("st.global.u32 [%d1], %r1;") },
    { "st, generic", K("st.u32 [%d1], %r1;") },
    { "st, vector", K("st.global.v2.u32 [%d1], {%r1, %r1};") },
    { "st, release", K("st.release.gpu.global.u32 [%d1], %r1;") },
    { "st.shared", K("mov.u64 %d3, s; cvta.shared.u64 %d4, %d3; sub.u64 %d4, %d1, %d4; add.u64 %d3, %d3, %d4; st.shared.u32 [%d3], %r1;") },
    { "st.local", K("st.local.u32 [%d1], %r1;") },
    { "st.local behind", K("mov.u64 %d3, l; add.u64 %d3, %d3, 0x100000; st.local.u32 [%d3], %r1;") },
    { "atom.add", K("atom.global.add.u32 %r2, [%d1], %r1;") },
    { "atom.add.f32", K("mov.f32 %f1, 0f3F800000; atom.global.add.f32 %f2, [%d1], %f1;") },
    { "atom.cas", K("atom.global.cas.b32 %r2, [%d1], 0x5ec4e7, %r1;") },
    { "atom.cas.b128", K("mov.b128 %q1, {%d1, %d2}; atom.global.cas.b128 %q1, [%d1], %q1, %q1;") },
    { "atom.exch", K("atom.exch.b64 %d3, [%d1], %d2;") },
    { "atom.inc", K("atom.global.inc.u32 %r2, [%d1], 100;") },
    { "red", K("red.global.add.u32 [%d1], %r1;") },
    { "red, vector", K("red.global.add.v2.f32 [%d1], {%f1, %f1};") },
    { "cp.async", K("mov.u64 %d3, s; cp.async.ca.shared.global [%d3], [%d1], 16; cp.async.wait_all; ld.shared.u32 %r2, [s]; st.global.u32 [%d2], %r2;") },
    { "mbarrier", K("cvta.to.shared.u64 %d3, %d1; mbarrier.init.shared.b64 [%d3], 1;") },
    { "ldmatrix", K("cvta.to.shared.u64 %d3, %d1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%d3]; st.global.u32 [%d2], %r2;") },
    { "stmatrix", K("cvta.to.shared.u64 %d3, %d1; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d3], {%r1};") },
    { "wmma.load", K("wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%d1]; st.global.f32 [%d2], %f0;") },
    { "wmma.store", K("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d1], {%f0, %f0, %f0, %f0, %f0, %f0, %f0, %f0};") },
    { "cp.async.bulk from", K("mov.u32 %r2, s; .shared .b64 bar; mov.u32 %r3, bar; mbarrier.init.shared.b64 [%r3], 1; mov.u32 %r4, 16;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], %r4, [%r3]; ld.shared.u32 %r2, [s]; st.global.u32 [%d2], %r2;") },
    { "cp.async.bulk to", K("mov.u32 %r2, s; mov.u32 %r4, 16; cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], %r4;") },
    { "cp.reduce.async.bulk", K("mov.u32 %r2, s; mov.u32 %r4, 16; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r2], %r4;") },
    { "cp.async.bulk.tensor", K("mov.u32 %r2, s; .shared .b64 bar; mov.u32 %r3, bar; mbarrier.init.shared.b64 [%r3], 1; mov.u32 %r4, 0;\n"
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1, {%r4}], [%r3];") },
    { "stackrestore", K("stackrestore.u64 %d1;") },
    { "printf's format", PRINTF K(PRINT("%d1", "%d2")) },
    { "printf's arguments", PRINTF K("mov.u64 %d3, format; cvta.global.u64 %d3, %d3;\n" PRINT("%d3", "%d1")) },
    { "printf's text", PRINTF K("st.global.u64 [%d2], %d1; mov.u64 %d3, format; cvta.global.u64 %d3, %d3;\n" PRINT("%d3", "%d2")) },
};

/* In a context of its own, which is then the current one. */
static CUresult
run_here(const char *body, uint64_t at, const uint32_t **out)
{
    static uint32_t *result;
    char text[4096];
    CUmodule m;
    CUfunction f;
    OK(cuMemHostAlloc((void **)&result, 64, 0));
    memset(result, 0, 64);
    snprintf(text, sizeof text, ".version 8.3\n.target sm_90\n.address_size 64\n%s", body);
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    void *params[] = { &at, &result };
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    CUresult r = cuCtxSynchronize();
    static uint32_t seen[16];
    memcpy(seen, result, sizeof seen);
    *out = seen;
    return r;
}

static CUresult
run(const char *body, uintptr_t at, const uint32_t **out)
{
    CUcontext c;
    OK(cuCtxCreate_v2(&c, 0, 0));
    CUresult r = run_here(body, at, out);
    OK(cuCtxDestroy_v2(c));
    return r;
}

#define TEXEL K("mov.u32 %r6, 7; tex.2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r6, %r6}]; st.global.u32 [%d2], %r2;")
#define FACE K("mov.f32 %f1, 0f00000000; mov.f32 %f2, 0fBF800000; tex.cube.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%d1, {%f1, %f1, %f2, %f2}]; st.global.u32 [%d2], %r2;")

/* A texture over 2 KiB of registered memory, which is unregistered before its use or not. */
static CUresult
run_texture(void *memory, bool unregister, const char *body, const uint32_t **out)
{
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_PITCH2D };
    CUDA_TEXTURE_DESC d = { .flags = CU_TRSF_READ_AS_INTEGER };
    CUtexObject t;
    CUcontext c;
    OK(cuCtxCreate_v2(&c, 0, 0));
    r.res.pitch2D.devPtr = (uintptr_t)memory;
    r.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT32;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = 64;
    r.res.pitch2D.height = 8;
    r.res.pitch2D.pitchInBytes = 256;
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    if (unregister)
        OK(cuMemHostUnregister(memory));
    CUresult e = run_here(body, t, out);
    OK(cuCtxDestroy_v2(c));
    return e;
}

static void
reaches(const char *what, const char *text, const char *where, volatile uint32_t *secret)
{
    const uint32_t *out;
    CUresult r = run(text, (uintptr_t)secret, &out);
    bool told = false, changed = false;
    for (int i = 0; i < 16; i++)
        told |= out[i] == SECRET || out[i] == (SECRET & 0xff);
    for (int i = 0; i < 256; i++)
        changed |= secret[i] != SECRET;
    if (r != CUDA_ERROR_ILLEGAL_ADDRESS || told || changed) {
        fprintf(stderr, "%s at %s: %d%s%s\n", what, where, (int)r, told ? ", read" : "", changed ? ", written" : "");
        failures++;
    }
}

int
main(void)
{
    static uint32_t global_secret[256] __attribute__((aligned(128)));
    uint32_t stack_secret[256] __attribute__((aligned(128)));
    uint32_t *heap_secret = aligned_alloc(4096, 4096);          /* 1024 of them */
    const char *load = ways[0].text;
    const uint32_t *out;
    for (int i = 0; i < 256; i++)
        global_secret[i] = stack_secret[i] = SECRET;
    for (int i = 0; i < 1024; i++)
        heap_secret[i] = SECRET;
    OK(cuInit(0));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        reaches(ways[i].what, ways[i].text, "a variable", global_secret);
        reaches(ways[i].what, ways[i].text, "the stack", stack_secret);
        reaches(ways[i].what, ways[i].text, "the heap", heap_secret);
    }
    /* Registered memory, and none beside it. */
    CUcontext c;
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuMemHostRegister_v2(heap_secret, 2048, 0));
    OK(run(load, (uintptr_t)heap_secret, &out));
    EXPECT(out[0] == SECRET);
    OK(run(load, (uintptr_t)heap_secret + 2044, &out));
    EXPECT(out[0] == SECRET);
    EXPECT_RESULT(run(load, (uintptr_t)heap_secret + 2048, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_RESULT(run(load, (uintptr_t)heap_secret - 4, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    /* A text that its precision ends, the memory's last bytes. */
    const uint32_t before = heap_secret[511];
    heap_secret[511] = 0x63626120;
    OK(run(".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 format[6] = {37, 46, 51, 115, 10, 0};\n"
           K("st.global.u64 [%d2], %d1; mov.u64 %d3, format; cvta.global.u64 %d3, %d3;\n" PRINT("%d3", "%d2")), (uintptr_t)heap_secret + 2045, &out));
    heap_secret[511] = before;
    /* A texture outlives the registration of its memory, but does not read it any more; one that is no cube map has no six faces. */
    EXPECT_RESULT(run_texture(heap_secret, true, TEXEL, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuMemHostRegister_v2(heap_secret, 2048, 0));
    OK(run_texture(heap_secret, false, TEXEL, &out));
    EXPECT(out[0] == SECRET);
    OK(run_texture(heap_secret, false, FACE, &out));
    EXPECT(out[0] == SECRET);
    OK(cuMemHostUnregister(heap_secret));
    EXPECT_RESULT(run(load, (uintptr_t)heap_secret, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    /* Of a pool the allocations, and neither the page behind a large one nor the rest of what the pool has reserved. */
    enum { LARGE = 1 << 20 };
    CUdeviceptr large, small;
    OK(cuMemAllocAsync(&large, LARGE, NULL));
    OK(cuMemAllocAsync(&small, 65536, NULL));
    OK(cuMemsetD8Async(small, 1, 65536, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(run(load, (uintptr_t)large + LARGE - 4, &out));
    EXPECT_RESULT(run(load, (uintptr_t)large + LARGE, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_RESULT(run(load, (uintptr_t)large + 16 * LARGE, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(run(load, (uintptr_t)small, &out));
    EXPECT(out[0] == 0x01010101);
    OK(cuMemFreeAsync(small, NULL));
    OK(cuStreamSynchronize(NULL));
    EXPECT_RESULT(run(load, (uintptr_t)small + 32768, &out), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(run(load, (uintptr_t)large, &out));
    OK(cuCtxDestroy_v2(c));
    free(heap_secret);
    return failures != 0;
}
