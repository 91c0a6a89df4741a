/* SPDX-License-Identifier: Apache-2.0
 * An ordered set, by a key that each element has for itself, such as an address. The caller embeds the node in its structure, owns the memory, and holds the
 * lock. Each operation takes logarithmic time (a treap: a search tree whose random priorities form a heap). */
#ifndef CW_TREE_H
#define CW_TREE_H

#include <stdint.h>

struct cw_tree_node {
    struct cw_tree_node *left, *right;
    uint64_t key;               /* may be changed in place where the order stays */
    uint32_t priority;
};

struct cw_tree {
    struct cw_tree_node *root;
    void (*refresh)(struct cw_tree_node *n);    /* computes what n holds about its subtree, from n and its children; or NULL */
    uint32_t random;            /* state of the priorities; any */
};

/* No other has n's key. */
void cw_tree_insert(struct cw_tree *t, struct cw_tree_node *n);
/* n is in the tree. */
void cw_tree_remove(struct cw_tree *t, struct cw_tree_node *n);
/* Call `refresh`, which is not NULL, for n, whose own data changed, and for the nodes above it. */
void cw_tree_refresh(struct cw_tree *t, struct cw_tree_node *n);
/* The one with the greatest key up to this one, and with the least beyond it; NULL: there is none. */
struct cw_tree_node *cw_tree_up_to(const struct cw_tree *t, uint64_t key);
struct cw_tree_node *cw_tree_beyond(const struct cw_tree *t, uint64_t key);

#endif
