/* SPDX-License-Identifier: Apache-2.0
 * 64-bit quotients and remainders on amdgcn: what divide.c and jit/passes/amd_divide.cpp agree on. Private to jit/. */
#ifndef CWJ_EMIT_TARGET_AMDGCN_DIVIDE_H
#define CWJ_EMIT_TARGET_AMDGCN_DIVIDE_H

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions: two i64, dividend and divisor, to quotient and remainder, a structure of two i64. As PTX has it on NVIDIA's hardware: what is
 * divided by zero is all ones, -2^63 by -1 is -2^63 and 0. */
#define EMIT_DIVIDE_UNSIGNED "div.u64"
#define EMIT_DIVIDE_SIGNED   "div.s64"

/* Give one of them its body, for a processor. */
void emit_gcn_divide_body(LLVMValueRef fn, const char *cpu);

#ifdef __cplusplus
}
#endif
#endif
