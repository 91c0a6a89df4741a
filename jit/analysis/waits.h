/* SPDX-License-Identifier: Apache-2.0
 * Which loops of a function wait until another thread has changed memory: locks, tickets, flags. Facts of functions include those of
 * everything that they call. The caller's arena owns all arrays. */
#ifndef CWJ_ANALYSIS_WAITS_H
#define CWJ_ANALYSIS_WAITS_H

#include "jit/analysis/flow.h"
#include "jit/link/program.h"

/* Facts of a function with its call closure. */
struct wait_facts {
    bool barrier;                   /* bar.sync 0 and its like */
    bool peek;                      /* a load that may be the test of a waiting loop */
    bool writes;                    /* to memory that other threads see */
    bool meets;                     /* an instruction that lanes or warps execute together */
};

struct waits {
    const struct cwj_program *p;
    struct wait_facts *facts;       /* by function id */
    struct wait_facts indirect;     /* of the functions that a call through a register may target */
    bool flattened;                 /* calls were replaced by what they call (jit/emit/flatten.c), which returns values in .param variables as before */
    /* the current loop */
    bool fenced, calls;             /* it has a fence; it calls a function that peeks */
    bool same_place;
    bool local_known;               /* `local` is this function's */
    /* sets of registers, of the current function */
    uint64_t *memory;               /* they hold values read from memory in the loop */
    uint64_t *moving;               /* they differ between iterations */
    uint64_t *carried, *dependent;
    uint64_t *local;                /* addresses of local variables, and what is computed from them */
};

/* Collect the facts of functions funcs[0 .. n). w->p is set; facts of other functions stay empty. */
void waits_collect(struct waits *w, const struct cwj_program *p, const uint32_t *funcs, uint32_t n, struct cw_arena *a);

/* What an instruction calls; empty for one that is no call. */
struct wait_facts waits_called(const struct waits *w, const struct ptx_inst *in);

/* Begin with a function. */
void waits_begin(struct waits *w, const struct flow *f, struct cw_arena *a);

/* Does loop l wait? A compare-and-swap that retries with the value found, and a ticket drawn by an atomic addition, do not: they fail only if
 * another thread has made progress. `same_place`: nor does a loop that looks at another address each time, as one that probes a hash table. */
bool waits_in(struct waits *w, const struct flow *f, uint32_t l, bool same_place);

/* May it be the test of a waiting loop, or call one? */
bool waits_peeks(const struct waits *w, const struct ptx_inst *in);
/* A barrier of the block or of its cluster. */
bool waits_is_barrier(const struct ptx_inst *in);
/* Do lanes of a warp, or warps, execute the instruction together? */
bool waits_is_meeting(const struct waits *w, const struct ptx_inst *in);
/* Is it a meeting of part of a warp: a warp operation whose mask is not known to name every lane? */
bool waits_is_partial(const struct ptx_function *fn, const struct ptx_inst *in);
/* Does the instruction write memory that other threads see? */
bool waits_writes(const struct waits *w, const struct ptx_inst *in);

#endif
