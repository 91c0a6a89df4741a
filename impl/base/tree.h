/* SPDX-License-Identifier: Apache-2.0
 * Things in the order of a number that each has for itself: address ranges. The node lies in the thing, whose memory is the caller's; so is the lock. Each
 * operation takes time in the logarithm of how many there are (a treap: a search tree that is a heap by random priorities). */
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
    void (*refresh)(struct cw_tree_node *n);    /* NULL, or: what n says of all below it is derived anew, from its children */
    uint32_t random;            /* state of the priorities; any */
};

/* No other has n's key. */
void cw_tree_insert(struct cw_tree *t, struct cw_tree_node *n);
/* n is in the tree. */
void cw_tree_remove(struct cw_tree *t, struct cw_tree_node *n);
/* n itself has changed: refresh it and those above it. */
void cw_tree_refresh(struct cw_tree *t, struct cw_tree_node *n);
/* The one with the greatest key up to this one, and with the least beyond it; NULL: there is none. */
struct cw_tree_node *cw_tree_up_to(const struct cw_tree *t, uint64_t key);
struct cw_tree_node *cw_tree_beyond(const struct cw_tree *t, uint64_t key);

#endif
