/* SPDX-License-Identifier: Apache-2.0
 * Module instances and kernels of the host device: the data segment in device memory, compilation on demand in one or two
 * variants, and turning a queued launch into one that the engine runs. */
#define _GNU_SOURCE
#include "impl/host/device.h"
#include "impl/host/isolate.h"
#include "impl/host/tier.h"

#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/log.h"
#include "impl/va.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules ---- */

static bool
relocate(uint8_t *image, const struct cwj_image *img)
{
    for (uint32_t i = 0; i < img->nrelocs; i++) {
        const struct cwj_reloc *r = &img->relocs[i];
        if (!r->width || r->width > 8 || r->shift > 63 || r->offset > img->size || r->width > img->size - r->offset)
            return false;
        uint64_t v = r->target + (uint64_t)r->addend;
        if (r->kind == CWJ_RELOC_IMAGE)
            v += (uintptr_t)image;
        if (img->addr32)
            v = (uint32_t)v;
        v >>= r->shift;
        memcpy(image + r->offset, &v, r->width);
    }
    return true;
}

cwb_result
cwh_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                uint64_t *image_address)
{
    const struct cwj_image *img = jit->image(program);
    struct cwb_module *m = calloc(1, sizeof *m);
    cwb_result r = CWB_NOMEM;
    if (!m)
        return r;
    m->context = c;
    m->jit = jit;
    m->program = program;
    m->nkernels = jit->kernel_count(program);
    m->kernels = calloc(m->nkernels ? m->nkernels : 1, sizeof *m->kernels);
    pthread_mutex_init(&m->lock, NULL);
    if (!m->kernels)
        goto fail;
    if (img && img->addr32) {
        r = cw_va_window_open(CWH_ADDR32_SHARED, &m->window);
        if (r != CWB_OK)
            goto fail;
        int outside = atomic_load(&cwh_device.host_blocks);
        if (outside)
            cw_warn("a module with 32-bit addresses cannot reach the %d blocks of host memory that were allocated or registered before it "
                    "was loaded", outside);
    }
    uint64_t address = 0;
    m->image_size = img && img->size ? img->size : 16;
    r = cw_va_alloc_pages(m->image_size, img ? img->align : 0, &address);       /* it may have managed variables */
    if (r != CWB_OK)
        goto fail;
    m->image = (uint8_t *)(uintptr_t)address;
    if (img && img->size) {
        if (img->init)
            memcpy(m->image, img->init, img->size);
        else
            memset(m->image, 0, img->size);
        r = CWB_INTERNAL;
        if (!relocate(m->image, img))
            goto fail;
    }
    *out = m;
    *image_address = address;
    return CWB_OK;

fail:
    cwh_module_unload(m);
    return r;
}

static void
kernel_destroy(struct cwb_kernel *k)
{
    if (!k)
        return;
    for (int i = 0; i < CWH_SHAPES; i++) {
        if (k->code[i])
            k->module->jit->host_release(k->code[i]);
        if (k->quick[i])
            k->module->jit->host_release(k->quick[i]);
    }
    pthread_mutex_destroy(&k->lock);
    free(k);
}

void
cwh_module_unload(struct cwb_module *m)
{
    if (!m)
        return;
    cwh_tier_forget(m);
    for (uint32_t i = 0; m->kernels && i < m->nkernels; i++)
        kernel_destroy(m->kernels[i]);
    free(m->kernels);
    if (m->image)
        (void)cw_va_free((uintptr_t)m->image, m->image_size);
    if (m->window)
        cw_va_window_close();
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- kernels ---- */

struct cwh_variant
cwh_variant_of(enum cwh_shape shape)
{
    return (struct cwh_variant){ .linear_x = shape != CWH_ANY, .max_width8 = shape == CWH_SHORT_ROWS, .o0 = cwh_device.o0, .bounded = cwh_device.checked };
}

const struct cwj_host_runtime *
cwh_runtime(void)
{
    return cwh_isolated() ? cwh_isolate_runtime() : cwh_exec_runtime();
}

/* *quick: not optimised, since that would take long. */
static cw_result
compile(struct cwb_kernel *k, enum cwh_shape shape, struct cwj_diags *diags, bool *quick)
{
    const struct cwj_api *jit = k->module->jit;
    struct cwh_variant v = cwh_variant_of(shape);
    *quick = false;
    if (cwh_tier_applies(k)) {
        v.tier = CWH_TIER_CACHED;
        cw_result e = jit->host_compile(k->module->program, k->index, &v, cwh_runtime(), &k->code[shape], diags);
        if (e != CW_ERR_NOT_FOUND)
            return e;
        cwh_tier_quick(k, &v);
        *quick = true;
    }
    return jit->host_compile(k->module->program, k->index, &v, cwh_runtime(), &k->code[shape], diags);
}

/* Gangs are single threads: rows need no variants. */
static bool
one_lane(void)
{
    return cwh_device.o0 || cwh_device.checked;
}

/* The code of a variant, compiled now if it is not there. Messages go to `log`, or to the log when that is NULL. */
static cwb_result
kernel_code(struct cwb_kernel *k, enum cwh_shape shape, struct cw_buf *log, struct cwj_host_code **out)
{
    const struct cwj_api *jit = k->module->jit;
    cwb_result r = CWB_OK;
    bool quick = false;
    pthread_mutex_lock(&k->lock);
    if (!k->code[shape] && k->failed[shape] == CWB_OK) {
        struct cwj_diags diags;
        jit->diags_init(&diags);
        uint64_t start = cwh_now();
        cw_result e = compile(k, shape, &diags, &quick);
        struct cw_buf text;
        cw_buf_init(&text);
        const bool ending = e != CW_OK && diags.first && diags.first->code == CWH_ENDING;      /* the process: nobody waits for the kernel */
        if (diags.first)
            jit->diags_render(&diags, k->info->name, NULL, 0, &text);
        jit->diags_finish(&diags);
        if (ending) {
            k->code[shape] = NULL;
            k->failed[shape] = CWB_SHUT_DOWN;
            cw_debug("%s", text.data ? text.data : "");
            text.size = 0;
        } else if (e != CW_OK) {
            k->code[shape] = NULL;
            quick = false;
            if (e == CW_ERR_NOMEM || e == CW_ERR_IO)
                r = e == CW_ERR_IO ? CWB_SYSTEM : CWB_NOMEM;        /* now: the next launch compiles it */
            else
                k->failed[shape] = CWB_COMPILE;
            if (!text.size)
                cw_buf_printf(&text, "kernel %s: %s\n", k->info->name, cw_result_text(e));
        } else {
            cw_info("kernel %s: %s in %.1f ms, gangs of %u%s", k->info->name, k->code[shape]->from_cache ? "loaded" : "compiled",
                    (double)(cwh_now() - start) / 1e6, k->code[shape]->info.width, k->code[shape]->info.uses_fibers ? ", barriers" : "");
            if (k->info->too_large && !cwh_device.o0 && !quick)
                cw_info("kernel %s has %u instructions, which is too much to optimise: its code is plain (docs/contain.md)", k->info->name, k->info->instructions);
        }
        if (text.size && log)
            cw_buf_append(log, text.data, text.size);
        else if (text.size)
            cw_log(e == CW_OK ? CW_LOG_INFO : CW_LOG_ERROR, "%s", text.data);
        cw_buf_finish(&text);
    }
    *out = k->code[shape];
    if (!*out && r == CWB_OK)
        r = k->failed[shape];
    pthread_mutex_unlock(&k->lock);
    if (quick)
        cwh_tier_begin(k, shape);
    return r;
}

cwb_result
cwh_kernel_prepare(struct cwb_module *m, uint32_t index, bool compile, struct cwb_kernel **out, struct cw_buf *log)
{
    if (index >= m->nkernels)
        return CWB_INVALID;
    pthread_mutex_lock(&m->lock);
    struct cwb_kernel *k = m->kernels[index];
    if (!k && (k = calloc(1, sizeof *k))) {
        k->module = m;
        k->index = index;
        k->info = m->jit->kernel(m->program, index);
        pthread_mutex_init(&k->lock, NULL);
        m->kernels[index] = k;
    }
    pthread_mutex_unlock(&m->lock);
    if (!k)
        return CWB_NOMEM;
    *out = k;
    if (!compile)
        return CWB_OK;
    /* Most launches have rows of full gangs: compile that variant in advance. */
    struct cwj_host_code *code;
    bool known = k->info->reqntid[0] != 0;
    return kernel_code(k, !one_lane() && (!known || k->info->reqntid[0] % 32 == 0) ? CWH_ROWS : CWH_ANY, log, &code);
}

cwb_result
cwh_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *out)
{
    const struct cwj_kernel *i = k->info;
    const struct cwb_module *m = k->module;
    memset(out, 0, sizeof *out);
    const uint32_t *limit = i->reqntid[0] ? i->reqntid : i->maxntid;
    if (limit[0]) {
        uint64_t n = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);
        out->max_threads_per_block = n < 1024 ? (uint32_t)n : 1024;
    }
    out->static_shared = i->static_shared;
    out->local_bytes = i->local_bytes;
    out->registers = i->nregs < 16 ? 16 : i->nregs > 255 ? 255 : i->nregs;
    /* Registers per block as the device reports them: 64 Ki for 1024 threads. */
    if (out->registers > 64 && (!out->max_threads_per_block || out->max_threads_per_block > 64))
        out->registers = 64;
    out->ptx_version = i->ptx_version;
    const struct cwj_image *image = m->jit->image(m->program);
    out->const_bytes = image ? image->const_bytes : 0;
    out->binary_version = cw_env_compute_capability();
    pthread_mutex_lock(&k->lock);
    for (int s = 0; s < CWH_SHAPES; s++)
        out->from_cache |= k->code[s] && k->code[s]->from_cache;
    for (int s = 0; s < CWH_SHAPES; s++)
        out->from_cache &= !k->code[s] || k->code[s]->from_cache;
    pthread_mutex_unlock(&k->lock);
    return CWB_OK;
}

/* ---- launches ---- */

/* What a launch that could not be run leaves in its context. */
static cwb_result
sticky(cwb_result r)
{
    return CWB_IS_FAULT(r) || r == CWB_NOMEM ? r : CWB_LAUNCH_FAILED;
}

/* A gang is at most a warp wide, so whole warps per row always suffice; a narrower gang may need less. */
static enum cwh_shape
shape_of(struct cwb_kernel *k, uint32_t row)
{
    enum cwh_shape shape = CWH_ANY;
    if (one_lane())
        return CWH_ANY;
    if (row % 32 == 0)
        return CWH_ROWS;
    pthread_mutex_lock(&k->lock);
    if (k->code[CWH_ROWS] && row % k->code[CWH_ROWS]->info.width == 0)
        shape = CWH_ROWS;
    else if (k->code[CWH_ROWS] && k->code[CWH_ROWS]->info.width == 16 && row % 8 == 0)
        shape = CWH_SHORT_ROWS;
    pthread_mutex_unlock(&k->lock);
    return shape;
}

cwb_result
cwh_kernel_run(struct cwb_context *c, struct cwb_kernel *k, const struct cwb_launch *l, const uint8_t *params)
{
    struct cwj_host_code *code;
    enum cwh_shape shape;
    char message[640];
    cwb_result r;
    do {                                /* again where wider code has taken the place of what the shape was chosen for (tier.h) */
        shape = shape_of(k, l->block[0]);
        r = kernel_code(k, shape, NULL, &code);
    } while (r == CWB_OK && shape == CWH_ROWS && l->block[0] % code->info.width);
    if (r == CWB_SHUT_DOWN)
        return r;
    if (r != CWB_OK) {
        snprintf(message, sizeof message, "kernel %s cannot be compiled for blocks of %u x %u x %u", k->info->name, l->block[0], l->block[1],
                 l->block[2]);
        cwh_context_fault(c, sticky(r), message);
        return r;
    }
    struct cwh_exec_launch e;
    memset(&e, 0, sizeof e);
    memcpy(e.abi.grid, l->grid, sizeof e.abi.grid);
    memcpy(e.abi.block, l->block, sizeof e.abi.block);
    const uint32_t *cluster = l->cluster[0] ? l->cluster : k->info->cluster;
    for (unsigned i = 0; i < 3; i++)
        e.abi.cluster[i] = cluster[i] ? cluster[i] : 1;
    e.abi.explicit_cluster = cluster[0] || k->info->explicit_cluster || l->flags & CWB_LAUNCH_CLUSTER;
    e.abi.params = params;
    e.abi.image = k->module->image;
    e.abi.window = k->module->window;
    e.abi.param_size = k->info->param_size;
    if (cwh_device.checked)
        cw_va_region(&e.abi.region, &e.abi.region_size);
    uint32_t align = code->info.shared_align > 16 ? code->info.shared_align : 16;
    e.abi.dynamic_shared = ((uint64_t)code->info.static_shared + align - 1) & ~(uint64_t)(align - 1);
    e.abi.dynamic_shared_size = l->dynamic_shared;
    e.abi.shared_size = e.abi.dynamic_shared + l->dynamic_shared;
    e.abi.grid_id = atomic_fetch_add(&cwh_device.grid_id, 1) + 1;
    e.run = code->run;
    e.info = code->info;
    e.kernel = k->info->name;
    e.stack_per_thread = atomic_load(&c->stack_limit);
    e.cooperative = l->flags & CWB_LAUNCH_COOPERATIVE;
    e.cost = &k->cost[shape];
    e.heap = c->heap;
    e.output = c->output;
    const uint64_t start = atomic_load_explicit(&k->patience[shape], memory_order_relaxed) ? cwh_now() : 0;
    if (cwh_isolated())
        cwh_isolate_run(c->process, c, &e, k->info->param_size);
    else
        cwh_exec_run(&e);
    if (start)
        cwh_tier_ran(k, shape, cwh_now() - start);
    if (e.result != CWB_OK && e.result != CWB_SHUT_DOWN) {
        uint64_t none = 0;              /* who sees the error finds the number */
        atomic_compare_exchange_strong(&c->failed_launch, &none, l->number);
        cwh_context_fault(c, sticky(e.result), e.message);
    }
    return e.result;
}
