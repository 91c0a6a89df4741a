/* SPDX-License-Identifier: Apache-2.0
 * See inreg.h. Where the hardware has architected flat scratch (gfx942, gfx11 and later), LLVM passes inreg arguments from s0 on. On other
 * processors s[0:3] describe scratch memory: a function expects its arguments from s4 on, but its callers write them from s0 on, over the
 * descriptor. The optimiser inlines most functions with such arguments, approximations and their tables (jit/emit/target/amdgcn/mufu.c);
 * remaining calls pass them in VGPRs, and the function reads the first lane's. */
#include "jit/llvm/amdgpu/inreg.h"
#include "jit/builtins/precompiled.h"

#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include <vector>

namespace {

bool
agree(const llvm::Function &f, const llvm::TargetMachine &tm)
{
    return tm.getSubtargetImpl(f)->checkFeatures("+architected-flat-scratch");
}

/* The uniform value, in SGPRs. */
llvm::Value *
first_lane(llvm::IRBuilder<> &b, llvm::Value *pointer)
{
    llvm::Type *word = b.getInt32Ty(), *both = b.getInt64Ty();
    llvm::Value *bits = b.CreatePtrToInt(pointer, both), *half[2];
    for (unsigned k = 0; k < 2; k++) {
        llvm::Value *v = b.CreateTrunc(b.CreateLShr(bits, 32 * k), word);
        half[k] = b.CreateZExt(b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane, { word }, { v }), both);
    }
    return b.CreateIntToPtr(b.CreateOr(half[0], b.CreateShl(half[1], 32)), pointer->getType());
}

void
pass_in_vectors(llvm::Argument &a)
{
    llvm::Function &f = *a.getParent();
    std::vector<llvm::Use *> uses;
    for (llvm::Use &use : a.uses())
        uses.push_back(&use);
    f.removeParamAttr(a.getArgNo(), llvm::Attribute::InReg);
    for (llvm::User *user : f.users())
        llvm::cast<llvm::CallBase>(user)->removeParamAttr(a.getArgNo(), llvm::Attribute::InReg);
    if (uses.empty())
        return;
    llvm::IRBuilder<> b(&*f.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    llvm::Value *uniform = first_lane(b, &a);
    for (llvm::Use *use : uses)
        use->set(uniform);
}

} // namespace

extern "C" void
cwj_amd_pass_uniform(LLVMModuleRef m, LLVMTargetMachineRef machine)
{
    const llvm::TargetMachine &tm = *reinterpret_cast<llvm::TargetMachine *>(machine);
    if (&gcn_precompiled_facts)
        return;
    for (llvm::Function &f : *llvm::unwrap(m)) {
        if (f.isDeclaration() || f.use_empty() || f.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL)
            continue;
        for (llvm::Argument &a : f.args())
            if (a.hasInRegAttr() && !agree(f, tm))
                pass_in_vectors(a);
    }
}
