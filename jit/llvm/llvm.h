/* SPDX-License-Identifier: Apache-2.0
 * LLVM as the loader and the ahead-of-time compiler use it: targets, machines, passes, code out. Every error and message of
 * LLVM ends in the caller's diagnostics (P5901: LLVM, P5902: a module that LLVM's verifier refuses). */
#ifndef CWJ_LLVM_LLVM_H
#define CWJ_LLVM_LLVM_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/result.h"
#include "jit/jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

/* Register all targets, before something else in LLVM looks for one or registers them; any thread. cwj_llvm_machine does what it needs itself. */
void cwj_llvm_init(void);

/* A context whose messages go to diags. names: values and blocks keep the names they are given, for somebody to read; functions and
 * variables always do. NULL: out of memory. */
LLVMContextRef cwj_llvm_context(bool names, struct cwj_diags *diags);

/* While code is generated: messages to diags as well, but reports of frame sizes (cwj_host_watch_frames) are added to frames. */
struct cwj_listener {
    struct cwj_diags *diags;
    uint64_t frames;
};
void cwj_llvm_listen(LLVMContextRef c, struct cwj_listener *l);
void cwj_llvm_unlisten(LLVMContextRef c, struct cwj_diags *diags);

/* What this CPU is called, with its features, in LLVM's words. Never NULL; live for ever. */
const char *cwj_llvm_host_cpu(void);
const char *cwj_llvm_host_features(void);

/* cpu NULL: this CPU with all it has (host only). features: as LLVM writes them ("-mai-insts"), or NULL. */
cw_result cwj_llvm_machine(enum cwj_target target, const char *cpu, const char *features, unsigned opt_level, LLVMTargetMachineRef *out,
                           struct cwj_diags *diags) CW_MUST_CHECK;

/* Guard an optimised module for x86 against LLVM's wrong masked VPTERNLOG; see the file. */
void cwj_x86_guard_ternlog(LLVMModuleRef m);
/* Ballots of float comparisons that LLVM gets wrong for AMD GPUs: the last pass before code generation. */
void cwj_amd_guard_ballot(LLVMModuleRef m);

/* Before code generation for the host: large frames touch every page, and the size of each frame is reported. */
void cwj_host_watch_frames(LLVMModuleRef m);
/* True for a report of a frame's size, which is added to *bytes. */
bool cwj_host_is_frame(const char *message, uint64_t *bytes);

/* Consume an error; CW_ERR_LLVM when there was one. */
cw_result cwj_llvm_check(LLVMErrorRef e, const char *doing, struct cwj_diags *diags) CW_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
