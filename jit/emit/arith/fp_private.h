/* SPDX-License-Identifier: Apache-2.0
 * Floating point inside the emitter. Half and bfloat16 values are widened to f32 for computation (exactly), and rounded once at the end; so
 * every function below works on f32 or f64 elements, scalar or one per lane.
 *
 * NaN, as measured on an H200: operations on f32, f16 and bf16 give the canonical NaN 0x7fffffff, 0x7fff, 0x7fff. f64 operations give an
 * operand's payload, quieted (of several that of b, else c, else a; of quotients that of a), and 0xfff8000000000000 if no operand is NaN,
 * as x86 does. */
#ifndef CWJ_EMIT_ARITH_FP_PRIVATE_H
#define CWJ_EMIT_ARITH_FP_PRIVATE_H

#include "jit/emit/arith/arith_private.h"
#include "jit/emit/annotation.h"

/* The elements of an operand: one, or two of a packed type. v[i] is f32 or f64. */
struct fp_pack {
    unsigned n;
    LLVMValueRef v[2];
};

/* fp_value.c: operands in and out. fp_src flushes subnormals when the instruction says .ftz; fp_dst applies .ftz, .relu and
 * .sat, makes NaN canonical and rounds to half formats (to nearest). */
void fp_src(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, struct fp_pack *p);
void fp_dst(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, struct fp_pack *p);
void fp_unpack(struct emit *e, LLVMValueRef v, ptx_type t, struct fp_pack *p);
LLVMValueRef fp_flush(struct emit *e, LLVMValueRef v, ptx_type t);      /* subnormals of type t to zero, sign kept */
LLVMValueRef fp_canonical(struct emit *e, LLVMValueRef v);              /* f32: NaN to 0x7fffffff */
LLVMValueRef fp_quiet(struct emit *e, LLVMValueRef v);                  /* f64: a signalling NaN made quiet; f32 unchanged */
bool fp_annotates_flush(struct emit *e, LLVMValueRef v);                /* is .ftz on v left to annotations? */
LLVMValueRef fp_saturate(struct emit *e, LLVMValueRef v);               /* to [+0, 1], NaN to +0 */
LLVMValueRef fp_relu(struct emit *e, LLVMValueRef v);                   /* negative to +0; NaN unchanged */
LLVMValueRef fp_as_int(struct emit *e, LLVMValueRef v);                 /* the bits */
LLVMValueRef fp_as_float(struct emit *e, LLVMValueRef v);               /* bits to f32 or f64 */
LLVMValueRef fp_widen(struct emit *e, LLVMValueRef v);                  /* f32 to f64 */
LLVMValueRef fp_abs(struct emit *e, LLVMValueRef v);
LLVMValueRef fp_is_nan(struct emit *e, LLVMValueRef v);

/* fp_round.c: correctly rounded operations. `round` is PTX_RN, RZ, RM or RP (PTX_RND_NONE is RN). */
LLVMValueRef fp_add(struct emit *e, LLVMValueRef a, LLVMValueRef b, unsigned round);
LLVMValueRef fp_mul(struct emit *e, LLVMValueRef a, LLVMValueRef b, unsigned round);
LLVMValueRef fp_fma(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, unsigned round);
LLVMValueRef fp_div(struct emit *e, LLVMValueRef a, LLVMValueRef b, unsigned round);
LLVMValueRef fp_sqrt(struct emit *e, LLVMValueRef a, unsigned round);
LLVMValueRef fp_narrow(struct emit *e, LLVMValueRef v, unsigned round);         /* f64 to f32 */
/* The same; with ftz, a result that is subnormal after rounding with an unbounded exponent becomes zero. */
LLVMValueRef fp_narrow_flushed(struct emit *e, LLVMValueRef v, unsigned round, bool ftz);
/* Rounded to odd (inexact results get an odd last bit): rounding again to a format at least two bits shorter equals rounding the exact
 * value. */
LLVMValueRef fp_fma_odd(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);        /* f32 */
LLVMValueRef fp_narrow_odd(struct emit *e, LLVMValueRef v);                     /* f64 to f32 */

/* fp.c: minus zero is less than plus zero; a single NaN loses unless it propagates. */
LLVMValueRef fp_min_max(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool max, bool propagate);

/* half.c: small formats. */
enum fp_small { FP_F16, FP_BF16, FP_TF32, FP_E4M3, FP_E5M2 };
/* f32 to the format's code in an integer of its size (tf32: an f32's bits). satfinite: values beyond the largest finite one, infinity
 * included, become that one. NaN gives the format's canonical NaN. */
LLVMValueRef fp_to_small(struct emit *e, LLVMValueRef v, enum fp_small f, unsigned round, bool satfinite);
LLVMValueRef fp_from_small(struct emit *e, LLVMValueRef v, enum fp_small f);    /* code to f32, exact */

/* fp_approx.c: the approximations, with the hardware's bits. The caller flushes operands. */
LLVMValueRef fp_approx(struct emit *e, const struct ptx_inst *in, LLVMValueRef a);      /* rcp sqrt rsqrt sin cos lg2 ex2 tanh */
LLVMValueRef fp_div_approx(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool full, bool ftz, LLVMValueRef factor[2]);      /* quotient:
                                                                                                                               * factor[0] *
                                                                                                                               * factor[1] */
LLVMValueRef fp_approx_f64(struct emit *e, const struct ptx_inst *in, LLVMValueRef a);  /* rcp, rsqrt */

#endif
