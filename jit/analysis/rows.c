/* SPDX-License-Identifier: Apache-2.0
 * Sets of registers: rows, which are small, and sets, which are quick to change (flow_private.h). */
#include "jit/analysis/flow_private.h"

#include <stdlib.h>
#include <string.h>

uint64_t
flow_row_word(const struct flow_row *row, uint32_t index)
{
    uint32_t low = 0, high = row->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row->word[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->n && row->word[low].index == index ? row->word[low].bits : 0;
}

void
flow_set_init(struct flow_set *s, uint32_t words, struct cw_arena *a)
{
    s->bits = cw_arena_array(a, uint64_t, words);
    s->listed = cw_arena_array(a, uint32_t, words);
    s->has = cw_arena_array(a, bool, words);
    s->n = 0;
}

void
flow_set_clear(struct flow_set *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->bits[s->listed[i]] = 0;
        s->has[s->listed[i]] = false;
    }
    s->n = 0;
}

void
flow_set_add_row(struct flow_set *s, const struct flow_row *row)
{
    for (uint32_t i = 0; i < row->n; i++)
        flow_set_add(s, row->word[i].index, row->word[i].bits);
}

int
flow_ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void
flow_set_row(struct flow_set *s, struct flow_row *row, struct cw_arena *a)
{
    row->n = 0;
    row->word = cw_arena_array(a, struct flow_word, s->n + 1);
    qsort(s->listed, s->n, sizeof *s->listed, flow_ascending);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->bits[s->listed[i]])
            row->word[row->n++] = (struct flow_word){ s->bits[s->listed[i]], s->listed[i] };
}
