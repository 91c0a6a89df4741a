/* SPDX-License-Identifier: Apache-2.0
 * Private to graph_exec.c, graph_plan.c and graph_condition.c: the body of an executable graph, and the plan of its launches. */
#ifndef CWD_GRAPH_PLAN_H
#define CWD_GRAPH_PLAN_H

#include "impl/driver/graph.h"

struct entry {
    uint64_t node;                      /* handle of the node that it was made from */
    struct work w;                      /* a child graph's is in `child` */
    struct body *child;
    struct body **bodies;               /* of a conditional node */
    uint32_t nbodies;
    uint32_t *deps, ndeps;              /* indexes */
    bool enabled;
    union {
        struct copy_job copy;           /* of the launch under way */
        struct fill_job fill;
    };
};

struct body {
    struct later later;
    struct entry *e;                    /* in order of creation */
    uint32_t n;
    uint32_t *order;                    /* of execution */
    struct user_ref *users;             /* of the graph that it is made from; a child's has its own */
    uint32_t nusers;
    struct launch_end *end;             /* owned reference: the last launch of a body that is replaced or destroyed */
};

/* One operation of a launch: in its lane wait for events, run the entry, record an event. */
struct step {
    struct entry *e;                    /* NULL: nothing to run, a place where lanes meet */
    uint32_t lane;                      /* 0: the stream of the launch */
    uint32_t first_wait, nwaits;        /* in plan.waits */
    uint32_t signal;                    /* event, or PLAN_NONE */
};

#define PLAN_NONE UINT32_MAX

/* Steps in an order of submission that respects the edges, children's among them. It names the body's entries: it ends when the body or a
 * child of it is replaced. */
struct plan {
    struct step *steps;
    uint32_t n;
    uint32_t *waits;                    /* events */
    uint32_t nlanes, nevents;
};

/* A launch under way. */
struct graph_launch {
    struct stream *s;
    bool ended;                         /* the context ended meanwhile: ctx.order is not held, and nothing of it may be touched */
};

/* graph_exec.c: submit one entry that is no graph and no condition. ctx.order is held. */
CUresult entry_issue(const struct ctx *c, struct cwb_stream *s, struct entry *e);

/* graph_condition.c; ctx.order is held. */
CUresult conditions_assign(const struct ctx *c, struct cwb_stream *s, const struct body *b);      /* values at the start of a launch */
CUresult condition_run(struct graph_launch *l, struct cwb_stream *lane, const struct entry *e);

CUresult plan_make(const struct body *b, struct plan **out);
void     plan_destroy(struct plan *p);  /* NULL: nothing */

#endif
