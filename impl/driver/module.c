/* SPDX-License-Identifier: Apache-2.0
 * Modules: an instance of a program's variables in a context, and the functions that were asked for. The backend's kernels
 * live as long as the module; a function object holds a reference to its module, and a module without references is retired until the
 * context's queued work is done, so a launch, under way or queued, outlives an unload that another thread does. */
#define _GNU_SOURCE
#include "impl/driver/driver.h"
#include "impl/base/file.h"
#include "jit/ptx/ir.h"

#include <stdlib.h>

#define MAX_IMAGE_FILE (1ull << 30)

static void
module_finish(struct obj *o)
{
    struct module *m = (struct module *)o;
    o->ctx->b->module_unload(m->be);
    program_unref(m->program);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->launching);
    free(m->funcs);
    free(m->texrefs);
    free(m);
}

static void
func_finish(struct obj *o)
{
    struct func *f = (struct func *)o;
    pthread_mutex_destroy(&f->lock);
    free(f->params);
    handle_put(&f->module->obj);
    free(f);
}

static bool module_end(struct obj *o);
static const struct obj_class module_class = { .kind = KIND_MODULE, .finish = module_finish, .end = module_end, .quiesce = true };
static const struct obj_class func_class = { .kind = KIND_FUNCTION, .finish = func_finish };

/* Where variable `index` is. The variables' memory is known to the driver as one range, or as one for each. */
CUresult
module_address(struct module *m, uint32_t index, uint64_t *address)
{
    const struct cwb_backend *b = m->obj.ctx ? m->obj.ctx->b : g.backend;
    if (b->module_variable)
        return result_of(b->module_variable(m->be, index, address));
    *address = m->image + jit_api()->variable(m->program->p, index)->offset;
    return CUDA_SUCCESS;
}

/* ---- its memory in the table of ranges ---- */

/* A part of the data segment: of ordinary variables, or one managed variable. */
struct piece {
    uint64_t offset, size;
    bool managed;
};

/* The piece behind *offset, whose first variable that is not before it is *next. False: there is none. */
static bool
next_piece(const struct program *p, uint64_t *offset, uint32_t *next, struct piece *out)
{
    const struct cwj_api *api = jit_api();
    uint64_t end = api->image(p->p)->size;
    uint32_t n = api->variable_count(p->p), i = *next;
    while (i < n && (!api->variable(p->p, i)->managed || !api->variable(p->p, i)->size))      /* variables lie in order */
        i++;
    const struct cwj_variable *v = i < n ? api->variable(p->p, i) : NULL;
    if (v && v->offset == *offset) {
        *out = (struct piece){ v->offset, v->size, true };
        i++;
    } else {
        *out = (struct piece){ *offset, (v ? v->offset : end) - *offset, false };
    }
    *offset = out->offset + out->size;
    *next = i;
    return out->size;
}

static void
forget_range(uint64_t address)
{
    struct range r;
    if (range_remove(address, 1u << RANGE_MODULE | 1u << RANGE_VARIABLE, &r))
        range_forget(&r);
}

static void
remove_ranges(const struct cwb_backend *b, struct module *m, struct program *p)
{
    uint64_t a, offset = 0;
    uint32_t n = jit_api()->variable_count(p->p), next = 0;
    struct piece piece;
    while (!b->module_variable && next_piece(p, &offset, &next, &piece))
        forget_range(m->image + piece.offset);
    for (uint32_t i = 0; b->module_variable && i < n; i++)
        if (jit_api()->variable(p->p, i)->size && b->module_variable(m->be, i, &a) == CWB_OK)
            forget_range(a);
}

static CUresult
add_ranges(struct ctx *c, struct module *m, struct program *p)
{
    const struct cwj_api *api = jit_api();
    struct range r = { .ctx = c, .device = c->device, .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    CUresult e = CUDA_SUCCESS;
    uint64_t offset = 0;
    uint32_t n = api->variable_count(p->p), next = 0;
    struct piece piece;
    while (e == CUDA_SUCCESS && !c->b->module_variable && next_piece(p, &offset, &next, &piece)) {
        r.base = m->image + piece.offset;
        r.size = piece.size;
        r.kind = piece.managed ? RANGE_VARIABLE : RANGE_MODULE;
        r.flags = piece.managed ? CU_MEM_ATTACH_GLOBAL : 0;
        e = range_add(&r);
    }
    for (uint32_t i = 0; c->b->module_variable && i < n && e == CUDA_SUCCESS; i++) {
        const struct cwj_variable *v = api->variable(p->p, i);
        r.size = v->size;
        r.kind = v->managed ? RANGE_VARIABLE : RANGE_MODULE;
        r.flags = v->managed ? CU_MEM_ATTACH_GLOBAL : 0;
        if (r.size)
            e = result_of(c->b->module_variable(m->be, i, &r.base));
        if (r.size && e == CUDA_SUCCESS)
            e = range_add(&r);
    }
    if (e != CUDA_SUCCESS)
        remove_ranges(c->b, m, p);
    return e;
}

CUresult
module_make(struct ctx *c, struct program *p, struct module **out)
{
    const struct cwj_api *api = jit_api();
    objects_try(c);
    struct module *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t nk = api->kernel_count(p->p), nv = api->variable_count(p->p);
    m->funcs = calloc(nk ? nk : 1, sizeof *m->funcs);
    m->texrefs = calloc(nv ? nv : 1, sizeof *m->texrefs);
    m->ntexrefs = nv;
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->launching, NULL);
    program_ref(m->program = p);
    CUresult e = m->funcs && m->texrefs ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS)
        e = result_of(c->b->module_load(c->be, api, p->p, &m->be, &m->image));
    if (e == CUDA_SUCCESS)
        e = add_ranges(c, m, p);
    if (e == CUDA_SUCCESS) {
        e = handle_new(&m->obj, &module_class, c);
        if (e != CUDA_SUCCESS)
            remove_ranges(c->b, m, p);
    }
    if (e != CUDA_SUCCESS) {
        if (m->be)
            c->b->module_unload(m->be);
        program_unref(p);
        pthread_mutex_destroy(&m->lock);
        pthread_mutex_destroy(&m->launching);
        free(m->funcs);
        free(m->texrefs);
        free(m);
        return e;
    }
    *out = m;
    return CUDA_SUCCESS;
}

/* End the module's handle and those of what it owns. Memory goes with the last reference. */
static bool
module_end(struct obj *o)
{
    struct module *m = (struct module *)o;
    if (!handle_kill(o))
        return false;
    pthread_mutex_lock(&m->lock);
    uint32_t n = jit_api()->kernel_count(m->program->p);
    struct func **funcs = m->funcs;
    struct texref **refs = m->texrefs;
    m->funcs = NULL;
    m->texrefs = NULL;
    pthread_mutex_unlock(&m->lock);
    remove_ranges(m->obj.ctx->b, m, m->program);
    for (uint32_t i = 0; funcs && i < n; i++) {
        if (funcs[i]) {
            handle_kill(&funcs[i]->obj);
            handle_put(&funcs[i]->obj);
        }
    }
    for (uint32_t i = 0; refs && i < m->ntexrefs; i++) {
        if (refs[i]) {
            handle_kill(&refs[i]->obj);
            handle_put(&refs[i]->obj);
        }
    }
    free(funcs);
    free(refs);
    return true;
}

/* The least of what the kernel's .maxnreg and CU_JIT_MAX_REGISTERS ask for; 0: neither does. */
static uint32_t
max_registers(const struct module *m, const struct func *f)
{
    uint32_t a = f->k->fn ? f->k->fn->maxnreg : 0, b = m->program->max_registers;
    return a && b ? a < b ? a : b : a | b;
}

CUresult
module_function_at(struct module *m, uint32_t index, struct func **out)
{
    struct ctx *c = m->obj.ctx;
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&m->lock);
    if (!m->funcs) {
        e = CUDA_ERROR_INVALID_HANDLE;
    } else if (m->funcs[index]) {
        handle_ref(&m->funcs[index]->obj);
        *out = m->funcs[index];
    }
    pthread_mutex_unlock(&m->lock);
    if (e != CUDA_SUCCESS || *out)
        return e;
    struct func *f = calloc(1, sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&f->lock, NULL);
    f->index = index;
    f->k = jit_api()->kernel(m->program->p, index);
    atomic_init(&f->carveout, -1);
    f->block[0] = f->block[1] = f->block[2] = 1;
    e = result_of(c->b->kernel_prepare(m->be, index, false, &f->be, NULL));
    if (e == CUDA_SUCCESS)
        e = result_of(c->b->kernel_facts(f->be, &f->facts));
    if (e == CUDA_SUCCESS) {
        f->facts.ptx_version = f->k->sm;        /* of .target, which code chooses by (CUB), not of .version */
        if (max_registers(m, f) && f->facts.registers > max_registers(m, f))
            f->facts.registers = max_registers(m, f);
        uint32_t most = f->facts.max_threads_per_block ? f->facts.max_threads_per_block : c->dev->props.max_threads_per_block;
        const uint32_t *limit = f->k->reqntid[0] ? f->k->reqntid : f->k->maxntid;
        if (limit[0]) {
            uint64_t n = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);
            if (n < most)
                most = (uint32_t)n;
        }
        f->facts.max_threads_per_block = most;
        /* Beyond 48 KiB of the kernel's own, all that the device has without being asked (an H200, driver 580). */
        const struct cwb_device_props *has = &c->dev->props;
        uint32_t fixed = f->facts.static_shared, shared = fixed > has->shared_per_block ? has->shared_per_block_optin : has->shared_per_block;
        atomic_init(&f->max_dynamic_shared, (int)(fixed < shared ? shared - fixed : 0));
        handle_ref(&m->obj);
        f->module = m;
        e = handle_new(&f->obj, &func_class, c);
        if (e != CUDA_SUCCESS)
            handle_put(&m->obj);
    }
    if (e != CUDA_SUCCESS) {
        pthread_mutex_destroy(&f->lock);
        free(f);
        return e;
    }
    /* Another thread may have been faster. */
    struct func *mine = f;
    pthread_mutex_lock(&m->lock);
    if (!m->funcs) {
        f = NULL;
    } else if (m->funcs[index]) {
        f = m->funcs[index];
        handle_ref(&f->obj);
    } else {
        handle_ref(&f->obj);            /* the module's list */
        m->funcs[index] = f;
    }
    pthread_mutex_unlock(&m->lock);
    if (f != mine) {
        handle_kill(&mine->obj);
        handle_put(&mine->obj);
    }
    *out = f;
    return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult
module_function(struct module *m, const char *name, struct func **out)
{
    uint32_t i;
    *out = NULL;
    return names_find(m->program, name, NAMED_KERNEL, &i) ? module_function_at(m, i, out) : CUDA_ERROR_NOT_FOUND;
}

CUresult
module_variable(struct module *m, const char *name, uint64_t *address, size_t *size)
{
    uint32_t i;
    if (!names_find(m->program, name, NAMED_VARIABLE, &i))      /* what has the name and is no variable is a wrong value (driver 580) */
        return !*name || names_find(m->program, name, ~0u, &i) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
    *size = jit_api()->variable(m->program->p, i)->size;
    return module_address(m, i, address);
}

/* ---- API ------------------------------------------------------------------------------------------------------------------ */

static CUresult
load(CUmodule *module, const void *image, size_t size, const char *what, unsigned n, CUjit_option *options, void **values)
{
    USABLE(c);
    if (!module || !image)
        return CUDA_ERROR_INVALID_VALUE;
    struct jit_options o;
    CUresult e = jit_options_parse(n, options, values, &o);
    if (e != CUDA_SUCCESS)
        return e;
    struct program *p;
    e = program_load(c->dev, image, size, what, &o, &p);
    if (e != CUDA_SUCCESS)
        return e;
    struct module *m;
    e = module_make(c, p, &m);
    program_unref(p);
    if (e == CUDA_SUCCESS) {
        *module = HANDLE(CUmodule, m);
        handle_put(&m->obj);
    }
    return e;
}

CUresult
drv_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return load(module, image, 0, "module", numOptions, options, optionValues);
}

CUresult
drv_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(module, image, 0, "module", 0, NULL, NULL);
}

CUresult
drv_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return load(module, fatCubin, 0, "fatbin", 0, NULL, NULL);
}

CUresult
drv_cuModuleLoad(CUmodule *module, const char *fname)
{
    USABLE(c);
    (void)c;
    if (!module || !fname)
        return CUDA_ERROR_INVALID_VALUE;
    char *data;
    size_t size;
    cw_result r = cw_file_read(fname, MAX_IMAGE_FILE, &data, &size);
    if (r != CW_OK) {
        cw_log(r == CW_ERR_NOMEM || r == CW_ERR_LIMIT ? CW_LOG_ERROR : CW_LOG_INFO, "%s: %s", fname, cw_result_text(r));    /* programs try */
        return r == CW_ERR_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : r == CW_ERR_LIMIT ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult e = size ? load(module, data, size, fname, 0, NULL, NULL) : CUDA_ERROR_INVALID_IMAGE;
    free(data);
    return e;
}

CUresult
drv_cuModuleUnload(CUmodule hmod)
{
    READY();
    CAPTURE_SAFE();
    struct module *m = handle_get(hmod, KIND_MODULE);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult sticky, e = object_destroy(&m->obj, true, &sticky);
    return e == CUDA_SUCCESS ? sticky : e;      /* gone all the same */
}

CUresult
drv_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    READY();
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    const char *s = secure_getenv("CUDA_MODULE_LOADING");
    *mode = s && !strcmp(s, "EAGER") ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

#define MODULE(m, h)                                                                                                   \
    USABLE(c);                                                                                                         \
    (void)c;                                                                                                           \
    struct module *m AUTO_PUT = handle_get(h, KIND_MODULE);                                                            \
    if (!m)                                                                                                            \
        return CUDA_ERROR_INVALID_HANDLE

CUresult
drv_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    MODULE(m, hmod);
    if (!hfunc || !name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    struct func *f AUTO_PUT = NULL;
    CUresult e = module_function(m, name, &f);
    CUmoduleLoadingMode mode;
    if (e == CUDA_SUCCESS && drv_cuModuleGetLoadingMode(&mode) == CUDA_SUCCESS && mode == CU_MODULE_EAGER_LOADING)
        e = func_ready(f);
    if (e == CUDA_SUCCESS)
        *hfunc = HANDLE(CUfunction, f);
    return e;
}

CUresult
drv_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    MODULE(m, mod);
    *count = jit_api()->kernel_count(m->program->p);
    return CUDA_SUCCESS;
}

CUresult
drv_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    MODULE(m, mod);
    if (!functions)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t n = jit_api()->kernel_count(m->program->p);
    for (uint32_t i = 0; i < n && i < numFunctions; i++) {
        struct func *f AUTO_PUT = NULL;
        CUresult e = module_function_at(m, i, &f);
        if (e != CUDA_SUCCESS)
            return e;
        functions[i] = HANDLE(CUfunction, f);
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    MODULE(m, hmod);
    if ((!dptr && !bytes) || !name)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t a;
    size_t n;
    CUresult e = module_variable(m, name, &a, &n);
    if (e != CUDA_SUCCESS)
        return e;
    if (dptr)
        *dptr = a;
    if (bytes)
        *bytes = n;
    return CUDA_SUCCESS;
}
