/* SPDX-License-Identifier: Apache-2.0
 * NaN, .ftz and approximations with the bits of NVIDIA's hardware: one switch each (cwj_aot_options.native_floats). The emitter annotates results
 * (jit/emit/annotation.h); these passes make code of the annotations, or drop what nobody can observe. Each returns whether it changed the module.
 * Run those whose switch is exact, in this order, after mem2reg and before the optimiser; at -O0 nan64, large and flush alone. */
#ifndef CWJ_PASSES_EXACT_EXACT_H
#define CWJ_PASSES_EXACT_EXACT_H

#include <llvm-c/Types.h>
#include <stdbool.h>

struct cwj_exact_options {
    unsigned gfx;               /* amdgcn: 9 to 12; 9 has waves of 64 lanes. 0: another target */
};

/* nan or ftz; host and amdgcn: floats that are carried as integers become floats, for the passes behind it. */
bool pass_retype_floats(LLVMModuleRef m, const struct cwj_exact_options *o);
/* nan, amdgcn: annotations of f64 become pseudo-instructions. */
bool pass_nan64(LLVMModuleRef m, const struct cwj_exact_options *o);
/* approx, amdgcn: roots whose operand is known to be large enough become the functions whose name ends in EMIT_LARGE, which have no branch. Those of
 * them that nobody calls are deleted. */
bool pass_large_roots(LLVMModuleRef m, const struct cwj_exact_options *o);
/* nan, host and amdgcn: canonical NaN of f32 and f16 that nobody can observe go. */
bool pass_relax_nan(LLVMModuleRef m, const struct cwj_exact_options *o);
/* ftz, amdgcn: annotations of subnormals become code. */
bool pass_flush(LLVMModuleRef m, const struct cwj_exact_options *o);
/* nan, amdgcn, after the optimiser: f32 become canonical by one pseudo-instruction. */
bool pass_shorten_nan(LLVMModuleRef m, const struct cwj_exact_options *o);

#endif
