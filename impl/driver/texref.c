/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface references (deprecated since CUDA 11.4, still in the interface): per-module state that becomes a
 * backend texture before the next launch; its handle is stored in the module's variable, in stream order. */
#include "impl/driver/driver.h"

#include <stdlib.h>

static void
drop_texture(struct texref *t)
{
    struct ctx *c = t->obj.ctx;
    if (t->handle) {
        (void)c->b->context_sync(c->be);        /* kernels under way use it */
        if (t->surface)
            c->b->surface_destroy(c->be, t->handle);
        else
            c->b->texture_destroy(c->be, t->handle);
        t->handle = 0;
    }
    if (t->resource) {
        handle_put(t->resource);
        t->resource = NULL;
    }
}

static void
texref_finish(struct obj *o)
{
    struct texref *t = (struct texref *)o;
    drop_texture(t);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static const struct obj_class texref_class = { .kind = KIND_TEXREF, .finish = texref_finish };

/* With a reference. */
static CUresult
make(struct ctx *c, bool surface, uint64_t address, struct texref **out)
{
    struct texref *t = calloc(1, sizeof *t);
    if (!t)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&t->lock, NULL);
    t->surface = surface;
    t->address = address;
    t->format = CU_AD_FORMAT_FLOAT;
    t->channels = 1;
    t->tex.maxAnisotropy = 1;
    CUresult e = handle_new(&t->obj, &texref_class, c);
    if (e != CUDA_SUCCESS) {
        pthread_mutex_destroy(&t->lock);
        free(t);
        return e;
    }
    *out = t;
    return CUDA_SUCCESS;
}

static CUresult
of_module(CUmodule hmod, const char *name, bool surface, uint64_t *out)
{
    CURRENT(c);
    struct module *m AUTO_PUT = handle_get(hmod, KIND_MODULE);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t i;
    if (!names_find(m->program, name, surface ? NAMED_SURFREF : NAMED_TEXREF, &i))
        return CUDA_ERROR_NOT_FOUND;
    struct texref *t = NULL, *extra = NULL;
    uint64_t address;
    CUresult e = module_address(m, i, &address);
    if (e == CUDA_SUCCESS)
        e = make(m->obj.ctx, surface, address, &extra);
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&m->lock);
    if (m->texrefs && !m->texrefs[i]) {
        m->texrefs[i] = extra;
        extra = NULL;
    }
    t = m->texrefs ? m->texrefs[i] : NULL;
    if (t)
        *out = t->obj.handle;
    pthread_mutex_unlock(&m->lock);
    if (extra) {                        /* another thread was faster */
        handle_kill(&extra->obj);
        handle_put(&extra->obj);
    }
    atomic_store(&m->has_texrefs, true);
    return t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult
drv_cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
    uint64_t h;
    if (!pTexRef)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = of_module(hmod, name, false, &h);
    if (e == CUDA_SUCCESS)
        *pTexRef = (CUtexref)(uintptr_t)h;
    return e;
}

CUresult
drv_cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
    uint64_t h;
    if (!pSurfRef)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = of_module(hmod, name, true, &h);
    if (e == CUDA_SUCCESS)
        *pSurfRef = (CUsurfref)(uintptr_t)h;
    return e;
}

/* Make the backend's object and store its handle. t->lock held, and an executable graph's lock perhaps: what takes graph_lock
 * (stream_admit) came before. */
static CUresult
bind(struct texref *t, struct stream *s)
{
    struct ctx *c = t->obj.ctx;
    drop_texture(t);
    CUresult e = CUDA_SUCCESS;
    if (!t->bound) {
        /* unbound: the variable becomes 0, which is no texture */
    } else if (t->surface) {
        struct array *a = handle_get(t->res.res.array.hArray, KIND_ARRAY);
        e = a ? result_of(c->b->surface_create(c->be, a->be, a->level, &t->handle)) : CUDA_ERROR_INVALID_HANDLE;
        t->resource = a ? &a->obj : NULL;
    } else {
        e = texture_make(c, &t->res, &t->tex, NULL, &t->handle, &t->resource);
    }
    if (e != CUDA_SUCCESS) {
        t->handle = 0;
        return e;
    }
    e = stream_order(s);
    if (e != CUDA_SUCCESS)
        return e;
    for (unsigned i = 0; i < 2 && e == CUDA_SUCCESS; i++) {
        struct cwb_fill f = { .dst = { .loc = CWB_LOC_DEVICE, .address = t->address + 4 * i, .pitch = 4, .slice = 4 },
                              .value = (uint32_t)(t->handle >> 32 * i), .size = 4, .width = 1, .height = 1, .depth = 1 };
        e = result_of(c->b->stream_fill(s->be, &f));
    }
    stream_end(s);
    if (e == CUDA_SUCCESS)
        t->changed = false;
    return e;
}

CUresult
texrefs_update(struct module *m, struct stream *s)
{
    if (!atomic_load_explicit(&m->has_texrefs, memory_order_relaxed))
        return CUDA_SUCCESS;
    CUresult e = CUDA_SUCCESS;
    for (uint32_t i = 0; i < m->ntexrefs && e == CUDA_SUCCESS; i++) {
        pthread_mutex_lock(&m->lock);
        struct texref *t = m->texrefs ? m->texrefs[i] : NULL;
        if (t)
            handle_ref(&t->obj);
        pthread_mutex_unlock(&m->lock);
        if (!t)
            continue;
        pthread_mutex_lock(&t->lock);
        if (t->changed)
            e = bind(t, s);
        pthread_mutex_unlock(&t->lock);
        handle_put(&t->obj);
    }
    return e;
}

/* ---- setting and getting ---------------------------------------------------------------------------------------------- */

/* Formats, address modes and filters are kept as they are set, and checked when a launch makes the texture (texture_make); so driver 580. */

/* Begin and end of a function that reads or changes the reference h: locked in between. */
#define TEXREF(t, h)                                                                                                   \
    CURRENT(c);                                                                                                        \
    struct texref *t AUTO_PUT = handle_get(h, KIND_TEXREF);                                                            \
    if (!t || t->surface)                                                                                              \
        return CUDA_ERROR_INVALID_HANDLE;                                                                              \
    pthread_mutex_lock(&t->lock)
#define DONE(t, changes, result)                                                                                       \
    do {                                                                                                               \
        CUresult result_ = (result);                                                                                   \
        if ((changes) && result_ == CUDA_SUCCESS)                                                                      \
            t->changed = true;                                                                                         \
        pthread_mutex_unlock(&t->lock);                                                                                \
        return result_;                                                                                                \
    } while (0)
/* For questions: what the reference has, in `t`. Results are written without its lock, since a handler of SIGSEGV may leave the call by a long jump. */
#define TEXREF_NOW(t, h)                                                                                               \
    struct texref t;                                                                                                   \
    do { CUresult r_ = texref_now(h, &t); if (r_ != CUDA_SUCCESS) return r_; } while (0)

static CUresult
texref_now(CUtexref h, struct texref *now)
{
    TEXREF(t, h);
    *now = (struct texref){ .res = t->res, .tex = t->tex, .format = t->format, .channels = t->channels, .bound = t->bound };   /* what the lock protects */
    DONE(t, false, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefCreate(CUtexref *pTexRef)
{
    USABLE(c);
    struct texref *t;
    if (!pTexRef)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = make(c, false, 0, &t);
    if (e == CUDA_SUCCESS) {
        *pTexRef = HANDLE(CUtexref, t);
        handle_put(&t->obj);
    }
    return e;
}

CUresult
drv_cuTexRefDestroy(CUtexref hTexRef)
{
    CURRENT(c);
    struct texref *t AUTO_PUT = handle_get(hTexRef, KIND_TEXREF);
    if (!t || t->address)
        return CUDA_ERROR_INVALID_HANDLE;
    return handle_kill(&t->obj) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult
drv_cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
    TEXREF(t, hTexRef);
    struct array *a AUTO_PUT = handle_get(hArray, KIND_ARRAY);
    if (!a)
        DONE(t, false, CUDA_ERROR_INVALID_HANDLE);
    if (Flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->bound = true;
    t->res = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = hArray };
    t->format = a->desc.Format;
    t->channels = (int)a->desc.NumChannels;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags)
{
    TEXREF(t, hTexRef);
    struct mipmap *m AUTO_PUT = handle_get(hMipmappedArray, KIND_MIPMAP);
    if (!m)
        DONE(t, false, CUDA_ERROR_INVALID_HANDLE);
    if (Flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->bound = true;
    t->res = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = hMipmappedArray };
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes)
{
    TEXREF(t, hTexRef);
    CUdeviceptr base = dptr & ~(CUdeviceptr)511;
    if (!ByteOffset && base != dptr)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    if (dptr && (!bytes || !range_covers(dptr, bytes, NULL)))
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->bound = dptr != 0;
    t->res = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR, .res.linear = { base, t->format, (unsigned)t->channels, bytes + (dptr - base) } };
    t->changed = true;
    pthread_mutex_unlock(&t->lock);
    if (ByteOffset)
        *ByteOffset = dptr - base;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    TEXREF(t, hTexRef);
    enum cwb_format f;
    uint32_t bytes;
    if (!desc || dptr % 32 || desc->Width > 131072 || desc->Height > 65000 ||
        (format_of(desc->Format, &f, &bytes) == CUDA_SUCCESS && (Pitch % 32 || Pitch < desc->Width * bytes * desc->NumChannels)))
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->bound = dptr != 0;
    t->format = desc->Format;
    t->channels = (int)desc->NumChannels;
    t->res = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_PITCH2D,
                                   .res.pitch2D = { dptr, desc->Format, desc->NumChannels, desc->Width, desc->Height, Pitch } };
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    return drv_cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch);
}

CUresult
drv_cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
    TEXREF(t, hTexRef);
    if (NumPackedComponents < 0 || NumPackedComponents == 3 || NumPackedComponents > 4)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->format = fmt;
    t->channels = NumPackedComponents;
    if (t->res.resType == CU_RESOURCE_TYPE_LINEAR) {
        t->res.res.linear.format = fmt;
        t->res.res.linear.numChannels = (unsigned)NumPackedComponents;
    }
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
    TEXREF(t, hTexRef);
    if (dim < 0 || dim > 2)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->tex.addressMode[dim] = am;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    TEXREF(t, hTexRef);
    t->tex.filterMode = fm;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    TEXREF(t, hTexRef);
    if ((unsigned)fm > CU_TR_FILTER_MODE_LINEAR)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->tex.mipmapFilterMode = fm;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
    TEXREF(t, hTexRef);
    t->tex.mipmapLevelBias = bias;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp, float maxMipmapLevelClamp)
{
    TEXREF(t, hTexRef);
    t->tex.minMipmapLevelClamp = minMipmapLevelClamp;
    t->tex.maxMipmapLevelClamp = maxMipmapLevelClamp;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
    TEXREF(t, hTexRef);
    t->tex.maxAnisotropy = maxAniso;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
    TEXREF(t, hTexRef);
    if (!pBorderColor)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    memcpy(t->tex.borderColor, pBorderColor, sizeof t->tex.borderColor);
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags)
{
    TEXREF(t, hTexRef);
    if (Flags & ~TEXREF_FLAGS)
        DONE(t, false, CUDA_ERROR_INVALID_VALUE);
    t->tex.flags = Flags;
    DONE(t, true, CUDA_SUCCESS);
}

CUresult
drv_cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
    TEXREF_NOW(t, hTexRef);
    bool linear = t.bound && t.res.resType == CU_RESOURCE_TYPE_LINEAR, pitch = t.bound && t.res.resType == CU_RESOURCE_TYPE_PITCH2D;
    if (pdptr && (linear || pitch))
        *pdptr = linear ? t.res.res.linear.devPtr : t.res.res.pitch2D.devPtr;
    return pdptr && (linear || pitch) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
    TEXREF_NOW(t, hTexRef);
    bool ok = phArray && t.bound && t.res.resType == CU_RESOURCE_TYPE_ARRAY;
    if (ok)
        *phArray = t.res.res.array.hArray;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
    TEXREF_NOW(t, hTexRef);
    bool ok = phMipmappedArray && t.bound && t.res.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (ok)
        *phMipmappedArray = t.res.res.mipmap.hMipmappedArray;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
    if (!pam || dim < 0 || dim > 2)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pam = t.tex.addressMode[dim];
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
    if (!pfm)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pfm = t.tex.filterMode;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
    if (!pfm)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pfm = t.tex.mipmapFilterMode;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef)
{
    if (!pbias)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pbias = t.tex.mipmapLevelBias;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp, CUtexref hTexRef)
{
    if (!pminMipmapLevelClamp || !pmaxMipmapLevelClamp)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pminMipmapLevelClamp = t.tex.minMipmapLevelClamp;
    *pmaxMipmapLevelClamp = t.tex.maxMipmapLevelClamp;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef)
{
    if (!pmaxAniso)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pmaxAniso = (int)t.tex.maxAnisotropy;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
    TEXREF_NOW(t, hTexRef);
    if (!pBorderColor)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(pBorderColor, t.tex.borderColor, sizeof t.tex.borderColor);
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
    TEXREF_NOW(t, hTexRef);
    if (pFormat)
        *pFormat = t.format;
    if (pNumChannels)
        *pNumChannels = t.channels;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef)
{
    if (!pFlags)
        return CUDA_ERROR_INVALID_VALUE;
    TEXREF_NOW(t, hTexRef);
    *pFlags = t.tex.flags;
    return CUDA_SUCCESS;
}

/* ---- surface references ---------------------------------------------------------------------------------------------------- */

CUresult
drv_cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
    CURRENT(c);
    struct texref *t AUTO_PUT = handle_get(hSurfRef, KIND_TEXREF);
    struct array *a AUTO_PUT = handle_get(hArray, KIND_ARRAY);
    if (!t || !t->surface || !a)
        return CUDA_ERROR_INVALID_HANDLE;
    if (Flags || !(a->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&t->lock);
    t->bound = t->changed = true;
    t->res = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = hArray };
    pthread_mutex_unlock(&t->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
    CURRENT(c);
    struct texref *t AUTO_PUT = handle_get(hSurfRef, KIND_TEXREF);
    if (!t || !t->surface)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&t->lock);
    const bool ok = phArray && t->bound;
    const CUarray array = ok ? t->res.res.array.hArray : NULL;
    pthread_mutex_unlock(&t->lock);
    if (ok)
        *phArray = array;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
