/* SPDX-License-Identifier: Apache-2.0
 * See amd_divide.h. The emitter makes calls for 64-bit divisions (jit/emit/target/amdgcn/divide.h). Each becomes a division by a constant,
 * or a 32-bit division if the operands are known to fit, or stays a call. The quotient of a uniform dividend and divisor is uniform, which
 * LLVM does not know of a function's result. */
#include "jit/passes/amd_divide.h"
#include "jit/emit/target/amdgcn/divide.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <vector>

namespace {

/* A call, and temporarily an operation of the same operands in place of each of its results. */
struct division {
    llvm::CallInst *call;
    bool is_signed, uniform = false;
    llvm::Instruction *result[2] = {};          /* quotient, remainder */
};

class Divisions {
public:
    Divisions(llvm::Function &f, llvm::TargetMachine &tm) : f(f), tm(tm) {}

    void
    run(const llvm::Function *u64, const llvm::Function *s64)
    {
        for (llvm::BasicBlock *b : llvm::ReversePostOrderTraversal<llvm::Function *>(&f))
            for (llvm::Instruction &i : *b)
                if (auto *c = llvm::dyn_cast<llvm::CallInst>(&i))
                    if (const llvm::Function *to = c->getCalledFunction(); to && (to == u64 || to == s64))
                        list.push_back({ c, to == s64 });
        for (division &d : list)
            take(d);
        find_uniform();
        for (division &d : list)
            replace(d);
    }

private:
    /* The optimiser may have moved the extraction of a result behind a PHI of calls. */
    static void
    apart(llvm::CallInst *call)
    {
        if (llvm::all_of(call->users(), [](llvm::User *u) { return llvm::isa<llvm::ExtractValueInst>(u); }))
            return;
        llvm::IRBuilder<> b(call->getNextNode());
        llvm::Value *both = llvm::PoisonValue::get(call->getType());
        for (unsigned k = 0; k < 2; k++)
            both = b.CreateInsertValue(both, b.CreateExtractValue(call, k), k);
        call->replaceUsesWithIf(both, [](llvm::Use &u) { return !llvm::isa<llvm::ExtractValueInst>(u.getUser()); });
    }

    void
    take(division &d)
    {
        llvm::CallInst *call = d.call;
        apart(call);
        llvm::IRBuilder<> b(call);
        for (unsigned k = 0; k < 2; k++) {
            auto op = k ? d.is_signed ? llvm::Instruction::SRem : llvm::Instruction::URem : d.is_signed ? llvm::Instruction::SDiv : llvm::Instruction::UDiv;
            for (llvm::User *u : llvm::make_early_inc_range(call->users())) {
                auto *x = llvm::cast<llvm::ExtractValueInst>(u);
                if (*x->idx_begin() != k)
                    continue;
                if (!d.result[k])
                    d.result[k] = b.Insert(llvm::BinaryOperator::Create(op, call->getArgOperand(0), call->getArgOperand(1)));
                x->replaceAllUsesWith(d.result[k]);
                x->eraseFromParent();
            }
        }
    }

    void
    find_uniform()
    {
        llvm::FunctionAnalysisManager analyses;
        analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
        analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
        analyses.registerPass([] { return llvm::CycleAnalysis(); });
        analyses.registerPass([this] { return tm.getTargetIRAnalysis(); });
        analyses.registerPass([] { return llvm::UniformityInfoAnalysis(); });
        const llvm::UniformityInfo &info = analyses.getResult<llvm::UniformityInfoAnalysis>(f);
        for (division &d : list)
            for (llvm::Instruction *r : d.result)
                d.uniform |= r && info.isUniform(r);
    }

    /* Do the operands and the quotient fit into 32 bits? */
    static bool
    fits(const division &d)
    {
        const llvm::DataLayout &layout = d.call->getModule()->getDataLayout();
        unsigned least = 64;
        for (unsigned k = 0; k < 2; k++)
            least = std::min(least, d.is_signed ? llvm::ComputeNumSignBits(d.call->getArgOperand(k), layout)
                                                : llvm::computeKnownBits(d.call->getArgOperand(k), layout).countMinLeadingZeros());
        return least >= (d.is_signed ? 34 : 32);        /* -2^31 / -1 does not fit */
    }

    void
    replace(division &d)
    {
        llvm::IRBuilder<> b(d.call);
        llvm::Value *x = d.call->getArgOperand(0), *y = d.call->getArgOperand(1);
        auto *constant = llvm::dyn_cast<llvm::ConstantInt>(y);
        bool safe = constant && !constant->isZero() && !(d.is_signed && constant->isMinusOne()), narrow = !safe && fits(d);
        for (unsigned k = 0; k < 2; k++) {
            llvm::Instruction *r = d.result[k];
            if (!r)
                continue;
            llvm::Value *v = safe ? b.CreateBinOp(llvm::BinaryOperator::BinaryOps(r->getOpcode()), x, y)
                             : narrow ? in_32_bits(b, d, r->getOpcode()) : b.CreateExtractValue(after(b, d), k);
            if (!safe && !narrow && d.uniform)
                v = one_of_wave(b, v);
            r->replaceAllUsesWith(v);
            r->eraseFromParent();
        }
        if (d.call->use_empty())
            d.call->eraseFromParent();
    }

    static llvm::Value *
    after(llvm::IRBuilder<> &b, const division &d)
    {
        b.SetInsertPoint(d.call->getNextNode());
        return d.call;
    }

    static llvm::Value *
    in_32_bits(llvm::IRBuilder<> &b, const division &d, unsigned op)
    {
        llvm::Value *x = b.CreateTrunc(d.call->getArgOperand(0), b.getInt32Ty()), *y = b.CreateTrunc(d.call->getArgOperand(1), b.getInt32Ty());
        llvm::Value *zero = b.CreateICmpEQ(y, b.getInt32(0));
        llvm::Value *r = b.CreateBinOp(llvm::BinaryOperator::BinaryOps(op), x, b.CreateSelect(zero, b.getInt32(1), y));
        r = d.is_signed ? b.CreateSExt(r, b.getInt64Ty()) : b.CreateZExt(r, b.getInt64Ty());
        return b.CreateSelect(zero, b.getInt64(~UINT64_C(0)), r);
    }

    static llvm::Value *
    one_of_wave(llvm::IRBuilder<> &b, llvm::Value *v)
    {
        llvm::Value *half[2];
        for (unsigned k = 0; k < 2; k++) {
            llvm::Value *word = b.CreateTrunc(b.CreateLShr(v, 32 * k), b.getInt32Ty());
            half[k] = b.CreateZExt(b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane, { b.getInt32Ty() }, { word }), b.getInt64Ty());
        }
        return b.CreateOr(half[0], b.CreateShl(half[1], 32));
    }

    llvm::Function &f;
    llvm::TargetMachine &tm;
    std::vector<division> list;
};

} // namespace

extern "C" void
cwj_amd_divide(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    llvm::Module &m = *llvm::unwrap(module);
    auto &tm = *reinterpret_cast<llvm::TargetMachine *>(machine);
    llvm::Function *functions[2] = { m.getFunction(EMIT_DIVIDE_UNSIGNED), m.getFunction(EMIT_DIVIDE_SIGNED) };
    llvm::DenseSet<llvm::Function *> callers;
    for (llvm::Function *to : functions)
        if (to)
            for (llvm::User *u : to->users())
                callers.insert(llvm::cast<llvm::Instruction>(u)->getFunction());
    for (llvm::Function &f : m)         /* in the program's order */
        if (callers.contains(&f))
            Divisions(f, tm).run(functions[0], functions[1]);
    std::string cpu = tm.getTargetCPU().str();
    for (llvm::Function *f : functions) {
        if (f && f->use_empty())
            f->eraseFromParent();
        else if (f)
            emit_gcn_divide_body(llvm::wrap(f), cpu.c_str());
    }
}
