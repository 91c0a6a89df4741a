/* SPDX-License-Identifier: Apache-2.0
 * Pools, their chunks, and the blocks that tile them: what pool.c (the API, what is used again and when) and pool_chunk.c (where it lies) share. */
#ifndef CUDAWAY_DRIVER_POOL_H
#define CUDAWAY_DRIVER_POOL_H

#include "impl/base/tree.h"
#include "impl/driver/driver.h"

#define UNIT    512u                    /* sizes and addresses of blocks */
#define CHUNK   (32ull << 20)           /* what a pool reserves at a time (driver 580 on an H100) */
#define GRANULE (2ull << 20)            /* the same where memory is short */
#define PAGE    4096ull
#define LARGE   (1ull << 20)            /* from this size on nothing is on the page behind an allocation (impl/va.h does the same) */
#define UNIT_ROOM (CHUNK + (CHUNK / LARGE + 1) * PAGE)  /* what a unit of a chunk that can grow takes with these pages */

/* GONE: a part of others since, or its chunk has gone. */
enum block_state { BLOCK_USED, BLOCK_PENDING, BLOCK_FREE, BLOCK_GONE };

struct block {
    struct cw_tree_node node;           /* first; PENDING and FREE: in chunk.unused, where its key is its base */
    struct block *prev, *next;          /* pool.lock, and so on: in its chunk, by address */
    struct chunk *chunk;                /* while it is not GONE */
    uint64_t base, size;
    uint64_t wanted;                    /* USED: what was asked for */
    enum block_state state;
    enum { PAGES_OPEN, PAGES_CLOSED, PAGES_MIXED } pages;       /* its pages can be touched; not those that it has for itself; some */
    struct pool *pool;                  /* always */
    _Atomic uint64_t stream;            /* PENDING: id of the stream in which it was freed; 0: that is not submitted yet */
    uint64_t number, handle;            /* PENDING with a stream: which of its frees that was; the stream's handle */
    bool reached;                       /* PENDING: the stream has got there, but the pool does not use it again until the program has waited for that */
    _Atomic uint32_t refs;              /* its chunk, and frees that are queued */
};

/* A free in the order of a stream. Whoever needs to know whether the stream has got there asks the event. A host function could tell of it, but some devices run
 * one at a time, and the program's may wait for what comes behind this free. */
struct queued_free {
    struct queued_free *next;           /* pool.lock, and so on: in the pool's list, the oldest first */
    struct block *b;                    /* owned reference */
    struct ctx *ctx;                    /* the stream's; owned reference */
    uint64_t stream;                    /* its id */
    struct cwb_event *event;
    bool recorded;                      /* until then it belongs to whoever submits it */
};

struct chunk {
    struct chunk *next;                 /* pool.lock, and so on */
    struct pool *pool;                  /* which stays while it has chunks */
    struct ctx *ctx;                    /* owned reference */
    uint64_t base, size;
    uint64_t room;                      /* size, and what the pages behind large allocations take */
    uint64_t used;                      /* bytes of USED blocks, without these pages */
    struct block *blocks;
    struct cw_tree unused;              /* of those that no allocation has */
};

struct pool {
    struct obj obj;
    struct pool *next;                  /* pools_lock: all pools that have not ended */
    CUdevice device;
    uint32_t shared_by;                 /* process that exported it; 0: it is this one's */
    CUmemAllocationHandleType handle_types;
    uint64_t max_size;                  /* a multiple of CHUNK; 0: any */
    bool is_default;
    pthread_mutex_t lock;
    struct chunk *chunks;               /* lock, and so on: oldest first */
    struct queued_free *queued, **queued_end;   /* the pool stays while there are any */
    bool ended;                         /* nobody has the pool; its blocks may still be used */
    uint64_t release_threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse_follow, reuse_opportunistic, reuse_internal;
    CUmemAccess_flags access[MAX_DEVICES];
};

/* Blocks next to each other that an allocation can take. */
struct run {
    struct block *first, *last;
    uint64_t base;                      /* in first */
    uint64_t end;                       /* in last */
};

/* Where in the order of its context's work an allocation is. */
struct place {
    uint64_t stream;
    struct frees behind;                /* what it may use again besides */
};

static inline uint64_t
round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* Blocks; pool.lock held, but for block_unref. */
void          block_unref(struct block *b);
/* May an allocation there use b; at NULL: if all that is freed could be used? */
bool          block_may_be_used(const struct block *b, const struct place *at);
/* The allocation in it has ended; has come back. */
void          block_leave(struct block *b);
void          block_enter(struct block *b);
/* It is freed in the order of a stream. */
void          block_now_pending(struct block *b);
/* It may be used by everyone. Returns the block that it is part of now. */
struct block *block_now_free(struct block *b);
/* The first blocks of h that an allocation there can take; at NULL: if all that is freed could be used. */
bool          run_find(const struct chunk *h, const struct place *at, uint64_t wanted, struct run *r);
/* An allocation in the blocks of r, which work of the stream may use now. NULL: no memory. */
struct block *block_carve(struct chunk *h, const struct run *r, uint64_t wanted);

/* Reserve memory for an allocation of this size, behind a chunk or as a new one, by multiples of `unit`. No lock held. */
CUresult      chunk_make(struct pool *p, struct ctx *c, uint64_t size, uint64_t unit);
/* Take chunks without an allocation off the list, into *out: while the pool has more than `most` and keeps no less than `least`, and those of contexts
 * that have ended; or all of a context, whose work is done. Chunks with units give them back one by one. p->lock held. */
void          chunks_take(struct pool *p, uint64_t most, uint64_t least, const struct ctx *c, struct chunk **out);
/* Give them to the backend; no lock held. */
void          chunks_release(struct chunk *h);

#endif
