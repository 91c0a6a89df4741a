/* SPDX-License-Identifier: Apache-2.0
 * See codegen.h. */
#include "jit/llvm/codegen.h"
#include "jit/llvm/amdgpu/machine_passes.h"
#include "jit/llvm/contain.h"
#include "jit/llvm/ending.h"
#include "jit/llvm/llvm.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/IRPrintingPasses.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/PassInfo.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <bitset>
#include <string>
#include <vector>

namespace {

/* The name by which LLVM's tools know a pass; empty if unregistered. */
llvm::StringRef
argument_of(const llvm::Pass &pass)
{
    const llvm::PassInfo *info = llvm::Pass::lookupPassInfo(pass.getPassID());
    return info ? info->getPassArgument() : llvm::StringRef();
}

/* LLVM asks it before each pass that may be left out. There a compilation can stop, because the process is ending. */
class Gate : public llvm::OptPassGate {
public:
    bool
    isEnabled() const override
    {
        if (cwj_ending())
            cwj_contain_ending();
        return false;
    }
};

/* Receives the passes of LLVM's code generator one by one and inserts ours. With `list`, it collects their names and runs nothing. */
class Passes : public llvm::legacy::PassManager {
public:
    Passes(bool amdgcn, const cwj_pass_options *o, bool verify, llvm::raw_ostream &printed, std::vector<std::string> *list)
        : amdgcn(amdgcn), verify(verify), o(o), printed(printed), list(list)
    {
    }

    void
    add(llvm::Pass *pass) override
    {
        if (stopped) {
            delete pass;
            return;
        }
        std::string argument = argument_of(*pass).str();
        if (amdgcn && cwj_machine_pass_left_out(argument)) {
            delete pass;
            return;
        }
        if (amdgcn && argument == "targetpassconfig")       /* the first pass; it knows the ones to come */
            cwj_machine_passes_disable(*static_cast<llvm::TargetPassConfig *>(pass));
        place(argument, false);
        llvm::legacy::PassManager::add(pass);
        if (list)
            list->push_back("  " + (argument.empty() ? pass->getPassName().str() : argument));
        behind(argument, machine |= isel(argument));
        place(argument, true);
    }

    /* The first required pass that found no place, or NULL. */
    const char *
    missing(bool optimises) const
    {
        for (size_t i = 0; amdgcn && !stopped && i < cwj_machine_pass_count; i++) {
            const cwj_machine_pass &p = cwj_machine_passes[i];
            if (p.required && !attached[i] && (optimises || p.o0))
                return p.name;
        }
        return nullptr;
    }

    bool stopped = false;

private:
    static bool isel(const std::string &argument) { return argument.size() > 5 && !argument.compare(argument.size() - 5, 5, "-isel"); }

    void
    place(const std::string &argument, bool after)
    {
        for (size_t i = 0; amdgcn && !stopped && i < cwj_machine_pass_count; i++) {
            const cwj_machine_pass &p = cwj_machine_passes[i];
            if (p.after != after || argument != p.at)
                continue;
            attached[i] = true;
            if (!p.required && cwj_pass_in_list(cwj_skipped_passes(o), p.name))
                continue;
            llvm::legacy::PassManager::add(cwj_machine_pass_create(p));
            if (list)
                list->push_back(std::string("* ") + p.name + (p.required ? " required" : " optional") + (p.workaround ? " mends LLVM" : ""));
            if (verify && machine)
                llvm::legacy::PassManager::add(llvm::createMachineVerifierPass(p.name));
            behind(p.name, machine);
        }
    }

    /* Add the printers that the options request behind a pass. */
    void
    behind(const std::string &name, bool machine)
    {
        if (!o || !o->printed || name.empty() || stopped)
            return;
        if (o->stop_after && name == o->stop_after) {
            llvm::legacy::PassManager::add(machine ? static_cast<llvm::Pass *>(llvm::createPrintMIRPass(printed))
                                                   : llvm::createPrintModulePass(printed));
            stopped = true;
        } else if (o->print_after && cwj_pass_in_list(o->print_after, name.c_str())) {
            std::string banner = "; after " + name;
            llvm::legacy::PassManager::add(machine ? static_cast<llvm::Pass *>(llvm::createMachineFunctionPrinterPass(printed, banner))
                                                   : llvm::createPrintModulePass(printed, banner));
        }
    }

    bool amdgcn, verify, machine = false;
    const cwj_pass_options *o;
    llvm::raw_ostream &printed;
    std::vector<std::string> *list;
    std::bitset<CWJ_MACHINE_PASSES_MOST> attached;      /* by the row; not on the heap, since the end of the process abandons it */
};

cw_result
refuse(cwj_diags *diags, const char *name)
{
    cwj_diag_add(diags, PTX_ERROR, 5909, 0, 0, "internal error: LLVM's code generator has no place for the pass %s, which correct code needs", name);
    return CW_ERR_LLVM;
}

} // namespace

extern "C" cw_result
cwj_codegen(struct cwj_pipeline *p, bool assembly, bool verify, LLVMMemoryBufferRef *out)
{
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    std::string text;
    llvm::raw_string_ostream printed(text);
    llvm::Module &module = *llvm::unwrap(p->m);
    llvm::TargetMachine &tm = *reinterpret_cast<llvm::TargetMachine *>(p->tm);
    Passes passes(module.getTargetTriple().isAMDGCN(), p->passes, verify, printed, nullptr);
    auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (tm.addPassesToEmitFile(passes, stream, nullptr, type, !verify)) {
        cwj_diag_add(p->diags, PTX_ERROR, 5901, 0, 0, "LLVM cannot generate this kind of code for %s", module.getTargetTriple().str().c_str());
        return CW_ERR_LLVM;
    }
    if (const char *name = passes.missing(tm.getOptLevel() != llvm::CodeGenOptLevel::None))
        return refuse(p->diags, name);
    static Gate &gate = *new Gate;      /* the context keeps it */
    module.getContext().setOptPassGate(gate);
    passes.run(module);
    p->stopped = passes.stopped;
    if (p->passes && p->passes->printed)
        cw_buf_append(p->passes->printed, text.data(), text.size());
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "");
    return *out ? CW_OK : CW_ERR_NOMEM;
}

extern "C" cw_result
cwj_codegen_print(enum cwj_target target, const char *cpu, unsigned opt_level, struct cw_buf *out, struct cwj_diags *diags)
{
    LLVMTargetMachineRef machine;
    cw_result r = cwj_llvm_machine(target, cpu, nullptr, opt_level, &machine, diags);
    if (r)
        return r;
    std::vector<std::string> names;
    {
        llvm::LLVMContext context;
        llvm::Module module("", context);
        llvm::SmallString<0> code;
        llvm::raw_svector_ostream stream(code);
        Passes passes(target == CWJ_TARGET_AMDGCN, nullptr, false, llvm::nulls(), &names);
        if (reinterpret_cast<llvm::TargetMachine *>(machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
            r = CW_ERR_LLVM;
    }
    LLVMDisposeTargetMachine(machine);
    cw_buf_printf(out, "code generator (*: ours)\n");
    for (const std::string &name : names)
        cw_buf_printf(out, "  %s\n", name.c_str());
    return r;
}
