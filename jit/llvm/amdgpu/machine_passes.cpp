/* SPDX-License-Identifier: Apache-2.0
 * See machine_passes.h: the table, and the LLVM passes that wrap its functions. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Target/TargetMachine.h>

namespace {

class IrPass : public llvm::FunctionPass {
public:
    explicit IrPass(const cwj_machine_pass &p) : llvm::FunctionPass(ID), p(p) {}
    llvm::StringRef getPassName() const override { return p.name; }
    void getAnalysisUsage(llvm::AnalysisUsage &au) const override { p.needs(au); }
    bool runOnFunction(llvm::Function &f) override { return p.function(f, *this); }

private:
    static char ID;
    const cwj_machine_pass &p;
};

char IrPass::ID;

class MachinePass : public llvm::MachineFunctionPass {
public:
    explicit MachinePass(const cwj_machine_pass &p) : llvm::MachineFunctionPass(ID), p(p) {}
    llvm::StringRef getPassName() const override { return p.name; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        p.needs(au);
        llvm::MachineFunctionPass::getAnalysisUsage(au);
    }

    bool runOnMachineFunction(llvm::MachineFunction &f) override { return p.machine(f, *this); }

private:
    static char ID;
    const cwj_machine_pass &p;
};

char MachinePass::ID;

void
keeps_all(llvm::AnalysisUsage &au)
{
    au.setPreservesAll();
}

void
keeps_cfg(llvm::AnalysisUsage &au)
{
    au.setPreservesCFG();
}

void
keeps_nothing(llvm::AnalysisUsage &)
{
}

} // namespace

/* Columns: name, work-around, required, o0, after, at, needs, function, machine. Rows of the same place run in this order. */
const cwj_machine_pass cwj_machine_passes[] = {
    { "undef-phi", true, true, true, false, "amdgpu-rewrite-undef-for-phi", cwj_amd_undef_phi_needs, cwj_amd_undef_phi, nullptr },
    { "carry-of-sum", true, true, true, false, "fix-irreducible", keeps_cfg, cwj_amd_carry_of_sum, nullptr },
    { "dot4-operand", true, true, true, false, "fix-irreducible", keeps_cfg, cwj_amd_dot4_operand, nullptr },
    { "uniform-fence", true, true, true, false, "fix-irreducible", keeps_cfg, cwj_amd_uniform_fence, nullptr },
    { "loop-entries", true, true, true, false, "fix-irreducible", cwj_amd_loop_entries_needs, cwj_amd_loop_entries, nullptr },
    { "trap-skips-blocks", true, true, true, false, "finalize-isel", keeps_nothing, nullptr, cwj_amd_trap_skips_blocks },
    { "describe-precompiled", false, true, true, false, "finalize-isel", cwj_amd_describe_precompiled_needs, nullptr, cwj_amd_describe_precompiled },
    { "cut-regions", false, false, false, false, "livevars", keeps_all, nullptr, cwj_amd_cut_regions },
    { "lost-lanes", true, true, false, true, "si-form-memory-clauses", cwj_amd_lost_lanes_needs, nullptr, cwj_amd_lost_lanes },
    { "annotate-overwritten", false, true, true, false, "prologepilog", keeps_all, nullptr, cwj_amd_annotate_overwritten },
    { "expand-pseudo", false, true, true, false, "si-insert-waitcnts", keeps_cfg, nullptr, cwj_amd_expand_pseudo },
    { "expand-nan64", false, true, true, false, "post-RA-hazard-rec", keeps_nothing, nullptr, cwj_amd_expand_nan64 },
    { "check-overwritten", false, true, true, true, "stack-frame-layout", cwj_amd_describe_precompiled_needs, nullptr, cwj_amd_check_overwritten },
};
const size_t cwj_machine_pass_count = sizeof cwj_machine_passes / sizeof *cwj_machine_passes;
static_assert(sizeof cwj_machine_passes / sizeof *cwj_machine_passes <= CWJ_MACHINE_PASSES_MOST);

bool
cwj_machine_pass_left_out(llvm::StringRef argument)
{
    /* Straight-line strength reduction takes more than quadratic time in the length of a block: 100 s for 7,700 additions with carry
     * (jit.llvm.long_block). */
    return argument == "slsr";
}

void
cwj_machine_passes_disable(llvm::TargetPassConfig &config)
{
    /* It places blocks by branch probabilities, which are unknown here. In the order of pass order-blocks, kernels execute 0.4 % fewer
     * instructions. The precompiled builtins rely on that order, too: registers are written above where they are read. */
    config.disablePass(&llvm::MachineBlockPlacementID);
    /* gfx908: to spill a tuple of accumulation registers, LLVM uses several instructions, of which the first claims to define the whole
     * tuple, so that copy propagation drops an earlier copy into it (work-around gfx908-agpr-copy). Without native matrix products there
     * are no such registers (jit/driver/aot.c). */
    const llvm::TargetMachine &tm = config.getTM<llvm::TargetMachine>();
    if (tm.getTargetCPU() == "gfx908" && !tm.getTargetFeatureString().contains("-mai-insts"))
        config.disablePass(&llvm::MachineCopyPropagationID);
}

llvm::Pass *
cwj_machine_pass_create(const cwj_machine_pass &p)
{
    if (p.function)
        return new IrPass(p);
    return new MachinePass(p);
}

extern "C" bool
cwj_machine_pass_is_optional(const char *name, size_t len)
{
    for (const cwj_machine_pass &p : cwj_machine_passes)
        if (llvm::StringRef(name, len) == p.name)
            return !p.required;
    return false;
}
