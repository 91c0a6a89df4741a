/* SPDX-License-Identifier: Apache-2.0
 * Runs single PTX instructions (or short sequences) through the arithmetic emitter, over lanes, and compares each result
 * with a C reference. A case names the registers' types; the harness makes the inputs: every combination of edge values,
 * then random bits. The harness stands in for the operand part of the emitter (plain values instead of registers). */
#ifndef ARITH_HARNESS_H
#define ARITH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union val {
    uint64_t u64;
    int64_t  s64;
    uint32_t u32;
    int32_t  s32;
    uint16_t u16;
    int16_t  s16;
    uint8_t  u8;
    int8_t   s8;
    float    f32;
    double   f64;
};

/* The reference: in[] are the %a registers, out[] the %d registers (zeroed before). */
typedef void ref_fn(const union val *in, union val *out);
/* Optional comparison for approximations: true when got is acceptable. */
typedef bool accept_fn(const union val *in, union val got, union val want);

struct arith_case {
    const char *body;       /* "add.f32 %d0, %a0, %a1;" */
    const char *types;      /* "f32 f32 > f32": types of %a0, %a1, ... then of %d0, ... */
    ref_fn *ref;
    accept_fn *accept;      /* NULL: equal bits (for f64: any NaN equals any NaN) */
    unsigned sweep;         /* not 0: only %a0, f32, every sweep-th bit pattern */
};

/* Runs all cases in several widths. Returns the number of failing cases, and prints the first mismatches of each. */
int arith_run(const char *name, const struct arith_case *cases, size_t count);

#endif
