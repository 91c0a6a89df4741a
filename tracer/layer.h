/* SPDX-License-Identifier: Apache-2.0
 * The interposing layer, trace/libcuda.so.1: every driver function, passed to the library below, seen by observers.
 *
 * Off (no observer is active) an exported function is one test and an indirect call into the table below. On, the call
 * goes through a generated wrapper that shows it to each observer before and after. Observers run in the application's
 * thread, in the order of registration before the call and in the reverse order after it; they may call `next` (which is
 * the library below, so such calls are neither recorded nor seen by observers) and must not change the arguments. errno
 * is kept around them. Nothing is loaded before the application's first CUDA call. */
#ifndef CW_TRACER_LAYER_H
#define CW_TRACER_LAYER_H

#include "cudaway/cuda_table.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CW_MAX_OBSERVERS 4u

struct cw_call {
    unsigned     index;          /* CW_FN_cu... */
    void *const *args;           /* the address of each parameter, in the order of the prototype */
    const struct cw_cuda_table *next;
    CUresult     result;         /* after the call */
    uint64_t     unreadable;     /* of an event: parameters, a bit each, whose memory cannot be read */
    void        *scratch[CW_MAX_OBSERVERS];   /* per observer: from before to after */
};

/* The value of parameter i of type T. */
#define CW_ARG(call, i, T) (*(T *)(call)->args[i])

/* A kernel launch, whichever function asked for it. A pointer is the application's and valid during the call. */
struct cw_launch {
    const struct cw_call *call;
    CUfunction   function;       /* as given: may be a CUkernel */
    const char  *name;           /* never NULL; "?" when not known */
    CUmodule     module;         /* NULL when not known */
    unsigned     grid[3], block[3], shared;
    CUstream     stream;
    bool         per_thread;     /* a NULL stream is the thread's own */
    bool         cooperative;
    void       **params, **extra;
    const CUlaunchAttribute *attributes;
    unsigned     attribute_count;
    const struct cw_cuda_table *next;
    CUresult     result;         /* after the launch */
};

struct cw_observer {
    const char *name;
    /* Called once, before the first call: whether this observer takes part. */
    bool (*start)(const struct cw_cuda_table *next);
    /* Every call. Any of these may be NULL. */
    void (*before)(struct cw_call *call, void **scratch);
    void (*after)(struct cw_call *call, void **scratch);
    /* Launches: inside before and after of the call. `scratch` is the same as the call's. */
    void (*before_launch)(const struct cw_launch *launch, void **scratch);
    void (*after_launch)(const struct cw_launch *launch, void **scratch);
    /* Launches that were not observed. An observer that has this gets graph launches node by node where that is possible (graph.c). */
    void (*unseen)(const char *what, const char *why);
};

/* Kernel dumps (replay/): linked in when that component is built. Its start() reads CUDAWAY_DUMP_*. */
extern const struct cw_observer cw_dump_observer __attribute__((weak));
/* The same of launches that the driver refuses, which costs nothing before that. */
extern const struct cw_observer cw_refused_observer __attribute__((weak));
/* The shadow execution of cudaway-diff (diff/): the same. */
extern const struct cw_observer cw_diff_observer __attribute__((weak));
/* replay/check_observer.c: CUDAWAY_CHECK. */
extern const struct cw_observer cw_check_observer __attribute__((weak));

/* ---- between the generated and the hand-written parts ---- */

/* What exported functions call: NULL before the first call. */
extern const struct cw_cuda_table *_Atomic cw_layer_top;
/* The library below with the functions it lacks filled in, and cuGetProcAddress giving this layer's functions. */
extern struct cw_cuda_table cw_layer_next;
/* Generated: the exported functions, the wrappers for observers, and what stands in for missing functions. */
extern const struct cw_cuda_table cw_layer_exports, cw_layer_observed, cw_layer_missing;

const struct cw_cuda_table *cw_layer_init(void);
/* The present launch is one of those that `cudaway-trace record --launch` names (all, without that). */
bool cw_layer_selected(void);
/* The argument block that `extra` names. False: the list cannot be read; the block itself may not be either. */
bool cw_layer_extra(void **extra, const void **buffer, size_t *size);
/* Copy the argument bytes, laid out as the kernel sees them, into `out`; returns how many (0: not known, or they cannot be read). */
unsigned cw_layer_param_bytes(const struct cw_launch *launch, void *out, unsigned size);
/* The context is lost: every later call says the same (CUDA driver API, CUresult: "the process must be terminated and relaunched"). */
bool cw_layer_is_sticky(CUresult r);
void cw_layer_before(struct cw_call *call);
void cw_layer_after(struct cw_call *call);
/* An exception of the program's (a user object's destructor) leaves the call, which has done its work. */
static inline void
cw_layer_left(struct cw_call *const *call)
{
    if (*call)
        cw_layer_after(*call);
}
#define CW_LAYER_LEFT __attribute__((cleanup(cw_layer_left)))
/* The library below lacks the function: logs that once and gives the error. */
CUresult cw_layer_lacks(unsigned index);
const char *cw_layer_name(unsigned index);

static inline const struct cw_cuda_table *
cw_layer_table(void)
{
    const struct cw_cuda_table *t = atomic_load_explicit(&cw_layer_top, memory_order_acquire);
    return __builtin_expect(t != NULL, 1) ? t : cw_layer_init();
}

#endif
