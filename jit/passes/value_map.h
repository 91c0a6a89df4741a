/* SPDX-License-Identifier: Apache-2.0
 * A hash table with LLVM values as keys, and a list of them. Zero-initialise them. A guarded arena owns their memory. */
#ifndef CWJ_PASSES_VALUE_MAP_H
#define CWJ_PASSES_VALUE_MAP_H

#include "impl/base/arena.h"

#include <llvm-c/Types.h>

struct value_entry {
    LLVMValueRef value, pointer;    /* the key; for the user */
    unsigned state;                 /* for the user; 0 in a new entry */
};

struct value_map {
    struct value_entry *slot;
    size_t size, count;             /* size is a power of two or zero */
};

static inline struct value_entry *
value_map_slot(const struct value_map *m, LLVMValueRef v)
{
    size_t i = (size_t)((uintptr_t)v >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (m->size - 1);
    while (m->slot[i].value && m->slot[i].value != v)
        i = (i + 1) & (m->size - 1);
    return &m->slot[i];
}

/* The entry of v, which is added if missing. Valid until the next call. */
static inline struct value_entry *
value_map_entry(struct cw_arena *a, struct value_map *m, LLVMValueRef v)
{
    if (m->count * 2 >= m->size) {
        struct value_map grown = { .size = m->size ? m->size * 2 : 256, .count = m->count };
        grown.slot = cw_arena_array(a, struct value_entry, grown.size);
        for (size_t i = 0; i < m->size; i++)
            if (m->slot[i].value)
                *value_map_slot(&grown, m->slot[i].value) = m->slot[i];
        *m = grown;
    }
    struct value_entry *x = value_map_slot(m, v);
    if (!x->value) {
        x->value = v;
        m->count++;
    }
    return x;
}

struct value_list {
    LLVMValueRef *at;
    uint32_t n, capacity;
};

static inline void
value_list_add(struct cw_arena *a, struct value_list *l, LLVMValueRef v)
{
    l->at = cw_arena_grow(a, l->at, l->n, 1, &l->capacity, sizeof v);
    l->at[l->n++] = v;
}

#endif
