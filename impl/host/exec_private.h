/* SPDX-License-Identifier: Apache-2.0
 * What the engine's files share. A worker is an OS thread that runs blocks; everything in it belongs to that thread.
 * Compiled code and cwh_rt_* run on fibers (never on the OS thread's own stack), so a fault is left by switching back to
 * worker.root, whatever the code was doing. Code that may fault (touches addresses from the kernel) holds no lock. */
#ifndef CWH_EXEC_PRIVATE_H
#define CWH_EXEC_PRIVATE_H

#include "impl/host/exec.h"
#include "impl/host/fiber.h"

#include <signal.h>

enum { CWH_MAX_THREADS = 1024, CWH_BARRIERS = 16, CWH_SLAB = 16, CWH_WARP = 32 };

struct cwh_worker;

/* A context that runs gangs, one after the other. */
struct cwh_fiber {
    struct cwh_context context;
    struct cwh_worker *worker;
    struct cwh_gang gang;
    struct cwh_fiber *next;     /* in the run queue or in a barrier's list */
    bool fresh;                 /* context needs cwh_context_start */
    uint32_t round;             /* of the worker, in which it yielded last */
    bool spun;                  /* went round a spin loop since the lanes of its warp were last resumed together */
    uint32_t slot;
    uint32_t result;            /* of bar.red or warp_exchange, set by the thread that wakes it */
    bool in_cluster;            /* arrived at barrier.cluster in this phase: */
    uint32_t cluster_phase;
    uint32_t site, members;     /* while it waits in a warp operation */
    uint32_t since;             /* yields of its warp when it came there */
    uint64_t value, *values;
};

struct cwh_barrier {
    uint32_t count;             /* threads expected; 0: all that live */
    uint32_t arrived;           /* threads */
    uint32_t all, any, sum;     /* reduction so far */
    uint32_t op;
    struct cwh_fiber *first, **last;
};

/* Lanes of one warp when a gang is one thread. */
struct cwh_lanes {
    uint32_t alive;             /* lanes that have not finished */
    uint32_t exchanging;        /* lanes that wait in a warp operation */
    uint32_t runnable;          /* number of lanes not suspended (unstarted ones included) */
    uint32_t yields;            /* of its lanes */
};

/* barrier.cluster of the cluster that runs. */
struct cwh_cluster_barrier {
    uint32_t live, arrived;     /* threads */
    uint32_t phase;
};

enum { CWH_MAX_CLUSTER = 16 };  /* blocks; CUDA's limit */
struct cwh_team;

struct cwh_worker {
    struct cwh_context root;    /* the OS thread's own */
    struct cwh_fiber *current;  /* while in_kernel */
    volatile sig_atomic_t in_kernel;
    struct cwh_exec_launch *launch;
    struct cwh_block block;
    uint64_t from, to;          /* blocks of the chunk being run */
    bool aborted;               /* root: forget the running gangs */

    struct cwh_fiber *main;     /* runs kernels without barriers: whole chunks */
    struct cwh_fiber **fibers;  /* one per suspended gang; CWH_MAX_THREADS entries, nfibers made */
    struct cwh_fiber **idle;    /* stack of fibers without a gang */
    uint32_t nfibers, nidle, nslabs;
    size_t stack_size, main_size;
    uint8_t *main_stack;
    uint8_t **slabs;

    struct cwh_fiber *queue, **queue_last;
    uint32_t started, live_gangs, live_threads;
    struct cwh_barrier barriers[CWH_BARRIERS];
    uint32_t armed;             /* bit per barrier at which somebody has arrived in its phase; the others are empty */
    struct cwh_lanes warps[CWH_MAX_THREADS / CWH_WARP];
    struct cwh_fiber *by_lane[CWH_MAX_THREADS]; /* width 1: the fiber of each started, unfinished thread */

    struct cwh_team *team;      /* of which this is a thread, or NULL: each block is a cluster */
    struct cwh_cluster_barrier own_cluster;
    uint32_t yields;            /* since the team's turn was passed on */
    uint32_t round;             /* of yields; in each, every gang that can run has a turn */
    uint32_t counted;           /* the round in which a gang last began or ended, or the launch was looked at */
    bool look;                  /* root: see whether the launch stands still */
    uint64_t ended, since;      /* chunks that had ended at the last look; since when they are so many, 0: not seen yet */

    uint8_t *shared_map;        /* with a guard page on both sides */
    size_t shared_size;
    uint32_t number;
    void *alt_stack;
    stack_t old_alt_stack;

    /* filled by the signal handler */
    int fault_signal, fault_code, fault_write; /* write: -1 unknown */
    uintptr_t fault_address;
    struct cwh_fiber *fault_fiber;
};

/* ---- block.c ---- */
/* Run blocks [from, to) of w->launch. False when the launch failed (the error is recorded). */
bool cwh_run_blocks(struct cwh_worker *w, uint64_t from, uint64_t to);
/* Get stacks and shared memory for the launch. False: recorded. */
bool cwh_worker_prepare(struct cwh_worker *w, struct cwh_exec_launch *l);
void cwh_worker_release(struct cwh_worker *w);

/* ---- pool.c ---- */
/* On root, while blocks of the launch wait: add a thread to it where none of them ends. */
void cwh_exec_look(struct cwh_worker *w);
bool cwh_thread_start(void *(*fn)(void *), void *arg, pthread_t *out);      /* out NULL: detached */
/* Threads that begin together, or go home when not all of them could be made. */
struct cwh_gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int open;                   /* 1: run, -1: go home */
};
#define CWH_GATE { .lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER }
bool cwh_gate_wait(struct cwh_gate *g);
void cwh_gate_open(struct cwh_gate *g, bool run);

/* ---- rt_async.c ---- */
/* Transactions of so many bytes are complete at the mbarrier object. */
void cwh_mbarrier_complete(struct cwh_fiber *f, uint64_t object, uint32_t bytes);

/* ---- cluster.c ---- */
/* Run a launch whose clusters have several blocks. */
void cwh_run_clusters(struct cwh_exec_launch *l);
/* Let another block of the cluster run; returns when it is this one's turn again. */
void cwh_team_pass(struct cwh_worker *w);
struct cwh_cluster_barrier *cwh_team_barrier(struct cwh_team *t);

/* ---- bound.c: host:checked ---- */
/* How many bytes from a generic address on a kernel may touch; where the code is not bounded, as many as it likes. */
uint64_t cwh_bound_extent(const struct cwh_gang *g, uint64_t address);
void cwh_bound_check(const struct cwh_gang *g, uint64_t address, uint64_t size);        /* ends the launch if they are fewer */
bool cwh_local_map(struct cwh_fiber *f);
void cwh_local_unmap(struct cwh_fiber *f);

/* ---- fault.c ---- */
/* The calling thread's worker; created on first use, freed when the thread ends. NULL: no memory. */
struct cwh_worker *cwh_worker_self(void);
/* Keep the first failure of a launch. */
void cwh_fail(struct cwh_exec_launch *l, cwb_result r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* On a fiber: record the failure, abandon the block, switch to root. */
_Noreturn void cwh_abort(struct cwh_fiber *f, cwb_result r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for a stack that has no room for more, on the little that is left. */
_Noreturn void cwh_stack_ends(struct cwh_fiber *f);
/* On root: turn the signal handler's notes into the launch's error. */
void cwh_fault_record(struct cwh_worker *w);
/* "kernel k, block (x,y,z), threads a..b" */
void cwh_where(const struct cwh_fiber *f, char *buf, size_t size);

/* A generic address of a 32-bit module (jit/abi/host.h), as emit_widen has it. */
static inline uint64_t
cwh_widen(const struct cwh_gang *gang, uint32_t a)
{
    const struct cwh_launch *l = gang->block->launch;
    if (a - CWH_ADDR32_SHARED < l->shared_size)
        return (uintptr_t)gang->block->shared + (a - CWH_ADDR32_SHARED);
    if (a - CWH_ADDR32_PARAM < CWH_ADDR32_PARAM_SIZE)
        return (uintptr_t)l->params + (a - CWH_ADDR32_PARAM);
    return (a >= gang->local_low ? gang->local_base : l->window) + a;
}

static inline struct cwh_fiber *
cwh_fiber_of(const struct cwh_gang *gang)
{
    return gang->runtime;
}

/* Bytes of a stack that compiled code leaves to the engine. */
#if defined(CWH_ASAN) || defined(CWH_TSAN)
enum { CWH_RESERVE = 64 * 1024 };
#else
enum { CWH_RESERVE = 32 * 1024 };
#endif

/* First in each cwh_rt_*: a stack that overflows further down ends whatever runs there, with the lock that it holds. Of the functions' own frames each page is
 * touched (-fstack-clash-protection), so that none skips the guard page. */
static inline struct cwh_fiber *
cwh_enter(const struct cwh_gang *gang)
{
    struct cwh_fiber *f = cwh_fiber_of(gang);
    if (__builtin_expect((uintptr_t)__builtin_frame_address(0) - (uintptr_t)f->context.lo < CWH_RESERVE, 0))
        cwh_stack_ends(f);
    return f;
}

/* For what cwh_rt_* do at a kernel's addresses. */
static inline void
cwh_must_own(const struct cwh_gang *gang, uint64_t address, uint64_t size)
{
    if (cwh_fiber_of(gang)->worker->launch->info.bounded)
        cwh_bound_check(gang, address, size);
}

#endif
