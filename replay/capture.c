/* SPDX-License-Identifier: Apache-2.0
 * See capture.h. A capture collects, in this order: the module, the parameter block, the module's variables, textures with their
 * arrays, and then memory, by following every aligned word that points into a known allocation until nothing new is found. */
#define _GNU_SOURCE
#include "replay/capture.h"

#include "impl/base/readable.h"
#include "impl/base/version.h"
#include "replay/array.h"
#include "replay/tar.h"
#include "replay/track.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PARAM_BYTES 32768u      /* CUDA allows 32764 */
/* Words of memory below this are not taken for texture handles: small numbers are common. */
#define DISTINCT_HANDLE (1u << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static atomic_uint launches;

/* The capture in progress, under the lock. */
static struct capture {
    const struct cw_launch *l;
    const struct cw_cuda_table *next;
    struct cwd_dump *d;
    struct cwd_error *e;
    struct cwd_image *image;
    const struct cwj_kernel *kernel;    /* NULL without PTX */
    struct cwd_facts facts;
    CUmodule module;
    int memory;                         /* of a context that a fault has ended: this process's, /proc/self/mem; else -1 */
    CUarray *arrays;                    /* of d->arrays */
    CUmipmappedArray *mipmaps;
    uint32_t buffer_capacity, array_capacity, texture_capacity;
} c;

bool
cwd_capture_start(const struct cw_cuda_table *next)
{
    (void)next;
    bool first = !started;
    started = true;
    return first;
}

unsigned
cwd_capture_count(void)
{
    return atomic_fetch_add(&launches, 1) + 1;
}

void
cwd_capture_before(struct cw_call *call)
{
    pthread_mutex_lock(&lock);
    cwd_track_before(call);
    pthread_mutex_unlock(&lock);
}

void
cwd_capture_after(struct cw_call *call)
{
    pthread_mutex_lock(&lock);
    cwd_track_after(call);
    pthread_mutex_unlock(&lock);
}

static bool __attribute__((format(printf, 1, 2)))
fail(const char *fmt, ...)
{
    if (!c.e->text[0]) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(c.e->text, sizeof c.e->text, fmt, ap);
        va_end(ap);
    }
    return false;
}

static const char *
result_name(CUresult r)
{
    const char *name = NULL;
    return c.next->cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

/* Append an element to a list in the arena. The old array is not freed. */
static void *
grow(void *list, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return list;
    uint32_t n = *capacity ? *capacity * 2 : 16;
    void *p = cw_arena_alloc(&c.d->arena, n * size);
    if (!p) {
        fail("out of memory");
        return NULL;
    }
    if (count)
        memcpy(p, list, count * size);
    *capacity = n;
    return p;
}

/* ---- reading memory ---- */

static uint8_t *
read_memory(const struct cwd_buffer *b)
{
    uint8_t *p = malloc(b->size);
    if (!p) {
        fail("out of memory for a buffer of %llu bytes", (unsigned long long)b->size);
        return NULL;
    }
    if (c.memory >= 0) {
        for (uint64_t n = 0; n < b->size;) {
            ssize_t got = pread(c.memory, p + n, b->size - n, (off_t)(b->address + n));
            if (got <= 0) {
                fail("its memory is out of the process's reach (0x%llx)", (unsigned long long)(b->address + n));
                free(p);
                return NULL;
            }
            n += (uint64_t)got;
        }
        return p;
    }
    CUresult r = c.next->cuMemcpyDtoH_v2(p, b->address, b->size);
    if (r == CUDA_ERROR_INVALID_VALUE && (b->kind == CWD_HOST || b->kind == CWD_MANAGED))
        r = c.next->cuMemcpy((CUdeviceptr)(uintptr_t)p, b->address, b->size);
    if (r != CUDA_SUCCESS) {
        fail("reading %llu bytes at 0x%llx gave %s", (unsigned long long)b->size, (unsigned long long)b->address, result_name(r));
        free(p);
        return NULL;
    }
    return p;
}

static int32_t
buffer_at(uint64_t address)
{
    for (uint32_t i = 0; i < c.d->nbuffers; i++)
        if (address - c.d->buffers[i].address < c.d->buffers[i].size)
            return (int32_t)i;
    return -1;
}

static int32_t
add_buffer(enum cwd_kind kind, const char *name, uint64_t address, uint64_t size)
{
    struct cwd_dump *d = c.d;
    struct cwd_buffer *b = grow(d->buffers, d->nbuffers, &c.buffer_capacity, sizeof *b);
    if (!b)
        return -1;
    d->buffers = b;
    b += d->nbuffers;
    *b = (struct cwd_buffer){ .kind = kind, .address = address, .size = size };
    if (name && !(b->name = cw_arena_strndup(&d->arena, name, strlen(name)))) {
        fail("out of memory");
        return -1;
    }
    b->before = read_memory(b);
    if (!b->before)
        return -1;
    return (int32_t)d->nbuffers++;
}

/* The buffer that holds an address, added if that is known memory; -1 when it is not, or *failed. */
static int32_t
reach(uint64_t address, bool ask, bool *failed)
{
    int32_t i = buffer_at(address);
    if (i >= 0)
        return i;
    const struct cwd_alloc *a = cwd_track_find(address);
    CUdeviceptr base;
    size_t size;
    if (!a && ask && address >= 65536 && !(address >> 57) &&
        c.next->cuMemGetAddressRange_v2(&base, &size, address) == CUDA_SUCCESS && address - base < size) {
        cwd_track_add(base, size, CWD_GLOBAL);      /* allocated by a call that is not tracked */
        a = cwd_track_find(address);
    }
    if (!a)
        return -1;
    /* Freed with its context, perhaps. */
    if (a->kind != CWD_HOST && c.next->cuMemGetAddressRange_v2(&base, &size, a->address) != CUDA_SUCCESS) {
        cwd_track_remove(a->address);
        return -1;
    }
    i = add_buffer(a->kind, NULL, a->address, a->size);
    *failed = *failed || i < 0;
    return i;
}

/* ---- the parts ---- */

static bool
find_module(void)
{
    const struct cw_launch *l = c.l;
    CUfunction f = l->function;
    CUlibrary library;
    if (l->module)
        c.image = cwd_track_image(l->module);
    /* A CUkernel stands for a function of its library. */
    if (c.next->cuFuncGetModule(&c.module, f) != CUDA_SUCCESS) {
        if (c.next->cuKernelGetFunction(&f, (CUkernel)l->function) != CUDA_SUCCESS ||
            c.next->cuFuncGetModule(&c.module, f) != CUDA_SUCCESS)
            c.module = NULL;
        if (!c.image && c.next->cuKernelGetLibrary(&library, (CUkernel)l->function) == CUDA_SUCCESS)
            c.image = cwd_track_image(library);
    }
    if (!c.image && c.module)
        c.image = cwd_track_image(c.module);
    if (!c.image && c.module)
        c.image = cwd_track_library_image(c.module, c.next);
    if (!c.image)
        return fail("the module that it belongs to was loaded in a way that is not followed");
    return true;
}

static bool
copy_module(void)
{
    struct cwd_dump *d = c.d;
    d->linked = c.image->linked;
    d->borrowed = true;                 /* the copies below are the arena's */
    d->inputs = cw_arena_array(&d->arena, struct cwd_input, c.image->ninputs);
    if (!d->inputs)
        return fail("out of memory");
    for (uint32_t i = 0; i < c.image->ninputs; i++) {
        const struct cwd_input *in = &c.image->inputs[i];
        struct cwd_input *out = &d->inputs[i];
        *out = (struct cwd_input){ .kind = in->kind, .size = in->size, .data = cw_arena_alloc(&d->arena, in->size + 1) };
        out->name = in->name ? cw_arena_strndup(&d->arena, in->name, strlen(in->name)) : NULL;
        if (!out->data)
            return fail("out of memory");
        memcpy(out->data, in->data, in->size);
    }
    d->ninputs = c.image->ninputs;
    if (!d->ninputs)
        return fail("its module is empty");
    return true;
}

static bool
describe_device(void)
{
    struct cwd_dump *d = c.d;
    CUdevice device;
    char name[256] = "";
    int driver = 0, major = 0, minor = 0;
    CUresult r = c.next->cuCtxGetDevice(&device);
    if (r != CUDA_SUCCESS)
        return fail("there is no current context (%s)", result_name(r));
    c.next->cuDeviceGetName(name, sizeof name - 1, device);
    c.next->cuDriverGetVersion(&driver);
    c.next->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    c.next->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    d->version = cw_version();
    d->device = cw_arena_strndup(&d->arena, name, strlen(name));
    d->driver = (uint32_t)driver;
    d->compute_capability = (uint32_t)(major * 10 + minor);
    return true;
}

static bool
param_layout(void)
{
    struct cwd_dump *d = c.d;
    size_t offset, size;
    uint32_t n = 0;
    if (c.kernel) {
        d->params = cw_arena_array(&d->arena, struct cwd_param, c.kernel->nparams + 1);
        for (uint32_t i = 0; d->params && i < c.kernel->nparams; i++) {
            const struct cwj_param *p = &c.kernel->params[i];
            d->params[i] = (struct cwd_param){ cw_arena_strndup(&d->arena, p->name, strlen(p->name)),
                                               cwd_type_name(p->is_array ? PTX_B8 : p->type), p->offset, p->size };
        }
        d->nparams = c.kernel->nparams;
        d->param_size = c.kernel->param_size;
        return d->params || fail("out of memory");
    }
    while (n < 4096 && c.next->cuFuncGetParamInfo(c.l->function, n, &offset, &size) == CUDA_SUCCESS)
        n++;
    d->params = cw_arena_array(&d->arena, struct cwd_param, n + 1);
    for (uint32_t i = 0; d->params && i < n; i++) {
        if (c.next->cuFuncGetParamInfo(c.l->function, i, &offset, &size) != CUDA_SUCCESS || offset + size > MAX_PARAM_BYTES)
            return fail("the layout of its parameters is not known (%s)", c.image->program.why ? c.image->program.why : "no PTX");
        d->params[i] = (struct cwd_param){ NULL, NULL, (uint32_t)offset, (uint32_t)size };
        if (offset + size > d->param_size)
            d->param_size = (uint32_t)(offset + size);
    }
    d->nparams = n;
    if (!n && c.l->params)
        return fail("the layout of its parameters is not known (%s)", c.image->program.why ? c.image->program.why : "no PTX");
    return d->params || fail("out of memory");
}

static bool
gather_params(void)
{
    struct cwd_dump *d = c.d;
    const struct cw_launch *l = c.l;
    if (l->call->index == CW_FN_cuLaunch || l->call->index == CW_FN_cuLaunchGrid || l->call->index == CW_FN_cuLaunchGridAsync)
        return fail("launches by %s (with cuParamSet) cannot be dumped", "cuLaunch");
    if (!param_layout())
        return false;
    if (d->param_size > MAX_PARAM_BYTES)
        return fail("its parameters take %u bytes", d->param_size);
    d->param_block = cw_arena_alloc(&d->arena, d->param_size + 1);
    if (!d->param_block)
        return fail("out of memory");
    /* With the lock held: a fault here, and then in the driver, would be the program's to handle. */
    if (l->params) {
        struct cw_readable_page list = { 0 }, values = { 0 };
        for (uint32_t i = 0; i < d->nparams; i++) {
            if (!cw_readable_piece(&list, &l->params[i], sizeof *l->params) || (l->params[i] && !cw_readable_piece(&values, l->params[i], d->params[i].size)))
                return fail("its parameter %u cannot be read", i);
            if (l->params[i])
                memcpy(d->param_block + d->params[i].offset, l->params[i], d->params[i].size);
        }
        return true;
    }
    const void *data = NULL;
    size_t size = 0;
    if (l->extra && !cw_layer_extra(l->extra, &data, &size))
        return fail("its parameters cannot be read");
    if (size > d->param_size)
        size = d->param_size;
    if (data && cw_readable(data, size) < size)
        return fail("its parameters cannot be read");
    if (data)
        memcpy(d->param_block, data, size);
    return true;
}

static bool
add_variables(void)
{
    const struct cwd_program *p = &c.image->program;
    for (uint32_t i = 0; i < cwd_program_variable_count(p); i++) {
        const struct cwj_variable *v = cwd_program_variable(p, i);
        CUdeviceptr address;
        size_t size;
        if (v->type == PTX_TEXREF || v->type == PTX_SURFREF || v->type == PTX_SAMPLERREF || !v->size || !c.module)
            continue;
        /* A driver may have dropped an unused variable, or not give the address of a private one. */
        if (c.next->cuModuleGetGlobal_v2(&address, &size, c.module, v->name) != CUDA_SUCCESS || !size || !address)
            continue;
        /* Private variables of one name in several linked texts: the driver finds the first for each. */
        bool known = false;
        for (uint32_t k = 0; k < c.d->nbuffers && !known; k++)
            known = c.d->buffers[k].address == address && c.d->buffers[k].size == size;
        if (known)
            continue;
        int32_t b = add_buffer(v->space == PTX_SPACE_CONST ? CWD_CONSTANT : CWD_VARIABLE, v->name, address, size);
        if (b < 0)
            return false;
        unsigned t = cwd_facts_element(&c.facts, -1, v->name);
        c.d->buffers[b].element = cwd_type_name(t ? t : v->type);
    }
    return true;
}

/* ---- textures ---- */

static int32_t
add_array(CUarray array, CUmipmappedArray mipmap)
{
    struct cwd_dump *d = c.d;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    unsigned levels = 0;
    for (uint32_t i = 0; i < d->narrays; i++)
        if (mipmap ? c.mipmaps[i] == mipmap : c.arrays[i] == array && !c.mipmaps[i])
            return (int32_t)i;
    if (mipmap ? !cwd_track_mipmap(mipmap, &desc, &levels) : c.next->cuArray3DGetDescriptor_v2(&desc, array) != CUDA_SUCCESS) {
        fail("the description of a texture's array is not known");
        return -1;
    }
    uint32_t capacity = c.array_capacity;
    struct cwd_array *a = grow(d->arrays, d->narrays, &c.array_capacity, sizeof *a);
    if (c.array_capacity != capacity) {
        c.arrays = realloc(c.arrays, c.array_capacity * sizeof *c.arrays);
        c.mipmaps = realloc(c.mipmaps, c.array_capacity * sizeof *c.mipmaps);
    }
    if (!a || !c.arrays || !c.mipmaps) {
        fail("out of memory");
        return -1;
    }
    d->arrays = a;
    a += d->narrays;
    *a = (struct cwd_array){ .width = desc.Width, .height = desc.Height, .depth = desc.Depth, .format = (uint32_t)desc.Format,
                             .channels = desc.NumChannels, .flags = desc.Flags, .levels = levels };
    a->size = cwd_array_bytes(a);
    if (!a->size) {
        fail("a texture's array has a format (%u) or size that dumps do not hold", a->format);
        return -1;
    }
    if (c.memory >= 0) {
        fail("a texture's array cannot be read behind a fault");
        return -1;
    }
    c.arrays[d->narrays] = array;
    c.mipmaps[d->narrays] = mipmap;
    CUresult r = cwd_array_transfer(c.next, a, array, mipmap, false, &a->before);
    if (r != CUDA_SUCCESS) {
        fail("reading a texture's array gave %s", result_name(r));
        return -1;
    }
    return (int32_t)d->narrays++;
}

static struct cwd_texture *
add_texture(const struct cwd_object *o)
{
    struct cwd_dump *d = c.d;
    for (uint32_t i = 0; i < d->ntextures; i++)
        if (d->textures[i].surface == o->surface && d->textures[i].handle == o->handle)
            return &d->textures[i];
    struct cwd_texture *t = grow(d->textures, d->ntextures, &c.texture_capacity, sizeof *t);
    if (!t)
        return NULL;
    d->textures = t;
    t += d->ntextures;
    *t = (struct cwd_texture){ .surface = o->surface, .handle = o->handle, .resource = (uint32_t)o->resource.resType, .array = -1 };
    bool failed = false;
    switch ((int)o->resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        t->array = add_array(o->resource.res.array.hArray, NULL);
        failed = t->array < 0;
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        t->array = add_array(NULL, o->resource.res.mipmap.hMipmappedArray);
        failed = t->array < 0;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        t->address = o->resource.res.linear.devPtr;
        t->size = o->resource.res.linear.sizeInBytes;
        t->format = (uint32_t)o->resource.res.linear.format;
        t->channels = o->resource.res.linear.numChannels;
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        t->address = o->resource.res.pitch2D.devPtr;
        t->width = o->resource.res.pitch2D.width;
        t->height = o->resource.res.pitch2D.height;
        t->pitch = o->resource.res.pitch2D.pitchInBytes;
        t->format = (uint32_t)o->resource.res.pitch2D.format;
        t->channels = o->resource.res.pitch2D.numChannels;
        break;
    default:
        failed = !fail("a texture has a resource of unknown type %d", (int)o->resource.resType);
    }
    if (!failed && t->address && reach(t->address, true, &failed) < 0 && !failed)
        failed = !fail("the memory behind a texture is not known");
    if (failed)
        return NULL;
    for (int i = 0; i < 3; i++)
        t->address_mode[i] = (uint32_t)o->texture.addressMode[i];
    t->filter = (uint32_t)o->texture.filterMode;
    t->flags = o->texture.flags;
    t->anisotropy = o->texture.maxAnisotropy;
    t->mip_filter = (uint32_t)o->texture.mipmapFilterMode;
    t->mip_bias = o->texture.mipmapLevelBias;
    t->min_level = o->texture.minMipmapLevelClamp;
    t->max_level = o->texture.maxMipmapLevelClamp;
    memcpy(t->border, o->texture.borderColor, sizeof t->border);
    t->has_view = o->has_view;
    if (o->has_view) {
        t->view_format = (uint32_t)o->view.format;
        t->view_width = o->view.width;
        t->view_height = o->view.height;
        t->view_depth = o->view.depth;
        t->first_level = o->view.firstMipmapLevel;
        t->last_level = o->view.lastMipmapLevel;
        t->first_layer = o->view.firstLayer;
        t->last_layer = o->view.lastLayer;
    }
    d->ntextures++;
    return t;
}

static bool
add_use(uint64_t handle, int32_t buffer, uint64_t offset)
{
    size_t n;
    const struct cwd_object *o = cwd_track_objects(&n);
    for (size_t i = 0; i < n; i++) {
        if (o[i].handle != handle)
            continue;
        struct cwd_texture *t = add_texture(&o[i]);
        if (!t)
            return false;
        if (!(t->nuses & (t->nuses + 1))) {     /* full at 0, 1, 3, 7, ... */
            struct cwd_use *u = cw_arena_alloc(&c.d->arena, (2 * (size_t)t->nuses + 2) * sizeof *u);
            if (!u)
                return fail("out of memory");
            if (t->nuses)
                memcpy(u, t->uses, t->nuses * sizeof *u);
            t->uses = u;
        }
        t->uses[t->nuses++] = (struct cwd_use){ buffer, offset };
        return true;
    }
    return true;
}

/* Handles among the parameters: where the PTX says so, or any where it does not say. */
static bool
add_textures(void)
{
    struct cwd_dump *d = c.d;
    uint64_t word;
    size_t n;
    cwd_track_objects(&n);
    if (!n)
        return true;
    for (uint32_t i = 0; i < c.facts.nhandles; i++) {
        if (c.facts.handles[i] + sizeof word > d->param_size)
            continue;
        memcpy(&word, d->param_block + c.facts.handles[i], sizeof word);
        if (!add_use(word, -1, c.facts.handles[i]))
            return false;
    }
    for (uint32_t at = 0; (!c.kernel || c.facts.handles_elsewhere) && at + sizeof word <= d->param_size; at += sizeof word) {
        bool known = false;
        for (uint32_t i = 0; i < c.facts.nhandles; i++)
            known = known || c.facts.handles[i] == at;
        memcpy(&word, d->param_block + at, sizeof word);
        if (!known && !add_use(word, -1, at))
            return false;
    }
    return true;
}

/* ---- memory ---- */

static bool
follow(int32_t buffer)
{
    uint64_t low, high, word, size = c.d->buffers[buffer].size, skip = -c.d->buffers[buffer].address & 7;
    const uint8_t *p = c.d->buffers[buffer].before;
    bool handles = c.facts.handles_elsewhere, failed = false;
    cwd_track_range(&low, &high);
    for (uint64_t at = skip; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, p + at, sizeof word);
        if (word - low < high - low)
            (void)reach(word, false, &failed);
        if (handles && word > DISTINCT_HANDLE && !add_use(word, buffer, at))
            return false;
        if (failed)
            return false;
    }
    return true;
}

static bool
add_memory(void)
{
    struct cwd_dump *d = c.d;
    uint64_t word;
    bool failed = false;
    for (uint32_t at = 0; at + sizeof word <= d->param_size; at += sizeof word) {
        memcpy(&word, d->param_block + at, sizeof word);
        int32_t b = reach(word, true, &failed);
        if (failed)
            return false;
        if (b >= 0 && !d->buffers[b].element)
            d->buffers[b].element = cwd_type_name(cwd_facts_element(&c.facts, (int32_t)at, NULL));
    }
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (!follow((int32_t)i))
            return false;
    return true;
}

/* ---- begin and end -------------------------------------------------------------------------------------------------------- */

static void
finish(void)
{
    cwd_facts_finish(&c.facts);
    free(c.arrays);
    free(c.mipmaps);
    if (c.memory >= 0)
        close(c.memory);
    c = (struct capture){ 0 };
    pthread_mutex_unlock(&lock);
}

bool
cwd_capture_into_graph(const struct cw_launch *l)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = l->per_thread ? l->next->cuStreamIsCapturing_ptsz(l->stream, &status) : l->next->cuStreamIsCapturing(l->stream, &status);
    return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void
parse(void)
{
    if (!c.image->parsed)
        cwd_program_open(&c.image->program, c.image->inputs, c.image->ninputs, c.image->linked, c.d->compute_capability);
    c.image->parsed = true;
    c.kernel = cwd_program_kernel(&c.image->program, c.l->name);
    if (c.kernel && !cwd_facts_of(c.kernel, &c.facts))
        fail("out of memory");
}

/* The lock is held. False: *d and all else is finished. */
static bool
gather(struct cwd_dump *d)
{
    const struct cw_launch *l = c.l;
    bool ok = !c.e->text[0] && describe_device() && find_module() && copy_module();
    if (ok)
        parse();
    ok = ok && !c.e->text[0];
    if (ok && c.facts.uses_references)
        ok = fail("it uses texture or surface references, which dumps do not hold");
    d->kernel = cw_arena_strndup(&d->arena, l->name, strlen(l->name));
    memcpy(d->grid, l->grid, sizeof d->grid);
    memcpy(d->block, l->block, sizeof d->block);
    d->shared = l->shared;
    d->cooperative = l->cooperative;
    for (unsigned i = 0; i < l->attribute_count; i++)
        if (l->attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
            d->cooperative = l->attributes[i].value.cooperative != 0;
        } else if (l->attributes[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            d->cluster[0] = l->attributes[i].value.clusterDim.x;
            d->cluster[1] = l->attributes[i].value.clusterDim.y;
            d->cluster[2] = l->attributes[i].value.clusterDim.z;
        }
    ok = ok && d->kernel && gather_params() && add_variables() && add_textures() && add_memory();
    if (!ok) {
        fail("out of memory");
        cwd_finish(d);
        finish();
    }
    return ok;
}

bool
cwd_capture_begin(const struct cw_launch *l, struct cwd_dump *d, struct cwd_error *e)
{
    cwd_init(d);
    e->text[0] = 0;
    pthread_mutex_lock(&lock);
    c = (struct capture){ .l = l, .next = l->next, .d = d, .e = e, .memory = -1 };
    bool into_graph = cwd_capture_into_graph(l);
    if (into_graph)
        fail("the launch is being captured into a graph");
    CUresult r = into_graph ? CUDA_SUCCESS : l->next->cuCtxSynchronize();
    if (r != CUDA_SUCCESS)
        fail("earlier work failed with %s", result_name(r));
    return gather(d);
}

bool
cwd_capture_remains(const struct cw_launch *l, struct cwd_dump *d, struct cwd_error *e)
{
    cwd_init(d);
    e->text[0] = 0;
    pthread_mutex_lock(&lock);
    c = (struct capture){ .l = l, .next = l->next, .d = d, .e = e, .memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC) };
    if (c.memory < 0)
        fail("/proc/self/mem cannot be read: %s", strerror(errno));
    return gather(d);
}

static bool
read_after(void)
{
    struct cwd_dump *d = c.d;
    CUresult r = c.next->cuCtxSynchronize();
    if (r != CUDA_SUCCESS)
        return fail("the kernel failed with %s", result_name(r));
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        struct cwd_buffer *b = &d->buffers[i];
        b->after = read_memory(b);
        if (!b->after)
            return false;
        if (!memcmp(b->before, b->after, b->size)) {
            free(b->after);
            b->after = b->before;
        }
    }
    for (uint32_t i = 0; i < d->narrays; i++) {
        struct cwd_array *a = &d->arrays[i];
        r = cwd_array_transfer(c.next, a, c.arrays[i], c.mipmaps[i], false, &a->after);
        if (r != CUDA_SUCCESS)
            return fail("reading a texture's array gave %s", result_name(r));
        if (!memcmp(a->before, a->after, a->size)) {
            free(a->after);
            a->after = a->before;
        }
    }
    return true;
}

bool
cwd_capture_end(const struct cw_launch *l, struct cwd_dump *d, struct cwd_error *e)
{
    e->text[0] = 0;
    c.l = l;
    c.e = e;
    bool ok = l->result == CUDA_SUCCESS ? read_after() : fail("the launch failed with %s", result_name(l->result));
    finish();
    return ok;
}

void
cwd_capture_drop(void)
{
    finish();
}
