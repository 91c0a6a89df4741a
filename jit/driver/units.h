/* SPDX-License-Identifier: Apache-2.0
 * Splits a program into codegen units that are compiled in parallel. The split depends on the program alone, never on the number of threads
 * or their scheduling. Private to jit/. */
#ifndef CWJ_DRIVER_UNITS_H
#define CWJ_DRIVER_UNITS_H

#include "jit/llvm/lld.h"
#include "jit/link/program.h"

struct cwj_unit {
    bool *kernels;                  /* per kernel of the program */
    bool first;                     /* unit 0 also has the program's variables */
    struct cw_buf out;
    struct cwj_diags diags;
    cw_result result;
};

struct cwj_units {
    struct cwj_unit *at;
    uint32_t n;
};

/* Split the kernels of `take` (one element per kernel of the program) into units of about `limit` PTX instructions, their callees included;
 * 0: one unit. Units are larger where needed to have at most about 64 of them, and to keep code shared with other units to half of a unit.
 * There is always at least one. The caller finishes *out. */
cw_result cwj_units_make(const struct cwj_program *p, const bool *take, uint32_t limit, struct cwj_units *out) CW_MUST_CHECK;
void cwj_units_finish(struct cwj_units *ps);

/* Call compile(unit, user) for each unit, on up to `threads` threads, this one included; compile sets result and out. Appends diagnostics
 * to `diags` in the order of the units; returns the result of the first unit that failed. */
cw_result cwj_units_run(struct cwj_units *ps, unsigned threads, void (*compile)(struct cwj_unit *unit, void *user), void *user,
                        struct cwj_diags *diags) CW_MUST_CHECK;

#endif
