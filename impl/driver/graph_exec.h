/* SPDX-License-Identifier: Apache-2.0
 * An executable graph, between graph_exec.c, which makes and launches it, and graph_update.c, which changes it. */
#ifndef CWD_GRAPH_EXEC_H
#define CWD_GRAPH_EXEC_H

#include "impl/driver/graph_plan.h"

struct exec {
    struct obj obj;                     /* KIND_EXEC */
    pthread_mutex_t lock;
    struct body *body;                  /* lock, and so on */
    struct plan *plan;                  /* of the body as it is, or NULL */
    cuuint64_t flags;
    struct ctx *ctx;                    /* owned reference: where its operations run, or NULL when that does not matter */
    struct ctx *last_ctx;               /* owned reference */
    struct cwb_event *done;             /* of the last launch; last_ctx's, like these: */
    struct cwb_event **events;          /* the plan's */
    uint32_t nevents;
    uint64_t last_stream;
    struct user_ref *users;
    uint32_t nusers;
};

#define EXEC(x, h)                                                                                                     \
    READY();                                                                                                           \
    struct exec *x AUTO_PUT = handle_get(h, KIND_EXEC);                                                                \
    if (!x)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

void body_finish(struct body *b);       /* NULL: nothing */
/* NULL: the node has no entry. The graph's lock is held, here and below. */
struct entry *body_find(struct body *b, CUgraphNode node);
/* Before any change of the body. */
void exec_forget_plan(struct exec *x);

#endif
