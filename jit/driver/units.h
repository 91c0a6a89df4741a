/* SPDX-License-Identifier: Apache-2.0
 * A program in units that are compiled side by side. Which kernels make a unit depends on the program alone, never on the number
 * of threads or on how they are scheduled. Private to jit/. */
#ifndef CWJ_DRIVER_UNITS_H
#define CWJ_DRIVER_UNITS_H

#include "jit/llvm/lld.h"
#include "jit/link/program.h"

struct cwj_unit {
    bool *kernels;                  /* one a kernel of the program */
    bool first;                     /* unit 0 has what the program has once: its variables */
    struct cw_buf out;
    struct cwj_diags diags;
    cw_result result;
};

struct cwj_units {
    struct cwj_unit *at;
    uint32_t n;
};

/* The kernels of `take` (one a kernel of the program) in units of about `limit` PTX instructions, with those of the functions that
 * they call, or more, so that there are about 64 at most, and that no more than half of a unit is code that its kernels share with others; 0:
 * in one unit. There is always at least one. */
cw_result cwj_units_make(const struct cwj_program *p, const bool *take, uint32_t limit, struct cwj_units *out) CW_MUST_CHECK;
void cwj_units_finish(struct cwj_units *ps);

/* compile(unit, user) for each unit, on up to `threads` threads, this one included; compile sets result and out. Diagnostics are
 * appended to `diags` in the order of the units; the result is that of the first unit that failed. */
cw_result cwj_units_run(struct cwj_units *ps, unsigned threads, void (*compile)(struct cwj_unit *unit, void *user), void *user,
                        struct cwj_diags *diags) CW_MUST_CHECK;

#endif
