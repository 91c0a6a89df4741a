/* SPDX-License-Identifier: Apache-2.0
 * Our passes over LLVM IR, one per file, for the rows of jit/llvm/pipeline.c, which say when each runs. They change the module in place
 * and keep no state. Unless noted they expect amdgcn code after mem2reg. A pass that returns bool says whether the clean-up that follows
 * it in the pipeline is needed. */
#ifndef CWJ_PASSES_PASSES_H
#define CWJ_PASSES_PASSES_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>

typedef LLVMValueRef V;

/* Replace integer arithmetic on the address of a variable by pointer arithmetic; with `global`, on kernel parameters too
 * (follow_pointers.c). *any: something was replaced. False: out of memory. */
bool pass_follow_pointers(LLVMModuleRef m, bool global, bool *any);

/* Move the test with which a recursive function begins in front of its calls (guard_recursion.c). True: there are such functions, and
 * always-inline and simplifycfg must follow. */
bool pass_guard_recursion(LLVMModuleRef m);

/* Internal functions with one call become alwaysinline (single_calls.c). True: there is one. */
bool pass_annotate_single_calls(LLVMModuleRef m);

/* Replace casts between address spaces that the code generator does not support (cut_casts.c). */
void pass_cut_casts(LLVMModuleRef m);

/* Saturating conversions to integers as AMD's instructions do them; just before code generation (amd_convert.c). */
void pass_amd_convert(LLVMModuleRef m);

/* Put the blocks of each function into the order for which LLVM's AMDGPU target generates the least code (block_order.c). */
void pass_order_blocks(LLVMModuleRef m);

/* Vector constants of functions that have thousands become loads (tabulate_constants.c); just before code generation for a CPU. */
void pass_tabulate_constants(LLVMModuleRef m);

/* Make the functions of precompiled code internal (close_precompiled.c). */
void pass_close_precompiled(LLVMModuleRef m);

#endif
