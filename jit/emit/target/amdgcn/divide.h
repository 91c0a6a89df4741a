/* SPDX-License-Identifier: Apache-2.0
 * 64-bit quotients and remainders on amdgcn: shared by divide.c and jit/passes/amd_divide.cpp. Private to jit/. */
#ifndef CWJ_EMIT_TARGET_AMDGCN_DIVIDE_H
#define CWJ_EMIT_TARGET_AMDGCN_DIVIDE_H

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of two i64, dividend and divisor, that return quotient and remainder as a struct of two i64. Results as on NVIDIA's hardware:
 * division by zero gives all ones; -2^63 by -1 gives -2^63 and 0. */
#define EMIT_DIVIDE_UNSIGNED "div.u64"
#define EMIT_DIVIDE_SIGNED   "div.s64"

/* Give one of them its body for a processor. */
void emit_gcn_divide_body(LLVMValueRef fn, const char *cpu);

#ifdef __cplusplus
}
#endif
#endif
