/* SPDX-License-Identifier: Apache-2.0
 * Between reduce.c, which decides what to leave out, and reduce_text.c, which writes what is left. */
#ifndef CWD_REDUCE_PRIVATE_H
#define CWD_REDUCE_PRIVATE_H

#include "replay/reduce.h"
#include "replay/results.h"
#include "replay/side.h"

#include <limits.h>
#include <time.h>

/* A launch with things left out. Instructions and functions are those of the first program, the reference's. */
struct shape {
    bool *inst, *guard;                 /* by instruction: left out; its guard left out */
    bool *fn;                           /* by its first instruction: the whole function left out */
    bool one_block, one_thread;         /* the coordinates are constants, and the grid, the block is 1 */
    uint32_t ctaid[3], tid[3];
};

struct reduction {
    const struct cwd_reduce *o;
    struct cwl_side side[2];            /* 0: the reference (--against) */
    char folder[PATH_MAX];
    uint32_t *from;                     /* by instruction of program 1: that of program 0, or UINT32_MAX */
    struct shape now;
    bool **zero, *zeroing;              /* by buffer and piece: its content is left out; where a buffer is being reduced */
    uint32_t buffer;
    bool nan;                           /* the difference is one of two NaN */
    uint32_t runs;
    struct cwd_progress progress;
    time_t end;
    struct cwd_dump result[2];          /* of the last runs that differed */
    bool has_result;
    struct cwd_error e;
};

enum { PIECES = 256 };                  /* of a buffer's content */

/* Text `i` of a device run's program with what is left; false: memory is out. `zeros`: set registers that nothing writes any more. */
bool reduce_text(const struct reduction *r, unsigned side, uint32_t i, struct cw_buf *out);
/* The same with zeros written into registers that nothing writes any more; *count: instructions left in all. False: it is no PTX. */
bool reduce_texts(const struct reduction *r, unsigned side, struct cw_buf *texts, uint32_t *count);
/* The test. */
bool reduce_write(const struct reduction *r, struct cw_buf *out);

#endif
