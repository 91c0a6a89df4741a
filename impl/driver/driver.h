/* SPDX-License-Identifier: Apache-2.0
 * Private to impl/driver: the objects behind CUDA's handles and the helpers that all drv_* files share.
 * Objects are reference counted through their handle slot; the table's own reference goes when the handle is destroyed.
 * Each field names its lock (lock.h); fields without one are set before the handle is published and never change. */
#ifndef CWD_DRIVER_H
#define CWD_DRIVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "impl/api/cuda.h"
#include "impl/backend.h"
#include "impl/base/buf.h"
#include "impl/base/log.h"
#include "impl/device_times.h"
#include "impl/driver/lock.h"
#include "impl/post_mortem.h"
#include "jit/jit.h"

#include "cudaway/drv_prototypes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define DRIVER_VERSION 13000

/* ---- handles (handle.c) -------------------------------------------------------------------------------------------- */

enum kind {
    KIND_NONE, KIND_CONTEXT, KIND_PRIMARY, KIND_MODULE, KIND_FUNCTION, KIND_KERNEL, KIND_LIBRARY, KIND_STREAM, KIND_EVENT, KIND_ARRAY,
    KIND_MIPMAP, KIND_TEXREF, KIND_LINK, KIND_POOL, KIND_PHYS, KIND_GRAPH, KIND_NODE, KIND_EXEC, KIND_USER, KIND_GREEN, KIND_DESC, KIND_COUNT
};

struct ctx;
struct obj;
struct func;

/* What the table knows of a kind of object. */
struct obj_class {
    enum kind kind;
    void (*finish)(struct obj *o);      /* frees the object and gives back what it holds: called once, when nobody has a reference */
    bool (*end)(struct obj *o);         /* ends its handle and those of what it owns; false: another thread did. NULL: handle_kill */
    pthread_mutex_t *(*borrow)(struct obj *o);  /* the lock under which handle_peek finds it; NULL: none does */
    bool quiesce;                       /* queued work uses it without a reference: finish waits for the context's (objects_collect) */
};

/* First member of every object that has a handle. */
struct obj {
    uint64_t handle;
    const struct obj_class *class;
    struct ctx *ctx;                    /* owned reference, or NULL; a retired object's is borrowed */
    struct obj *next, **link;           /* the context's list: ctx.lock; or that of retired objects */
};

/* Publish o, which is whole, and put it on the list of its context. It has two references then: the table's, which ends with the handle,
 * and the caller's. CUDA_ERROR_OUT_OF_MEMORY when the table is full, CUDA_ERROR_CONTEXT_IS_DESTROYED when the context has ended: o is
 * the caller's as before. */
CUresult handle_new(struct obj *o, const struct obj_class *k, struct ctx *c);
/* A reference to the live object, or NULL for anything that is no live handle of that kind. */
void    *handle_get(const void *handle, enum kind k);
/* The live object of context c (NULL: of none), borrowed while the lock that its class names is held. NULL also when it belongs to
 * another context. */
void    *handle_peek(const void *handle, enum kind k, const struct ctx *c);
void     handle_ref(struct obj *o);
void     handle_put(struct obj *o);
/* End the handle: later look-ups fail. False when another thread did it first. Drops the table's reference. */
bool     handle_kill(struct obj *o);
bool     handle_end(struct obj *o);     /* the same, with the handles of what it owns */
/* From now on c takes no object, range or work. False: another thread was first. */
bool     objects_close(struct ctx *c);
/* Between the two c takes objects and memory for sure (ctx.lock is held). False: it has ended, and nothing is held. */
bool     ctx_admit(struct ctx *c);
void     ctx_admitted(struct ctx *c);
/* End all objects of a closed context. */
void     objects_end(struct ctx *c);
/* Finish the retired objects of c: those without a reference that queued work may still use. Waits for that work when there are some. */
void     objects_collect(struct ctx *c);
/* The same if that work is done; else they stay, up to a thousand. For calls that the work may wait for. */
void     objects_try(struct ctx *c);
/* For an object that has no handle: o is finished when work queued until now is done. o->ctx is borrowed and open (ctx_admit); its class is set. */
void     object_retire(struct obj *o);
/* For destroy calls: end o if it may be, give the caller's reference back, collect. INVALID_HANDLE: it had ended. *sticky (may be NULL)
 * gets the context's error. */
CUresult object_destroy(struct obj *o, bool may, CUresult *sticky);
enum kind handle_kind(const void *handle);
/* Was it the handle of such an object, which has ended? (For 16 million lives of its slot.) */
bool     handle_ended(const void *handle, enum kind k);

static inline void
put_cleanup(void *p)
{
    struct obj *o = *(struct obj **)p;
    if (o)
        handle_put(o);
}
#define AUTO_PUT __attribute__((cleanup(put_cleanup)))
#define HANDLE(type, o) ((type)(uintptr_t)(o)->obj.handle)

/* ---- process (init.c) -------------------------------------------------------------------------------------------------- */

#define MAX_DEVICES 16

struct device {
    const struct cwb_backend *b;
    uint32_t index;                     /* the backend's number */
    struct cwb_device_props props;      /* defaults filled in */
    struct primary *primary;
    struct pool *default_pool;          /* g.lock: made when first asked for, kept */
    uint64_t current_pool;              /* g.lock: handle, 0 for the default one */
};

enum state { STATE_NEW, STATE_READY, STATE_FAILED, STATE_FORKED, STATE_EXITED };

struct global {
    pthread_mutex_t lock;
    _Atomic int state;                  /* enum state */
    CUresult init_error;                /* when STATE_FAILED; g.lock */
    const struct cwb_backend *backend;
    uint32_t ndevices;
    struct device devices[MAX_DEVICES];
};
extern struct global g;

/* CUDA_SUCCESS once cuInit succeeded and not in a host function, else the error every call gives. */
CUresult driver_not_ready(void);
static inline CUresult
driver_state(void)
{
    bool ready = atomic_load_explicit(&g.state, memory_order_acquire) == STATE_READY && !cwb_in_host_function;
    return __builtin_expect(ready, 1) ? CUDA_SUCCESS : driver_not_ready();
}
/* A host function, a callback of a stream or a user object's destructor (cwb_in_host_function) makes no CUDA calls ("cuLaunchHostFunc",
 * "cuStreamAddCallback"). An H200 refuses those that look for a context or a device (READY), and takes those that name a stream or an event
 * (STARTED, stream_context). Of these we refuse what would wait, perhaps for the function itself. */
#define READY() do { CUresult r_ = driver_state(); if (r_ != CUDA_SUCCESS) return r_; } while (0)
#define STARTED() do { CUresult r_ = driver_state(); if (r_ != CUDA_SUCCESS && r_ != CUDA_ERROR_NOT_PERMITTED) return r_; } while (0)
/* In a host function, in place of a wait: `query` instead, and an error where the wait would not end at once. */
#define MAY_WAIT(query) do {                                                                                           \
        if (__builtin_expect(cwb_in_host_function, 0)) {                                                               \
            CUresult r_ = query;                                                                                       \
            return r_ == CUDA_ERROR_NOT_READY ? CUDA_ERROR_NOT_PERMITTED : r_;                                         \
        }                                                                                                              \
    } while (0)
bool driver_redirects(void);            /* cw_redirect_at_driver_call, where a child may call it */
CUresult device_get(CUdevice d, struct device **out);
bool device_reaches(const struct device *d, const struct device *p);    /* kernels on d can use memory of p, another device */

CUresult result_of_failure(cwb_result r);
static inline CUresult
result_of(cwb_result r)
{
    return r == CWB_OK ? CUDA_SUCCESS : result_of_failure(r);
}
/* The same of a query. A program that polls under a real-time policy would keep the device's threads from its processor, so a query that is not ready yields. */
CUresult poll_result(cwb_result r);
/* Of the jit. */
CUresult result_of_cw(cw_result r);
/* One line, once for each `what` (a literal): what is missing, for whom. Returns CUDA_ERROR_NOT_SUPPORTED. */
CUresult unsupported(const char *function, const char *what);
/* Load the compiler, unless it is. The error is logged; out of memory: a later call tries again. */
CUresult jit_open(void) CW_MUST_CHECK;
const struct cwj_api *jit_api(void);    /* NULL before jit_open succeeds */

/* ---- contexts (context.c) ------------------------------------------------------------------------------------------------ */

struct ctx {
    _Atomic uint32_t refs;
    _Atomic bool dead;                  /* set under lock and order: takes no object, range or work from then on; the backend's part lives
                                         * until refs is 0 */
    CUcontext handle;
    CUdevice device;
    struct device *dev;
    unsigned version;                   /* API version */
    uint64_t id;
    bool primary;
    struct obj obj;                     /* created contexts only */
    const struct cwb_backend *b;
    struct cwb_context *be;
    pthread_mutex_t lock;
    unsigned flags;                     /* lock */
    struct obj *objects;                /* lock */
    _Atomic(struct obj *) retired;      /* without references, to be finished by objects_collect */
    size_t limits[CU_LIMIT_MAX];        /* lock */
    CUfunc_cache cache;                 /* lock */
    CUsharedconfig shared_config;       /* lock */
    uint32_t attached;                  /* lock: cuCtxAttach */
    pthread_mutex_t order;
    struct stream *legacy;              /* order: created with the context; NULL once destroyed */
    CUstream legacy_handle;
    struct cwb_event *legacy_event;
    uint64_t legacy_seq;                /* order: grows with each submission to the legacy stream */
    struct stream *streams;             /* order: all of them, also destroyed ones whose work is not done: */
    _Atomic uint32_t departed;          /* order: the number of those */
    _Atomic uint32_t peers;             /* bit per device: cuCtxEnablePeerAccess */
    _Atomic bool lent;                  /* work of other contexts used memory of this one */
    struct ctx *next_live;              /* contexts_lock: the list of those that have not ended */
    struct host_thread *host;           /* owned reference */
};

/* host_call.c: what calls a context's host functions. Counted references, for functions outlive the context's handle. */
struct host_thread *host_thread_create(void);              /* NULL: out of memory */
void     host_thread_unref(struct host_thread *t);         /* takes NULL */

/* The calling thread's current context, borrowed for the call. Errors: not initialised, invalid, destroyed. */
CUresult ctx_current(struct ctx **out);
/* The same, and the sticky error if there is one. NVIDIA's driver gives that from nearly every call that needs a context (observed: the
 * list in tests/driver/test_sticky.c), so this is the rule, and ctx_current for what only asks about the context itself. */
CUresult ctx_usable(struct ctx **out);
extern _Thread_local bool drv_ignores_fault;                /* post_mortem.c: the tracer looks at what a fault has left */
static inline CUresult
ctx_error(const struct ctx *c)
{
    cwb_result r = c->b->context_error(c->be);
    return r == CWB_OK || drv_ignores_fault ? CUDA_SUCCESS : result_of(r);
}
/* A counted reference for a handle (NULL: the current one). */
CUresult ctx_from_handle(CUcontext h, struct ctx **out);
void     ctx_ref(struct ctx *c);
void     ctx_unref(struct ctx *c);
CUresult ctx_create(CUdevice d, unsigned flags, unsigned version, bool primary, struct ctx **out);
void     ctx_kill(struct ctx *c);       /* marks dead, ends all handles, frees memory; drops no reference */
bool     context_lives(uint64_t id);    /* has not ended */
/* Everything that other contexts than c had submitted when this was called is done. */
void     contexts_settle(const struct ctx *c);
bool     contexts_settled(const struct ctx *c);

#define CURRENT(c) struct ctx *c; do { CUresult r_ = ctx_current(&c); if (r_ != CUDA_SUCCESS) return r_; } while (0)
#define USABLE(c)  struct ctx *c; do { CUresult r_ = ctx_usable(&c); if (r_ != CUDA_SUCCESS) return r_; } while (0)

CUcontext ctx_current_handle(void);                 /* as the program set it; NULL: none */
bool     ctx_flags_valid(unsigned flags);
struct ctx *green_context(CUcontext h);             /* green.c: the context behind a green one's handle, with a reference, or NULL */
void     locals_release(struct ctx *c);             /* export_table.c: values that were put for it */

/* ---- primary contexts (primary.c) ------------------------------------------------------------------------------------------ */

CUresult primary_setup(struct device *d, CUdevice number);
CUcontext primary_handle(const struct device *d);   /* also while it is inactive */
/* The primary context, made if it is inactive and kept until primary_unpin or a reset; with a reference. */
CUresult primary_pin(struct device *d, struct ctx **out);
void     primary_unpin(struct ctx *c);              /* gives the reference back */
/* False: h is no primary context's handle. *out: the instance, with a reference; NULL while there is none. */
bool     primary_find(CUcontext h, struct ctx **out);
/* The same; what is known also while it is inactive. */
bool     primary_facts(CUcontext h, CUdevice *device, unsigned *flags);

/* ---- attributes that only give hints (hints.c) ------------------------------------------------------------------------------- */

struct hints {
    CUaccessPolicyWindow window;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    CUsynchronizationPolicy sync;
    CUclusterSchedulingPolicy clusters;
    unsigned carveout;
    int priority;
    uint32_t set;                       /* a bit for each that hint_set has set */
};

extern const struct hints hints_unset;              /* what a stream or kernel node has that was told nothing ("Memory Synchronization Domains": domain 0 and 1) */

enum { HINT_STREAM = 1, HINT_KERNEL = 2 };          /* who may have it: streams; launches and kernel nodes */
bool     hint_for(unsigned whom, CUlaunchAttributeID id);
/* For attributes that hint_for says someone may have. */
CUresult hint_set(struct hints *h, CUlaunchAttributeID id, const CUlaunchAttributeValue *v);
void     hint_get(const struct hints *h, CUlaunchAttributeID id, CUlaunchAttributeValue *v);
int      priority_possible(int priority);             /* the nearest of those that cuCtxGetStreamPriorityRange gives */
/* Of the kernel node that a launch of f in a captured stream makes: what the launch has set (NULL: nothing), else what the stream has. */
void     hints_capture(struct hints *node, const struct func *f, const struct hints *stream, const struct hints *launch);

/* ---- streams and events (stream.c, event.c) -------------------------------------------------------------------------------- */

enum { LANES = 8 };                     /* streams that the branches of a launched graph are spread over (graph_plan.c) */

/* Which frees (cuMemFreeAsync) of other streams something comes behind: of each of these streams, all up to a number. One that joins many streams forgets some: pools then use
 * less again of what was freed. Streams and events of one context; ctx.order. */
enum { FREES_STREAMS = 8 };
struct frees {
    uint32_t n;
    struct { uint64_t stream, number; } of[FREES_STREAMS];
};

struct stream {
    struct obj obj;
    struct cwb_stream *be;
    struct cwb_stream *lanes[LANES];    /* ctx.lock: those behind the first, which is `be`; each made when first needed, then kept */
    struct cwb_event *join;             /* for legacy ordering */
    unsigned flags;
    struct hints hints;                 /* ctx.lock */
    uint64_t id;
    uint64_t green;                     /* handle of the green context that it was made in, or 0 */
    bool is_legacy, blocking;
    bool dirty;                         /* ctx.order: work since the legacy stream last joined it */
    uint64_t seen_legacy;               /* ctx.order */
    uint64_t frees;                     /* ctx.order: how many were submitted to it */
    struct frees behind;                /* what its next work comes behind */
    _Atomic(struct part *) part;        /* graph_lock: its part in a capture; NULL: it captures nothing */
    bool departed;                      /* ctx.order: without references; goes when its work is done */
    struct stream *next, **link;        /* ctx.order: ctx.streams */
};

struct event {
    struct obj obj;
    struct cwb_event *be;
    struct ipc_event *ipc;              /* CU_EVENT_INTERPROCESS: owned reference; `be` is not used then */
    unsigned flags;
    _Atomic bool recorded;
    _Atomic bool captured;              /* last recorded in a capture: */
    struct frees behind;                /* what its latest record comes behind */
    uint64_t capture;                   /* graph_lock: its number */
    CUgraphNode *nodes;                 /* graph_lock: what the stream depended on then */
    uint32_t nnodes;
};

void event_recorded(struct event *ev);          /* by work, not in a capture */

/* The context of a call that names a stream: the current one. Where there is none, and in a host function, it is that of the stream, if that has a handle:
 * such calls need no current context (seen on driver 580). *hold gets a reference to that stream, or NULL. The macros are the counterparts of CURRENT
 * and USABLE. */
CUresult stream_context(CUstream h, struct ctx **c, struct stream **hold);
#define STREAM_CURRENT(c, h)                                                                                           \
    struct stream *c##_hold AUTO_PUT = NULL;                                                                           \
    struct ctx *c;                                                                                                     \
    do { CUresult r_ = stream_context(h, &c, &c##_hold); if (r_ != CUDA_SUCCESS) return r_; } while (0)
#define STREAM_CONTEXT(c, h)                                                                                           \
    STREAM_CURRENT(c, h);                                                                                              \
    do { CUresult r_ = ctx_error(c); if (r_ != CUDA_SUCCESS) return r_; } while (0)
/* The stream s that h names, and its context c, which is usable. */
#define STREAM(s, h)                                                                                                   \
    STREAM_CONTEXT(c, h);                                                                                              \
    struct stream *s AUTO_PUT = NULL;                                                                                  \
    do { CUresult r_ = stream_get(c, h, &s); if (r_ != CUDA_SUCCESS) return r_; } while (0)
/* The stream that h names in context c, with a reference: 0 and CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, or a handle. */
CUresult stream_get(struct ctx *c, CUstream h, struct stream **out);
struct hints stream_hints(struct stream *s);
/* green: the green context's handle, or 0. With a reference. */
CUresult stream_make(struct ctx *c, unsigned flags, int priority, uint64_t green, bool legacy, struct stream **out);
CUresult stream_lane(struct stream *s, unsigned i);         /* have s->lanes[i] */
/* Bracket every submission: takes ctx.order and applies the default-stream rules. */
CUresult stream_begin(struct stream *s);
CUresult stream_admit(struct stream *s);        /* stream_begin in two steps: what captures refuse, which takes the graphs' lock */
CUresult stream_order(struct stream *s);        /* and the rest, which does not */
void     stream_end(struct stream *s);
/* The same behind work that a program may submit without end: waits where the stream's queue is full. No lock is held. */
void     stream_end_work(struct stream *s);
void     stream_make_room(struct stream *s, unsigned lanes);    /* that alone; the caller has a reference, and made the lanes before */
/* The short way to begin, which counts no references: the stream that h names in the current context c, with c->order held and the
 * rules applied; *out is borrowed until stream_end. True, with *e: begun (nothing is held when *e is an error). False: take the long
 * way, which says what is wrong or knows what is special. */
bool     stream_enter(struct ctx *c, CUstream h, struct stream **out, CUresult *e);
/* Adds what s has submitted so far, and what that comes behind. ctx.order is held. */
void     frees_add_stream(struct frees *f, const struct stream *s);
void     frees_add(struct frees *f, const struct frees *more);
bool     frees_have(const struct frees *f, uint64_t stream, uint64_t number);
/* The next work of s comes behind all that `earlier`, of the same context, has submitted. ctx.order is held. */
cwb_result stream_follow(struct stream *s, struct stream *earlier, struct cwb_event *e);
/* begin, ordering rules satisfied, then wait for everything that s must wait for. */
CUresult stream_wait_idle(struct stream *s);
void     thread_streams_release(void);       /* as the thread ends */
/* Room for one more element of `size` bytes in a list of this thread's own; false: out of memory. The program's malloc and free may call the driver, which uses
 * the same list. */
bool     thread_list_room(void **list, const uint32_t *count, uint32_t *capacity, size_t size);
void     streams_sweep_slow(struct ctx *c);
/* Where a program waits: the streams that were destroyed with work pending go when it is done. */
static inline void streams_sweep(struct ctx *c) { if (__builtin_expect(atomic_load_explicit(&c->departed, memory_order_relaxed) != 0, 0)) streams_sweep_slow(c); }
bool     streams_settled(struct ctx *c);        /* all that was submitted to streams of c is done, without an error */

/* Stream capture (graph_capture.c): what it forbids. Each check ends the captures that it protects and gives the call's error. */
extern _Atomic uint32_t captures_active;
CUresult capture_unsafe_slow(void);
CUresult capture_legacy_slow(struct ctx *c);
CUresult capture_context_slow(struct ctx *c);
CUresult capture_event_slow(struct event *e, bool waits);
CUresult capture_refuse(struct stream *s);      /* an operation that cannot be captured; success: s captures nothing, or no longer */
void     capture_stream_gone(struct stream *s);

#define CAPTURES() __builtin_expect(atomic_load_explicit(&captures_active, memory_order_relaxed) != 0, 0)
/* A call that may wait for other work behind the scenes, by the thread's and the captures' modes. */
static inline CUresult capture_unsafe(void) { return CAPTURES() ? capture_unsafe_slow() : CUDA_SUCCESS; }
/* The legacy stream waits for blocking streams, which must not be capturing. */
static inline CUresult capture_legacy(struct ctx *c) { return CAPTURES() ? capture_legacy_slow(c) : CUDA_SUCCESS; }
/* Waiting for all of a context. */
static inline CUresult capture_context(struct ctx *c) { return CAPTURES() ? capture_context_slow(c) : CUDA_SUCCESS; }
/* Asking about an event that was last recorded in a capture. */
static inline CUresult capture_event(struct event *e, bool waits)
{
    return atomic_load(&e->captured) ? capture_event_slow(e, waits) : waits ? capture_unsafe() : CUDA_SUCCESS;
}
CUresult capture_wait_check(struct stream *s);  /* asking about a stream, or waiting for it */
#define CAPTURE_SAFE() do { CUresult r_ = capture_unsafe(); if (r_ != CUDA_SUCCESS) return r_; } while (0)

/* ---- memory (ranges.c, memory.c) ---------------------------------------------------------------------------------------- */

/* VARIABLE: a managed variable of a module, which MODULE is beside it. */
enum range_kind { RANGE_DEVICE, RANGE_PINNED, RANGE_MANAGED, RANGE_REGISTERED, RANGE_MODULE, RANGE_VARIABLE, RANGE_MAPPED, RANGE_POOL, RANGE_GRAPH, RANGE_IPC };
#define RANGE_IS_MANAGED(kind) ((kind) == RANGE_MANAGED || (kind) == RANGE_VARIABLE)
#define RANGES_MANAGED (1u << RANGE_MANAGED | 1u << RANGE_VARIABLE)

struct pool;                            /* pool.c */
struct block;

/* One allocation, keyed by its address. Copied out of the table by look-ups; changed only under the table's lock. */
struct range {
    uint64_t base, size;
    enum range_kind kind;
    struct ctx *ctx;                    /* owned reference in the table; in a copy (range_find) for comparison alone; or NULL */
    CUcontext handle;                   /* the context's */
    CUdevice device;
    unsigned flags;                     /* of cuMemHostAlloc, cuMemHostRegister, cuMemAllocManaged; MAPPED, POOL: handle types */
    uint64_t device_address;            /* PINNED, REGISTERED */
    uint64_t id;                        /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
    int sync_memops;
    struct block *block;                /* POOL: its block, which is in use while the range is in the table */
    uint64_t pool;                      /* POOL, and IPC by a pool's pointer: the pool's handle; IPC otherwise 0 */
    int read_mostly, preferred, prefetched;     /* managed memory advice */
    uint32_t accessed_by;
    unsigned access_flags;              /* MAPPED */
};

/* CUDA_ERROR_CONTEXT_IS_DESTROYED when its context has ended. */
CUresult range_add(const struct range *r);
/* The range that holds address. */
bool     range_find(uint64_t address, struct range *out);
/* Take out the range that starts at address when its kind is in the mask. The reference to its context is the caller's then. */
bool     range_remove(uint64_t address, unsigned kinds, struct range *out);
/* The same for the first one that overlaps [address, address + size), when that is registered memory. */
bool     range_remove_registered(uint64_t address, uint64_t size, struct range *out);
void     range_forget(const struct range *r);   /* gives that reference back */
/* Take out the context's range with the greatest base up to *base, and set *base to that. The first call has UINT64_MAX there. The reference goes as above. */
bool     range_remove_of(const struct ctx *c, uint64_t *base, struct range *out);
#define MOST_ADDRESSES (1ull << 47)         /* what a process has */
/* [address, address + size) lies in ranges without a hole, in one where it is of RANGE_DEVICE; kinds gets a bit per kind found. */
bool     range_covers(uint64_t address, uint64_t size, unsigned *kinds);
/* The same, and what a copy needs of the range that holds address. */
enum { MAY_READ = CU_MEM_ACCESS_FLAGS_PROT_READ, MAY_WRITE = CU_MEM_ACCESS_FLAGS_PROT_READWRITE & ~CU_MEM_ACCESS_FLAGS_PROT_READ };
struct range_facts {
    unsigned kinds;
    unsigned access;                    /* what every byte allows (cuMemSetAccess) */
    int      sync_memops;
    uint64_t to_device;                 /* add it to an address there: the device's address (PINNED, REGISTERED) */
};
bool     range_facts(uint64_t address, uint64_t size, struct range_facts *out);
/* Change fields of the range that starts at (exact) or holds address. */
bool     range_update(uint64_t address, void (*change)(struct range *r, void *user), void *user);
/* For work in a stream of c, which is submitted before c->order is given back: whether [address, address + size) is still there. What is of
 * another context is lent to c from then on, and freeing it waits for c too (memory_settle). */
bool     range_use(const struct ctx *c, uint64_t address, uint64_t size);
void     ranges_fence(void);            /* who found a context open in range_use before has marked it as lent after */
/* Any overlap with [address, address + size). */
bool     range_overlaps(uint64_t address, uint64_t size);

void     block_free(struct block *b);   /* POOL: memory that no work uses goes back to its pool */
void     pools_context_end(struct ctx *c);      /* give all that pools keep of c to the backend; its work is done */
/* Give back what pools keep beyond their release thresholds. Called where a program waits for work. */
extern _Atomic bool pools_over;
void     pools_trim_slow(void);
/* The program has waited for work of c, that which `done` names or (NULL) all: pools without opportunistic reuse may use again what that has freed. */
extern _Atomic uint32_t pools_strict;   /* how many there are of them */
void     pools_waited_slow(const struct ctx *c, const struct frees *done);
static inline void pools_waited(const struct ctx *c, const struct frees *done) { if (__builtin_expect(atomic_load(&pools_strict) != 0, 0)) pools_waited_slow(c, done); }
static inline void pools_trim(void) { if (__builtin_expect(atomic_load_explicit(&pools_over, memory_order_relaxed), 0)) pools_trim_slow(); }
/* Wait for the work that may use memory of c that is out of the table: that of c, and of other contexts if c lent memory. */
CUresult memory_settle(struct ctx *c);
bool     memory_settled(struct ctx *c);         /* there is no such work: memory_settle would not wait */
CUresult memory_release(const struct range *r); /* give the memory of a removed range to the backend, and range_forget */

/* Memory from the backend; where there is none, what is being freed (later_wait) is waited for. */
CUresult memory_get(const struct ctx *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address);

/* ---- work for another thread (later.c) ---------------------------------------------------------------------------------------- */

/* Part of what is to be ended or freed. */
struct later {
    void (*run)(struct later *l);
};
/* Run it in a thread where it may wait for queued work; in the calling one where no thread can be made. May be called with locks held
 * that `run` does not take. */
void     later_run(struct later *l, void (*run)(struct later *l));
/* Wait, for a second at most, until all that was begun has ended. False: nothing ended. */
bool     later_wait(void);

/* ---- other processes (ipc.c) --------------------------------------------------------------------------------------------------- */

/* Events between processes. A record counts up in shared memory when it is submitted and again when the stream gets there. */
CUresult ipc_event_make(struct ipc_event **out);
void     ipc_event_unref(struct ipc_event *e);             /* takes NULL */
CUresult ipc_event_record(struct ipc_event *e, const struct ctx *c, struct cwb_stream *s);  /* c->order held */
CUresult ipc_event_stream_wait(struct ipc_event *e, const struct ctx *c, struct cwb_stream *s);     /* c->order held */
bool     ipc_event_done(struct ipc_event *e);
void     ipc_event_wait(struct ipc_event *e);
CUresult event_from_ipc(struct ctx *c, struct ipc_event *e, CUevent *out);     /* event.c: takes e over */
/* 64 bytes that name memory of this process to others, and the memory that such bytes name, mapped here. */
CUresult ipc_memory_export(CUdeviceptr address, enum range_kind kind, void *handle);
/* pool, pid: of an imported pool, whose process must be the handle's; 0 for cuIpcOpenMemHandle. */
CUresult ipc_memory_open(struct ctx *c, const void *handle, uint64_t pool, uint32_t pid, CUdeviceptr *address);
CUresult ipc_memory_close(CUdeviceptr address);
void     ipc_memory_unmap(uint64_t address);               /* its range is out of the table */
int      ipc_open_fd(uint32_t pid, int fd, uint64_t inode); /* a descriptor of another process of the same user, or -1 */

/* ---- arrays and textures (array.c, texture.c, texref.c) ----------------------------------------------------------------- */

/* Driver 580 accepts bits 2 and 3, which have no name. */
#define TEXREF_FLAGS (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | 4u | 8u | CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)

struct array {
    struct obj obj;
    struct cwb_array *be;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    enum cwb_format format;
    uint32_t element;                   /* bytes */
    uint32_t level;                     /* in the mipmap */
    struct mipmap *parent;              /* owned reference, or NULL */
};

struct mipmap {
    struct obj obj;
    struct cwb_array *be;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    uint32_t levels;
    struct array *level[16];            /* ctx.lock: made when asked for */
    bool ended;                         /* ctx.lock: no more levels */
};

CUresult format_of(CUarray_format f, enum cwb_format *out, uint32_t *bytes);
/* A backend texture from CUDA's descriptors; *resource gets a reference to its array or mipmap, or NULL. */
CUresult texture_make(struct ctx *c, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex, const CUDA_RESOURCE_VIEW_DESC *view,
                      uint64_t *handle, struct obj **resource);
void     texobjects_release(struct ctx *c);

/* ---- modules (module.c, image.c, link.c, library.c, function.c) ------------------------------------------------------------ */

struct func {
    struct obj obj;                     /* KIND_FUNCTION */
    struct module *module;              /* owned reference */
    const struct cwj_kernel *k;
    uint32_t index;
    struct cwb_kernel *be;
    _Atomic bool compiled;
    struct cwb_kernel_facts facts;
    _Atomic int max_dynamic_shared, carveout, cache, shared_config;
    _Atomic int cluster[3], nonportable_cluster, cluster_policy;
    pthread_mutex_t lock;               /* legacy launch state */
    uint32_t block[3], dynamic_shared, param_size;
    uint8_t *params;
};

struct module {
    struct obj obj;
    pthread_mutex_t launching;          /* held while a kernel runs that launches others, above all other locks (device_launch.c) */
    struct program *program;
    struct cwb_module *be;
    uint64_t image;                     /* address of the variables */
    pthread_mutex_t lock;
    struct func **funcs;                /* lock: by kernel index, made when asked for */
    struct texref **texrefs;            /* lock: by variable index */
    uint32_t ntexrefs;
    _Atomic bool has_texrefs;
};

/* A parsed and linked program, shared by the module instances of a library. */
struct program {
    _Atomic uint32_t refs;
    struct cwj_program *p;
    uint32_t max_registers;             /* CU_JIT_MAX_REGISTERS; 0: none */
    uint32_t *names, names_mask;        /* names.c */
};
enum named { NAMED_KERNEL = 1, NAMED_VARIABLE = 2, NAMED_TEXREF = 4, NAMED_SURFREF = 8, NAMED_SAMPLER = 16 };
bool     names_make(struct program *p);         /* false: out of memory */
/* The first that has the name and is one of `whats` (enum named): its number among the kernels or among the variables. */
bool     names_find(const struct program *p, const char *name, unsigned whats, uint32_t *index);

struct texref {
    struct obj obj;                     /* KIND_TEXREF; surface references too */
    uint64_t address;                   /* where the handle is stored in the module's image; 0 for cuTexRefCreate */
    bool surface;
    pthread_mutex_t lock;
    CUDA_RESOURCE_DESC res;             /* lock, and so on */
    CUDA_TEXTURE_DESC tex;
    CUarray_format format;
    int channels;
    bool bound, changed;
    uint64_t handle;                    /* the backend's texture or surface, or 0 */
    struct obj *resource;               /* owned reference to its array */
};

/* JIT options as numbers. */
struct jit_options {
    char *info, *error;
    size_t info_size, error_size;
    void **info_used, **error_used;     /* where the filled sizes go */
    void **wall_time;
    uint32_t max_registers;
    bool verbose;
};
CUresult jit_options_parse(unsigned n, const CUjit_option *o, void **v, struct jit_options *out);
void     jit_options_finish(struct jit_options *o, const char *info, const char *error);

/* Parse any image (PTX text, fatbin, ELF, linked container). size 0: found from the image itself. */
CUresult program_load(struct device *d, const void *image, size_t size, const char *what, struct jit_options *o, struct program **out);
void     program_ref(struct program *p);
void     program_unref(struct program *p);
/* Collect the PTX of an image for linking: appended to `list`. optional: that there is none for the device (NO_BINARY_FOR_GPU), or that it is no
 * image at all (INVALID_IMAGE), is not said on the log. */
struct ptx_list {
    struct cwj_input *in;
    size_t count, capacity;
};
CUresult ptx_collect(struct device *d, const void *image, size_t size, const char *what, bool optional, struct ptx_list *list);
CUresult ptx_list_add(struct ptx_list *l, const char *name, const char *text, size_t size);
void     ptx_list_cut(struct ptx_list *l, size_t count);       /* to that many */
void     ptx_list_finish(struct ptx_list *l);
/* All of the list as one program; behind jit_open(). */
cw_result program_link(const struct ptx_list *l, bool allow_undefined, struct jit_options *o, struct program **out);

CUresult module_make(struct ctx *c, struct program *p, struct module **out);     /* with a reference */
/* function.c: a launch without what the kernel launches itself, with the hints that the call gives (NULL: none); device_launch.c: of a kernel that does
 * (cwj_kernel.launches). */
CUresult launch_plain(struct ctx *c, struct func *f, CUstream hStream, struct cwb_launch *l, const struct hints *hints);
CUresult launch_parent(struct ctx *c, struct func *f, CUstream hStream, struct cwb_launch *l);
CUresult module_function(struct module *m, const char *name, struct func **out);
CUresult module_function_at(struct module *m, uint32_t index, struct func **out);
CUresult module_address(struct module *m, uint32_t index, uint64_t *address);
CUresult module_variable(struct module *m, const char *name, uint64_t *address, size_t *size);
enum { MAX_LOCAL = 512 << 10 };         /* bytes of local memory a thread: CUDA's, for all compute capabilities */
/* CUfunction or CUkernel (in context c) -> function with a reference. */
CUresult func_get(struct ctx *c, CUfunction h, struct func **out);
CUresult func_ready(struct func *f);    /* compile it if that was not done; logs what the compiler says */
uint32_t launch_occupancy(const struct func *f, const struct cwb_launch *l);     /* of 1000 threads that fit a multiprocessor */
CUresult func_attribute(struct func *f, CUfunction_attribute a, int *v);
CUresult func_set_attribute(struct func *f, CUfunction_attribute a, int v);
CUresult texrefs_update(struct module *m, struct stream *s); /* bind changed references before a launch; stream_admit(s) was called */
CUresult kernel_function(struct ctx *c, CUkernel k, struct func **out); /* library.c */
CUresult device_attribute(const struct device *d, CUdevice_attribute a, int *v);

/* ---- operations of the device, for an observer (times.c, impl/device_times.h) ------------------------------------------------- */

extern const struct cw_device_observer *_Atomic drv_observer;   /* NULL: none; never changes back */
extern const struct cw_device_times drv_device_times;
cwb_result timed_launch(const struct ctx *c, struct cwb_stream *s, const struct func *f, const struct cwb_launch *l);
cwb_result timed_copy(const struct ctx *c, struct cwb_stream *s, const struct cwb_copy *copy);
cwb_result timed_fill(const struct ctx *c, struct cwb_stream *s, const struct cwb_fill *fill);
cwb_result timed_compile(const struct func *f, struct cwb_kernel **k, struct cw_buf *log);

extern _Atomic bool drv_watched;                                /* post_mortem.c, impl/post_mortem.h: launches get numbers */
extern const struct cw_post_mortem drv_post_mortem;
uint64_t post_mortem_number(void);

static inline bool
observed(void)
{
    return __builtin_expect(atomic_load_explicit(&drv_observer, memory_order_relaxed) != NULL, 0);
}

/* What the driver submits goes through these. */
static inline cwb_result
device_launch(const struct ctx *c, struct cwb_stream *s, const struct func *f, const struct cwb_launch *l)
{
    struct cwb_launch numbered;
    if (__builtin_expect(atomic_load_explicit(&drv_watched, memory_order_relaxed), 0)) {
        numbered = *l;
        numbered.number = post_mortem_number();
        l = &numbered;
    }
    return observed() ? timed_launch(c, s, f, l) : c->b->launch(s, f->be, l);
}

static inline cwb_result
device_copy(const struct ctx *c, struct cwb_stream *s, const struct cwb_copy *copy)
{
    return observed() ? timed_copy(c, s, copy) : c->b->stream_copy(s, copy);
}

static inline cwb_result
device_fill(const struct ctx *c, struct cwb_stream *s, const struct cwb_fill *fill)
{
    return observed() ? timed_fill(c, s, fill) : c->b->stream_fill(s, fill);
}

static inline cwb_result
device_compile(const struct func *f, struct cwb_kernel **k, struct cw_buf *log)
{
    return observed() ? timed_compile(f, k, log) : f->obj.ctx->b->kernel_prepare(f->module->be, f->index, true, k, log);
}

#endif
