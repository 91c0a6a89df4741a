/* SPDX-License-Identifier: Apache-2.0
 * An executable graph, between graph_exec.c, which makes and launches it, and graph_update.c, which changes it. */
#ifndef CWD_GRAPH_EXEC_H
#define CWD_GRAPH_EXEC_H

#include "impl/driver/graph_plan.h"

/* The event that ends the last launch; kept by the executable graph, and by bodies that wait for it (body_retire). */
struct launch_end {
    _Atomic uint32_t refs;
    struct ctx *ctx;                    /* owned reference */
    struct cwb_event *be;
};

struct exec {
    struct obj obj;                     /* KIND_EXEC */
    pthread_mutex_t lock;
    struct body *body;                  /* lock, and so on */
    struct plan *plan;                  /* of the body as it is, or NULL */
    cuuint64_t flags;
    struct ctx *ctx;                    /* owned reference: where its operations run, or NULL when that does not matter */
    struct ctx *last_ctx;               /* owned reference */
    struct launch_end *done;            /* owned reference; last_ctx's, like these: */
    struct cwb_event **events;          /* the plan's */
    uint32_t nevents;
    uint64_t last_stream;
};

#define EXEC(x, h)                                                                                                     \
    READY();                                                                                                           \
    struct exec *x AUTO_PUT = handle_get(h, KIND_EXEC);                                                                \
    if (!x)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

void body_finish(struct body *b);       /* NULL: nothing. May call the application (user objects) unless the graph is there that it is made from */
/* The same when the launches that use it have ended; does not wait for them. Takes a reference to `last` over (NULL: nothing was
 * launched). No lock is held. */
void body_retire(struct body *b, struct launch_end *last);
struct launch_end *launch_end_ref(struct launch_end *l);        /* NULL: NULL */
/* NULL: the node has no entry. The executable graph's lock is held, here and below. */
struct entry *body_find(struct body *b, CUgraphNode node);
/* Before any change of the body. */
void exec_forget_plan(struct exec *x);

#endif
