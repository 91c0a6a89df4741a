/* SPDX-License-Identifier: Apache-2.0
 * The objects behind the host backend's operations, shared by device.c, stream.c and module.c.
 *
 * Lock order: device.lock, then context.lock, then stream.lock, then record.lock. No lock is held while work or a host function
 * runs. */
#ifndef CWH_DEVICE_H
#define CWH_DEVICE_H

#include "impl/host/exec.h"
#include "impl/host/texture.h"

/* Textures destroyed while earlier work may still use them wait here. Work submitted belongs to the context's newest
 * epoch; an epoch's textures are freed when it and all older ones have no work left. Under context.lock. */
struct cwh_epoch {
    struct cwh_epoch *newer;
    uint64_t pending;
    struct cw_texture **retired;
    size_t nretired, capacity;
};

struct cwb_context {
    pthread_mutex_t lock;
    pthread_cond_t idle;            /* signalled when a stream goes away */
    struct cwb_stream *streams;     /* closing ones too, until they are drained */
    pthread_t ended;                /* if has_ended: the last stream thread that ended, not joined yet */
    bool has_ended;
    _Atomic int error;              /* cwb_result, sticky */
    _Atomic uint64_t failed_launch; /* cwb_launch.number */
    _Atomic uint64_t stack_limit;
    struct cwh_output *output;
    struct cwh_heap *heap;
    struct cwh_epoch *oldest, *newest;
    uint64_t process;               /* that runs its kernels (isolate.h) */
    struct cwb_context *next;       /* device.contexts */
};

/* One event_record. Shared by the event, the queued record and the queued waits. */
struct cwh_record {
    _Atomic int refs;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
    uint64_t time;                  /* ns, CLOCK_MONOTONIC */
};

struct cwb_event {
    struct cwb_context *context;
    pthread_mutex_t lock;
    uint32_t flags;
    struct cwh_record *latest;      /* NULL: never recorded */
};

enum { CWH_ENDING = 5914 };     /* docs/diagnostics.md: nothing is compiled any more, since the process is ending */

/* What a kernel's code may assume of a block: nothing; rows of whole gangs; the same with gangs of at most 8. */
enum cwh_shape { CWH_ANY, CWH_ROWS, CWH_SHORT_ROWS, CWH_SHAPES };

struct cwb_kernel {
    struct cwb_module *module;
    uint32_t index;
    const struct cwj_kernel *info;
    pthread_mutex_t lock;           /* held while compiling, for long; nothing else is locked under it */
    struct cwj_host_code *code[CWH_SHAPES];
    _Atomic int64_t patience[CWH_SHAPES];       /* ns that quick code may still run before it is optimised; 0: it is, or will be without that (tier.h) */
    struct cwj_host_code *quick[CWH_SHAPES];    /* what `code` was before it was optimised (tier.h) */
    cwb_result failed[CWH_SHAPES];  /* compilation was tried and failed */
    _Atomic uint32_t cost[CWH_SHAPES];
};

struct cwb_module {
    struct cwb_context *context;
    const struct cwj_api *jit;
    struct cwj_program *program;
    uint8_t *image;
    size_t image_size;
    uint64_t window;                /* of cw_va_window_open, for 32-bit modules, else 0 */
    pthread_mutex_t lock;           /* kernels[] */
    struct cwb_kernel **kernels;
    uint32_t nkernels;
};

/* Queued work. `params` of a launch follows the struct. */
enum cwh_op_kind { CWH_OP_LAUNCH, CWH_OP_COPY, CWH_OP_FILL, CWH_OP_HOST_FN, CWH_OP_RECORD, CWH_OP_WAIT_EVENT, CWH_OP_WAIT_VALUE,
                   CWH_OP_WRITE_VALUE, CWH_OP_TIME };
struct cwh_op {
    struct cwh_op *next;
    enum cwh_op_kind kind;
    struct cwh_epoch *epoch;
    union {
        struct { struct cwb_kernel *kernel; struct cwb_launch launch; uint8_t *params; } launch;
        struct cwb_copy copy;
        struct cwb_fill fill;
        struct { cwb_host_fn *fn; void *user; } host;
        struct { cwb_time_fn *fn; void *user; } time;
        struct cwh_record *record;
        struct { uint64_t address, value; unsigned bits; enum cwb_compare compare; bool reached; } value;
    } u;
};

extern struct cwh_device {
    pthread_mutex_t lock;
    struct cwb_context *contexts;
    uint32_t count;                     /* of devices, which are all the same */
    bool o0, checked;                   /* host:O0, host:checked */
    _Atomic bool shut_down;
    uint64_t memory_limit;
    _Atomic uint64_t memory_used;
    _Atomic int host_blocks;        /* pinned and registered memory without a 32-bit address */
    _Atomic uint64_t grid_id;
} cwh_device;

uint64_t cwh_now(void);

/* ---- stream.c ---- */
cwb_result cwh_stream_create(struct cwb_context *c, int priority, struct cwb_stream **out);
void       cwh_stream_destroy(struct cwb_stream *s);
cwb_result cwh_stream_query(struct cwb_stream *s);
cwb_result cwh_stream_sync(struct cwb_stream *s);
/* Operations in a stream, of some 500 bytes each, behind which a call waits. NVIDIA's driver 580 lets it wait behind 1,021, so a program that gets along with
 * that gets along with this. */
enum { CWH_MOST_QUEUED = 1 << 16 };
bool cwh_stream_is_full(struct cwb_stream *s);
void cwh_stream_make_room(struct cwb_stream *s);
cwb_result cwh_event_create(struct cwb_context *c, uint32_t flags, struct cwb_event **out);
void       cwh_event_destroy(struct cwb_event *e);
cwb_result cwh_event_record(struct cwb_event *e, struct cwb_stream *s);
cwb_result cwh_event_query(struct cwb_event *e);
cwb_result cwh_event_sync(struct cwb_event *e);
cwb_result cwh_event_elapsed(struct cwb_event *start, struct cwb_event *end, float *ms);
cwb_result cwh_stream_wait_event(struct cwb_stream *s, struct cwb_event *e);
cwb_result cwh_stream_host_fn(struct cwb_stream *s, cwb_host_fn *fn, void *user);
cwb_result cwh_stream_time(struct cwb_stream *s, cwb_time_fn *fn, void *user);
cwb_result cwh_stream_copy(struct cwb_stream *s, const struct cwb_copy *c);
cwb_result cwh_stream_fill(struct cwb_stream *s, const struct cwb_fill *f);
cwb_result cwh_stream_wait_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare);
cwb_result cwh_stream_write_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits);
/* Submit a launch; copies the parameters. */
cwb_result cwh_stream_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l);
/* Blocks until all streams of the context have done what was submitted, or, with `gone`, until they no longer exist. */
void       cwh_context_wait(struct cwb_context *c, bool gone);
/* Wait until the threads of the streams that are gone have ended. */
void       cwh_context_join(struct cwb_context *c);
/* Wake everything that waits for work or for events, after shut_down was set. */
void       cwh_streams_interrupt(struct cwb_context *c);
/* True while a stream has work, or is destroyed and its thread has not left yet. */
bool       cwh_streams_busy(struct cwb_context *c);
/* Set the context's fault unless it has one. */
void       cwh_context_fault(struct cwb_context *c, cwb_result r, const char *message);

/* ---- bound.c: host:checked ---- */
/* Kernels may touch this memory of the program's (pinned, registered). False: no memory. */
bool cwh_bound_allow(uint64_t address, uint64_t size);
void cwh_bound_forbid(uint64_t address);

/* ---- device.c: epochs; c->lock held ---- */
void cwh_epoch_done(struct cwb_context *c, struct cwh_epoch *e);

/* ---- module.c ---- */
cwb_result cwh_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                           uint64_t *image_address);
void       cwh_module_unload(struct cwb_module *m);
cwb_result cwh_kernel_prepare(struct cwb_module *m, uint32_t index, bool compile, struct cwb_kernel **out, struct cw_buf *log);
struct cwh_variant cwh_variant_of(enum cwh_shape shape);
const struct cwj_host_runtime *cwh_runtime(void);       /* where code runs */
cwb_result cwh_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *out);
/* Execute on the calling thread and the pool. */
cwb_result cwh_kernel_run(struct cwb_context *c, struct cwb_kernel *k, const struct cwb_launch *l, const uint8_t *params);

#endif
