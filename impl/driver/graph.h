/* SPDX-License-Identifier: Apache-2.0
 * Private to impl/driver: CUDA graphs (docs/graphs.md). A node holds one `struct work`, the driver's description of one stream
 * operation with everything that it needs copied; stream capture makes such descriptions instead of submitting, an executable graph
 * holds copies of them in an order that respects the edges, and a launch submits each to the stream.
 * Structure (nodes, edges, captures) and what nodes hold are under graph_lock; an executable graph has its own lock, which comes before. Nodes in lists that
 * are kept across calls are named by handle, so that a destroyed one is recognised. */
#ifndef CWD_GRAPH_H
#define CWD_GRAPH_H

#include "impl/driver/driver.h"

extern pthread_mutex_t graph_lock;

/* Memory of an allocation node: there from the node's creation until its last holder goes, so that its address is fixed. Holders are
 * graphs, executable graphs, and the program itself while `live`: what was launched so far left it allocated. */
struct graph_memory {
    struct later later;
    _Atomic uint32_t refs;
    struct ctx *ctx;                    /* owned reference */
    uint64_t address, size;
    _Atomic bool live;
    _Atomic uint32_t execs;             /* executable graphs that allocate it: at most one */
};

/* A conditional handle (graph_condition.c): its graph, nodes and executable graphs hold references. */
struct graph_condition {
    struct later later;
    struct graph_condition *next;       /* of all */
    struct graph_condition *next_of_graph;      /* graph_lock */
    _Atomic uint32_t refs;
    struct ctx *ctx;                    /* owned reference */
    uint64_t address;                   /* of the value; the handle */
    uint64_t graph;                     /* handle of the graph that it was made for */
    uint32_t initial;                   /* the value at the start of each launch, if `assign` */
    bool assign;
    _Atomic bool used;                  /* a node has it */
    _Atomic uint32_t execs;             /* executable graphs that have it: at most one */
};

struct work {
    CUgraphNodeType type;
    union {
        struct {
            struct func *f;             /* owned reference */
            struct cwb_launch l;        /* l.params: owned */
            void **args;                /* owned: where each parameter is in l.params, for those who ask */
            struct hints hints;
        } kernel;
        struct {
            struct ctx *ctx;            /* owned reference */
            CUDA_MEMCPY3D p;
        } copy;
        struct {
            struct ctx *ctx;            /* owned reference */
            CUDA_MEMSET_NODE_PARAMS p;
        } fill;
        CUDA_HOST_NODE_PARAMS host;
        struct graph *child;            /* owned: its handle ends with the node */
        struct event *event;            /* EVENT_RECORD, WAIT_EVENT: owned reference */
        struct {
            CUDA_MEM_ALLOC_NODE_PARAMS p;   /* without access descriptions */
            struct graph_memory *m;     /* owned reference */
        } alloc;
        struct {
            CUdeviceptr address;
            struct graph_memory *m;     /* owned reference, or NULL: memory that cuMemAllocAsync gave outside a graph */
        } free;
        struct {
            struct ctx *ctx;            /* owned reference */
            CUstreamBatchMemOpParams *list; /* owned */
            unsigned count, flags;
        } batch;
        struct {
            struct graph_condition *c;  /* owned reference */
            CUgraphConditionalNodeType type;
            unsigned size;
            struct graph **bodies;      /* owned, `size` of them, and their handles end with the node; NULL in an executable graph */
            CUgraph *handles;           /* owned: theirs, for the program */
        } cond;
    };
};

/* Everything copied, references taken. On failure *to needs no finish. */
CUresult work_copy(struct work *to, const struct work *from);
void     work_finish(struct work *w);
/* The context in which it runs, borrowed; NULL: any. */
struct ctx *work_context(const struct work *w);
/* Descriptions from a call's arguments, checked. */
CUresult work_kernel(struct work *w, struct func *f, const struct cwb_launch *l);     /* l->params: the packed block, copied */
CUresult work_kernel_params(struct work *w, const CUDA_KERNEL_NODE_PARAMS *p);
/* Before w takes the place of old in a node: a kernel node's attributes stay. Not if the new shape does not suit them. */
CUresult work_keep(struct work *w, const struct work *old);
CUresult work_memcpy(struct work *w, const CUDA_MEMCPY3D *p, CUcontext ctx);
CUresult work_memset(struct work *w, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx);
CUresult work_event(struct work *w, CUgraphNodeType type, CUevent e);
CUresult work_host(struct work *w, const CUDA_HOST_NODE_PARAMS *p);
CUresult work_alloc(struct work *w, struct ctx *c, CUDA_MEM_ALLOC_NODE_PARAMS *p);     /* c NULL: the current one */
CUresult work_free(struct work *w, CUdeviceptr address);
CUresult work_batch(struct work *w, struct ctx *c, unsigned count, const CUstreamBatchMemOpParams *list, unsigned flags);
CUresult work_batch_params(struct work *w, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p);
CUresult work_conditional(struct work *w, CUDA_CONDITIONAL_NODE_PARAMS *p);     /* p->phGraph_out: w's */
/* Any node's, from the general structure, of which general_form is true; results (an allocation's address) go back into it. */
CUresult work_general(struct work *w, CUgraphNodeParams *p);
/* There is such a structure, and its unused bytes are zero ("CUgraphNodeParams"). */
bool     general_form(const CUgraphNodeParams *p);

void     condition_put(struct graph_condition *c);          /* NULL: nothing */
/* Make w, of a conditional node that is to be in g, the one that has its handle. False: the handle is another graph's or has a node.
 * graph_lock held. */
bool     condition_claim(const struct work *w, const struct graph *g);
bool     condition_allows(CUgraphNodeType type);            /* in a body */

struct graph_memory *graph_memory_find(uint64_t address);   /* with a reference, or NULL */
void     graph_memory_put(struct graph_memory *m);           /* NULL: nothing. Does not wait: where it is the last, later.c frees */
void     graph_memory_live(struct graph_memory *m, bool live);      /* the caller has a reference */
void     graph_memory_ended(uint64_t address);              /* its context ended: what the program had of it ends */
/* For cuMemFree and cuMemFreeAsync: true when the address is a graph's memory; *e is then the call's result. */
bool     graph_memory_free(uint64_t address, CUresult *e);
uint64_t graph_memory_used(CUdevice device);

struct node_list {
    struct node **v;
    uint32_t n, capacity;
};

struct node {
    struct obj obj;                     /* KIND_NODE */
    CUgraphNodeType type;               /* w's, which never changes, for who has a reference and no lock */
    struct graph *graph;                /* graph_lock, and so on: NULL once taken out */
    struct node *next, *prev;           /* in order of creation */
    uint64_t original;                  /* handle of the node it was cloned from */
    uint32_t mark;                      /* scratch of one traversal */
    struct node_list deps, dependents;
    struct work w;
};

struct user_ref {
    struct user_object *o;
    uint64_t count;
};

struct graph {
    struct obj obj;                     /* KIND_GRAPH */
    struct node *first, *last;          /* graph_lock, and so on */
    uint32_t count;
    uint32_t special;                   /* how many of them allocate, free, or contain graphs; 0: graph_has finds nothing */
    struct node *owner;                 /* the child graph node or conditional node that it belongs to */
    struct graph_condition *conditions; /* handles that were made for it; a reference each */
    struct capture *capture;            /* being captured into */
    uint64_t clone_of;                  /* handle of the graph it was cloned from */
    struct user_ref *users;
    uint32_t nusers;
};

static inline CUgraphNode
node_handle(const struct node *n)
{
    return (CUgraphNode)(uintptr_t)n->obj.handle;
}

CUresult graph_make(struct graph **out);                    /* with a reference of the caller's, besides the handle's */
void     graph_end(struct graph *g);                        /* ends the handle and gives the caller's reference back */
/* Copy nodes, edges and counts of user objects. CUDA_ERROR_NOT_SUPPORTED: with memory or conditional nodes. */
CUresult graph_copy(struct graph *from, struct graph **out);
CUresult graph_child(struct graph *from, struct graph **out);         /* the same for a node; not of a graph that a node has already (so an H200) */
bool     graph_has(const struct graph *g, CUgraphNodeType type);      /* a special type; graph_lock held; nested ones count */
/* Append a node that depends on deps (handles); takes w over on success. */
CUresult node_add(struct graph *g, const CUgraphNode *deps, size_t n, struct work *w, CUgraphNode *out);
CUresult node_add_locked(struct graph *g, const CUgraphNode *deps, size_t n, struct work *w, CUgraphNode *out);
bool     node_list_add(struct node_list *l, struct node *n);
/* What is wrong with a call's list of nodes, whatever graph it is for, and with edges from them (d NULL: ordinary ones): others than ordinary ones begin at
 * kernels alone ("CUgraphKernelNodePort", "CUgraphDependencyType"). Called without a lock: the list may be where no memory is, and a handler of SIGSEGV may
 * leave the call by a long jump. */
CUresult edges_check(const char *function, const CUgraphNode *from, const CUgraphEdgeData *d, size_t n);
/* Give every node of g a mark, its place in order of creation. */
void     graph_number(struct graph *g);

/* ---- user objects (graph_user.c) ---- */
void     users_release(struct user_ref *users, uint32_t n); /* no lock held: may call the application */
/* graph_lock held. */
CUresult users_copy(const struct user_ref *from, uint32_t n, struct user_ref **out);

/* ---- capture (graph_capture.c) ------------------------------------------------------------------------------------------ */

/* The stream records into a graph instead of running. */
static inline bool
stream_captures(const struct stream *s)
{
    return atomic_load_explicit(&s->part, memory_order_relaxed) != NULL;
}

/* Append w to what s captures; w is taken over in any case. result: what making w gave (then nothing is appended). */
CUresult capture_work(struct stream *s, CUresult result, struct work *w);
/* A failed capture of s, which an operation meets before its arguments are looked at (driver 580). */
CUresult capture_error(struct stream *s);
CUresult capture_record(struct stream *s, struct event *e);
/* cuStreamWaitEvent where the stream captures or the event was recorded in a capture. False: neither holds any more; wait as usual. */
bool capture_wait(struct stream *s, struct event *ev, CUresult *result);

/* ---- executable graphs (graph_exec.c) -------------------------------------------------------------------------------------- */

/* Submit one operation; ctx.order is held. */
CUresult host_issue(const struct ctx *c, struct cwb_stream *s, CUhostFn fn, void *user);                        /* host_call.c */
CUresult batch_issue(const struct ctx *c, struct cwb_stream *s, unsigned count, const CUstreamBatchMemOpParams *list);
CUresult batch_form(const struct ctx *c, unsigned count, const CUstreamBatchMemOpParams *list);     /* what is refused whatever memory there is */
CUresult batch_check(const struct ctx *c, unsigned count, const CUstreamBatchMemOpParams *list);    /* what batch_issue would refuse; ctx.order is held */

/* copy.c: a copy or fill as the backend takes it, addresses and arrays looked up now. */
struct use {
    uint64_t address, size;             /* size 0: nothing that the driver knows */
};
struct copy_job {
    struct cwb_copy c;
    struct use use[2];                  /* of destination and source */
    bool wait_async, wait_sync;         /* must the call wait, for the asynchronous and the synchronous form */
    struct array *arrays[2];            /* owned references */
};
CUresult copy_resolve(const CUDA_MEMCPY3D *p, struct copy_job *j);
void     copy_job_finish(struct copy_job *j);
struct fill_job {
    struct cwb_fill f;
    struct use use;
    unsigned kinds;                     /* of the ranges */
};
CUresult fill_resolve(const CUDA_MEMSET_NODE_PARAMS *p, struct fill_job *j);
/* Submit to a stream of c, c->order held. CUDA_ERROR_INVALID_VALUE when memory has gone since it was looked up. */
CUresult copy_submit(const struct ctx *c, struct cwb_stream *s, const struct copy_job *j);
CUresult fill_submit(const struct ctx *c, struct cwb_stream *s, const struct fill_job *j);

/* function.c */
CUresult launch_check(struct func *f, const struct cwb_launch *l);    /* shape, resources, code made */
CUresult params_pack(const struct func *f, void **kernelParams, void **extra, uint8_t *block);

#endif
