/* SPDX-License-Identifier: Apache-2.0
 * See index.h. Open addressing, half full at most; a slot holds a number plus one. */
#include "tracer/cli/index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct tr_index_key {
    size_t size;
    char bytes[];
};

static uint32_t
hash_of(const void *key, size_t size)
{
    uint64_t h = 0xcbf29ce484222325;        /* FNV-1a */
    for (const unsigned char *p = key; size; p++, size--)
        h = (h ^ *p) * 0x100000001b3;
    return (uint32_t)(h ^ h >> 32);
}

static bool
grow(struct tr_index *x)
{
    uint32_t n = x->slot_count ? 2 * x->slot_count : 64, *slots = n ? calloc(n, sizeof *slots) : NULL;
    struct tr_index_key **keys = slots ? realloc(x->keys, n / 2 * sizeof(struct tr_index_key *)) : NULL;
    if (!keys) {
        free(slots);
        return false;
    }
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t h = hash_of(keys[i]->bytes, keys[i]->size) & (n - 1);
        while (slots[h])
            h = (h + 1) & (n - 1);
        slots[h] = i + 1;
    }
    free(x->slots);
    x->slots = slots;
    x->keys = keys;
    x->slot_count = n;
    return true;
}

uint32_t
tr_index_of(struct tr_index *x, const void *key, size_t size)
{
    if (2 * x->count >= x->slot_count && !grow(x))
        return TR_NO_INDEX;
    uint32_t h = hash_of(key, size) & (x->slot_count - 1);
    for (; x->slots[h]; h = (h + 1) & (x->slot_count - 1)) {
        const struct tr_index_key *k = x->keys[x->slots[h] - 1];
        if (k->size == size && !memcmp(k->bytes, key, size))
            return x->slots[h] - 1;
    }
    struct tr_index_key *k = malloc(sizeof *k + size + 1);
    if (!k)
        return TR_NO_INDEX;
    k->size = size;
    memcpy(k->bytes, key, size);
    k->bytes[size] = 0;
    x->keys[x->count] = k;
    x->slots[h] = ++x->count;
    return x->count - 1;
}

uint32_t
tr_index_of_text(struct tr_index *x, const char *text)
{
    return tr_index_of(x, text, strlen(text));
}

const char *
tr_index_text(const struct tr_index *x, uint32_t number)
{
    return x->keys[number]->bytes;
}

void
tr_index_finish(struct tr_index *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        free(x->keys[i]);
    free(x->keys);
    free(x->slots);
    memset(x, 0, sizeof *x);
}
