/* SPDX-License-Identifier: Apache-2.0
 * See session.h. Order matters: memory gets its addresses before the module is loaded, since the implementation would place the
 * module's variables there; textures come after the memory that they read. */
#define _GNU_SOURCE
#include "replay/session.h"
#include "replay/analyze.h"

#include "impl/base/hash.h"
#include "impl/base/log.h"
#include "replay/array.h"
#include "replay/driver.h"
#include "replay/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Where the implementation's device address region begins (impl/va.h), and how much of it recorded programs may use. */
#define ZONE      0x700000000000ull
#define ZONE_SIZE (256ull << 30)

struct cwd_loaded {
    struct cwd_loaded *next;
    uint8_t key[32];
    CUmodule module;
    bool parsed;
    struct cwd_program program;         /* when parsed */
};

/* ---- opening ---------------------------------------------------------------------------------------------------------------- */

cw_result
cwd_session_open(struct cwd_session *s, const char *on, struct cwd_error *e)
{
    struct cwd_driver d;
    *s = (struct cwd_session){ 0 };
    cw_result r = cwd_driver_open(&d, on, e);
    if (r != CW_OK)
        return r;
    s->cu = d.cu;
    memcpy(s->device, d.name, sizeof s->device);
    s->driver = d.version;
    s->unoptimised = d.unoptimised;
    s->sequential = d.ours && !strncmp(d.name, "CUDAway host", 12);
    s->fuses = !d.ours && !d.unoptimised;
    s->compute_capability = d.compute_capability;
    CUdevice device = d.device;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE } };
    prop.location.id = device;
    size_t granule = 0;
    if (s->cu.cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS)
        s->granule = granule;
    /* Only the implementation has its region there; another driver gives another address. */
    CUdeviceptr zone;
    if (s->granule && d.ours && s->cu.cuMemAddressReserve(&zone, ZONE_SIZE, 0, ZONE, 0) == CUDA_SUCCESS) {
        if (zone == ZONE) {
            s->zone = ZONE;
            s->zone_size = ZONE_SIZE;
        } else {
            s->cu.cuMemAddressFree(zone, ZONE_SIZE);
        }
    }
    return CW_OK;
}

void
cwd_session_close(struct cwd_session *s)
{
    while (s->loaded) {
        struct cwd_loaded *l = s->loaded;
        s->loaded = l->next;
        s->cu.cuModuleUnload(l->module);
        if (l->parsed)
            cwd_program_close(&l->program);
        free(l);
    }
    free(s->spans);
    *s = (struct cwd_session){ 0 };
}

/* ---- one run ---------------------------------------------------------------------------------------------------------------- */

struct texture {
    uint64_t handle;
    bool surface;
};

/* A word of a variable that holds the address of a function. Such addresses are meaningless on another device: the loaded
 * module's own replaces the recorded one. */
struct function_word {
    uint32_t buffer;
    uint64_t offset, recorded, now;
};

struct run {
    struct cwd_session *s;
    struct cwd_loaded *loaded;
    const struct cwd_dump *d;
    struct cwd_error *e;
    struct cwd_outcome *out;
    CUmodule module;
    CUfunction function;
    uint64_t *address;                  /* of each buffer, now; 0: the module has no such variable */
    struct cwd_moves moves;
    CUarray *arrays;
    CUmipmappedArray *mipmaps;
    struct texture *textures;
    uint8_t *params;
    CUdeviceptr *scratch;               /* allocations of this run */
    uint32_t nscratch;
    struct function_word *words;
    uint32_t nwords, capwords;
};

static cw_result
failed(struct run *w, const char *what, CUresult r)
{
    return cwd_fail(w->e, CW_ERR_UNSUPPORTED, "%s on %s: %s", what, w->s->device, cwd_driver_error(&w->s->cu, r));
}

static bool
is_variable(const struct cwd_buffer *b)
{
    return b->kind == CWD_VARIABLE || b->kind == CWD_CONSTANT;
}

static cw_result
place_buffers(struct run *w, unsigned flags)
{
    const struct cwd_dump *d = w->d;
    uint32_t moved = 0;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        if (is_variable(b))
            continue;
        w->address[i] = b->address;
        if (cwd_place(w->s, b->address, b->size, b->kind == CWD_HOST)) {
            if (!cwd_moves_add(&w->moves, b->address, b->address, b->size))
                return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
            continue;
        }
        /* What lies above all that a process can have (side.c) does not find room in another process either. */
        if (!(flags & CWD_RUN_MAY_MOVE) && !(b->address >> 47))
            return cwd_fail(w->e, CW_ERR_NOT_FOUND, "the address 0x%llx of buffer %u is taken in this process",
                            (unsigned long long)b->address, i);
        CUresult r = cwd_place_anywhere(w->s, b->size, &w->address[i]);
        if (r != CUDA_SUCCESS)
            return failed(w, "allocating memory", r);
        w->scratch[w->nscratch++] = w->address[i];
        if (!cwd_moves_add(&w->moves, b->address, w->address[i], b->size))
            return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
        moved++;
    }
    if (moved)
        cw_buf_printf(&w->out->notes, "%u buffers are not at their recorded addresses, which are taken in this process\n", moved);
    return CW_OK;
}

static cw_result
link_inputs(struct run *w, CUmodule *module)
{
    static const CUjitInputType type[] = {
#define X(e, n, j) j,
        CWD_INPUT_MAP(X)
#undef X
    };
    CUlinkState state;
    char log[1024] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL };
    void *values[] = { log, (void *)(uintptr_t)sizeof log, NULL }, *image;
    size_t size;
    CUresult r = w->s->cu.cuLinkCreate_v2(w->s->unoptimised ? 3 : 2, options, values, &state);
    if (r != CUDA_SUCCESS)
        return failed(w, "linking the module", r);
    for (uint32_t i = 0; i < w->d->ninputs && r == CUDA_SUCCESS; i++) {
        const struct cwd_input *in = &w->d->inputs[i];
        r = w->s->cu.cuLinkAddData_v2(state, type[in->kind], in->data, in->size + (in->kind == CWD_PTX), in->name ? in->name : "input", 0,
                                      NULL, NULL);
    }
    if (r == CUDA_SUCCESS)
        r = w->s->cu.cuLinkComplete(state, &image, &size);
    if (r == CUDA_SUCCESS)
        r = w->s->cu.cuModuleLoadData(module, image);
    w->s->cu.cuLinkDestroy(state);
    return r == CUDA_SUCCESS ? CW_OK : failed(w, "linking the module", r);
}

static cw_result
load_module(struct run *w)
{
    const struct cwd_dump *d = w->d;
    struct cw_sha256 h;
    uint8_t key[32];
    cw_sha256_init(&h);
    for (uint32_t i = 0; i < d->ninputs; i++) {
        uint64_t head[2] = { d->inputs[i].kind, d->inputs[i].size };
        cw_sha256_update(&h, head, sizeof head);
        cw_sha256_update(&h, d->inputs[i].data, d->inputs[i].size);
    }
    cw_sha256_finish(&h, key);
    struct cwd_loaded *l = w->s->loaded;
    while (l && memcmp(l->key, key, sizeof key))
        l = l->next;
    if (!l) {
        l = calloc(1, sizeof *l);
        if (!l)
            return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
        cw_result r = CW_OK;
        if (d->linked) {
            r = link_inputs(w, &l->module);
        } else {
            CUjit_option level = CU_JIT_OPTIMIZATION_LEVEL;
            void *none = NULL;
            CUresult c = w->s->unoptimised ? w->s->cu.cuModuleLoadDataEx(&l->module, d->inputs[0].data, 1, &level, &none)
                                           : w->s->cu.cuModuleLoadData(&l->module, d->inputs[0].data);
            if (c != CUDA_SUCCESS)
                r = failed(w, "loading the module", c);
        }
        if (r != CW_OK) {
            free(l);
            return r;
        }
        memcpy(l->key, key, sizeof key);
        l->next = w->s->loaded;
        w->s->loaded = l;
    }
    w->loaded = l;
    w->module = l->module;
    CUresult c = w->s->cu.cuModuleGetFunction(&w->function, w->module, d->kernel);
    if (c != CUDA_SUCCESS)
        return failed(w, "finding the kernel in the module", c);
    if (d->shared > 48u << 10) {
        c = w->s->cu.cuFuncSetAttribute(w->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)d->shared);
        if (c != CUDA_SUCCESS)
            return failed(w, "asking for the recorded dynamic shared memory", c);
    }
    return CW_OK;
}

struct word_visit {
    struct run *w;
    uint32_t buffer;
    CUresult result;
    bool nomem;
};

static void
visit_function_word(void *user, uint64_t offset)
{
    struct word_visit *v = user;
    struct run *w = v->w;
    const struct cwd_buffer *b = &w->d->buffers[v->buffer];
    struct function_word word = { .buffer = v->buffer, .offset = offset };
    if (offset + 8 > b->size || v->nomem || v->result != CUDA_SUCCESS)
        return;
    if (w->nwords == w->capwords) {
        uint32_t cap = w->capwords ? w->capwords * 2 : 16;
        struct function_word *p = realloc(w->words, cap * sizeof *p);
        if (!p) {
            v->nomem = true;
            return;
        }
        w->words = p;
        w->capwords = cap;
    }
    memcpy(&word.recorded, b->before + offset, 8);
    v->result = cwd_copy(w->s, w->address[v->buffer] + offset, (uint8_t *)&word.now, 8, false);
    w->words[w->nwords++] = word;
}

/* After find_variables and before anything is written: the module is as loaded. */
static cw_result
find_function_words(struct run *w)
{
    struct word_visit v = { .w = w, .result = CUDA_SUCCESS };
    struct cwd_loaded *l = w->loaded;
    for (uint32_t i = 0; i < w->d->nbuffers; i++) {
        if (!is_variable(&w->d->buffers[i]) || !w->address[i])
            continue;
        if (!l->parsed)
            cwd_program_open(&l->program, w->d->inputs, w->d->ninputs, w->d->linked, w->s->compute_capability);
        l->parsed = true;
        v.buffer = i;
        cwd_program_function_words(&l->program, w->d->buffers[i].name, visit_function_word, &v);
    }
    if (v.nomem)
        return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
    return v.result == CUDA_SUCCESS ? CW_OK : failed(w, "reading function addresses", v.result);
}

static void
set_function_words(const struct run *w, uint32_t buffer, uint8_t *data, bool back)
{
    for (uint32_t i = 0; i < w->nwords; i++) {
        const struct function_word *f = &w->words[i];
        uint64_t word;
        if (f->buffer != buffer)
            continue;
        memcpy(&word, data + f->offset, sizeof word);
        if (word == (back ? f->now : f->recorded))
            memcpy(data + f->offset, back ? &f->recorded : &f->now, sizeof word);
    }
}

static cw_result
find_variables(struct run *w)
{
    const struct cwd_dump *d = w->d;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        CUdeviceptr p;
        size_t size;
        if (!is_variable(b))
            continue;
        if (w->s->cu.cuModuleGetGlobal_v2(&p, &size, w->module, b->name) != CUDA_SUCCESS) {
            cw_buf_printf(&w->out->notes, "the variable %s is not found on this device; its contents are left out\n", b->name);
            continue;
        }
        if (size != b->size)
            return cwd_fail(w->e, CW_ERR_INVALID, "the variable %s has %zu bytes, the dump %llu: the module is not the recorded one", b->name,
                            size, (unsigned long long)b->size);
        w->address[i] = p;
        if (!cwd_moves_add(&w->moves, b->address, p, b->size))
            return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
    }
    return CW_OK;
}

static cw_result
check_moves(struct run *w)
{
    const struct cwd_dump *d = w->d;
    uint64_t at;
    if (!w->moves.count)
        return CW_OK;
    if (cwd_moves_unsafe(&w->moves, d->param_block, d->param_size, 0, &at))
        return cwd_fail(w->e, CW_ERR_UNSUPPORTED, "the parameter block holds at byte %llu what may be an unaligned pointer to memory that is "
                        "not at its recorded address; it cannot be replayed exactly here", (unsigned long long)at);
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (d->buffers[i].before && cwd_moves_unsafe(&w->moves, d->buffers[i].before, d->buffers[i].size, d->buffers[i].address, &at))
            return cwd_fail(w->e, CW_ERR_UNSUPPORTED, "buffer %u holds at byte %llu what may be an unaligned pointer to memory that is not at "
                            "its recorded address; it cannot be replayed exactly here", i, (unsigned long long)at);
    return CW_OK;
}

static cw_result
make_arrays(struct run *w)
{
    for (uint32_t i = 0; i < w->d->narrays; i++) {
        const struct cwd_array *a = &w->d->arrays[i];
        CUDA_ARRAY3D_DESCRIPTOR desc = { .Width = a->width, .Height = a->height, .Depth = a->depth, .Format = (CUarray_format)a->format,
                                         .NumChannels = a->channels, .Flags = a->flags };
        CUresult r = a->levels ? w->s->cu.cuMipmappedArrayCreate(&w->mipmaps[i], &desc, a->levels)
                               : w->s->cu.cuArray3DCreate_v2(&w->arrays[i], &desc);
        if (r != CUDA_SUCCESS)
            return failed(w, "creating an array", r);
    }
    return CW_OK;
}

static uint64_t
now_at(const struct run *w, uint64_t address)
{
    for (uint32_t i = 0; i < w->moves.count; i++)
        if (address - w->moves.list[i].from < w->moves.list[i].size)
            return address - w->moves.list[i].from + w->moves.list[i].to;
    return address;
}

static cw_result
make_textures(struct run *w)
{
    for (uint32_t i = 0; i < w->d->ntextures; i++) {
        const struct cwd_texture *t = &w->d->textures[i];
        CUDA_RESOURCE_DESC res = { .resType = (CUresourcetype)t->resource };
        switch (t->resource) {
        case CU_RESOURCE_TYPE_ARRAY:
            res.res.array.hArray = w->arrays[t->array];
            break;
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
            res.res.mipmap.hMipmappedArray = w->mipmaps[t->array];
            break;
        case CU_RESOURCE_TYPE_LINEAR:
            res.res.linear.devPtr = now_at(w, t->address);
            res.res.linear.format = (CUarray_format)t->format;
            res.res.linear.numChannels = t->channels;
            res.res.linear.sizeInBytes = t->size;
            break;
        default:
            res.res.pitch2D.devPtr = now_at(w, t->address);
            res.res.pitch2D.format = (CUarray_format)t->format;
            res.res.pitch2D.numChannels = t->channels;
            res.res.pitch2D.width = t->width;
            res.res.pitch2D.height = t->height;
            res.res.pitch2D.pitchInBytes = t->pitch;
        }
        CUresult r;
        CUtexObject object = 0;
        if (t->surface) {
            r = w->s->cu.cuSurfObjectCreate(&object, &res);
        } else {
            CUDA_TEXTURE_DESC desc = { .filterMode = (CUfilter_mode)t->filter, .flags = t->flags, .maxAnisotropy = t->anisotropy,
                                       .mipmapFilterMode = (CUfilter_mode)t->mip_filter, .mipmapLevelBias = t->mip_bias,
                                       .minMipmapLevelClamp = t->min_level, .maxMipmapLevelClamp = t->max_level };
            for (int k = 0; k < 3; k++)
                desc.addressMode[k] = (CUaddress_mode)t->address_mode[k];
            memcpy(desc.borderColor, t->border, sizeof desc.borderColor);
            CUDA_RESOURCE_VIEW_DESC view = { .format = (CUresourceViewFormat)t->view_format, .width = t->view_width,
                                             .height = t->view_height, .depth = t->view_depth, .firstMipmapLevel = t->first_level,
                                             .lastMipmapLevel = t->last_level, .firstLayer = t->first_layer, .lastLayer = t->last_layer };
            r = w->s->cu.cuTexObjectCreate(&object, &res, &desc, t->has_view ? &view : NULL);
        }
        if (r != CUDA_SUCCESS)
            return failed(w, t->surface ? "creating a surface" : "creating a texture", r);
        w->textures[i] = (struct texture){ object, t->surface };
    }
    return CW_OK;
}

/* Replace recorded handles by this device's, or back. */
static void
set_handles(const struct run *w, int32_t buffer, uint8_t *data, bool back)
{
    for (uint32_t i = 0; i < w->d->ntextures; i++) {
        const struct cwd_texture *t = &w->d->textures[i];
        for (uint32_t u = 0; u < t->nuses; u++) {
            uint64_t word;
            if (t->uses[u].buffer != buffer)
                continue;
            memcpy(&word, data + t->uses[u].offset, sizeof word);
            if (word == (back ? w->textures[i].handle : t->handle))
                memcpy(data + t->uses[u].offset, back ? &t->handle : &w->textures[i].handle, sizeof word);
        }
    }
}

static bool
has_handles(const struct run *w, int32_t buffer)
{
    for (uint32_t i = 0; i < w->d->ntextures; i++)
        for (uint32_t u = 0; u < w->d->textures[i].nuses; u++)
            if (w->d->textures[i].uses[u].buffer == buffer)
                return true;
    return false;
}

/* Bring memory to the state before the launch. */
static cw_result
restore(struct run *w)
{
    const struct cwd_dump *d = w->d;
    w->moves.patched = 0;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        uint8_t *data = b->before;
        if (!w->address[i])
            continue;
        if (!data) {
            CUresult zero = w->s->cu.cuMemsetD8_v2(w->address[i], 0, b->size);
            if (zero != CUDA_SUCCESS)
                return failed(w, "clearing memory", zero);
            continue;
        }
        if (w->moves.count || w->nwords || has_handles(w, (int32_t)i)) {
            data = malloc(b->size);
            if (!data)
                return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
            memcpy(data, b->before, b->size);
            cwd_moves_apply(&w->moves, data, b->size, b->address, false, NULL);
            set_handles(w, (int32_t)i, data, false);
            set_function_words(w, i, data, false);
        }
        CUresult r = cwd_copy(w->s, w->address[i], data, b->size, true);
        if (data != b->before)
            free(data);
        if (r != CUDA_SUCCESS)
            return failed(w, "restoring memory", r);
    }
    for (uint32_t i = 0; i < d->narrays; i++) {
        uint8_t *data = d->arrays[i].before;
        CUresult r = cwd_array_transfer(&w->s->cu, &d->arrays[i], w->arrays[i], w->mipmaps[i], true, &data);
        if (r != CUDA_SUCCESS)
            return failed(w, "restoring an array", r);
    }
    memcpy(w->params, d->param_block, d->param_size);
    cwd_moves_apply(&w->moves, w->params, d->param_size, 0, false, NULL);
    set_handles(w, -1, w->params, false);
    CUresult r = w->s->cu.cuCtxSynchronize();
    return r == CUDA_SUCCESS ? CW_OK : failed(w, "restoring memory", r);
}

static double
milliseconds(struct timespec a, struct timespec b)
{
    return (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
}

static cw_result
launch(struct run *w, double *ms)
{
    const struct cwd_dump *d = w->d;
    struct timespec a, b, cpu[2];
    void **params = calloc(d->nparams + (size_t)1, sizeof *params);
    if (!params)
        return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < d->nparams; i++)
        params[i] = w->params + d->params[i].offset;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
    clock_gettime(CLOCK_MONOTONIC, &a);
    CUresult r;
    CUlaunchAttribute attributes[2] = {
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { d->cluster[0], d->cluster[1], d->cluster[2] } },
        { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 },
    };
    CUlaunchConfig config = { .gridDimX = d->grid[0], .gridDimY = d->grid[1], .gridDimZ = d->grid[2], .blockDimX = d->block[0], .blockDimY = d->block[1],
                              .blockDimZ = d->block[2], .sharedMemBytes = d->shared, .attrs = attributes, .numAttrs = d->cooperative ? 2 : 1 };
    if (d->cluster[0])
        r = w->s->cu.cuLaunchKernelEx(&config, w->function, params, NULL);
    else if (d->cooperative)
        r = w->s->cu.cuLaunchCooperativeKernel(w->function, d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2],
                                               d->shared, NULL, params);
    else
        r = w->s->cu.cuLaunchKernel(w->function, d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2], d->shared,
                                    NULL, params, NULL);
    free(params);
    if (r != CUDA_SUCCESS)
        return failed(w, "launching the kernel", r);
    r = w->s->cu.cuCtxSynchronize();
    clock_gettime(CLOCK_MONOTONIC, &b);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
    cw_debug("the launch of %s took %.3f ms, %.3f ms of CPU time", d->kernel, milliseconds(a, b), milliseconds(cpu[0], cpu[1]));
    if (r != CUDA_SUCCESS)
        return failed(w, "running the kernel", r);
    if (ms)
        *ms = milliseconds(a, b);
    return CW_OK;
}

static cw_result
collect(struct run *w)
{
    const struct cwd_dump *d = w->d;
    struct cwd_outcome *o = w->out;
    o->buffers = calloc(d->nbuffers + (size_t)1, sizeof *o->buffers);
    o->arrays = calloc(d->narrays + (size_t)1, sizeof *o->arrays);
    if (!o->buffers || !o->arrays)
        return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
    o->nbuffers = d->nbuffers;
    o->narrays = d->narrays;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        if (!w->address[i] || !b->before)
            continue;
        o->buffers[i] = malloc(b->size);
        if (!o->buffers[i])
            return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
        CUresult r = cwd_copy(w->s, w->address[i], o->buffers[i], b->size, false);
        if (r != CUDA_SUCCESS)
            return failed(w, "reading memory back", r);
        set_function_words(w, i, o->buffers[i], true);
        set_handles(w, (int32_t)i, o->buffers[i], true);
        cwd_moves_apply(&w->moves, o->buffers[i], b->size, b->address, true, b->after);
    }
    o->handle = calloc(d->ntextures + (size_t)1, sizeof *o->handle);
    if (!o->handle)
        return cwd_fail(w->e, CW_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < d->ntextures; i++)
        o->handle[i] = w->textures[i].handle;
    o->address = w->address;
    w->address = NULL;
    for (uint32_t i = 0; i < d->narrays; i++) {
        CUresult r = cwd_array_transfer(&w->s->cu, &d->arrays[i], w->arrays[i], w->mipmaps[i], false, &o->arrays[i]);
        if (r != CUDA_SUCCESS)
            return failed(w, "reading an array back", r);
    }
    return CW_OK;
}

static void
finish(struct run *w)
{
    for (uint32_t i = 0; w->textures && i < w->d->ntextures; i++) {
        if (w->textures[i].handle && w->textures[i].surface)
            w->s->cu.cuSurfObjectDestroy(w->textures[i].handle);
        else if (w->textures[i].handle)
            w->s->cu.cuTexObjectDestroy(w->textures[i].handle);
    }
    for (uint32_t i = 0; i < w->d->narrays; i++) {
        if (w->arrays && w->arrays[i])
            w->s->cu.cuArrayDestroy(w->arrays[i]);
        if (w->mipmaps && w->mipmaps[i])
            w->s->cu.cuMipmappedArrayDestroy(w->mipmaps[i]);
    }
    for (uint32_t i = 0; i < w->nscratch; i++)
        w->s->cu.cuMemFree_v2(w->scratch[i]);
    free(w->address);
    free(w->moves.list);
    free(w->moves.stays);
    free(w->arrays);
    free(w->mipmaps);
    free(w->textures);
    free(w->params);
    free(w->scratch);
    free(w->words);
}

cw_result
cwd_session_run(struct cwd_session *s, const struct cwd_dump *d, unsigned flags, uint32_t repeat, struct cwd_outcome *out,
                struct cwd_error *e)
{
    struct run w = { .s = s, .d = d, .e = e, .out = out };
    *out = (struct cwd_outcome){ 0 };
    cw_buf_init(&out->notes);
    w.address = calloc(d->nbuffers + (size_t)1, sizeof *w.address);
    w.scratch = calloc(d->nbuffers + (size_t)1, sizeof *w.scratch);
    w.arrays = calloc(d->narrays + (size_t)1, sizeof *w.arrays);
    w.mipmaps = calloc(d->narrays + (size_t)1, sizeof *w.mipmaps);
    w.textures = calloc(d->ntextures + (size_t)1, sizeof *w.textures);
    w.params = calloc(d->param_size + (size_t)8, 1);
    out->ms = calloc(repeat + (size_t)1, sizeof *out->ms);
    cw_result r = CW_OK;
    if (!w.address || !w.scratch || !w.arrays || !w.mipmaps || !w.textures || !w.params || !out->ms)
        r = cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    if (r == CW_OK)
        r = place_buffers(&w, flags);
    if (r == CW_OK)
        r = load_module(&w);
    if (r == CW_OK)
        r = find_variables(&w);
    if (r == CW_OK)
        r = find_function_words(&w);
    if (r == CW_OK)
        r = check_moves(&w);
    if (r == CW_OK)
        r = make_arrays(&w);
    if (r == CW_OK)
        r = make_textures(&w);
    for (uint32_t i = 0; i <= repeat && r == CW_OK; i++) {
        r = restore(&w);
        if (r == CW_OK)
            r = launch(&w, i ? &out->ms[out->nms++] : NULL);
    }
    if (r == CW_OK)
        r = collect(&w);
    if (r == CW_OK && w.moves.patched)
        cw_buf_printf(&out->notes, "%llu pointers to variables or buffers that are elsewhere in this process were changed\n", (unsigned long long)w.moves.patched);
    finish(&w);
    if (r != CW_OK)
        cwd_outcome_finish(out);
    return r;
}

void
cwd_outcome_finish(struct cwd_outcome *o)
{
    for (uint32_t i = 0; o->buffers && i < o->nbuffers; i++)
        free(o->buffers[i]);
    for (uint32_t i = 0; o->arrays && i < o->narrays; i++)
        free(o->arrays[i]);
    free(o->buffers);
    free(o->arrays);
    free(o->ms);
    free(o->address);
    free(o->handle);
    cw_buf_finish(&o->notes);
    *o = (struct cwd_outcome){ 0 };
}

void
cwd_session_enlarge_stack(const struct cwd_session *s)
{
    size_t size = 0;
    if (s->cu.cuCtxGetLimit && s->cu.cuCtxSetLimit && s->cu.cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS &&
        s->cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size < 2048 ? 8192 : size * 4) != CUDA_SUCCESS)
        fprintf(stderr, "cudaway-replay: note: the stack is not larger than usual\n");
}
