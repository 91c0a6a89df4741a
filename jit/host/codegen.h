/* SPDX-License-Identifier: Apache-2.0
 * LLVM's code generator without LLVMTargetMachineEmitToMemoryBuffer, which resets the module's data layout. Private to jit/. */
#ifndef CWJ_HOST_CODEGEN_H
#define CWJ_HOST_CODEGEN_H

#ifdef __cplusplus
extern "C" {
#endif

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

/* amdgcn: take address spaces 7 to 9, buffer resources, out of the module's data layout. The emitter makes no pointers to them, but
 * LLVM's alias analysis counts in numbers as wide as the widest pointer of any space, which are 192 bits, are on the heap, and
 * are several times slower than 64. */
void cwj_codegen_narrow_layout(LLVMModuleRef m);

/* Object code or assembly. False: the target cannot make it. The caller disposes of *out. */
bool cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, LLVMMemoryBufferRef *out);

#ifdef __cplusplus
}
#endif
#endif
