/* SPDX-License-Identifier: Apache-2.0
 * Between reduce.c, which decides what to leave out, reduce_length.c, which shortens buffers, and reduce_text.c and reduce_declare.c, which write what is
 * left. */
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
    bool declared;                      /* declarations that nothing uses are left out */
    bool *param;                        /* by the kernel's parameters: left out */
    uint64_t *size;                     /* by buffer: so many of its bytes are left, from its begin; 0: it is left out */
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
    struct cw_progress progress;
    time_t end;
    struct cwd_dump result[2];          /* of the last runs that differed */
    bool has_result;
    char whole[200];                    /* why buffers are as long as they were, or "" */
    struct cwd_error e;
};

enum { PIECES = 256 };                  /* of a buffer's content */

/* Text `i` of a device run's program with what is left of its instructions; false: memory is out. */
bool reduce_text(const struct reduction *r, unsigned side, uint32_t i, struct cw_buf *out);
/* The same with zeros written into registers that nothing writes any more; *count: instructions left in all. False: it is no PTX. */
bool reduce_texts(const struct reduction *r, unsigned side, struct cw_buf *texts, uint32_t *count);
/* Leave out of a text: the kernel's parameters with `param`, and with `unused` registers and variables that nothing uses. */
void reduce_declarations(const char *kernel, const bool *param, uint32_t nparams, bool unused, struct cw_buf *text);
/* Whether a name stands in a text, in [from, to). */
bool reduce_mentions(const struct cw_buf *text, size_t from, size_t to, const char *name);
/* Whether the kernel uses parameter `i`; true where it is not known. */
bool reduce_uses_param(const char *kernel, uint32_t i, const struct cw_buf *text);

/* Does what is left still differ? `user`: the reduction. */
bool reduce_differs(void *user);
/* What is left as a device run of its own, in `s`; reduce_side_close in any case. */
struct reduced_side {
    struct cwl_side s;
    struct cw_buf *texts;
    struct cwd_input *inputs;
    struct cwd_buffer *buffers;
    struct cwd_param *params;
    bool *owned;                        /* by buffer: its content is this run's */
    uint32_t ntexts, nbuffers;          /* of these lists */
};
bool reduce_side_open(struct reduction *r, unsigned side, struct reduced_side *x);
void reduce_side_close(struct reduced_side *x);

/* Shorten buffers to what is accessed of them, and leave out those that nothing points to. */
void reduce_lengths(struct reduction *r);

/* The test. */
bool reduce_write(const struct reduction *r, struct cw_buf *out);

#endif
