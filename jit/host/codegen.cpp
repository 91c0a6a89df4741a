/* SPDX-License-Identifier: Apache-2.0
 * See codegen.h. */
#include "jit/host/codegen.h"
#include "jit/host/amd_guards.h"
#include "jit/emit/prepared.h"
#include "jit/host/amd_live.h"
#include "jit/host/amd_overlaps.h"
#include "jit/host/amd_reassign.h"
#include "jit/host/amd_uniform.h"
#include "jit/host/lld.h"

#include <llvm/ADT/DepthFirstIterator.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/CallGraphSCCPass.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/LegacyPassManagers.h>
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

/* In the place of a pass that is gone. */
class Gone : public llvm::FunctionPass {
public:
    static char ID;

    Gone() : llvm::FunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Gone"; }

    bool runOnFunction(llvm::Function &) override { return false; }
};

char Gone::ID;

/* Looks for free memory where the last function of a module is long enough to leave some. */
struct Trimming {
    explicit Trimming(void (*trim)()) : trim(trim) {}

    void
    after(const llvm::Function &f)
    {
        enum { LONG = 5000 };   /* instructions of LLVM IR */
        if (!trim)
            return;
        if (counted != &f)      /* once: LLVM goes through all of them */
            is_long = f.getInstructionCount() > LONG;
        counted = &f;
        if (is_long)
            trim();
    }

private:
    void (*trim)();             /* or NULL */
    const llvm::Function *counted = nullptr;
    bool is_long = false;
};

/* Passes keep, for the next function, the tables that they had for one: at the end of the longest kernel of a module those are a third of the
 * memory in use. With the last function, this frees the passes before it that nothing asks any more. */
class Forget : public llvm::FunctionPass {
public:
    static char ID;

    explicit Forget(Trimming &trimming) : llvm::FunctionPass(ID), trimming(trimming) {}

    llvm::StringRef getPassName() const override { return "Forget passes that are done"; }

    void getAnalysisUsage(llvm::AnalysisUsage &u) const override { u.setPreservesAll(); }

    bool
    doInitialization(llvm::Module &m) override
    {
        left = std::count_if(m.begin(), m.end(), [](const llvm::Function &f) { return !f.isDeclaration(); });
        return false;
    }

    bool
    runOnFunction(llvm::Function &f) override
    {
        if (--left)
            return false;
        forget(getResolver()->getPMDataManager(), *f.getParent());
        trimming.after(f);
        return false;
    }

private:
    /* What a manager of passes owns is its own and its heirs'. */
    struct Manager : llvm::PMDataManager {
        static llvm::SmallVectorImpl<llvm::Pass *> &passes(llvm::PMDataManager &m) { return m.*&Manager::PassVector; }
    };

    void
    forget(llvm::PMDataManager &manager, llvm::Module &m)
    {
        llvm::SmallVectorImpl<llvm::Pass *> &passes = Manager::passes(manager);
        auto self = std::find(passes.begin(), passes.end(), this);
        llvm::SmallVector<llvm::Pass *, 32> used;      /* by a later one, which has the manager free it */
        for (auto p = self; p != passes.end(); p++) {
            llvm::SmallVector<llvm::Pass *, 8> more;
            manager.getTopLevelManager()->collectLastUses(more, *p);
            used.append(more.begin(), more.end());
        }
        for (auto &available : *manager.getAvailableAnalysis())
            used.push_back(available.second);
        for (auto p = passes.begin(); p != self; p++) {
            if ((*p)->getAsPMDataManager() || std::find(used.begin(), used.end(), *p) != used.end())
                continue;       /* managers of loops' passes have no tables, and the topmost manager searches them */
            (void)(*p)->doFinalization(m);
            delete *p;
            *p = new Gone();
            (*p)->setResolver(new llvm::AnalysisResolver(manager));
        }
    }

    Trimming &trimming;
    ptrdiff_t left = 0;
};

char Forget::ID;

/* From here on LLVM follows calls: a function that no kernel reaches gets no machine code, and before LLVM 22 what counts a program's registers ends itself when
 * it meets one. Passes of its own before this one take calls away, as the optimiser does. The graph of calls is the one that it then follows. */
class DropUnreached : public llvm::CallGraphSCCPass {
public:
    DropUnreached() : llvm::CallGraphSCCPass(ID) {}

    llvm::StringRef getPassName() const override { return "Drop functions that nobody calls"; }

    void getAnalysisUsage(llvm::AnalysisUsage &u) const override { u.setPreservesAll(); }

    bool
    doInitialization(llvm::CallGraph &graph) override
    {
        llvm::df_iterator_default_set<llvm::CallGraphNode *> reached;
        for (llvm::CallGraphNode *node : llvm::depth_first_ext(&graph, reached))
            (void)node;
        llvm::SmallVector<llvm::CallGraphNode *, 8> unreached;
        for (auto &entry : graph)
            if (entry.first && !entry.first->isDeclaration() && !reached.contains(entry.second.get()))
                unreached.push_back(entry.second.get());
        for (llvm::CallGraphNode *node : unreached) {       /* they may call each other */
            node->removeAllCalledFunctions();
            node->getFunction()->deleteBody();
        }
        for (llvm::CallGraphNode *node : unreached)
            if (node->getFunction()->use_empty())
                delete graph.removeFunctionFromModule(node);
        return !unreached.empty();
    }

    bool runOnSCC(llvm::CallGraphSCC &) override { return false; }

private:
    static char ID;
};

char DropUnreached::ID;

/* A code generator's passes, some left out. For AMD it begins with what finds common parts of addresses in code that nobody has
 * optimised. PTX comes from a compiler that did that, and after it this project's own pipeline (llvm.c): these find nothing, in 6
 * to 12 % of the compile time. The one EarlyCSE that stays is the last: without it addresses in shared memory that differ by a constant have registers and loads
 * of their own (ggml's gated attention: 574 loads in place of 288, and a tenth more time). Invariant code is moved once more where there are divisions, which have become many instructions by then.
 * Copies of registers are followed twice in what the register allocator leaves, where there is nothing to find, either. Some more cost compile time and
 * leave the code as long in execution as it is without them (tools/bench amd), see does_not_pay.
 * Names that an LLVM does not know leave nothing out. */
class Passes : public llvm::legacy::PassManager {
public:
    Passes(bool amdgcn, bool divisions, bool together, bool *moved, void (*trim)())
        : amdgcn(amdgcn), divisions(divisions), together(together), notes{ moved, {} }, trimming(trim) {}

    void
    add(llvm::Pass *pass) override
    {
        llvm::StringRef name = pass->getPassName();
        if (together && begins_stage(name))
            llvm::legacy::PassManager::add(llvm::createBarrierNoopPass());
        else if (amdgcn && !together && (begins_stage(name) || is_long(name)))
            llvm::legacy::PassManager::add(new Forget(trimming));
        if (amdgcn)
            cwj_amd_guards(*this, name, false, notes);
        if (amdgcn && name == "Live Variable Analysis") {
            delete pass;
            pass = cwj_amd_live_variables();
        }
        if (amdgcn && name == "DummyCGSCCPass")
            llvm::legacy::PassManager::add(new DropUnreached());
        if (amdgcn && name == "PostRA Machine Instruction Scheduler")
            llvm::legacy::PassManager::add(cwj_amd_overlaps());
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
        if (name == "Remove dead machine instructions")
            return ++dead <= 3;         /* of four */
        if (name == "Loop Invariant Code Motion")
            return !divisions;
        /* Where a value is needed on the one side of a branch and, behind a loop there, on the other, it loses the one (LLVM 19;
         * fuzz/live_range.ptx). What it saves in registers is nothing that tools/bench amd sees. */
        if (name == "SI Optimize VGPR LiveRange")
            return true;
        return finds_nothing(name) || does_not_pay(name);
    }

    /* A fiftieth of the compile time together. Without the placement of blocks by their probability, of which nothing is known, kernels are shorter and
     * execute 0.4 % less: the order of block_order.c stays. */
    static bool
    does_not_pay(llvm::StringRef name)
    {
        static const char *const names[] = {
            "Branch Probability Basic Block Placement", "Machine Loop Invariant Code Motion", "Early Tail Duplication", "Tail Duplication",
            "Optimize machine instruction PHIs", "PostRA Machine Sink",
        };
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
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

    /* In the middle of a stage, what takes the most memory. */
    static bool
    is_long(llvm::StringRef name)
    {
        return name == "Machine Instruction Scheduler" || name == "Greedy Register Allocator";
    }

    bool amdgcn, divisions, together;
    cwj_amd_notes notes;
    Trimming trimming;
    unsigned dead = 0, cse = 0;
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

thread_local bool is_text;

} // namespace

extern "C" bool
cwj_codegen_is_text(void)
{
    return is_text;
}

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
cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, struct cwj_codegen_how how, LLVMMemoryBufferRef *out)
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
    if (amdgcn)
        cwj_amd_replace_uniformity();
    for (const llvm::Function &f : module)
        if (amdgcn && !f.isDeclaration())
            cwj_amd_no_reassignment(*reinterpret_cast<llvm::TargetMachine *>(tm)->getSubtargetImpl(f));
    auto passes = std::make_unique<Passes>(amdgcn, amdgcn && divides(module), amdgcn && optimises && kernels_only(module),
                                           amdgcn && optimises && LLVM_VERSION_MAJOR < 20 ? how.moved : nullptr, how.trim);
    auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (reinterpret_cast<llvm::TargetMachine *>(tm)->addPassesToEmitFile(*passes, stream, nullptr, type))
        return false;
    is_text = assembly;
    passes->run(module);
    is_text = false;
    if (how.ends)
        (void)passes.release();
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "");
    return *out != nullptr;
}
