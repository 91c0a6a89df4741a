/* SPDX-License-Identifier: Apache-2.0
 * Running the launch of a dump on a device, as a client of the driver API. Memory is placed at its recorded addresses; what
 * cannot be there (mostly variables of a module) is moved, and pointers to it are changed before the launch and back
 * afterwards.
 *
 * A session stays for many dumps (cudaway-diff): memory once mapped and modules once loaded are kept. Not thread safe. */
#ifndef CWD_SESSION_H
#define CWD_SESSION_H

#include "cudaway/cuda_table.h"
#include "impl/base/buf.h"
#include "replay/dump.h"

struct cwd_span;
struct cwd_loaded;
struct cwd_session {
    struct cw_cuda_table cu;
    char device[256];
    uint32_t driver, compute_capability;
    bool sequential;                    /* the threads of a block run on one thread of the machine */
    bool fuses;                         /* the driver may fuse multiplications and additions */
    bool unoptimised;                   /* modules are loaded with CU_JIT_OPTIMIZATION_LEVEL 0 */
    uint64_t granule;
    uint64_t zone, zone_size;           /* address space reserved at once for the recorded addresses of host devices */
    struct cwd_span *spans;             /* memory that is in place */
    uint32_t nspans;
    struct cwd_loaded *loaded;          /* modules */
};

struct cwd_outcome {
    uint8_t **buffers, **arrays;        /* contents after the launch, as they would be at the recorded addresses; malloc'd */
    uint64_t *address;                  /* of each buffer during the launch; 0: it was not there */
    uint64_t *handle;                   /* of each texture or surface */
    uint32_t nbuffers, narrays;
    double  *ms;                        /* from launch to completion */
    uint32_t nms;
    struct cw_buf notes;                /* lines: what was moved */
};

/* `on`: a device for CUDAWAY_DEVICE, "cuda-native" or "cuda-native:O0" for the real driver (replay/driver.h), NULL for the default. */
cw_result cwd_session_open(struct cwd_session *s, const char *on, struct cwd_error *e) CW_MUST_CHECK;
/* Unload the modules and forget the memory, which stays allocated until the process ends. */
void cwd_session_close(struct cwd_session *s);
/* For rewritten kernels, which keep more across calls; the driver does not know how deep recursion goes. */
void cwd_session_enlarge_stack(const struct cwd_session *s);

enum cwd_run_flags {
    CWD_RUN_MAY_MOVE = 1,               /* without it CW_ERR_NOT_FOUND when a buffer's address is taken in this process */
};

/* A buffer without contents is zero before the launch, and nobody wants it behind.
 *
 * Run the launch once, or once unmeasured and `repeat` times measured, each from the recorded state. The outcome is the last
 * run's. CW_ERR_UNSUPPORTED: the device refused or failed. On failure *out is empty. */
cw_result cwd_session_run(struct cwd_session *s, const struct cwd_dump *d, unsigned flags, uint32_t repeat, struct cwd_outcome *out,
                          struct cwd_error *e) CW_MUST_CHECK;
void cwd_outcome_finish(struct cwd_outcome *o);

/* ---- between session.c and place.c ---- */

/* Where a recorded range is now. */
struct cwd_move {
    uint64_t from, to, size;
};

struct cwd_moves {
    struct cwd_move *list;              /* only what moved */
    uint32_t count, capacity;
    uint64_t *stays;                    /* where what did not move begins */
    uint32_t nstays, capstays;
    enum cwd_moves_order { CWD_MOVES_UNSORTED, CWD_MOVES_BY_FROM, CWD_MOVES_BY_TO } order;
    uint64_t patched;                   /* pointers that were changed on the way in */
};

/* Make memory at [address, address + size) usable, at that address. False: it is taken. */
bool cwd_place(struct cwd_session *s, uint64_t address, uint64_t size, bool host);
/* Memory anywhere, as long as the session. */
CUresult cwd_place_anywhere(struct cwd_session *s, uint64_t size, uint64_t *address);
CUresult cwd_copy(struct cwd_session *s, uint64_t address, void *data, uint64_t size, bool write);

bool cwd_moves_add(struct cwd_moves *m, uint64_t from, uint64_t to, uint64_t size);
/* Change pointers to what moved; `address` is where the content was recorded, for alignment. Back: from now to recorded; but not words that are already what was
 * `recorded` (or NULL), which are numbers that look like addresses. */
void cwd_moves_apply(struct cwd_moves *m, uint8_t *data, uint64_t size, uint64_t address, bool back, const uint8_t *recorded);
/* Does an unaligned word look like a pointer to what moved? Such a one would be missed. */
bool cwd_moves_unsafe(struct cwd_moves *m, const uint8_t *data, uint64_t size, uint64_t address, uint64_t *offset);

#endif
