/* SPDX-License-Identifier: Apache-2.0
 * Choices, and tables of objects that threads share, for calls at random. */
#ifndef TESTS_DICE_H
#define TESTS_DICE_H

#include <stdatomic.h>
#include <stdint.h>

enum { SHARED = 48 };           /* places of a table */

/* Where choices come from: a seed, or a fuzzer's input, a byte each, until it is used up. */
struct dice {
    uint64_t state;
    const uint8_t *data, *end;      /* NULL: the seed's */
};

static unsigned
rnd(struct dice *s)
{
    if (s->data)
        return s->data < s->end ? *s->data++ : 0;
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return (unsigned)(s->state >> 16);
}

#define PICK(table) atomic_load_explicit(&(table)[rnd(s) % SHARED], memory_order_relaxed)
#define SHARE(table, h) atomic_exchange(&(table)[rnd(s) % SHARED], (void *)(h))

#endif
