/* SPDX-License-Identifier: Apache-2.0
 * A launch changed in one respect that PTX or CUDA leaves open: what --explain tries. All changes are made in the same way, by text
 * that is put into the module's PTX, or else by an environment variable of the run; so they combine, and --locate's and the checkers'
 * records can be put into the changed text as well. */
#ifndef CWV_VARIANT_H
#define CWV_VARIANT_H

#include "replay/side.h"

/* Orders of blocks and threads: the first four reverse or shift both; the others mix the threads of a block. */
enum { CWV_ORDERS = 4, CWV_ALL_ORDERS = 64 };

struct cwv_variant {
    const uint8_t *fuse;        /* by instruction number: 0, or the operand (1, 2) whose product this sum is fused with; NULL: none */
    bool flush;                 /* .ftz on all f32 instructions that may have it */
    bool precise;               /* .approx and .full division, reciprocal and square root correctly rounded */
    bool approximate;           /* the reverse, as ptxas does it with -prec-div=false -prec-sqrt=false */
    bool fill;                  /* shared and local memory and registers hold `pattern` when the kernel begins */
    uint32_t pattern;
    const uint8_t *delay;       /* by instruction number: threads wait there until all of the grid came, or some time; NULL: none */
    unsigned order;             /* 0, or which permutation of blocks and threads, up to CWV_ALL_ORDERS */
    const char *env;            /* "NAME=VALUE" for the run, or NULL */
};

/* What NVIDIA's compiler may fuse: sum `id` with the product `mul[k]` of its operand k + 1, or CWV_NONE. */
#define CWV_NONE UINT32_MAX
struct cwv_sum {
    uint32_t id, mul[2];
    bool once[2];               /* the product is used only there */
};
/* Those of what runs, malloc'd. False: out of memory. */
bool cwv_sums(const struct cwi_program *p, const char *kernel, struct cwv_sum **sums, uint32_t *count);

/* Append text `i` with the changes to `out`. CW_ERR_UNSUPPORTED: this launch cannot be changed so; *changed: whether anything was. */
cw_result cwv_write(const struct cwi_program *p, uint32_t i, const struct cwv_variant *v, const struct cwd_dump *d, struct cw_buf *out,
                    bool *changed, struct cwd_error *e) CW_MUST_CHECK;

/* `to`: `from` with the changes, to be run as it is or rewritten once more. It borrows from `from`, which stays open longer; close it
 * in any case. CW_ERR_NOT_FOUND: nothing of the launch can be changed so.
 * A variant that asks for nothing is the launch as it is. */
cw_result cwv_open(struct cwl_side *to, const struct cwl_side *from, const struct cwv_variant *v, struct cwd_error *e) CW_MUST_CHECK;

/* Does an instruction of the program pass values between lanes, or tell which lane executes it? */
bool cwv_uses_warps(const struct cwi_program *p);

#endif
