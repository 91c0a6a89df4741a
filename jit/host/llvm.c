/* SPDX-License-Identifier: Apache-2.0
 * See llvm.h. The process-wide state here: LLVM's own registries, and the name of this CPU. */
#include "jit/host/llvm.h"

#include "jit/devlib/devlib.h"
#include "jit/emit/emit.h"
#include "jit/emit/prepared.h"
#include "jit/host/amd_divide.h"
#include "jit/host/amd_inreg.h"
#include "jit/host/amd_loops.h"
#include "jit/host/amd_spaces.h"
#include "jit/host/codegen.h"
#include "jit/host/lld.h"

#include "impl/base/log.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char host_cpu[64] = "x86-64";
static char host_features[8192];

static void
fatal(const char *reason)
{
    cw_error("LLVM gave up: %s", reason);       /* LLVM ends the process when this returns */
}

#define INIT_TARGET(name)           \
    do {                            \
        LLVMInitialize##name##TargetInfo(); \
        LLVMInitialize##name##Target();     \
        LLVMInitialize##name##TargetMC();   \
        LLVMInitialize##name##AsmPrinter(); \
    } while (0)

static void
init_amd(void)
{
    LLVMInstallFatalErrorHandler(fatal);
    INIT_TARGET(AMDGPU);
    LLVMInitializeAMDGPUAsmParser();    /* inline assembly */
    /* Local arrays stay out of an AMD GPU's shared memory: LLVM would take all that a block may have (for 1024 threads, whatever the
     * launch says), and a launch that asks for some of it would fail. Only a command line can say so. */
    cwj_llvm_set_option("disable-promote-alloca-to-lds", true);
    /* What is read from and written to memory may go together where nothing between the two needs one before the other. That is asked for each two, through the
     * graph of the region, unless their number times the region's length exceeds this (in thousands; then those that follow the same store may). */
    cwj_llvm_set_number("fast-cluster-threshold", 8);
    /* A loop's variables in memory become registers where no other access may be to the same, which takes asking for each two of them: up to 7 % of the
     * compile time. Whoever made the PTX has done that: of 44 real modules none became other code. */
    cwj_llvm_set_option("disable-licm-promotion", true);
    /* "CodeGen Prepare" looks through a whole function again when it has changed something, but through those blocks alone of a function that is huge:
     * all are. MD5 and a matrix product of CUTLASS take a sixth less, and of 44 real modules two became other code, one of them shorter. */
    cwj_llvm_set_number("cgpp-huge-func", 0);
    /* Copies are joined in the order in which blocks have them. Where those between blocks come first, all others of a sum that a loop goes on with look through its
     * whole range, of several hundred blocks in CUTLASS's kernels: a fifth of the time for products of f64. A tenth fewer copies are left. */
    cwj_llvm_set_choice("join-globalcopies", false);
    /* How far the register allocator looks for a region to keep a value's register in: at most through so many blocks, for each of 256 registers. It then keeps
     * values in memory instead, hardly any in loops: CUTLASS's kernels take up to a fifth less. */
    cwj_llvm_set_long("grow-region-complexity-budget", 10);
    /* The scheduler goes once more through regions that need many registers, with memory accesses apart: 3 % of the time of CUTLASS's kernels and
     * BLAKE2b, after which some have a few values less in memory, and others more. */
    cwj_llvm_set_option("amdgpu-disable-unclustered-high-rp-reschedule", true);
    /* gfx9 and gfx10: elimination of common expressions commutes instructions that read parts of registers (SDWA) without
     * exchanging the parts: a.lo + sext(a.hi) and sext(a.lo) + a.hi become one (LLVM 19, no longer 22; tests/ptx/isa/video on gfx90a). */
    if (LLVM_VERSION_MAJOR < 22)
        cwj_llvm_set_option("amdgpu-sdwa-peephole", false);
    if (LLVM_VERSION_MAJOR < 20)
        cwj_amd_spaces_first();
    cwj_amd_bound_loops();
}

static void
init_others(void)
{
    INIT_TARGET(X86);
    INIT_TARGET(NVPTX);
    LLVMInitializeX86AsmParser();       /* the JIT and inline assembly need it */
}

/* LLVM's list of targets has no lock: it is changed and searched under this one, or searched (by Orc) or gone through again (by LLD) when
 * it is complete. Who compiles for AMD only does not pay for the others, whose passes every pass manager goes through. */
static pthread_mutex_t targets = PTHREAD_MUTEX_INITIALIZER;

static void
init_targets(bool all)
{
    static bool amd, others;            /* under `targets` */
    if (!amd)
        init_amd();
    if (all && !others)
        init_others();
    amd = true;
    others |= all;
}

static void
init(bool all)
{
    pthread_mutex_lock(&targets);
    init_targets(all);
    pthread_mutex_unlock(&targets);
}

void
cwj_llvm_init(void)
{
    init(true);
}

static bool
find_target(enum cwj_target target, const char *triple, LLVMTargetRef *out, char **message)
{
    pthread_mutex_lock(&targets);
    init_targets(target != CWJ_TARGET_AMDGCN);
    bool found = !LLVMGetTargetFromTriple(triple, out, message);
    pthread_mutex_unlock(&targets);
    return found;
}

/* Apart, since asking is an instruction that a virtual machine's host answers, thirty times. */
static void
name_host_once(void)
{
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    if (cpu && strlen(cpu) < sizeof host_cpu)
        strcpy(host_cpu, cpu);
    /* LLVM before 22 exchanges the operands of a masked VCMPPH without turning the comparison (llvm-project issue 159723): half
     * comparisons go through f32 there, as on CPUs without half arithmetic. */
    const char *without = LLVM_VERSION_MAJOR < 22 ? ",-avx512fp16" : "";
    if (features && strlen(features) + strlen(without) < sizeof host_features)
        snprintf(host_features, sizeof host_features, "%s%s", features, without);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
}

static void
name_host(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, name_host_once);
}

const char *
cwj_llvm_host_cpu(void)
{
    name_host();
    return host_cpu;
}

const char *
cwj_llvm_host_features(void)
{
    name_host();
    return host_features;
}

static void
report(LLVMDiagnosticInfoRef info, struct cwj_diags *diags, uint64_t *frames)
{
    char *text = LLVMGetDiagInfoDescription(info);
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    if (severity == LLVMDSWarning && frames && cwj_host_is_frame(text, frames))
        severity = LLVMDSNote;
    switch (severity) {
    case LLVMDSError:
        cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM: %s", text);
        break;
    case LLVMDSWarning:
        cwj_diag_add(diags, PTX_WARNING, 5901, 0, 0, "LLVM: %s", text);
        break;
    default:
        cw_debug("LLVM: %s", text);
    }
    LLVMDisposeMessage(text);
}

static void
on_message(LLVMDiagnosticInfoRef info, void *user)
{
    report(info, user, NULL);
}

/* During code generation. */
struct listener {
    struct cwj_diags *diags;
    uint64_t frames;
};

static void
on_code(LLVMDiagnosticInfoRef info, void *user)
{
    struct listener *l = user;
    report(info, l->diags, &l->frames);
}

LLVMContextRef
cwj_llvm_context(bool names, struct cwj_diags *diags)
{
    init(false);                        /* the handler */
    LLVMContextRef c = LLVMContextCreate();
    if (!c)
        return NULL;
    LLVMContextSetDiagnosticHandler(c, on_message, diags);
    LLVMContextSetDiscardValueNames(c, !names);
    return c;
}

cw_result
cwj_llvm_check(LLVMErrorRef e, const char *doing, struct cwj_diags *diags)
{
    if (!e)
        return CW_OK;
    char *text = LLVMGetErrorMessage(e);
    cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM, %s: %s", doing, text);
    LLVMDisposeErrorMessage(text);
    return CW_ERR_LLVM;
}

/* gfx908: where a tuple of AGPRs is spilled, the first of the instructions that do it claims to define the whole tuple, and copy propagation
 * drops a copy into it before (LLVM 19; ptx-isa.matrix.native on gfx908, which passes without it today, with 19 and with 22: that the
 * fault is gone is not shown). The option is the process's. */
static void
for_gfx908(void)
{
    cwj_llvm_set_option("disable-copyprop", true);
}

cw_result
cwj_llvm_machine(enum cwj_target target, const char *cpu, const char *features, unsigned opt_level, LLVMTargetMachineRef *out,
                 struct cwj_diags *diags)
{
    *out = NULL;
    static const char *const triples[] = {
        [CWJ_TARGET_HOST] = "x86_64-unknown-linux-gnu", [CWJ_TARGET_NVPTX] = "nvptx64-nvidia-cuda",
        [CWJ_TARGET_AMDGCN] = "amdgcn-amd-amdhsa",
    };
    static const LLVMCodeGenOptLevel levels[] = { LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                  LLVMCodeGenLevelAggressive };
    LLVMTargetRef t;
    char *message = NULL;
    if (!find_target(target, triples[target], &t, &message)) {
        cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM: %s", message ? message : "unknown target");
        LLVMDisposeMessage(message);
        return CW_ERR_LLVM;
    }
    if (target == CWJ_TARGET_HOST && !cpu) {
        cpu = cwj_llvm_host_cpu();
        features = cwj_llvm_host_features();
    }
    static pthread_once_t gfx908 = PTHREAD_ONCE_INIT;
    if (target == CWJ_TARGET_AMDGCN && cpu && !strcmp(cpu, "gfx908"))
        pthread_once(&gfx908, for_gfx908);
    /* Instruction selection asks of each two accesses of a block whether they may be the same, up to an eighth of the compile time. The scheduler asks
     * again, and orders them: the code is as long as with the answers. */
    if (target == CWJ_TARGET_AMDGCN)
        cwj_llvm_give_option("combiner-global-alias-analysis", false);
    /* The level above changes nothing for AMD but a GVN in place of an EarlyCSE, which costs much and finds nothing. */
    if (target == CWJ_TARGET_AMDGCN && opt_level > 2)
        opt_level = 2;
    *out = LLVMCreateTargetMachine(t, triples[target], cpu ? cpu : "", features ? features : "", levels[opt_level > 3 ? 3 : opt_level],
                                   LLVMRelocPIC, LLVMCodeModelDefault);
    if (*out)
        return CW_OK;
    cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM cannot generate code for %s %s", triples[target], cpu ? cpu : "");
    return CW_ERR_LLVM;
}

static bool
mentions_lds(LLVMValueRef constant, unsigned depth)
{
    LLVMTypeRef t = LLVMTypeOf(constant);
    if (LLVMIsAGlobalVariable(constant))
        return LLVMGetPointerAddressSpace(t) == 3;
    for (int k = 0; LLVMIsAConstantExpr(constant) && k < LLVMGetNumOperands(constant); k++)
        if (!depth || mentions_lds(LLVMGetOperand(constant, (unsigned)k), depth - 1))
            return true;
    return false;
}

/* The optimiser notes on functions that they do not read the number of the kernel that calls them. Code generation then makes them
 * read it, where they use dynamic shared memory, and LLVM 19 does not take the note back: the kernel would not pass it. Where no
 * function uses shared memory the note stays: to pass the number on costs registers. LLVM 22 takes it back (barrier_in_call of
 * tests/cuda/calls.cu). */
static bool
functions_use_lds(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMGetFunctionCallConv(f) == LLVMAMDGPUKERNELCallConv)
            continue;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                for (int k = 0; k < LLVMGetNumOperands(i); k++)
                    if (mentions_lds(LLVMGetOperand(i, (unsigned)k), 8))
                        return true;
    }
    return false;
}

static void
forget_lds_kernel_id(LLVMModuleRef m)
{
    static const char note[] = "amdgpu-no-lds-kernel-id";
    if (!functions_use_lds(m))
        return;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, note, sizeof note - 1);
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsACallInst(i))
                    LLVMRemoveCallSiteStringAttribute(i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, note, sizeof note - 1);
    }
}

static unsigned
attribute_kind(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

/* Run a pipeline on the functions whose arrays may come to lie in registers so. Passes leave those with optnone alone, which is not allowed
 * without noinline; nothing else here makes functions optnone. */
static LLVMErrorRef
run_on_arrays(LLVMModuleRef m, const char *passes, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o)
{
    static const char added[] = "cudaway-noinline";
    const LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    unsigned optnone = attribute_kind("optnone"), noinline_ = attribute_kind("noinline");
    LLVMContextRef c = LLVMGetModuleContext(m);
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        if (emit_counts_through_array(f)) {
            any = true;
            continue;
        }
        if (!LLVMGetEnumAttributeAtIndex(f, index, noinline_)) {
            LLVMAddAttributeAtIndex(f, index, LLVMCreateEnumAttribute(c, noinline_, 0));
            LLVMAddAttributeAtIndex(f, index, LLVMCreateStringAttribute(c, added, sizeof added - 1, "", 0));
        }
        LLVMAddAttributeAtIndex(f, index, LLVMCreateEnumAttribute(c, optnone, 0));
    }
    LLVMErrorRef error = any ? LLVMRunPasses(m, passes, tm, o) : NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        LLVMRemoveEnumAttributeAtIndex(f, index, optnone);
        if (LLVMGetStringAttributeAtIndex(f, index, added, sizeof added - 1)) {
            LLVMRemoveEnumAttributeAtIndex(f, index, noinline_);
            LLVMRemoveStringAttributeAtIndex(f, index, added, sizeof added - 1);
        }
    }
    return error;
}

static bool
is_prepared(LLVMValueRef f)
{
    return LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, EMIT_OVERWRITES, sizeof EMIT_OVERWRITES - 1) != NULL;
}

/* What the optimiser could inline or change the arguments of. */
static bool
is_callee(LLVMValueRef f)
{
    return !LLVMIsDeclaration(f) && LLVMGetFunctionCallConv(f) != LLVMAMDGPUKERNELCallConv && !is_prepared(f);
}

static bool
has_callees(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (is_callee(f))
            return true;
    return false;
}

/* An approximation's function (mufu_amdgcn.c) that no kernel wants called. */
static bool
is_approximation(LLVMValueRef f)
{
    static const char prefix[] = "mufu.", noinline_[] = "noinline";
    unsigned kind = LLVMGetEnumAttributeKindForName(noinline_, sizeof noinline_ - 1);
    size_t n;

    if (strncmp(LLVMGetValueName2(f, &n), prefix, sizeof prefix - 1))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        if (!LLVMIsACallInst(LLVMGetUser(u)) || LLVMGetCallSiteEnumAttribute(LLVMGetUser(u), (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind))
            return false;
    return true;
}

/* Functions with one call are inlined before anything else: each would be optimised twice otherwise, by itself and with its caller, and its
 * arguments would hide what memory they point to. */
static cw_result
inline_single_calls(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o, struct cwj_diags *diags)
{
    const LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    LLVMAttributeRef always = LLVMCreateEnumAttribute(LLVMGetModuleContext(m), attribute_kind("alwaysinline"), 0);
    unsigned noinline_ = attribute_kind("noinline");
    bool any = false;

    if (cwj_devlib_used(m))
        return CW_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        LLVMUseRef use = LLVMGetFirstUse(f);
        LLVMValueRef call = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
        if (!is_callee(f) || LLVMGetLinkage(f) != LLVMInternalLinkage || !call || !LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f ||
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) == f || LLVMGetEnumAttributeAtIndex(f, index, noinline_) ||
            LLVMGetCallSiteEnumAttribute(call, index, noinline_))
            continue;
        LLVMAddAttributeAtIndex(f, index, always);
        any = true;
    }
    return any ? cwj_llvm_check(LLVMRunPasses(m, "always-inline", tm, o), "optimising", diags) : CW_OK;
}

/* Where approximations are all that is called, they are inlined first: the pipeline for kernels that call nothing, and no graph of calls, take 3 to
 * 9 % off the compile time of such modules. */
static cw_result
inline_approximations(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o, struct cwj_diags *diags)
{
    static const char name[] = "alwaysinline";
    LLVMAttributeRef always = LLVMCreateEnumAttribute(LLVMGetModuleContext(m), LLVMGetEnumAttributeKindForName(name, sizeof name - 1), 0);

    if (cwj_devlib_used(m) || !has_callees(m))
        return CW_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (is_callee(f) && !is_approximation(f))
            return CW_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (is_callee(f))
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, always);
    return cwj_llvm_check(LLVMRunPasses(m, "always-inline", tm, o), "optimising", diags);
}

/* What the optimiser runs, where it runs at all.
 *
 * PTX was optimised by whoever made it. nvptx: ptxas optimises it again; between the two it stays as it is. amdgcn: LLVM's own
 * pipeline takes twice the time and makes code that is 3 % longer (docs/performance.md), since what it does to sums after
 * `reassociate` undoes what that does for addresses. So: constants, calls and dead arguments; then, for each function after
 * those that it calls, what the emitter's IR needs. Functions of the device library are C, with loops and switches whose
 * answers the call knows, and arguments in memory (hence EarlyCSE with MemorySSA, without which fetches of cube maps take half as
 * many registers again). Kernels that call nothing but prepared code need nothing that follows calls, and no EarlyCSE at the end, since the code generator's
 * finds the same; IPSCCP only for the ranges of values that narrow video instructions. The host's code is vectors and masks made by the
 * emitter, which the whole pipeline pays for. */
static const char *
pipeline(LLVMModuleRef m, unsigned opt_level, bool unroll)
{
    static const char *const defaults[] = { "default<O0>", "default<O1>", "default<O2>", "default<O3>" };
    if (!strncmp(LLVMGetTarget(m), "nvptx", 5))
        return "function(sroa,early-cse,simplifycfg,adce)";
    if (strncmp(LLVMGetTarget(m), "amdgcn", 6))
        return defaults[opt_level > 3 ? 3 : opt_level];
    if (cwj_devlib_used(m))
        return "ipsccp,globalopt,cgscc(inline,function(infer-address-spaces,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
               "simplifycfg,loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion,loop-unroll-full),sroa,bdce,"
               "instcombine<no-verify-fixpoint>,simplifycfg,reassociate,early-cse,bdce,infer-alignment)),deadargelim,amdgpu-attributor";
#define FUNCTION "function(infer-address-spaces,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,tailcallelim,loop-mssa(loop-rotate,licm)"
#define UNROLL   ",loop(loop-unroll-full),early-cse,instcombine<no-verify-fixpoint>,simplifycfg"
#define END      ",reassociate,infer-alignment)"
#define END_CSE  ",reassociate,early-cse,infer-alignment)"
    static const char *const pipelines[3][2] = {        /* [what is in the module][unroll] */
        { FUNCTION END ",amdgpu-attributor", FUNCTION UNROLL END ",amdgpu-attributor" },
        { "ipsccp," FUNCTION END ",amdgpu-attributor", "ipsccp," FUNCTION UNROLL END ",amdgpu-attributor" },
        { "ipsccp,cgscc(inline," FUNCTION END_CSE "),amdgpu-attributor", "ipsccp,cgscc(inline," FUNCTION UNROLL END_CSE "),amdgpu-attributor" },
    };
#undef FUNCTION
#undef UNROLL
#undef END
#undef END_CSE
    return pipelines[has_callees(m) ? 2 : LLVMGetNamedMetadata(m, EMIT_VIDEO, sizeof EMIT_VIDEO - 1) ? 1 : 0][unroll];
}

/* Afterwards, where a thread has an array. Inner loops often have a known end only when the outer ones are unrolled. */
static const char unroll_for_arrays[] =
    "function(loop(indvars,loop-unroll-full),sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-unroll<O2>,sroa,early-cse,"
    "instcombine<no-verify-fixpoint>,simplifycfg,reassociate,early-cse,infer-alignment)";

/* On gfx908, whose accumulation registers are apart, LLVM 19 loses copies into them where two stores became one, which following
 * global pointers makes it see more of (ptx-isa.matrix.native). */
static bool
is_cpu(LLVMTargetMachineRef tm, const char *name)
{
    char *cpu = LLVMGetTargetMachineCPU(tm);
    bool is = !strcmp(cpu, name);
    LLVMDisposeMessage(cpu);
    return is;
}

/* 9 of gfx90a, 11 of gfx1100, ...; 9 has waves of 64 lanes. */
static unsigned
generation(LLVMTargetMachineRef tm)
{
    char *cpu = LLVMGetTargetMachineCPU(tm);
    unsigned g = strlen(cpu) > 6 ? (unsigned)(cpu[3] - '0') * 10 + (unsigned)(cpu[4] - '0') : 9;
    LLVMDisposeMessage(cpu);
    return g;
}

/* Functions of prepared code are nobody else's, but if that were known the optimiser would take constant arguments into them, for which they need
 * registers that nobody expects (amd_guards.cpp). */
static void
close_prepared(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (is_prepared(f)) {
            LLVMSetLinkage(f, LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
}

/* Functions that nobody calls any more, and tables of functions that nobody looks into. (Calls that go later: codegen.cpp.) */
static cw_result
drop_unused(LLVMModuleRef m, LLVMTargetMachineRef tm, struct cwj_diags *diags)
{
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        any |= !LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMInternalLinkage;
    if (!any)
        return CW_OK;
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    cw_result r = cwj_llvm_check(LLVMRunPasses(m, "globaldce", tm, o), "optimising", diags);
    LLVMDisposePassBuilderOptions(o);
    return r;
}

/* Addresses that functions were given are variables' and parameters' where these are inlined: what is generic before is shared or global now. */
static cw_result
follow_arguments(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o, struct cwj_diags *diags)
{
    static const char passes[] = "function(infer-address-spaces,early-cse,instcombine<no-verify-fixpoint>,reassociate,early-cse,infer-alignment)";
    bool any = false;

    if (!emit_follow_pointers(m, !is_cpu(tm, "gfx908"), &any))
        return CW_ERR_NOMEM;
    return any ? cwj_llvm_check(LLVMRunPasses(m, passes, tm, o), "optimising", diags) : CW_OK;
}

cw_result
cwj_llvm_optimise(LLVMModuleRef m, LLVMTargetMachineRef tm, unsigned opt_level, struct cwj_diags *diags)
{
    char *triple = LLVMGetTargetMachineTriple(tm);
    LLVMSetTarget(m, triple);
    LLVMDisposeMessage(triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetModuleDataLayout(m, layout);
    LLVMDisposeTargetData(layout);
    if (!strncmp(LLVMGetTarget(m), "amdgcn", 6))
        cwj_codegen_narrow_layout(m);
    char *message = NULL;
    if (LLVMVerifyModule(m, LLVMReturnStatusAction, &message)) {
        cwj_diag_add(diags, PTX_ERROR, 5902, 0, 0, "internal error: LLVM refuses the generated code: %s", message);
        LLVMDisposeMessage(message);
        return CW_ERR_INTERNAL;
    }
    LLVMDisposeMessage(message);
    bool nvptx = !strncmp(LLVMGetTarget(m), "nvptx", 5), amdgcn = !strncmp(LLVMGetTarget(m), "amdgcn", 6);
    unsigned gfx = amdgcn ? generation(tm) : 0;
    if (!opt_level) {
        if (amdgcn) {
            emit_place_nan64(m, gfx == 9);
            emit_use_large(m);
            emit_place_flushes(m, gfx == 9);
            cwj_amd_divide(m, tm);
            cwj_amd_pass_uniform(m, tm);
            close_prepared(m);
        }
        return amdgcn ? drop_unused(m, tm, diags) : CW_OK;
    }
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    cw_result r = CW_OK;
    bool pointers = false;
    if (amdgcn)
        r = inline_single_calls(m, tm, o, diags);
    if (!nvptx && r == CW_OK) {
        r = cwj_llvm_check(LLVMRunPasses(m, "function(mem2reg)", tm, o), "optimising", diags);
        if (r == CW_OK)
            emit_retype_floats(m);
        if (r == CW_OK && amdgcn)
            emit_place_nan64(m, gfx == 9);
        if (r == CW_OK && amdgcn && !emit_follow_pointers(m, !is_cpu(tm, "gfx908"), &pointers))
            r = CW_ERR_NOMEM;
        if (r == CW_OK && amdgcn)
            emit_use_large(m);
        if (r == CW_OK)
            emit_relax_nan(m);      /* while the emitter's pattern is still as it was written */
        if (r == CW_OK && amdgcn)
            emit_place_flushes(m, gfx == 9);
    }
    if (r == CW_OK && amdgcn)
        r = inline_approximations(m, tm, o, diags);
    bool callees = amdgcn && has_callees(m);
    if (r == CW_OK)
        r = cwj_llvm_check(LLVMRunPasses(m, pipeline(m, opt_level, amdgcn && emit_mark_loops(m)), tm, o), "optimising", diags);
    if (r == CW_OK && callees)
        r = follow_arguments(m, tm, o, diags);
    if (r == CW_OK && amdgcn && emit_reroll(m))
        r = cwj_llvm_check(LLVMRunPasses(m, "function(simplifycfg)", tm, o), "optimising", diags);
    if (r == CW_OK && amdgcn && emit_guard_recursion(m))
        r = cwj_llvm_check(LLVMRunPasses(m, "always-inline,function(early-cse,simplifycfg)", tm, o), "optimising", diags);
    if (r == CW_OK && amdgcn && !cwj_devlib_used(m))
        r = cwj_llvm_check(run_on_arrays(m, unroll_for_arrays, tm, o), "optimising", diags);
    if (r == CW_OK && amdgcn && (is_cpu(tm, "gfx90a") || is_cpu(tm, "gfx942") || is_cpu(tm, "gfx950")))     /* they compute pairs of f32 */
        r = cwj_llvm_check(LLVMRunPasses(m, "function(slp-vectorizer,instcombine<no-verify-fixpoint>)", tm, o), "optimising", diags);
    LLVMDisposePassBuilderOptions(o);
    if (amdgcn) {
        if (LLVM_VERSION_MAJOR < 22)
            forget_lds_kernel_id(m);
        emit_shorten_nan(m, gfx);
        emit_hoist_parameters(m);
        emit_cut_casts(m);
        emit_order_blocks(m);
        cwj_amd_divide(m, tm);
        cwj_amd_pass_uniform(m, tm);
        close_prepared(m);
        cwj_amd_guard_ballot(m);
        if (r == CW_OK)
            r = drop_unused(m, tm, diags);
    }
    if (!strncmp(LLVMGetTarget(m), "x86_64", 6))
        cwj_x86_guard_ternlog(m);
    return r;
}

cw_result
cwj_llvm_emit(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out, uint64_t *frames,
              const struct cwj_codegen_how *how, struct cwj_diags *diags)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct listener listener = { .diags = diags };
    uint32_t errors = diags->errors;
    *out = NULL;
    if (!strncmp(LLVMGetTarget(m), "amdgcn", 6))
        cwj_amd_convert(m);
#if LLVM_VERSION_MAJOR < 20
    if (!strncmp(LLVMGetTarget(m), "amdgcn", 6))
        cwj_amd_guard_width(m);
#endif
    LLVMContextSetDiagnosticHandler(c, on_code, &listener);
    bool made = cwj_codegen(m, tm, type == LLVMAssemblyFile, how ? *how : (struct cwj_codegen_how){ 0 }, out);
    LLVMContextSetDiagnosticHandler(c, on_message, diags);
    if (frames)
        *frames += listener.frames;
    if (!made) {
        cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM cannot generate this kind of code for %s", LLVMGetTarget(m));
        return CW_ERR_LLVM;
    }
    if (diags->errors == errors)
        return CW_OK;
    LLVMDisposeMemoryBuffer(*out);      /* reported by on_message */
    *out = NULL;
    return CW_ERR_LLVM;
}
