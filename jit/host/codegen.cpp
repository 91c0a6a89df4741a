/* SPDX-License-Identifier: Apache-2.0
 * See codegen.h. */
#include "jit/host/codegen.h"
#include "jit/host/amd_guards.h"
#include "jit/emit/prepared.h"
#include "jit/host/amd_live.h"
#include "jit/host/amd_loops.h"
#include "jit/host/lld.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
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
 * loops. Invariant code is moved once more where there are divisions, which have become many instructions by then. Copies of registers are
 * followed twice in what the register allocator leaves, where there is nothing to find, either.
 * Names that an LLVM does not know leave nothing out. */
class Passes : public llvm::legacy::PassManager {
public:
    Passes(bool amdgcn, bool divisions, bool together, bool *moved) : amdgcn(amdgcn), divisions(divisions), together(together), notes{ moved, {} } {}

    void
    add(llvm::Pass *pass) override
    {
        llvm::StringRef name = pass->getPassName();
        if (together && begins_stage(name))
            llvm::legacy::PassManager::add(llvm::createBarrierNoopPass());
        if (amdgcn)
            cwj_amd_guards(*this, name, false, notes);
        if (amdgcn && name == "Live Variable Analysis") {
            delete pass;
            pass = cwj_amd_live_variables();
        }
        if (amdgcn && name == "Loop Strength Reduction")
            llvm::legacy::PassManager::add(cwj_amd_loop_users());
        if (amdgcn && unneeded(name))
            delete pass;            /* as the manager does with one that it has already */
        else
            llvm::legacy::PassManager::add(pass);
        if (amdgcn)
            cwj_amd_guards(*this, name, true, notes);
    }

private:
    bool
    unneeded(llvm::StringRef name)
    {
        if (name == "Early CSE")
            return ++cse <= 2;
        if (name == "Loop Invariant Code Motion")
            return !divisions;
        /* Where a value is needed on the one side of a branch and, behind a loop there, on the other, it loses the one (LLVM 19;
         * fuzz/live_range.ptx). What it saves in registers is nothing that tools/bench amd sees. */
        if (name == "SI Optimize VGPR LiveRange")
            return true;
        return finds_nothing(name);
    }

    static bool
    finds_nothing(llvm::StringRef name)
    {
        static const char *const names[] = {
            "Straight line strength reduction", "Nary reassociation", "Machine Copy Propagation Pass",
            /* In none of the PTX tests and CUDA C kernels is there anything for these to do, on gfx1100, gfx1201 and gfx90a ... */
            "Canonicalize Freeze Instructions in Loops", "Constant Hoisting", "Flatten the CFG",
            /* ... and these are for what no module has: libraries, masked and predicated vectors, threads' variables, buffers as pointers, garbage
             * collection, instrumentation, variables that a debugger would show. */
            "Merge contiguous icmps into a memcmp", "Expand memcmp() to load/stores", "Replace intrinsics with calls to vector library",
            "Partially inline calls to library functions", "Expand vector predication intrinsics", "Scalarize Masked Memory Intrinsics", "TLS Variable Hoist",
            "Lower buffer fat pointer operations to buffer resources", "Fixup Statepoint Caller Saved", "Safe Stack instrumentation pass",
            "Instrument function entry/exit with calls to e.g. mcount() (post inlining)", "Insert fentry calls", "Insert XRay ops",
            "Machine Sanitizer Binary Metadata", "Remove Redundant DEBUG_VALUE analysis", "Live DEBUG_VALUE analysis", "Stack Frame Layout Analysis",
        };
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    }

    /* Where all functions wait for each other, see kernels_only. */
    static bool
    begins_stage(llvm::StringRef name)
    {
        return name == "Prepare callbr" || name == "SI Fix SGPR copies" || name == "Peephole Optimizations" || name == "Live Variable Analysis" ||
               name == "Prologue/Epilogue Insertion & Frame Finalization" || name == "PostRA Machine Instruction Scheduler" ||
               name == "SI insert wait instructions";
    }

    bool amdgcn, divisions, together;
    cwj_amd_notes notes;
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

/* LLVM takes each function through all of the code generator before the next: 150 passes, whose machine code does not fit in a CPU's
 * second-level cache. Several functions go through it in stages, all through one before the next: the same code comes of it in a
 * tenth less time. Not where one calls another: what registers a function leaves alone is known to its callers by then. (Of prepared code it is known from
 * the beginning.) */
bool
kernels_only(const llvm::Module &m)
{
    unsigned kernels = 0;
    for (const llvm::Function &f : m) {
        if (f.isDeclaration() || f.hasFnAttribute(EMIT_OVERWRITES))
            continue;
        if (f.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL)
            return false;
        kernels++;
    }
    return kernels > 1;
}

} // namespace

extern "C" void
cwj_codegen_scalars_in_lanes(LLVMModuleRef m, LLVMTargetMachineRef tm, bool yes)
{
    /* The option is the process's, and read when the target makes its description of the processor. */
    static std::mutex lock;
    static const char option[] = "amdgpu-spill-sgpr-to-vgpr";
    std::lock_guard<std::mutex> hold(lock);
    cwj_llvm_set_option(option, yes);
    for (const llvm::Function &f : *llvm::unwrap(m))
        reinterpret_cast<llvm::TargetMachine *>(tm)->getSubtargetImpl(f);
    cwj_llvm_set_option(option, true);
}

extern "C" bool
cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, bool ends, bool *moved, LLVMMemoryBufferRef *out)
{
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::Module &module = *llvm::unwrap(m);
    bool amdgcn = llvm::Triple(module.getTargetTriple()).isAMDGCN();      /* a string before LLVM 21 */
    bool optimises = reinterpret_cast<llvm::TargetMachine *>(tm)->getOptLevel() != llvm::CodeGenOptLevel::None;
#if LLVM_VERSION_MAJOR < 22
    if (amdgcn)
        cwj_amd_hide_extended_operands(module);
#endif
    auto passes = std::make_unique<Passes>(amdgcn, amdgcn && divides(module), amdgcn && optimises && kernels_only(module),
                                           amdgcn && optimises && LLVM_VERSION_MAJOR < 20 ? moved : nullptr);
    auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (reinterpret_cast<llvm::TargetMachine *>(tm)->addPassesToEmitFile(*passes, stream, nullptr, type))
        return false;
    passes->run(module);
    if (ends)
        (void)passes.release();
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "");
    return *out != nullptr;
}
