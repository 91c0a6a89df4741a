/* SPDX-License-Identifier: Apache-2.0
 * Our passes over LLVM IR, one per file, for the rows of jit/llvm/pipeline.c, which say when each runs. They change the module in place
 * and keep no state. Unless noted they expect amdgcn code after mem2reg. A pass that returns bool says whether the clean-up that follows
 * it in the pipeline is needed. */
#ifndef CWJ_PASSES_PASSES_H
#define CWJ_PASSES_PASSES_H

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <stddef.h>

/* Replace integer arithmetic on the address of a variable by pointer arithmetic; with `global`, on kernel parameters too
 * (follow_pointers.c). *any: something was replaced. False: out of memory. */
bool pass_follow_pointers(LLVMModuleRef m, bool global, bool *any);

/* Request full unrolling of the loops that deserve it (annotate_loops.c). True: there is one. */
bool pass_annotate_loops(LLVMModuleRef m);

/* Does this function have a thread-private array that only loop counters index (annotate_loops.c)? */
bool pass_counts_through_array(LLVMValueRef function);

/* Unroll the loops of such functions, so that their arrays go into registers (unroll_arrays.c). The caller consumes the error. */
LLVMErrorRef pass_unroll_arrays(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o);

/* Make unrolled loops with calls loops again (reroll.c). True: there were some, and simplifycfg must follow. */
bool pass_reroll(LLVMModuleRef m);

/* Move the test with which a recursive function begins in front of its calls (guard_recursion.c). True: there are such functions, and
 * always-inline and simplifycfg must follow. */
bool pass_guard_recursion(LLVMModuleRef m);

/* Internal functions with one call become alwaysinline (single_calls.c). True: there is one. */
bool pass_annotate_single_calls(LLVMModuleRef m);

/* Load the parameters of kernels at their beginning (hoist_parameters.c). */
void pass_hoist_parameters(LLVMModuleRef m);

/* Replace casts between address spaces that the code generator does not support (cut_casts.c). */
void pass_cut_casts(LLVMModuleRef m);

/* Saturating conversions to integers as AMD's instructions do them; just before code generation (amd_convert.c). */
void pass_amd_convert(LLVMModuleRef m);

/* Put the blocks of each function into the order for which LLVM's AMDGPU target generates the least code (block_order.c). */
void pass_order_blocks(LLVMModuleRef m);

/* Make the functions of precompiled code internal (close_precompiled.c). */
void pass_close_precompiled(LLVMModuleRef m);

/* ---- shared by passes ---- */

/* The only block that branches to bb, or NULL. */
static inline LLVMBasicBlockRef
pass_only_predecessor(LLVMBasicBlockRef bb)
{
    LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(bb));
    return u && !LLVMGetNextUse(u) && LLVMIsAInstruction(LLVMGetUser(u)) ? LLVMGetInstructionParent(LLVMGetUser(u)) : NULL;
}

#endif
