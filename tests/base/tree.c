/* SPDX-License-Identifier: Apache-2.0
 * Trees (impl/base/tree.h) against a list of flags, one for each key, with random keys and with keys in order; what each node says of those below it; depth. */
#include "impl/base/tree.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: step %u: %s\n", __FILE__, __LINE__, step, #x); exit(1); } } while (0)

enum { KEYS = 1000, STEPS = 200000, MANY = 100000 };

struct thing {
    struct cw_tree_node node;
    unsigned value, sum;        /* of it, and of all from it on down */
    bool in;
};
static struct thing things[MANY];
static unsigned step;

static void
add_up(struct cw_tree_node *n)
{
    struct thing *t = (struct thing *)n;
    t->sum = t->value;
    t->sum += n->left ? ((struct thing *)n->left)->sum : 0;
    t->sum += n->right ? ((struct thing *)n->right)->sum : 0;
}

static unsigned
depth(const struct cw_tree_node *n)
{
    if (!n)
        return 0;
    const unsigned left = depth(n->left), right = depth(n->right);
    return 1 + (left > right ? left : right);
}

static const struct cw_tree_node *
model_up_to(unsigned key)
{
    for (unsigned k = key < KEYS ? key : KEYS - 1;; k--) {
        if (things[k].in)
            return &things[k].node;
        if (!k)
            return NULL;
    }
}

static const struct cw_tree_node *
model_beyond(unsigned key)
{
    for (unsigned k = key + 1; k < KEYS; k++)
        if (things[k].in)
            return &things[k].node;
    return NULL;
}

int
main(void)
{
    struct cw_tree t = { .refresh = add_up };
    unsigned sum = 0;
    for (unsigned k = 0; k < MANY; k++)
        things[k].node.key = k;
    srand(1);
    for (step = 0; step < STEPS; step++) {
        const unsigned k = (unsigned)rand() % KEYS, asked = (unsigned)rand() % (KEYS + 10);
        struct thing *x = &things[k];
        if (!x->in) {
            x->value = (unsigned)rand() % 100;
            sum += x->value;
            cw_tree_insert(&t, &x->node);
            x->in = true;
        } else if (rand() % 3) {
            sum += 7;
            x->value += 7;
            cw_tree_refresh(&t, &x->node);
        } else {
            sum -= x->value;
            cw_tree_remove(&t, &x->node);
            x->in = false;
        }
        CHECK((t.root ? ((struct thing *)t.root)->sum : 0) == sum);
        CHECK(cw_tree_up_to(&t, asked) == model_up_to(asked));
        CHECK(cw_tree_beyond(&t, asked) == model_beyond(asked));
    }
    CHECK(cw_tree_up_to(&t, UINT64_MAX) == model_up_to(KEYS) && !cw_tree_beyond(&t, UINT64_MAX));
    for (unsigned k = 0; k < MANY; k++)
        if (!things[k].in)
            cw_tree_insert(&t, &things[k].node);
    CHECK(depth(t.root) < 60);  /* 17 at least; as many as there are in a tree without balance */
    for (unsigned k = 0; k < MANY; k++)
        cw_tree_remove(&t, &things[k].node);
    CHECK(!t.root);
    return 0;
}
