/* SPDX-License-Identifier: Apache-2.0
 * NaN, .ftz and approximations with the bits of NVIDIA's hardware, one switch each (cwj_aot_options.native_floats). The emitter annotates
 * results (jit/emit/annotation.h); these passes turn the annotations into code, or drop those that nobody can observe. Each returns whether
 * it changed the module. Run those whose switch is exact, in this order, after mem2reg and before the optimiser; at -O0 run only nan64,
 * large and flush. */
#ifndef CWJ_PASSES_EXACT_EXACT_H
#define CWJ_PASSES_EXACT_EXACT_H

#include <llvm-c/Types.h>
#include <stdbool.h>

struct cwj_exact_options {
    unsigned gfx;               /* amdgcn: 9 to 12; gfx9 has wave64. 0: another target */
};

/* nan or ftz; host and amdgcn: floats carried as integers become floats, which the later passes need. */
bool pass_retype_floats(LLVMModuleRef m, const struct cwj_exact_options *o);
/* nan, amdgcn: annotations of f64 become pseudo-instructions. */
bool pass_nan64(LLVMModuleRef m, const struct cwj_exact_options *o);
/* approx, amdgcn: roots whose operand is known to be large enough call the functions whose name ends in EMIT_LARGE, which have no branch.
 * Uncalled ones are deleted. */
bool pass_large_roots(LLVMModuleRef m, const struct cwj_exact_options *o);
/* nan, host and amdgcn: drop the canonical NaN of f32 and f16 where nobody can observe it. */
bool pass_relax_nan(LLVMModuleRef m, const struct cwj_exact_options *o);
/* ftz, amdgcn: annotations of subnormals become code. */
bool pass_flush(LLVMModuleRef m, const struct cwj_exact_options *o);
/* nan, amdgcn, after the optimiser: one pseudo-instruction makes an f32 canonical. */
bool pass_shorten_nan(LLVMModuleRef m, const struct cwj_exact_options *o);

#endif
