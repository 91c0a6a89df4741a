/* SPDX-License-Identifier: Apache-2.0
 * See texture.h: creation and look-up; impl/texture.c defines the objects; sampling is in tex.c and tex_fast.c. */
#include "impl/host/texture.h"

#include "impl/va.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16 };

/* A handle is generation << 20 | slot + 1. Readers load one pointer; writers hold the lock. */
static _Atomic(struct cw_texture *) slots[SLOTS];
static struct {
    pthread_mutex_t lock;
    uint32_t hint;
    uint64_t generation;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static cwb_result
insert(struct cw_texture *t)
{
    cwb_result r = CWB_NOMEM;
    pthread_mutex_lock(&table.lock);
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t s = (table.hint + i) % SLOTS;
        if (!atomic_load_explicit(&slots[s], memory_order_relaxed)) {
            t->handle = ++table.generation << 20 | (s + 1);
            atomic_store_explicit(&slots[s], t, memory_order_release);
            table.hint = s + 1;
            r = CWB_OK;
            break;
        }
    }
    pthread_mutex_unlock(&table.lock);
    return r;
}

struct cw_texture *
cwh_texobj_get(uint64_t handle)
{
    uint64_t s = (handle & 0xfffff) - 1;
    if (s >= SLOTS)
        return NULL;
    struct cw_texture *t = atomic_load_explicit(&slots[s], memory_order_acquire);
    return t && t->handle == handle ? t : NULL;
}

void
cwh_texobj_free(struct cw_texture *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&table.lock);
    atomic_store_explicit(&slots[(t->handle & 0xfffff) - 1], NULL, memory_order_release);
    pthread_mutex_unlock(&table.lock);
    free(t);
}

bool
cwh_texobj_mirror(const struct cw_texture *t)
{
    uint64_t s = (t->handle & 0xfffff) - 1;
    struct cw_texture *copy = s < SLOTS ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return false;
    *copy = *t;
    free(atomic_exchange(&slots[s], copy));
    return true;
}

cwb_result
cwh_array_create(const struct cwb_array_desc *d, struct cw_array **out)
{
    uint64_t memory;
    struct cw_array *a = malloc(sizeof *a);
    if (!a)
        return CWB_NOMEM;
    cwb_result r = cw_array_layout(d, 64, a);
    if (r == CWB_OK)
        r = cw_va_alloc(a->size, 512, &memory);
    if (r != CWB_OK) {
        free(a);
        return r;
    }
    cw_array_place(a, memory);
    *out = a;
    return CWB_OK;
}

void
cwh_array_destroy(struct cw_array *a)
{
    if (!a)
        return;
    (void)cw_va_free(a->memory, a->size);
    free(a);
}

/* Give a described object a handle, or free it. */
static cwb_result
publish(cwb_result r, struct cw_texture *t, struct cw_texture **out)
{
    if (r == CWB_OK)
        r = insert(t);
    if (r != CWB_OK)
        free(t);
    else
        *out = t;
    return r;
}

cwb_result
cwh_texture_create(const struct cwb_texture_desc *d, struct cw_texture **out)
{
    struct cw_texture *t = malloc(sizeof *t);
    return t ? publish(cw_texture_describe(d, t), t, out) : CWB_NOMEM;
}

cwb_result
cwh_surface_create(const struct cw_array *a, uint32_t level, struct cw_texture **out)
{
    struct cw_texture *t = malloc(sizeof *t);
    return t ? publish(cw_surface_describe(a, level, t), t, out) : CWB_NOMEM;
}
