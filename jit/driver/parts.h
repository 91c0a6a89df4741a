/* SPDX-License-Identifier: Apache-2.0
 * A program in parts that are compiled side by side. Which kernels make a part depends on the program alone, never on the number
 * of threads or on how they are scheduled. Private to jit/. */
#ifndef CWJ_DRIVER_PARTS_H
#define CWJ_DRIVER_PARTS_H

#include "jit/llvm/lld.h"
#include "jit/link/program.h"

struct cwj_part {
    bool *kernels;                  /* one a kernel of the program */
    bool first;                     /* part 0 has what the program has once: its variables */
    struct cw_buf out;
    struct cwj_diags diags;
    cw_result result;
};

struct cwj_parts {
    struct cwj_part *at;
    uint32_t n;
};

/* The kernels of `take` (one a kernel of the program) in parts of about `limit` PTX instructions, with those of the functions that
 * they call, or more, so that there are about 64 at most, and that no more than half of a part is code that its kernels share with others; 0:
 * in one part. There is always at least one. */
cw_result cwj_parts_make(const struct cwj_program *p, const bool *take, uint32_t limit, struct cwj_parts *out) CW_MUST_CHECK;
void cwj_parts_finish(struct cwj_parts *ps);

/* compile(part, user) for each part, on up to `threads` threads, this one included; compile sets result and out. Diagnostics are
 * appended to `diags` in the order of the parts; the result is that of the first part that failed. */
cw_result cwj_parts_run(struct cwj_parts *ps, unsigned threads, void (*compile)(struct cwj_part *part, void *user), void *user,
                        struct cwj_diags *diags) CW_MUST_CHECK;

#endif
