/* SPDX-License-Identifier: Apache-2.0
 * What amdgcn_nan64.c leaves for the end of AMD's code generator (jit/host/amd_nan.cpp): a piece of inline assembly whose text is no assembly. There it becomes a
 * test and a branch to instructions at the end of the function; until then it is one instruction and no block. Its registers have numbers: what comes out, then what
 * goes in, without what is tied to something that comes out. All that comes out is of 64 bits in vector registers, but for the last two: one of 32 bits that is overwritten, and
 * a mask of lanes. */
#ifndef CWJ_EMIT_NAN_CODE_H
#define CWJ_EMIT_NAN_CODE_H

#include <stdint.h>

/* Behind the name, each behind a space: ?N, one of the registers whose NaN are looked for; and if there is one in a lane, for each value that comes out its number,
 * where it may be NaN, and what it is then: the first of a list, each behind a comma, that is NaN, quieted, or FP_NAN_F64. A register of the list behind ! stands
 * for FP_NAN_F64 itself. What comes in may be in scalar registers. */
#define EMIT_NAN64 "cwj_nan64"

/* What an f64 operation gives where no operand is NaN. */
#define FP_NAN_F64 UINT64_C(0xfff8000000000000)

#endif
