/* SPDX-License-Identifier: Apache-2.0
 * cuGetExportTable: the undocumented tables that runtimes before 12 and some libraries ask for. docs/export-tables.md is the register: what
 * each slot does and from where that is known. A slot that nobody described answers CUDA_ERROR_NOT_SUPPORTED and says so. NVIDIA's
 * authenticity check is among the tables that are not given (docs/legal.md). */
#include "impl/driver/driver.h"

#include <stdlib.h>

/* ---- slots that nobody described ------------------------------------------------------------------------------------------------- */

static CUresult
unknown_slot(const char *table, unsigned slot)
{
    cw_info("slot %u of the undocumented table %s was called, and what it does is not known (docs/export-tables.md)", slot, table);
    return CUDA_ERROR_NOT_SUPPORTED;
}
#define UNKNOWN(table, slot)                                                                                           \
    static CUresult table##_##slot(void) { return unknown_slot(#table, slot); }

/* ---- 6bd5fb6c: the runtime's own ---------------------------------------------------------------------------------------------------- */

static CUresult
runtime_primary_context(CUcontext *ctx, CUdevice dev)
{
    struct device *d;
    CUresult e = device_get(dev, &d);
    if (e == CUDA_SUCCESS && !ctx)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        *ctx = primary_handle(d);       /* not retained: cuCtxSetCurrent takes it all the same */
    return e;
}

static CUresult
runtime_load_module(CUmodule *module, const void *fatbin, void *unknown1, void *unknown2, size_t unknown3)
{
    return drv_cuModuleLoadFatBinary(module, fatbin);
}

static CUresult
runtime_unregister(void *unknown)
{
    return CUDA_SUCCESS;                /* the module ends with its context, or by cuModuleUnload */
}

UNKNOWN(runtime, 1)
UNKNOWN(runtime, 3)
UNKNOWN(runtime, 4)
UNKNOWN(runtime, 5)
UNKNOWN(runtime, 8)
UNKNOWN(runtime, 9)
UNKNOWN(runtime, 10)
UNKNOWN(runtime, 11)
UNKNOWN(runtime, 12)

typedef const void *slot;
#define F(f) ((slot)(uintptr_t)(f))

static const slot runtime[13] = {
    (slot)sizeof runtime, F(runtime_1), F(runtime_primary_context), F(runtime_3), F(runtime_4), F(runtime_5), F(runtime_load_module),
    F(runtime_unregister), F(runtime_8), F(runtime_9), F(runtime_10), F(runtime_11), F(runtime_12),
};

/* ---- a094798c: what tools hook the runtime by ------------------------------------------------------------------------------------------ */

static uint64_t hooks_words[1024];
static uint8_t hooks_bytes[64];

static void
hooks_two(void **p, size_t *size)
{
    *p = hooks_words;
    *size = COUNT(hooks_words);
}

static void
hooks_six(void **p, size_t *size)
{
    *p = hooks_bytes;
    *size = 14;
}

UNKNOWN(hooks, 1)
UNKNOWN(hooks, 3)
UNKNOWN(hooks, 4)
UNKNOWN(hooks, 5)

static const slot hooks[7] = { (slot)sizeof hooks, F(hooks_1), F(hooks_two), F(hooks_3), F(hooks_4), F(hooks_5), F(hooks_six) };

/* ---- 42d85a81: has to be there -------------------------------------------------------------------------------------------------------- */

UNKNOWN(tools_tls, 1)
UNKNOWN(tools_tls, 2)
UNKNOWN(tools_tls, 3)

static const slot tools_tls[4] = { (slot)sizeof tools_tls, F(tools_tls_1), F(tools_tls_2), F(tools_tls_3) };

/* ---- c693336e: values by context and key -------------------------------------------------------------------------------------------------- */

struct local {
    struct local *next;
    uint64_t context;                   /* its number */
    void *key, *value;
    void (*destroy)(CUcontext c, void *key, void *value);
};

static pthread_mutex_t locals_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct local *locals;            /* locals_lock */

static CUresult
local_put(CUcontext h, void *key, void *value, void (*destroy)(CUcontext c, void *key, void *value))
{
    struct ctx *c;
    CUresult e = ctx_from_handle(h, &c);
    if (e != CUDA_SUCCESS)
        return e;
    struct local *l = malloc(sizeof *l);
    e = !l ? CUDA_ERROR_OUT_OF_MEMORY : ctx_admit(c) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (e == CUDA_SUCCESS) {
        pthread_mutex_lock(&locals_lock);
        for (const struct local *o = locals; o && e == CUDA_SUCCESS; o = o->next)
            if (o->context == c->id && o->key == key)
                e = CUDA_ERROR_INVALID_VALUE;   /* there already */
        if (e == CUDA_SUCCESS) {
            *l = (struct local){ locals, c->id, key, value, destroy };
            locals = l;
            l = NULL;
        }
        pthread_mutex_unlock(&locals_lock);
        ctx_admitted(c);
    }
    free(l);
    ctx_unref(c);
    return e;
}

/* Take out one of the context's: that of the key, or any. */
static struct local *
local_take(uint64_t context, const void *key, bool any)
{
    struct local *found = NULL;
    pthread_mutex_lock(&locals_lock);
    for (struct local **l = &locals; *l; l = &(*l)->next) {
        if ((*l)->context == context && (any || (*l)->key == key)) {
            found = *l;
            *l = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&locals_lock);
    return found;
}

static CUresult
local_delete(CUcontext h, void *key)
{
    struct ctx *c;
    CUresult e = ctx_from_handle(h, &c);
    if (e != CUDA_SUCCESS)
        return e;
    struct local *l = local_take(c->id, key, false);
    ctx_unref(c);
    e = l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    free(l);
    return e;
}

static CUresult
local_get(void **value, CUcontext h, void *key)
{
    struct ctx *c;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = ctx_from_handle(h, &c);
    if (e != CUDA_SUCCESS)
        return e;
    e = CUDA_ERROR_INVALID_VALUE;
    void *found = NULL;
    pthread_mutex_lock(&locals_lock);
    for (const struct local *l = locals; l; l = l->next) {
        if (l->context == c->id && l->key == key) {
            found = l->value;
            e = CUDA_SUCCESS;
        }
    }
    pthread_mutex_unlock(&locals_lock);
    if (e == CUDA_SUCCESS)
        *value = found;
    ctx_unref(c);
    return e;
}

void
locals_release(struct ctx *c)
{
    for (struct local *l; (l = local_take(c->id, NULL, true)); free(l))
        if (l->destroy)
            l->destroy(c->handle, l->key, l->value);
}

static const slot context_local[3] = { F(local_put), F(local_delete), F(local_get) };

/* ---- 263e8860 ------------------------------------------------------------------------------------------------------------------------------ */

static CUresult
flag_get(uint32_t *out)
{
    if (out)
        *out = 0;
    return CUDA_SUCCESS;
}

static CUresult
flag_zero(void)
{
    return CUDA_SUCCESS;
}

UNKNOWN(flag, 1)

static const slot flag[4] = { (slot)sizeof flag, F(flag_1), F(flag_get), F(flag_zero) };

/* ---- look-up -------------------------------------------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t id[16];
    const slot *table;                  /* NULL: known, and not given */
} tables[] = {
    { { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 }, runtime },
    { { 0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66 }, hooks },
    { { 0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc }, tools_tls },
    { { 0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93 }, context_local },
    { { 0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e }, flag },
    { CW_DEVICE_TIMES_ID, (const slot *)&drv_device_times },      /* our own, for the tracer */
    { CW_POST_MORTEM_ID, (const slot *)&drv_post_mortem },        /* the same */
    { { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2 }, NULL },
};

CUresult
drv_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    if (driver_redirects())
        return CUDA_ERROR_UNKNOWN;
    *ppExportTable = NULL;
    for (unsigned i = 0; i < COUNT(tables); i++) {
        if (memcmp(tables[i].id, pExportTableId->bytes, 16))
            continue;
        if (!tables[i].table)
            return unsupported("cuGetExportTable", "NVIDIA's authenticity check (docs/legal.md)");
        *ppExportTable = tables[i].table;
        return CUDA_SUCCESS;
    }
    const unsigned char *b = (const unsigned char *)pExportTableId->bytes;
    cw_info("cuGetExportTable: the undocumented table %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x is not known",
            b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return CUDA_ERROR_INVALID_VALUE;    /* as driver 580 */
}
