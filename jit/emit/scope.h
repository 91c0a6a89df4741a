/* SPDX-License-Identifier: Apache-2.0
 * See scope.cpp. Private to jit/emit. */
#ifndef CWJ_EMIT_SCOPE_H
#define CWJ_EMIT_SCOPE_H

#include <llvm-c/Types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Give a fence or an atomic load, store, read-modify-write or compare-and-swap one of the target's scopes by its name ("" is the
 * whole system). Other values are left as they are. */
void emit_set_scope(LLVMValueRef instruction, const char *scope);

/* Two instructions of one block. */
bool emit_comes_before(LLVMValueRef a, LLVMValueRef b);

/* The instruction, which is no phi, and what follows it become a block of their own, to which the first part branches. */
LLVMBasicBlockRef emit_split_block(LLVMValueRef instruction);

#ifdef __cplusplus
}
#endif
#endif
