/* SPDX-License-Identifier: Apache-2.0
 * Execution of one kernel launch on the CPU: the interface of the engine (pool.c, block.c, fiber.c, fault.c, rt_*.c) to
 * the rest of the host backend and to its tests. A launch runs synchronously on the calling thread and on the pool's
 * helpers; several threads may run launches at the same time. */
#ifndef CWH_EXEC_H
#define CWH_EXEC_H

#include "impl/backend.h"
#include "jit/abi/host.h"
#include "jit/jit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct cwh_heap;
struct cwh_output;
#define CWH_TOGETHER 0x80000000u

/* One launch. The caller zeroes it, fills the first part and reads the second when cwh_exec_run has returned. */
struct cwh_exec_launch {
    struct cwh_launch abi;          /* all but `runtime`, which the engine sets */
    cwh_kernel_fn *run;
    struct cwh_code_info info;
    const char *kernel;             /* name, for messages */
    uint64_t stack_per_thread;      /* CU_LIMIT_STACK_SIZE; 0: the default */
    bool cooperative;               /* every block gets an OS thread of its own, so that blocks may wait for each other */
    _Atomic uint32_t *cost;         /* nanoseconds per block seen so far for this kernel (0: unknown), or CWH_TOGETHER and a number: so many blocks waited
                                     * for each other, and had to run at the same time; or NULL */
    struct cwh_heap *heap;          /* for malloc and free in kernels; NULL: malloc returns 0 */
    struct cwh_output *output;      /* for printf; NULL: straight to standard output at the end of the launch */
    struct cwh_output *complaints;  /* for failed assertions; NULL: straight to standard error */
    bool (*heap_range)(struct cwh_exec_launch *l, uint64_t *base, uint64_t *size);    /* memory of the heap, at its first use; NULL: allocate it */

    cwb_result result;              /* CWB_OK, a fault, CWB_RESOURCES or CWB_NOMEM */
    char message[512];              /* what happened, for people; empty when CWB_OK */

    /* private to the engine */
    uint64_t nblocks;
    uint32_t nthreads, ngangs, chunk;
    _Atomic uint64_t next;          /* first block that nobody took */
    _Atomic uint64_t ended;         /* chunks, where blocks wait (cwh_code_info.waits) */
    _Atomic uint32_t added;         /* threads, for blocks that others wait for */
    _Atomic int failed;
    uint32_t helpers;               /* under the pool's lock */
    bool listed;
    struct cwh_exec_launch *link;
    pthread_cond_t *done;
};

void cwh_exec_run(struct cwh_exec_launch *l);

/* OS threads that work on launches at the same time: CUDAWAY_HOST_THREADS, or one per CPU that this process may use. */
unsigned cwh_exec_threads(void);
/* At the end of the process: launches stop between blocks, later ones fail. */
void cwh_exec_stop(void);
/* Before running in a forked child: forget the parent's threads. */
void cwh_exec_after_fork(void);
/* Addresses of cwh_rt_*, for cwj_api.host_compile. */
const struct cwj_host_runtime *cwh_exec_runtime(void);

/* ---- printf output (rt_printf.c): a bounded FIFO of one context, written to standard output by cwh_output_flush. ---- */
struct cwh_output *cwh_output_create(size_t limit);
void cwh_output_destroy(struct cwh_output *o);      /* drops what was not flushed */
void cwh_output_limit(struct cwh_output *o, size_t limit);
void cwh_output_flush(struct cwh_output *o);        /* any thread; whole lines of one flush stay together */
void cwh_output_append(struct cwh_output *o, const char *text, size_t size);
char *cwh_output_take(struct cwh_output *o, size_t *size);      /* what there is, for the caller to free; NULL: nothing */
size_t cwh_output_limit_of(struct cwh_output *o);

/* ---- device heap (rt_heap.c) ---- */
struct cwh_heap *cwh_heap_create(size_t limit);     /* memory is allocated at the first malloc */
void cwh_heap_destroy(struct cwh_heap *h);
void cwh_heap_limit(struct cwh_heap *h, size_t limit);  /* without effect after the first malloc, as in CUDA */
bool cwh_heap_range(struct cwh_heap *h, uint64_t *base, uint64_t *size);   /* its memory, allocated now if it is not; for cwh_exec_launch.heap_range */

#endif
