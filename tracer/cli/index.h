/* SPDX-License-Identifier: Apache-2.0
 * Numbers 0, 1, 2... for keys, in the order in which they first come: where a list is asked for one of its elements at every event. */
#ifndef CW_TRACE_INDEX_H
#define CW_TRACE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define TR_NO_INDEX UINT32_MAX

struct tr_index_key;
struct tr_index {           /* zero: empty */
    struct tr_index_key **keys;
    uint32_t *slots, slot_count, count;
};

/* The key's number, which is the count before where it is new; TR_NO_INDEX: out of memory. */
uint32_t tr_index_of(struct tr_index *x, const void *key, size_t size);
uint32_t tr_index_of_text(struct tr_index *x, const char *text);
/* The key with a NUL behind it, until tr_index_finish. */
const char *tr_index_text(const struct tr_index *x, uint32_t number);
void tr_index_finish(struct tr_index *x);

#endif
