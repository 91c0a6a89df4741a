/* SPDX-License-Identifier: Apache-2.0
 * LLVM for the loader and the ahead-of-time compiler: targets, machines, passes, code generation. Every error and message of LLVM ends in
 * the caller's diagnostics (P5901: LLVM, P5902: the verifier refuses a module). */
#ifndef CWJ_LLVM_LLVM_H
#define CWJ_LLVM_LLVM_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/result.h"
#include "jit/jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/TargetMachine.h>

/* Set LLVM's options and register all targets, before anything else in LLVM looks one up or registers one. Any thread; the functions below
 * call it. */
void cwj_llvm_init(void);

/* A context that sends messages to diags; the caller disposes of it. names: keep the names of values and blocks, for readers; functions and
 * variables always keep theirs. NULL: out of memory. */
LLVMContextRef cwj_llvm_context(bool names, struct cwj_diags *diags);

/* While code is generated: messages go to diags, except that reports of frame sizes (cwj_host_watch_frames) are summed in frames. */
struct cwj_listener {
    struct cwj_diags *diags;
    uint64_t frames;
};
void cwj_llvm_listen(LLVMContextRef c, struct cwj_listener *l);
void cwj_llvm_unlisten(LLVMContextRef c, struct cwj_diags *diags);

/* LLVM's name of this CPU, and its features. Never NULL; valid for ever. */
const char *cwj_llvm_host_cpu(void);
const char *cwj_llvm_host_features(void);

/* cpu NULL: this CPU with all its features (host only). features: in LLVM's syntax ("-mai-insts"), or NULL. The caller disposes of *out. */
cw_result cwj_llvm_machine(enum cwj_target target, const char *cpu, const char *features, unsigned opt_level, LLVMTargetMachineRef *out,
                           struct cwj_diags *diags) CW_MUST_CHECK;

/* Work-around x86-ternlog, on an optimised module for x86 (x86_ternlog.c). */
void cwj_x86_workaround_ternlog(LLVMModuleRef m);
/* Work-around ballot: ballots of float comparisons, in the last pass before code generation for AMD (amdgpu/ballot.c). */
void cwj_amd_workaround_ballot(LLVMModuleRef m);

/* Before code generation for the host: make large frames touch every page, and have LLVM report the size of each frame. */
void cwj_host_watch_frames(LLVMModuleRef m);
/* True for a report of a frame's size; adds the size to *bytes. */
bool cwj_host_is_frame(const char *message, uint64_t *bytes);

/* Have LLJIT look for no symbols in the process. By itself it calls dlopen for them, and waits for the dynamic loader's lock; a library's constructor that
 * launches a kernel holds that lock while it waits for us. */
void cwj_orc_leave_process_alone(LLVMOrcLLJITBuilderRef builder);

/* The error is the system's: it has no memory, or no addresses. */
bool cwj_llvm_is_no_memory(LLVMErrorRef e);
/* Consume an error; returns CW_ERR_LLVM, or CW_ERR_NOMEM, if there was one. */
cw_result cwj_llvm_check(LLVMErrorRef e, const char *doing, struct cwj_diags *diags) CW_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
