/* SPDX-License-Identifier: Apache-2.0
 * See llvm.h: targets, machines, contexts and their diagnostics. Process-wide state: LLVM's registries, and the name of this CPU. */
#include "jit/llvm/contain.h"
#include "jit/llvm/llvm.h"
#include "jit/llvm/options.h"

#include "impl/base/log.h"

#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char host_cpu[64] = "x86-64";
static char host_features[8192];

#define INIT_TARGET(name)           \
    do {                            \
        LLVMInitialize##name##TargetInfo(); \
        LLVMInitialize##name##Target();     \
        LLVMInitialize##name##TargetMC();   \
        LLVMInitialize##name##AsmPrinter(); \
    } while (0)

/* LLVM's list of targets has no lock: ours is held while it is made. LLD registers again, and Orc and others search it, only when it is
 * complete. */
void
cwj_llvm_init(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool done;                   /* under `lock` */
    cwj_contain_lock(&lock);
    if (!done) {
        cwj_contain_enter_setup();
        cwj_options_set();
        INIT_TARGET(AMDGPU);
        INIT_TARGET(X86);
        INIT_TARGET(NVPTX);
        LLVMInitializeAMDGPUAsmParser();    /* for inline assembly */
        LLVMInitializeX86AsmParser();       /* for the JIT and inline assembly */
        cwj_contain_leave_setup();
        done = true;
    }
    cwj_contain_unlock(&lock);
}

/* Separate from the targets, and once: CPUID traps under virtualisation, and LLVM executes it thirty times. */
static void
name_host(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool named;                  /* under `lock` */
    cwj_contain_lock(&lock);
    if (!named) {
        char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
        if (cpu && strlen(cpu) < sizeof host_cpu)
            strcpy(host_cpu, cpu);
        if (features && strlen(features) < sizeof host_features)
            strcpy(host_features, features);
        LLVMDisposeMessage(cpu);
        LLVMDisposeMessage(features);
        named = true;
    }
    cwj_contain_unlock(&lock);
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
    char *text = cwj_contain_need(LLVMGetDiagInfoDescription(info));
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

static void
on_code(LLVMDiagnosticInfoRef info, void *user)
{
    struct cwj_listener *l = user;
    report(info, l->diags, &l->frames);
}

void
cwj_llvm_listen(LLVMContextRef c, struct cwj_listener *l)
{
    LLVMContextSetDiagnosticHandler(c, on_code, l);
}

void
cwj_llvm_unlisten(LLVMContextRef c, struct cwj_diags *diags)
{
    LLVMContextSetDiagnosticHandler(c, on_message, diags);
}

LLVMContextRef
cwj_llvm_context(bool names, struct cwj_diags *diags)
{
    cwj_llvm_init();                    /* for the options */
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
    const cw_result r = cwj_llvm_is_no_memory(e) ? CW_ERR_NOMEM : CW_ERR_LLVM;
    char *text = LLVMGetErrorMessage(e);
    cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM, %s: %s", doing, text);
    LLVMDisposeErrorMessage(text);
    return r;
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
    cwj_llvm_init();
    if (LLVMGetTargetFromTriple(triples[target], &t, &message)) {
        cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM: %s", message ? message : "unknown target");
        LLVMDisposeMessage(message);
        return CW_ERR_LLVM;
    }
    if (target == CWJ_TARGET_HOST && !cpu) {
        cpu = cwj_llvm_host_cpu();
        features = cwj_llvm_host_features();
    }
    const char *option = cwj_options_missing(target);
    if (option) {
        cwj_diag_add(diags, PTX_ERROR, 5915, 0, 0, "internal error: this LLVM has no option %s, which correct code needs", option);
        return CW_ERR_LLVM;
    }
    /* For AMD the next level only replaces an EarlyCSE by a GVN, which is expensive and finds nothing. */
    if (target == CWJ_TARGET_AMDGCN && opt_level > 2)
        opt_level = 2;
    *out = LLVMCreateTargetMachine(t, triples[target], cpu ? cpu : "", features ? features : "", levels[opt_level > 3 ? 3 : opt_level],
                                   LLVMRelocPIC, LLVMCodeModelDefault);
    if (*out)
        return CW_OK;
    cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM cannot generate code for %s %s", triples[target], cpu ? cpu : "");
    return CW_ERR_LLVM;
}
