/* SPDX-License-Identifier: Apache-2.0
 * A kernel launch to step through: one run of it records what the threads of one block do (CWI_STEP of instrument.h), and a position in that
 * record can move forwards and backwards. So it works on every device, and nothing waits while one looks.
 *
 * A session owns its dump, its program and the record; pointers that it hands out live until the next record or cws_close. Not thread safe.
 * Thread numbers are linear in the block, blocks linear in the grid.
 *
 * Time is counted in steps of all recorded threads: a step is one instruction by one thread, and the lanes of a warp that execute an
 * instruction together have the same time. At time t everything has happened that belongs to earlier steps. */
#ifndef CWS_STEP_H
#define CWS_STEP_H

#include "replay/side.h"

#include <limits.h>

#define CWS_NONE UINT32_MAX

/* One instruction executed by a thread. */
struct cws_step {
    uint32_t id;                        /* of cwl_side.program */
    uint32_t frame;                     /* of the thread */
    uint32_t time;
    uint32_t first;                     /* of the thread's values: what it stored, and its results */
    uint16_t nvalues;
    bool executed;                      /* else its guard was false */
    uint8_t space;                      /* enum cwi_where of the access, or CWI_NOWHERE */
    uint64_t address;                   /* in global memory as recorded in the dump */
};

struct cws_value {
    uint8_t kind, part;                 /* enum cwi_kind: CWI_RESULT, CWI_STORE */
    uint32_t id;                        /* the step's own, or that of the call that the step returns from */
    uint64_t bits;
};

/* A call of a function. */
struct cws_frame {
    const struct ptx_function *fn;
    uint32_t parent;                    /* CWS_NONE: the kernel */
    uint32_t call;                      /* the caller's step */
    uint32_t depth;                     /* 0: the kernel */
    uint32_t first;                     /* step in it */
    uint64_t *symbol;                   /* addresses by cwi_step_symbol, UINT64_MAX: not known; NULL: none is */
    uint64_t *argument;                 /* by parameter; NULL: none has a register */
};

struct cws_thread {
    struct cws_step *steps;
    struct cws_value *values;
    struct cws_frame *frames;
    uint32_t nsteps, nvalues, nframes;
};

struct cws_ref {
    uint32_t thread, step;
};

struct cws {
    struct cwl_side side;
    char folder[PATH_MAX];
    uint64_t limit;                     /* bytes of the record on the device */
    bool fixed;                         /* the record is what cws_read got */
    /* The record; threads is NULL where there is none yet. */
    uint64_t block;
    uint32_t first, count;              /* threads that are recorded */
    struct cws_thread *threads;         /* `count` of them */
    uint64_t made, kept, start;         /* records that the launch makes of these threads, those that are here, and those left out before */
    struct cws_ref *all;                /* all steps in their order; a step's time is an index here */
    uint32_t nall;
    struct cws_ref *accesses;           /* those that access memory */
    uint32_t naccesses;
    struct cws_registers *registers;    /* by thread: a cache */
    struct cws_types *types;            /* of registers, by function: another */
};

/* Read the dump. `on`: a device as of cudaway-replay --on, or NULL. On failure nothing is left to close. CW_ERR_NO_PTX, CW_ERR_UNSUPPORTED and what
 * cwd_read gives. */
cw_result cws_open(struct cws *s, const char *file, const char *on, uint64_t limit, struct cwd_error *e) CW_MUST_CHECK;
void cws_close(struct cws *s);

uint32_t cws_block_threads(const struct cws *s);
uint64_t cws_grid_blocks(const struct cws *s);

/* Run the launch and record threads [first, first + count) of a block, leaving out the first `start` records. CW_ERR_LIMIT: no record fits. An older record
 * is gone, also on failure. */
cw_result cws_record(struct cws *s, uint64_t block, uint32_t first, uint32_t count, uint64_t start, struct cwd_error *e) CW_MUST_CHECK;
/* As many threads around `thread` as fit: the block, its warp, itself. */
cw_result cws_record_around(struct cws *s, uint64_t block, uint32_t thread, struct cwd_error *e) CW_MUST_CHECK;

/* Take `n` records that were made elsewhere; what makes no sense in them is refused, or left out. */
cw_result cws_read(struct cws *s, uint64_t block, uint32_t first, uint32_t count, const uint8_t *records, uint64_t n, struct cwd_error *e) CW_MUST_CHECK;

/* NULL: it is not recorded. */
const struct cws_thread *cws_thread(const struct cws *s, uint32_t thread);
/* The thread's step at or behind a time; nsteps: it has ended by then. */
uint32_t cws_step_at(const struct cws *s, uint32_t thread, uint32_t time);
/* The time of a step; of nsteps: when it has ended. */
uint32_t cws_time(const struct cws *s, uint32_t thread, uint32_t step);

/* ---- registers and memory (step_state.c) ---- */

struct cws_bits {
    uint64_t low, high;
    uint32_t writer;                    /* instruction that wrote it; CWS_NONE: an argument */
};
/* A register of a frame before `step`. False: nothing of the record has written it. */
bool cws_register(struct cws *s, uint32_t thread, uint32_t frame, uint32_t step, uint32_t reg, struct cws_bits *out);
/* Whether this step writes a register of a frame. */
bool cws_writes(const struct cws *s, uint32_t thread, uint32_t frame, uint32_t step, uint32_t reg);
void cws_forget_registers(struct cws *s);
/* The type that a function's instructions use a register of untyped bits as, where they do; else its own. */
unsigned cws_used_as(struct cws *s, const struct ptx_function *fn, uint32_t reg);
void cws_forget_types(struct cws *s);

/* Memory at a time: what the dump has, changed by recorded stores and corrected by what recorded loads saw. `thread`: of local memory.
 * known[i]: whether the byte is. */
void cws_memory(const struct cws *s, enum cwi_where space, uint32_t thread, uint64_t address, uint32_t size, uint32_t time, uint8_t *out, bool *known);
/* What one step does to such memory. True: it accesses it, and writes (else a load, which corrects it). */
bool cws_access(const struct cws *s, struct cws_ref ref, enum cwi_where space, uint32_t thread, uint64_t address, uint32_t size, uint8_t *bytes, bool *known,
                bool *writes);
/* The buffer that an address as recorded lies in, or CWS_NONE. */
uint32_t cws_buffer(const struct cws *s, uint64_t address);
/* An address of the run as recorded. */
uint64_t cws_recorded_address(const struct cws *s, uint64_t address);
/* The same for any space, as records have it: some devices have more above an address of local memory. */
uint64_t cws_place_of(const struct cws *s, enum cwi_where space, uint64_t address);

#endif
