/* SPDX-License-Identifier: Apache-2.0
 * Passes of our own in AMD's code generator, and what guards a module before it. Private to jit/host. */
#ifndef CWJ_HOST_AMD_GUARDS_H
#define CWJ_HOST_AMD_GUARDS_H

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>

/* What the guards of one code generator know beyond their pass. */
struct cwj_amd_notes {
    bool *moved;                                                /* as cwj_codegen has it */
    llvm::SmallPtrSet<const llvm::Function *, 4> long_blocks;   /* functions with blocks of more than a thousand instructions */
};

/* Add the passes that belong right before (after: behind) LLVM's pass of this name; mostly none. The notes live as long as the passes. */
void cwj_amd_guards(llvm::legacy::PassManagerBase &passes, llvm::StringRef name, bool after, cwj_amd_notes &notes);

/* Before LLVM 22: divisions that would be made in too few bits. */
void cwj_amd_hide_extended_operands(llvm::Module &m);

#endif
