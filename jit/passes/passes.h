/* SPDX-License-Identifier: Apache-2.0
 * Our passes over LLVM IR, one a file. jit/llvm/pipeline.c says when each runs. A pass that returns bool says whether it changed
 * something that needs the clean-up which the pipeline has behind it. */
#ifndef CWJ_PASSES_PASSES_H
#define CWJ_PASSES_PASSES_H

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>

/* amdgcn: internal functions with one call become alwaysinline (single_calls.c). */
bool pass_annotate_single_calls(LLVMModuleRef m);

/* amdgcn: unroll the loops of functions with an array that only their counters index, so that it comes to lie in registers
 * (unroll_arrays.c). */
LLVMErrorRef pass_unroll_arrays(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o);

/* amdgcn: saturating conversions to integers as AMD's instructions have them, before code generation (amd_convert.c). */
void cwj_amd_convert(LLVMModuleRef m);

/* amdgcn: functions of precompiled code become internal (close_precompiled.c). */
void pass_close_precompiled(LLVMModuleRef m);

#endif
