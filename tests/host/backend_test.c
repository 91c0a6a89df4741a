/* SPDX-License-Identifier: Apache-2.0
 * The host backend's operations, driven through its table with a made-up compiler whose kernels are C functions: modules
 * and relocations, asynchronous streams, events, host functions, stream values, sticky errors, memory, arrays, lifetime of
 * textures, both device kinds. */
#define _GNU_SOURCE
#include "impl/backend.h"
#include "impl/base/buf.h"
#include "jit/jit.h"
#include "tests/host/check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct cwb_backend *b = &cwb_host;

/* ---- kernels ---- */

struct params {
    uint64_t data, value, texture;
};

static const struct params *
params_of(struct cwh_gang *g)
{
    return (const struct params *)(const void *)g->block->launch->params;
}

static void
add_kernel(struct cwh_gang *g)
{
    const struct params *p = params_of(g);
    uint32_t n = g->block->launch->block[0];
    for (uint32_t i = 0; i < g->lanes; i++)
        ((uint32_t *)(uintptr_t)p->data)[g->block->ctaid[0] * n + g->first + i] += (uint32_t)p->value;
}

/* Waits until the host sets data[0]. */
static void
gate_kernel(struct cwh_gang *g)
{
    _Atomic uint32_t *flag = (_Atomic uint32_t *)(uintptr_t)params_of(g)->data;
    while (!atomic_load(flag))
        cwh_rt_yield(g);
}

static void
fault_kernel(struct cwh_gang *g)
{
    *(volatile uint32_t *)(uintptr_t)params_of(g)->data = 1;
}

/* value = word at *(u64 *)(image + 8), data[0] = it, data[1] = the function token in the image, data[2] = dynamic shared */
static void
image_kernel(struct cwh_gang *g)
{
    uint64_t *out = (uint64_t *)(uintptr_t)params_of(g)->data;
    const uint8_t *image = g->block->launch->image;
    uint64_t p;
    memcpy(&p, image + 8, 8);
    out[0] = *(const uint32_t *)(uintptr_t)p;
    memcpy(&out[1], image + 16, 8);
    out[2] = g->block->launch->dynamic_shared;
    out[3] = g->block->launch->shared_size;
    out[4] = (uintptr_t)g->block->launch->params % 64;
}

static void
fetch_kernel(struct cwh_gang *g)
{
    const struct params *p = params_of(g);
    uint64_t handles[32];
    uint32_t coord[2 * 32], result[32];
    struct cwh_tex t = { .width = 32, .op = PTX_OP_TEX, .geom = PTX_GEOM_2D, .coord_type = PTX_S32, .result_type = PTX_U32, .vec = 1,
                         .mask = 1, .texture = handles, .coord = coord, .result = result };
    memset(coord, 0, sizeof coord);
    coord[0] = 1;
    coord[32] = 2;
    handles[0] = p->texture;
    cwh_rt_tex(g, &t);
    *(uint32_t *)(uintptr_t)p->data = result[0];
}

static const struct {
    const char *name;
    cwh_kernel_fn *fn;
} kernels[] = { { "add", add_kernel }, { "gate", gate_kernel }, { "fault", fault_kernel }, { "image", image_kernel }, { "fetch", fetch_kernel } };
enum { ADD, GATE, FAULT, IMAGE, FETCH, NKERNELS };

/* ---- the made-up compiler ---- */

static struct cwj_kernel infos[NKERNELS];
static unsigned compiled, with_linear_x, with_o0;

static uint32_t kernel_count(const struct cwj_program *p) { return NKERNELS; }
static uint32_t variable_count(const struct cwj_program *p) { return 0; }
static const struct cwj_variable *variable(const struct cwj_program *p, uint32_t i) { return NULL; }

static const struct cwj_kernel *
kernel(const struct cwj_program *p, uint32_t i)
{
    infos[i].name = kernels[i].name;
    infos[i].param_size = sizeof(struct params);
    infos[i].static_shared = 100;
    infos[i].ptx_version = 71;
    infos[i].nregs = 20;
    return &infos[i];
}

static const uint8_t image_init[32] = { 0x11, 0x22, 0x33, 0x44 };
static const struct cwj_reloc relocs[2] = {
    { .offset = 8, .target = 0, .addend = 0, .kind = CWJ_RELOC_IMAGE, .width = 8 },
    { .offset = 16, .target = CWH_FUNC_TOKEN(4), .addend = 0, .kind = CWJ_RELOC_FUNC, .width = 8 },
};
static const struct cwj_image image_desc = { sizeof image_init, 64, image_init, relocs, 2 };

static const struct cwj_image *image(const struct cwj_program *p) { return &image_desc; }

static cw_result
host_compile(struct cwj_program *p, uint32_t i, const struct cwh_variant *v, const struct cwj_host_runtime *rt,
             struct cwj_host_code **out, struct cwj_diags *diags)
{
    struct cwj_host_code *c = calloc(1, sizeof *c);
    c->run = kernels[i].fn;
    c->info = (struct cwh_code_info){ .width = v->o0 ? 1 : 16, .static_shared = 100, .shared_align = 16 };
#define X(ret, name, params) + 1
    CHECK(rt->count == 0 CWH_RT_MAP(X), "%u", rt->count);
#undef X
    compiled++;
    with_linear_x += v->linear_x;
    with_o0 += v->o0;
    *out = c;
    return CW_OK;
}

static void host_release(struct cwj_host_code *c) { free(c); }
static void diags_init(struct cwj_diags *d) { memset(d, 0, sizeof *d); }
static void diags_finish(struct cwj_diags *d) { }

static const struct cwj_api api = {
    .version = CWJ_API_VERSION, .kernel_count = kernel_count, .kernel = kernel, .variable_count = variable_count, .variable = variable,
    .image = image, .host_compile = host_compile, .host_release = host_release, .diags_init = diags_init, .diags_finish = diags_finish,
};

/* ---- helpers ---- */

static struct cwb_context *ctx;
static struct cwb_module *mod;
static struct cwb_kernel *k[NKERNELS];
static uint64_t image_address;

static void
open_context(void)
{
    CHECK(b->context_create(0, &ctx) == CWB_OK);
    CHECK(b->module_load(ctx, &api, NULL, &mod, &image_address) == CWB_OK);
    for (uint32_t i = 0; i < NKERNELS; i++)
        CHECK(b->kernel_prepare(mod, i, true, &k[i], NULL) == CWB_OK);
}

static void
close_context(void)
{
    CHECK(b->context_sync(ctx) == b->context_error(ctx));
    b->module_unload(mod);
    b->context_destroy(ctx);
}

static cwb_result
launch(struct cwb_stream *s, int which, uint32_t blocks, uint32_t threads, uint64_t data, uint64_t value, uint64_t texture)
{
    struct params p = { data, value, texture };
    struct cwb_launch l = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .dynamic_shared = 64, .params = &p, .param_size = sizeof p };
    return b->launch(s, k[which], &l);
}

static uint64_t
alloc(size_t size)
{
    uint64_t a = 0;
    CHECK(b->mem_alloc(ctx, CWB_MEM_DEVICE, size, 256, &a) == CWB_OK);
    memset((void *)(uintptr_t)a, 0, size);
    return a;
}

/* ---- tests ---- */

static void
test_props(void)
{
    struct cwb_device_props p;
    CHECK(b->device_props(0, &p) == CWB_OK && b->device_props(1, &p) == CWB_NO_DEVICE);
    CHECK(!strncmp(p.name, "CUDAway host", 12) && p.multiprocessors >= 1 && p.total_memory > 0, "%s", p.name);
    size_t f1, f2, total;
    CHECK(b->memory_info(0, &f1, &total) == CWB_OK && total == p.total_memory);
    uint64_t a = alloc(1 << 20), big;
    CHECK(b->memory_info(0, &f2, &total) == CWB_OK && f1 - f2 == 1 << 20);
    CHECK(b->mem_alloc(ctx, CWB_MEM_DEVICE, total, 256, &big) == CWB_NOMEM);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, a, 1 << 20) == CWB_OK);
    CHECK(b->memory_info(0, &f2, &total) == CWB_OK && f1 == f2);
    uint64_t same;
    CHECK(b->mem_alloc(ctx, CWB_MEM_DEVICE, 1 << 20, 256, &same) == CWB_OK && same == a && a % 512 == 0);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, a, 1 << 20) == CWB_OK);
    uint64_t pinned;
    CHECK(b->mem_alloc(ctx, CWB_MEM_PINNED, 10000, 256, &pinned) == CWB_OK);
    memset((void *)(uintptr_t)pinned, 1, 10000);
    CHECK(b->mem_free(ctx, CWB_MEM_PINNED, pinned, 10000) == CWB_OK);
}

static void
test_module(void)
{
    struct cwb_stream *s;
    uint64_t out[5] = { 0 };
    CHECK(b->stream_create(ctx, 0, &s) == CWB_OK);
    CHECK(launch(s, IMAGE, 1, 1, (uintptr_t)out, 0, 0) == CWB_OK && b->stream_sync(s) == CWB_OK);
    CHECK(out[0] == 0x44332211 && out[1] == 5 << 4, "%llx", (unsigned long long)out[0]);
    CHECK(out[2] == 112 && out[3] == 176 && out[4] == 0, "dynamic shared memory at %llu", (unsigned long long)out[2]);
    CHECK(image_address % 64 == 0 && !memcmp((void *)(uintptr_t)image_address, "\x11\x22\x33\x44", 4));
    struct cwb_kernel_facts f;
    CHECK(b->kernel_facts(k[ADD], &f) == CWB_OK && f.static_shared == 100 && f.ptx_version == 71 && f.registers == 20);

    /* 20 is no multiple of the gang's 16: the general variant is compiled; 48 is. */
    uint64_t data = alloc(4096);
    unsigned before = compiled;
    CHECK(launch(s, ADD, 2, 48, data, 1, 0) == CWB_OK && b->stream_sync(s) == CWB_OK && compiled == before);
    CHECK(launch(s, ADD, 2, 20, data, 1, 0) == CWB_OK && b->stream_sync(s) == CWB_OK && compiled == before + 1, "%u", compiled - before);
    uint32_t *v = (uint32_t *)(uintptr_t)data;
    CHECK(v[0] == 2 && v[39] == 2 && v[40] == 1 && v[95] == 1 && v[96] == 0);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, data, 4096) == CWB_OK);
    b->stream_destroy(s);
}

static _Atomic int host_order[8];
static _Atomic int host_calls;

static void
note(void *user, cwb_result status)
{
    int n = atomic_fetch_add(&host_calls, 1);
    if (n < 8)
        host_order[n] = (int)(intptr_t)user + 100 * (int)status;
}

static void
test_streams(void)
{
    struct cwb_stream *s, *t;
    struct cwb_event *e, *f;
    CHECK(b->stream_create(ctx, 0, &s) == CWB_OK && b->stream_create(ctx, -1, &t) == CWB_OK);
    CHECK(b->event_create(ctx, CWB_EVENT_TIMING, &e) == CWB_OK && b->event_create(ctx, CWB_EVENT_TIMING, &f) == CWB_OK);
    CHECK(b->event_query(e) == CWB_OK && b->event_sync(e) == CWB_OK);
    float ms = -1;
    CHECK(b->event_elapsed(e, f, &ms) == CWB_INVALID);

    /* s: gate, event, add 1. t: waits for the event, copies what s made. The gate opens only when all is queued. */
    uint64_t data = alloc(4096), flag = alloc(256), copy = alloc(4096);
    CHECK(launch(s, GATE, 1, 1, flag, 0, 0) == CWB_OK);
    CHECK(launch(s, ADD, 32, 32, data, 5, 0) == CWB_OK);
    CHECK(b->event_record(e, s) == CWB_OK);
    CHECK(b->stream_host_fn(s, note, (void *)(intptr_t)1) == CWB_OK);
    CHECK(b->stream_wait_event(t, e) == CWB_OK);
    CHECK(b->stream_host_fn(t, note, (void *)(intptr_t)2) == CWB_OK);
    struct cwb_copy c = { .dst = { CWB_LOC_DEVICE, copy }, .src = { CWB_LOC_DEVICE, data }, .width = 4096, .height = 1, .depth = 1 };
    CHECK(b->stream_copy(t, &c) == CWB_OK);
    CHECK(launch(t, ADD, 32, 32, copy, 1, 0) == CWB_OK);
    CHECK(b->event_record(f, t) == CWB_OK);
    CHECK(b->stream_query(s) == CWB_NOT_READY && b->stream_query(t) == CWB_NOT_READY && b->event_query(e) == CWB_NOT_READY);
    CHECK(b->event_elapsed(e, f, &ms) == CWB_NOT_READY);
    CHECK(host_calls == 0);
    __atomic_store_n((uint32_t *)(uintptr_t)flag, 1, __ATOMIC_SEQ_CST);
    CHECK(b->event_sync(f) == CWB_OK && b->event_query(e) == CWB_OK);
    CHECK(b->event_elapsed(e, f, &ms) == CWB_OK && ms >= 0 && ms < 5000, "%f", ms);
    uint32_t *v = (uint32_t *)(uintptr_t)copy;
    CHECK(v[0] == 6 && v[1023] == 6, "%u", v[0]);
    CHECK(b->context_sync(ctx) == CWB_OK && host_calls == 2);
    CHECK(host_order[0] + host_order[1] == 3);

    /* A wait keeps the record it saw: re-recording behind a closed gate does not delay it. */
    __atomic_store_n((uint32_t *)(uintptr_t)flag, 0, __ATOMIC_SEQ_CST);
    CHECK(b->event_record(e, s) == CWB_OK && b->stream_sync(s) == CWB_OK);
    CHECK(b->stream_wait_event(t, e) == CWB_OK);
    CHECK(launch(s, GATE, 1, 1, flag, 0, 0) == CWB_OK && b->event_record(e, s) == CWB_OK);
    CHECK(b->stream_sync(t) == CWB_OK && b->event_query(e) == CWB_NOT_READY);

    /* Destroying a stream and an event with work pending. */
    b->event_destroy(e);
    CHECK(b->stream_host_fn(s, note, (void *)(intptr_t)7) == CWB_OK);
    b->stream_destroy(s);
    __atomic_store_n((uint32_t *)(uintptr_t)flag, 1, __ATOMIC_SEQ_CST);
    CHECK(b->context_sync(ctx) == CWB_OK);

    /* Stream values. */
    uint32_t *w = (uint32_t *)(uintptr_t)flag;
    __atomic_store_n(w, 0, __ATOMIC_SEQ_CST);
    CHECK(b->stream_create(ctx, 0, &s) == CWB_OK);
    CHECK(b->stream_wait_value(s, flag, 3, 32, CWB_COMPARE_GEQ) == CWB_OK);
    CHECK(b->stream_write_value(s, flag + 8, 0x1234567890ull, 64) == CWB_OK);
    CHECK(b->stream_query(s) == CWB_NOT_READY);
    CHECK(b->stream_write_value(t, flag, 4, 32) == CWB_OK);
    CHECK(b->stream_sync(s) == CWB_OK && *(uint64_t *)(uintptr_t)(flag + 8) == 0x1234567890ull);
    CHECK(b->stream_wait_value(s, flag + 2, 3, 32, CWB_COMPARE_GEQ) == CWB_INVALID);

    struct cwb_fill fill = { .dst = { CWB_LOC_DEVICE, copy, .pitch = 64 }, .value = 0xabcd, .size = 2, .width = 3, .height = 2, .depth = 1 };
    CHECK(b->stream_fill(s, &fill) == CWB_OK && b->stream_sync(s) == CWB_OK);
    CHECK(v[0] == 0xabcdabcd && v[1] == 0xabcd && v[16] == 0xabcdabcd && v[17] == 0xabcd && v[2] == 6, "%x %x", v[1], v[17]);

    /* Many small launches in two streams; the events keep them apart. */
    memset((void *)(uintptr_t)data, 0, 4096);
    for (int i = 0; i < 200; i++) {
        struct cwb_stream *x = i % 2 ? s : t, *y = i % 2 ? t : s;
        CHECK(launch(x, ADD, 2, 32, data, 1, 0) == CWB_OK);
        CHECK(b->event_record(f, x) == CWB_OK && b->stream_wait_event(y, f) == CWB_OK);
    }
    CHECK(b->context_sync(ctx) == CWB_OK && *(uint32_t *)(uintptr_t)data == 200);

    b->event_destroy(f);
    b->stream_destroy(s);
    b->stream_destroy(t);
    CHECK(b->context_sync(ctx) == CWB_OK);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, data, 4096) == CWB_OK);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, copy, 4096) == CWB_OK);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, flag, 256) == CWB_OK);
}

static void
test_arrays(void)
{
    struct cwb_stream *s;
    struct cwb_array *a;
    CHECK(b->stream_create(ctx, 0, &s) == CWB_OK);
    struct cwb_array_desc d = { .width = 5, .height = 4, .format = CWB_FORMAT_U8, .channels = 1, .levels = 1 };
    CHECK(b->array_create(ctx, &d, &a) == CWB_OK);
    uint8_t in[20], out[20] = { 0 };
    for (int i = 0; i < 20; i++)
        in[i] = (uint8_t)(i + 1);
    struct cwb_copy up = { .dst = { CWB_LOC_ARRAY, .array = a }, .src = { CWB_LOC_HOST, (uintptr_t)in, .pitch = 5 }, .width = 5, .height = 4, .depth = 1 };
    CHECK(b->stream_copy(s, &up) == CWB_OK);
    struct cwb_copy down = { .dst = { CWB_LOC_HOST, (uintptr_t)out, .pitch = 5 }, .src = { CWB_LOC_ARRAY, .array = a }, .width = 5, .height = 4, .depth = 1 };
    CHECK(b->stream_copy(s, &down) == CWB_OK && b->stream_sync(s) == CWB_OK && !memcmp(in, out, 20));

    /* The texture is destroyed while the kernel that uses it waits behind a gate. */
    struct cwb_texture_desc td = { .kind = CWB_TEX_ARRAY, .array = a, .format = CWB_FORMAT_U8, .channels = 1, .read_as_integer = true };
    uint64_t tex, gone, data = alloc(256), flag = alloc(256);
    CHECK(b->texture_create(ctx, &td, &tex) == CWB_OK && tex);
    CHECK(launch(s, GATE, 1, 1, flag, 0, 0) == CWB_OK && launch(s, FETCH, 1, 1, data, 0, tex) == CWB_OK);
    b->texture_destroy(ctx, tex);
    CHECK(b->texture_create(ctx, &td, &gone) == CWB_OK && gone != tex);
    b->texture_destroy(ctx, gone);
    __atomic_store_n((uint32_t *)(uintptr_t)flag, 1, __ATOMIC_SEQ_CST);
    CHECK(b->stream_sync(s) == CWB_OK && *(uint32_t *)(uintptr_t)data == 2 * 5 + 1 + 1);
    /* Now it is gone, and using it is a fault. */
    CHECK(launch(s, FETCH, 1, 1, data, 0, tex) == CWB_OK && b->stream_sync(s) == CWB_ILLEGAL_ADDRESS);
    b->stream_destroy(s);
    b->context_sync(ctx);
    b->array_destroy(a);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, data, 256) == CWB_OK);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, flag, 256) == CWB_OK);
}

static void
test_fault(void)
{
    struct cwb_stream *s;
    uint64_t data = alloc(256), hole = alloc(2 << 20);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, hole, 2 << 20) == CWB_OK);
    CHECK(b->stream_create(ctx, 0, &s) == CWB_OK);
    host_calls = 0;
    CHECK(launch(s, FAULT, 1, 1, hole, 0, 0) == CWB_OK && launch(s, ADD, 1, 32, data, 1, 0) == CWB_OK);
    CHECK(b->stream_host_fn(s, note, (void *)(intptr_t)1) == CWB_OK);
    CHECK(b->stream_sync(s) == CWB_ILLEGAL_ADDRESS && b->context_error(ctx) == CWB_ILLEGAL_ADDRESS);
    CHECK(b->stream_query(s) == CWB_ILLEGAL_ADDRESS && *(uint32_t *)(uintptr_t)data == 0);
    CHECK(host_calls == 1 && host_order[0] == 1 + 100 * CWB_ILLEGAL_ADDRESS);
    b->stream_destroy(s);
    CHECK(b->context_sync(ctx) == CWB_ILLEGAL_ADDRESS);
    CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, data, 256) == CWB_OK);
}

static void
test_vmm(void)
{
    uint64_t at, again;
    struct cwb_phys *p;
    enum { M = 2 << 20 };
    CHECK(b->va_reserve(2 * M, M, 0, &at) == CWB_OK && b->phys_create(0, M, false, &p) == CWB_OK);
    CHECK(b->va_reserve(M, M, at, &again) == CWB_ADDRESS_IN_USE);
    CHECK(b->va_map(at, M, p, 0) == CWB_OK && b->va_map(at + M, M, p, 0) == CWB_OK);
    CHECK(b->va_protect(at, 2 * M, true, true) == CWB_OK);
    b->phys_destroy(p);
    *(volatile uint32_t *)(uintptr_t)(at + 8) = 77;
    CHECK(*(volatile uint32_t *)(uintptr_t)(at + M + 8) == 77);
    CHECK(b->va_unmap(at, 2 * M) == CWB_OK && b->va_release(at, 2 * M) == CWB_OK);
    CHECK(b->va_reserve(M, M, at, &again) == CWB_OK && again == at && b->va_release(at, M) == CWB_OK);
}

static void
test_shutdown(void)
{
    struct cwb_stream *s;
    uint64_t flag = alloc(256);
    CHECK(b->stream_create(ctx, 0, &s) == CWB_OK);
    host_calls = 0;
    CHECK(b->stream_wait_value(s, flag, 1, 32, CWB_COMPARE_EQ) == CWB_OK);
    CHECK(b->stream_host_fn(s, note, (void *)(intptr_t)3) == CWB_OK);
    b->shutdown();
    CHECK(host_calls == 1 && host_order[0] == 3 + 100 * CWB_SHUT_DOWN, "%d %d", host_calls, host_order[0]);
    CHECK(b->stream_host_fn(s, note, NULL) == CWB_SHUT_DOWN);
    b->stream_destroy(s);
}

int
main(void)
{
    uint32_t count = 0;
    setenv("CUDAWAY_LOG", "off", 1);
    CHECK(b->open("O7", &count) == CWB_NO_DEVICE);
    CHECK(b->open(NULL, &count) == CWB_OK && count == 1);
    open_context();
    CHECK(with_linear_x == NKERNELS && with_o0 == 0);
    test_props();
    test_module();
    test_streams();
    test_vmm();
    test_arrays();
    close_context();
    open_context();
    test_fault();
    close_context();

    with_linear_x = 0;
    CHECK(b->open("O0", &count) == CWB_OK);
    open_context();
    CHECK(with_linear_x == 0 && with_o0 == NKERNELS);
    {
        struct cwb_stream *s;
        uint64_t data = alloc(4096);
        CHECK(b->stream_create(ctx, 0, &s) == CWB_OK && launch(s, ADD, 1, 1000, data, 3, 0) == CWB_OK && b->stream_sync(s) == CWB_OK);
        CHECK(((uint32_t *)(uintptr_t)data)[999] == 3 && ((uint32_t *)(uintptr_t)data)[1000] == 0);
        b->stream_destroy(s);
        CHECK(b->mem_free(ctx, CWB_MEM_DEVICE, data, 4096) == CWB_OK);
    }
    test_shutdown();
    b->context_sync(ctx);
    b->module_unload(mod);
    b->context_destroy(ctx);
    return check_result();
}
