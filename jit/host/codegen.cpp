/* SPDX-License-Identifier: Apache-2.0
 * See codegen.h. */
#include "jit/host/codegen.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <string>

extern "C" void
cwj_codegen_narrow_layout(LLVMModuleRef m)
{
    std::string layout = llvm::unwrap(m)->getDataLayoutStr(), narrow;
    for (size_t at = 0, end; at < layout.size(); at = end + 1) {
        end = std::min(layout.find('-', at), layout.size());
        llvm::StringRef part(layout.data() + at, end - at);
        if (!part.starts_with("p7:") && !part.starts_with("p8:") && !part.starts_with("p9:"))
            narrow += (narrow.empty() ? "" : "-") + part.str();
    }
    llvm::unwrap(m)->setDataLayout(narrow);
}

namespace {

/* A code generator's passes, some left out. For AMD it begins with what finds common parts of addresses in code that nobody has
 * optimised. PTX comes from a compiler that did that, and after it this project's own pipeline (llvm.c): these find nothing, in 6
 * to 12 % of the compile time. The one EarlyCSE that stays is the last, which cleans up after the strength reduction of
 * loops. Invariant code is moved once more where there are divisions, which have become many instructions by then.
 * Names that an LLVM does not know leave nothing out. */
class Passes : public llvm::legacy::PassManager {
public:
    Passes(bool amdgcn, bool divisions) : amdgcn(amdgcn), divisions(divisions) {}

    void
    add(llvm::Pass *pass) override
    {
        if (amdgcn && unneeded(pass->getPassName()))
            delete pass;            /* as the manager does with one that it has already */
        else
            llvm::legacy::PassManager::add(pass);
    }

private:
    bool
    unneeded(llvm::StringRef name)
    {
        if (name == "Early CSE")
            return ++cse <= 2;
        if (name == "Loop Invariant Code Motion")
            return !divisions;
        return name == "Straight line strength reduction" || name == "Nary reassociation";
    }

    bool amdgcn, divisions;
    unsigned cse = 0;
};

bool
divides(const llvm::Module &m)
{
    for (const llvm::Function &f : m)
        for (const llvm::Instruction &i : llvm::instructions(f))
            if (i.isIntDivRem() && !llvm::isa<llvm::Constant>(i.getOperand(1)))
                return true;
    return false;
}

} // namespace

extern "C" bool
cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, LLVMMemoryBufferRef *out)
{
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::Module &module = *llvm::unwrap(m);
    bool amdgcn = llvm::Triple(module.getTargetTriple()).isAMDGCN();      /* a string before LLVM 21 */
    Passes passes(amdgcn, amdgcn && divides(module));
    auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (reinterpret_cast<llvm::TargetMachine *>(tm)->addPassesToEmitFile(passes, stream, nullptr, type))
        return false;
    passes.run(module);
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "");
    return *out != nullptr;
}
