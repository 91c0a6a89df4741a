/* SPDX-License-Identifier: Apache-2.0
 * See tree.h. No node has a greater priority than the one above it, so the tree is as deep as one that was made in random order. */
#include "impl/base/tree.h"

#include <stddef.h>

typedef struct cw_tree_node node;

static node *
refreshed(const struct cw_tree *t, node *n)
{
    if (t->refresh)
        t->refresh(n);
    return n;
}

/* Those with lesser keys, and the others. */
static void
split(const struct cw_tree *t, node *n, uint64_t key, node **less, node **rest)
{
    if (!n) {
        *less = *rest = NULL;
    } else if (n->key < key) {
        split(t, n->right, key, &n->right, rest);
        *less = refreshed(t, n);
    } else {
        split(t, n->left, key, less, &n->left);
        *rest = refreshed(t, n);
    }
}

/* All keys of a are less than those of b. */
static node *
merge(const struct cw_tree *t, node *a, node *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority) {
        a->right = merge(t, a->right, b);
        return refreshed(t, a);
    }
    b->left = merge(t, a, b->left);
    return refreshed(t, b);
}

static node *
insert(const struct cw_tree *t, node *at, node *n)
{
    if (!at || n->priority > at->priority) {
        split(t, at, n->key, &n->left, &n->right);
        return refreshed(t, n);
    }
    node **side = n->key < at->key ? &at->left : &at->right;
    *side = insert(t, *side, n);
    return refreshed(t, at);
}

void
cw_tree_insert(struct cw_tree *t, node *n)
{
    t->random = t->random * 1664525u + 1013904223u;
    n->priority = t->random;
    n->left = n->right = NULL;
    t->root = insert(t, t->root, n);
}

static node *
without(const struct cw_tree *t, node *at, const node *n)
{
    if (at == n)
        return merge(t, at->left, at->right);
    node **side = n->key < at->key ? &at->left : &at->right;
    *side = without(t, *side, n);
    return refreshed(t, at);
}

void
cw_tree_remove(struct cw_tree *t, node *n)
{
    t->root = without(t, t->root, n);
}

static void
refresh_to(const struct cw_tree *t, node *at, const node *n)
{
    if (at != n)
        refresh_to(t, n->key < at->key ? at->left : at->right, n);
    t->refresh(at);
}

void
cw_tree_refresh(struct cw_tree *t, node *n)
{
    refresh_to(t, t->root, n);
}

node *
cw_tree_up_to(const struct cw_tree *t, uint64_t key)
{
    node *found = NULL;
    for (node *n = t->root; n; n = n->key <= key ? n->right : n->left)
        found = n->key <= key ? n : found;
    return found;
}

node *
cw_tree_beyond(const struct cw_tree *t, uint64_t key)
{
    node *found = NULL;
    for (node *n = t->root; n; n = n->key > key ? n->left : n->right)
        found = n->key > key ? n : found;
    return found;
}
