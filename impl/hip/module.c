/* SPDX-License-Identifier: Apache-2.0
 * Modules and kernels of the hip device. A module's variables are one data segment in device memory, whichever kernels are
 * compiled. Each kernel becomes a code object of its own when it is first requested, which finds the data segment through its
 * variable cudaway_image (docs/amd-abi.md). */
#define _GNU_SOURCE
#include "impl/host/matrix.h"
#include "impl/hip/device.h"

#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/log.h"
#include "jit/jit.h"

#include <stdlib.h>
#include <string.h>

/* The data segment's contents, relocated to `address`; NULL when out of memory or damaged. */
static uint8_t *
relocated(const struct cwj_image *img, uint64_t address)
{
    uint8_t *p = malloc(img->size ? img->size : 1);
    if (!p)
        return NULL;
    if (img->init)
        memcpy(p, img->init, img->size);
    else
        memset(p, 0, img->size);
    for (uint32_t i = 0; i < img->nrelocs; i++) {
        const struct cwj_reloc *r = &img->relocs[i];
        if (!r->width || r->width > 8 || r->shift > 63 || r->offset > img->size || r->width > img->size - r->offset) {
            free(p);
            return NULL;
        }
        uint64_t v = r->target + (uint64_t)r->addend;
        if (r->kind == CWJ_RELOC_IMAGE)
            v += address;
        v >>= r->shift;
        memcpy(p + r->offset, &v, r->width);
    }
    return p;
}

/* The data segment. The host reads and writes managed variables where they are, so a segment with one is managed as a whole. */
static hipError_t
allocate_image(const struct cwj_api *jit, struct cwj_program *program, size_t size, void **out)
{
    for (uint32_t i = 0; i < jit->variable_count(program); i++)
        if (jit->variable(program, i)->managed)
            return hip.hipMallocManaged(out, size, hipMemAttachGlobal);
    return hip.hipMalloc(out, size);
}

cwb_result
hip_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                uint64_t *image_address)
{
    const struct cwj_image *img = jit->image(program);
    struct cwb_module *m = calloc(1, sizeof *m);
    if (!m)
        return CWB_NOMEM;
    m->c = c;
    m->jit = jit;
    m->program = program;
    m->nkernels = jit->kernel_count(program);
    m->kernels = calloc(m->nkernels ? m->nkernels : 1, sizeof *m->kernels);
    pthread_mutex_init(&m->lock, NULL);
    hip_use(c);
    hipError_t e = m->kernels ? allocate_image(jit, program, img && img->size ? img->size : 16, &m->image) : hipErrorOutOfMemory;
    if (e == hipSuccess && img && img->size) {
        uint8_t *bytes = relocated(img, (uintptr_t)m->image);
        e = bytes ? hip.hipMemcpy(m->image, bytes, img->size, hipMemcpyDefault) : hipErrorOutOfMemory;
        free(bytes);
    }
    if (e != hipSuccess) {
        hip_module_unload(m);
        return hip_result(e);
    }
    *out = m;
    *image_address = (uintptr_t)m->image;
    return CWB_OK;
}

void
hip_module_unload(struct cwb_module *m)
{
    hip_use(m->c);
    for (uint32_t i = 0; m->kernels && i < m->nkernels; i++) {
        struct cwb_kernel *k = m->kernels[i];
        if (!k)
            continue;
        for (unsigned c = 0; c < HIP_CODES; c++) {
            if (k->code[c].module)
                (void)hip.hipModuleUnload(k->code[c].module);
        }
        pthread_mutex_destroy(&k->lock);
        free(k);
    }
    free(m->kernels);
    if (m->image)
        (void)hip.hipFree(m->image);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static unsigned
native_floats(void)
{
    static atomic_bool said;
    const char *v = cw_env_get(CW_ENV_FLOATS);
    unsigned native = 0;
    if (v && *v && !cwj_parse_floats(v, &native) && !atomic_exchange(&said, true))
        cw_warn("%s=%s is not exact, native, or native: and a list of nan, ftz and approx; exact is taken", cw_env_name(CW_ENV_FLOATS), v);
    return native;
}

static bool
checked_faults(void)
{
    static atomic_bool said;
    const char *v = cw_env_get(CW_ENV_FAULTS);
    if (v && *v && strcmp(v, "exact") && strcmp(v, "native") && !atomic_exchange(&said, true))
        cw_warn("%s=%s is neither exact nor native; native is taken", cw_env_name(CW_ENV_FAULTS), v);
    return v && !strcmp(v, "exact");
}

enum { MAX_GROUP = 1024, MAX_ONE_WARP_PER_WAVE = MAX_GROUP / 2 };       /* work-items of a group; threads of a block with one warp per wave */

/* Under k->lock: k->code[purpose]. */
static cwb_result
compile(struct cwb_kernel *k, enum hip_purpose purpose, struct cw_buf *log)
{
    struct hip_code *to = &k->code[purpose];
    struct cwb_module *m = k->module;
    const char *const names[] = { m->jit->kernel(m->program, k->index)->name, NULL };
    struct cwj_aot_options o = { .target = CWJ_TARGET_AMDGCN, .cpu = hip_arch(m->c->device), .emit = CWJ_EMIT_OBJ, .opt_level = 3,
                                 .kernels = names, .module_image = true, .cache = true,
                                 .matrix_sm = cwh_matrix_model()->sm, .matrix_native = cwh_matrix_native(),
                                 .native_floats = native_floats(), .one_warp_per_wave = hip_one_warp_per_wave(purpose),
                                 .all_blocks = purpose == HIP_ALL || hip_in_clusters(purpose), .clusters = hip_in_clusters(purpose), .from_cache = &to->from_cache, .textures_native = m->c->images,
                                 .checked = checked_faults() };
    struct cwj_diags diags;
    struct cw_buf code, text;
    cw_buf_init(&code);
    cw_buf_init(&text);
    m->jit->diags_init(&diags);
    cw_result r = m->jit->aot(m->program, &o, &code, &diags);
    if (diags.first)
        m->jit->diags_render(&diags, names[0], NULL, 0, &text);
    m->jit->diags_finish(&diags);
    if (text.size) {
        if (log)
            cw_buf_append(log, text.data, text.size);
        else if (r)
            cw_error("%s", text.data);
        else
            cw_warn("%s", text.data);
    }
    cwb_result result = r == CW_OK ? CWB_OK : r == CW_ERR_NOMEM ? CWB_NOMEM : r == CW_ERR_IO ? CWB_SYSTEM : CWB_COMPILE;
    if (result == CWB_OK) {
        hipDeviceptr_t p = NULL;
        hipFunction_t function = NULL;
        size_t size = 0;
        hip_use(m->c);
        hipError_t e = hip.hipModuleLoadData(&to->module, code.data);
        if (e == hipSuccess)
            e = hip.hipModuleGetFunction(&function, to->module, names[0]);
        /* A kernel that uses no variables has none of it. */
        if (e == hipSuccess && hip.hipModuleGetGlobal(&p, &size, to->module, "cudaway_image") == hipSuccess && size == sizeof m->image)
            e = hip.hipMemcpy(p, &m->image, sizeof m->image, hipMemcpyDefault);
        else
            (void)hip.hipGetLastError();
        if (e == hipSuccess) {
            size = 0;
            to->launch_numbers = hip.hipModuleGetGlobal(&p, &size, to->module, "cudaway_launch") == hipSuccess && size == sizeof(uint64_t);
            if (!to->launch_numbers)
                (void)hip.hipGetLastError();
        }
        int most;
        to->most = MAX_GROUP;
        if (e == hipSuccess && hip.hipFuncGetAttribute(&most, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == hipSuccess && most > 0)
            to->most = (uint32_t)most;
        if (e == hipSuccess)
            e = hip_shared_give(m->c, to->module);
        if (e == hipSuccess)
            atomic_store_explicit(&to->function, function, memory_order_release);
        if (e != hipSuccess) {
            cw_error("%s: the HIP runtime does not take the code object for %s (error %d)", names[0], o.cpu, e);
            result = hip_result(e);
            if (to->module)
                (void)hip.hipModuleUnload(to->module);
            to->module = NULL;
        }
    } else if (result == CWB_COMPILE) {
        to->failed = result;
    }
    cw_buf_finish(&code);
    cw_buf_finish(&text);
    return result;
}

/* Under k->lock. A refusal of the compiler is final; HIP may have the memory later. */
static cwb_result
ready(struct cwb_kernel *k, enum hip_purpose purpose, struct cw_buf *log)
{
    const struct hip_code *c = &k->code[purpose];
    return c->function ? CWB_OK : c->failed != CWB_OK ? c->failed : compile(k, purpose, log);
}

static cwb_result
ready_locked(struct cwb_kernel *k, enum hip_purpose purpose, struct cw_buf *log)
{
    pthread_mutex_lock(&k->lock);
    cwb_result r = ready(k, purpose, log);
    pthread_mutex_unlock(&k->lock);
    return r;
}

static enum hip_purpose
purpose_of(bool one_warp_per_wave, bool clusters)
{
    return clusters ? one_warp_per_wave ? HIP_CLUSTERS_ONE_WARP_PER_WAVE : HIP_CLUSTERS : one_warp_per_wave ? HIP_ONE_WARP_PER_WAVE : HIP_USUAL;
}

/* What the kernel is most likely launched for. */
static enum hip_purpose
first_purpose(const struct cwb_kernel *k)
{
    const uint32_t *n = k->module->jit->kernel(k->module->program, k->index)->cluster;
    return purpose_of(k->one_warp_per_wave, k->uses_clusters && n[0] * n[1] * n[2] > 1);
}

/* ---- one warp a wave ---- */

static void
choose_warps(struct cwb_kernel *k)
{
    static atomic_bool said;
    const char *v = cw_env_get(CW_ENV_WARPS_PER_WAVE);
    if (v && *v && strcmp(v, "auto") && strcmp(v, "1") && strcmp(v, "2") && !atomic_exchange(&said, true))
        cw_warn("%s=%s is neither auto nor 1 nor 2; auto is taken", cw_env_name(CW_ENV_WARPS_PER_WAVE), v);
    if (!cwj_amd_wave64(hip_arch(k->module->c->device)))
        return;
    if (v && !strcmp(v, "2"))
        return;
    enum cwj_progress waits = k->module->jit->independent_progress(k->module->program, k->index);
    k->one_warp_per_wave = waits != CWJ_PROGRESS_COMMON || (v && !strcmp(v, "1"));
    k->must = waits == CWJ_PROGRESS_REQUIRED;
    if (waits != CWJ_PROGRESS_COMMON)
        cw_debug("%s: its warps %s for each other, so each has a wave of its own", k->module->jit->kernel(k->module->program, k->index)->name,
                 k->must ? "wait" : "may wait");
}

struct hip_code *
hip_code_for(struct cwb_kernel *k, uint32_t threads, bool clusters, cwb_result *r)
{
    bool one = k->one_warp_per_wave && cwj_amd_group(threads) <= MAX_GROUP;
    enum hip_purpose purpose = purpose_of(one, clusters);
    struct hip_code *c = &k->code[purpose];
    *r = CWB_INTERNAL;                  /* the driver compiles a kernel before its first launch, for first_purpose */
    if (one != k->one_warp_per_wave) {
        const char *name = k->module->jit->kernel(k->module->program, k->index)->name;
        if (k->must) {                  /* the driver knows that from hip_kernel_facts */
            *r = CWB_INVALID;
            return NULL;
        }
        if (!atomic_exchange(&k->warned, true))
            cw_warn("%s: a block of %u threads has no room for a wave of 64 lanes for each warp (%d threads at most), so two share one; if "
                    "they wait for each other, the launch does not end (docs/amd.md)", name, threads, MAX_ONE_WARP_PER_WAVE);
    }
    bool there = atomic_load_explicit(&c->function, memory_order_acquire) != NULL;
    if (!there) {
        *r = ready_locked(k, purpose, NULL);
        there = atomic_load_explicit(&c->function, memory_order_acquire) != NULL;
    }
    if (there && purpose == HIP_USUAL && threads > c->most) {
        c = &k->code[HIP_ALL];
        *r = ready_locked(k, HIP_ALL, NULL);
        there = atomic_load_explicit(&c->function, memory_order_acquire) != NULL;
    }
    return there ? c : NULL;
}

cwb_result
hip_kernel_prepare(struct cwb_module *m, uint32_t index, bool now, struct cwb_kernel **out, struct cw_buf *log)
{
    if (index >= m->nkernels)
        return CWB_INVALID;
    pthread_mutex_lock(&m->lock);
    struct cwb_kernel *k = m->kernels[index];
    if (!k && (k = calloc(1, sizeof *k))) {
        k->module = m;
        k->index = index;
        k->uses_clusters = m->jit->uses_clusters(m->program, index);
        choose_warps(k);
        pthread_mutex_init(&k->lock, NULL);
        m->kernels[index] = k;
    }
    pthread_mutex_unlock(&m->lock);
    if (!k)
        return CWB_NOMEM;
    *out = k;
    cwb_result r = CWB_OK;
    if (now)
        r = ready_locked(k, first_purpose(k), log);
    return r;
}

cwb_result
hip_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *out)
{
    const struct cwj_kernel *i = k->module->jit->kernel(k->module->program, k->index);
    memset(out, 0, sizeof *out);
    const uint32_t *n = i->reqntid[0] ? i->reqntid : i->maxntid;
    if (n[0])
        out->max_threads_per_block = n[0] * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
    out->static_shared = i->static_shared;
    out->local_bytes = i->local_bytes;
    const struct cwj_image *image = k->module->jit->image(k->module->program);
    out->const_bytes = image ? image->const_bytes : 0;
    out->registers = i->nregs;
    out->ptx_version = i->ptx_version;
    out->binary_version = i->sm;
    if (k->one_warp_per_wave)
        out->one_warp_per_wave_threads = MAX_ONE_WARP_PER_WAVE;
    if (k->one_warp_per_wave && k->must && (!out->max_threads_per_block || out->max_threads_per_block > MAX_ONE_WARP_PER_WAVE)) {
        out->max_threads_per_block = MAX_ONE_WARP_PER_WAVE;
        out->limit_reason = "each of its warps has a wave of 64 lanes for itself, since they wait for each other (docs/amd.md; "
                            "CUDAWAY_WARPS_PER_WAVE=2 puts two into one)";
    }
    pthread_mutex_lock(&k->lock);
    int v;
    out->from_cache = k->code[first_purpose(k)].from_cache;
    hipFunction_t function = k->code[first_purpose(k)].function;
    if (function) {
        if (hip.hipFuncGetAttribute(&v, HIP_FUNC_ATTRIBUTE_NUM_REGS, function) == hipSuccess)
            out->registers = (uint32_t)v;
        if (hip.hipFuncGetAttribute(&v, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) == hipSuccess)
            out->local_bytes = (uint32_t)v;
    }
    pthread_mutex_unlock(&k->lock);
    return CWB_OK;
}
