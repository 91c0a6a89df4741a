/* SPDX-License-Identifier: Apache-2.0
 * Passes of our own in AMD's code generator, and what guards a module before it. Private to jit/host. */
#ifndef CWJ_HOST_AMD_GUARDS_H
#define CWJ_HOST_AMD_GUARDS_H

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>

/* Add the passes that belong right before (after: behind) LLVM's pass of this name; mostly none. moved: as cwj_codegen has it. */
void cwj_amd_guards(llvm::legacy::PassManagerBase &passes, llvm::StringRef name, bool after, bool *moved);

/* Before LLVM 22: divisions that would be made in too few bits. */
void cwj_amd_hide_extended_operands(llvm::Module &m);

#endif
