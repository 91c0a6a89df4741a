/* SPDX-License-Identifier: Apache-2.0
 * Arrays, textures and surfaces of the hip device: memory laid out by impl/texture.c, and descriptions of it in device memory that
 * the device library reads (jit/builtins/tex.c). A handle is the address of a description.
 *
 * Descriptions live in slabs, which are freed with their context. A program may destroy an object right after a launch that
 * uses it, so its slot is not used again before the context has been idle. */
#include "impl/hip/device.h"

#include "impl/texture.h"

#include <stdlib.h>
#include <string.h>

enum { SLOT = 1024, SLAB_SLOTS = 64, WAITING_MAX = 1024 };
_Static_assert(sizeof(struct cw_texture) <= SLOT, "a slot holds a description");

/* Slots of objects. Those that wait for the context to be idle are linked in `waiting`. All under context.texture_lock. */
struct hip_slot {
    uint64_t address;
    hipTextureObject_t native;          /* HIP's object, whose descriptors are in the description; or NULL */
    struct hip_slot *next;
};

struct hip_slab {
    struct hip_slab *next;
    void *memory;
    struct hip_slot slot[SLAB_SLOTS];
};

/* ---- arrays ---- */

cwb_result
hip_array_create(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out)
{
    struct cw_array *a = malloc(sizeof *a);
    void *p = NULL;
    if (!a)
        return CWB_NOMEM;
    cwb_result r = cw_array_layout(d, c->images ? HIP_IMAGE_PITCH : 64, a);
    hip_use(c);
    if (r == CWB_OK)
        r = hip_result(hip.hipMalloc(&p, a->size));
    if (r != CWB_OK) {
        free(a);
        return r;
    }
    cw_array_place(a, (uintptr_t)p);
    *out = (struct cwb_array *)(void *)a;
    return CWB_OK;
}

void
hip_array_destroy(struct cwb_array *array)
{
    struct cw_array *a = (struct cw_array *)(void *)array;
    if (!a)
        return;
    (void)hip.hipFree((void *)(uintptr_t)a->memory);
    free(a);
}

/* ---- descriptions ---- */

struct hip_slot *
hip_textures_leave(struct cwb_context *c)
{
    pthread_mutex_lock(&c->texture_lock);
    struct hip_slot *gone = c->waiting;
    c->waiting = NULL;
    c->nwaiting = 0;
    pthread_mutex_unlock(&c->texture_lock);
    return gone;
}

/* Under the lock, unless no other thread can be here. */
static void
drop_native(struct hip_slot *s)
{
    if (s->native)
        (void)hip.hipTexObjectDestroy(s->native);
    s->native = NULL;
}

/* Under the lock. */
static void
vacate(struct cwb_context *c, struct hip_slot *gone)
{
    while (gone) {
        struct hip_slot *s = gone;
        gone = s->next;
        drop_native(s);
        s->next = c->vacant;
        c->vacant = s;
    }
}

void
hip_textures_left(struct cwb_context *c, struct hip_slot *gone)
{
    pthread_mutex_lock(&c->texture_lock);
    vacate(c, gone);
    pthread_mutex_unlock(&c->texture_lock);
}

static cwb_result
add_slab(struct cwb_context *c)
{
    struct hip_slab *s = calloc(1, sizeof *s);
    if (!s)
        return CWB_NOMEM;
    hipError_t e = hip.hipMalloc(&s->memory, (size_t)SLAB_SLOTS * SLOT);
    if (e != hipSuccess) {
        free(s);
        return hip_result(e);
    }
    for (unsigned i = SLAB_SLOTS; i--; ) {
        s->slot[i] = (struct hip_slot){ (uintptr_t)s->memory + (uint64_t)i * SLOT, NULL, c->vacant };
        c->vacant = &s->slot[i];
    }
    s->next = c->slabs;
    c->slabs = s;
    return CWB_OK;
}

/* Put a description into device memory; the slot takes `native`. */
static cwb_result
publish(struct cwb_context *c, struct cw_texture *t, hipTextureObject_t native, uint64_t *handle)
{
    cwb_result r = CWB_OK;
    hip_use(c);
    pthread_mutex_lock(&c->texture_lock);
    if (!c->vacant && c->nwaiting >= WAITING_MAX) {
        r = hip_outcome(c, hip.hipDeviceSynchronize());
        vacate(c, c->waiting);
        c->waiting = NULL;
        c->nwaiting = 0;
    }
    if (r == CWB_OK && !c->vacant)
        r = add_slab(c);
    struct hip_slot *s = r == CWB_OK ? c->vacant : NULL;
    if (s) {
        t->handle = s->address;
        r = hip_result(hip.hipMemcpy((void *)(uintptr_t)s->address, t, sizeof *t, hipMemcpyDefault));
        if (r == CWB_OK) {
            c->vacant = s->next;
            s->native = native;
            *handle = s->address;
        }
    }
    pthread_mutex_unlock(&c->texture_lock);
    return r;
}

cwb_result
hip_texture_create(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle)
{
    struct cw_texture t;
    hipTextureObject_t native = NULL;
    cwb_result r = cw_texture_describe(d, &t);
    if (r == CWB_OK && c->images)
        native = hip_native_texture(c, d, &t);
    if (r == CWB_OK)
        r = publish(c, &t, native, handle);
    if (r != CWB_OK && native)
        (void)hip.hipTexObjectDestroy(native);
    return r;
}

cwb_result
hip_surface_create(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle)
{
    struct cw_texture t;
    cwb_result r = cw_surface_describe((const struct cw_array *)(const void *)a, level, &t);
    return r == CWB_OK ? publish(c, &t, NULL, handle) : r;
}

void
hip_texture_destroy(struct cwb_context *c, uint64_t handle)
{
    pthread_mutex_lock(&c->texture_lock);
    for (struct hip_slab *b = c->slabs; b; b = b->next) {
        uint64_t at = handle - (uintptr_t)b->memory;
        if (at >= (uint64_t)SLAB_SLOTS * SLOT)
            continue;
        struct hip_slot *s = &b->slot[at / SLOT];
        s->next = c->waiting;
        c->waiting = s;
        c->nwaiting++;
        break;
    }
    pthread_mutex_unlock(&c->texture_lock);
}

void
hip_textures_finish(struct cwb_context *c)
{
    while (c->slabs) {
        struct hip_slab *s = c->slabs;
        c->slabs = s->next;
        for (unsigned i = 0; i < SLAB_SLOTS; i++)
            drop_native(&s->slot[i]);
        (void)hip.hipFree(s->memory);
        free(s);
    }
}
