/* SPDX-License-Identifier: Apache-2.0
 * Our passes between those of LLVM's AMD code generator: one table, in machine_passes.cpp. Private to jit/llvm. */
#ifndef CWJ_LLVM_AMDGPU_MACHINE_PASSES_H
#define CWJ_LLVM_AMDGPU_MACHINE_PASSES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C"
#endif
/* Is `name`, of `len` bytes, an optional pass of the table? */
bool cwj_machine_pass_is_optional(const char *name, size_t len);

#ifdef __cplusplus
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/IR/Function.h>
#include <llvm/Pass.h>

namespace llvm {
class TargetPassConfig;
}

struct cwj_machine_pass {
    const char *name;
    bool workaround;            /* for the fault of its name in docs/llvm-faults/README.md */
    bool required;              /* the code would be wrong without it */
    bool o0;                    /* -O0 has the place, too */
    bool after;                 /* just behind the pass `at`; otherwise just before it */
    const char *at;             /* the argument of one of LLVM's passes */
    void (*needs)(llvm::AnalysisUsage &au);
    bool (*function)(llvm::Function &f, llvm::Pass &pass);          /* one of these two; true: changed something */
    bool (*machine)(llvm::MachineFunction &f, llvm::Pass &pass);
};

extern const cwj_machine_pass cwj_machine_passes[];
extern const size_t cwj_machine_pass_count;
enum { CWJ_MACHINE_PASSES_MOST = 32 };

/* Is LLVM's pass of this argument left out? For passes whose IDs are not public, so that the next function cannot disable them. */
bool cwj_machine_pass_left_out(llvm::StringRef argument);

/* Disable LLVM's passes that worsen our code, or that generate wrong code for the processor. */
void cwj_machine_passes_disable(llvm::TargetPassConfig &config);

/* A pass object for LLVM's pass manager, which owns it. */
llvm::Pass *cwj_machine_pass_create(const cwj_machine_pass &p);

/* ---- the passes; each is described in its own file --------------------------------------------------------------------------- */

bool cwj_amd_undef_phi(llvm::Function &f, llvm::Pass &pass);
void cwj_amd_undef_phi_needs(llvm::AnalysisUsage &au);
bool cwj_amd_loop_entries(llvm::Function &f, llvm::Pass &pass);
void cwj_amd_loop_entries_needs(llvm::AnalysisUsage &au);
bool cwj_amd_uniform_fence(llvm::Function &f, llvm::Pass &pass);
bool cwj_amd_carry_of_sum(llvm::Function &f, llvm::Pass &pass);
bool cwj_amd_dot4_operand(llvm::Function &f, llvm::Pass &pass);
bool cwj_amd_lost_lanes(llvm::MachineFunction &f, llvm::Pass &pass);
void cwj_amd_lost_lanes_needs(llvm::AnalysisUsage &au);
bool cwj_amd_trap_skips_blocks(llvm::MachineFunction &f, llvm::Pass &pass);
bool cwj_amd_cut_regions(llvm::MachineFunction &f, llvm::Pass &pass);
bool cwj_amd_expand_pseudo(llvm::MachineFunction &f, llvm::Pass &pass);
bool cwj_amd_expand_nan64(llvm::MachineFunction &f, llvm::Pass &pass);
bool cwj_amd_describe_precompiled(llvm::MachineFunction &f, llvm::Pass &pass);
void cwj_amd_describe_precompiled_needs(llvm::AnalysisUsage &au);
bool cwj_amd_annotate_overwritten(llvm::MachineFunction &f, llvm::Pass &pass);
bool cwj_amd_check_overwritten(llvm::MachineFunction &f, llvm::Pass &pass);

/* With it: what the program that makes precompiled code has to know of a function. */
void cwj_amd_list_precompiled(const llvm::MachineFunction &f);
#endif

#endif
