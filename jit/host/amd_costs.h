/* SPDX-License-Identifier: Apache-2.0
 * What LLVM's code generator takes long over, or makes long code of, in other words: functions for the table in amd_guards.cpp. */
#ifndef CWJ_HOST_AMD_COSTS_H
#define CWJ_HOST_AMD_COSTS_H

#include <llvm/IR/Function.h>
#include <llvm/Pass.h>

/* Funnel shifts of 64 bits by constants, rotations most of all, become two of 32 bits. */
bool cwj_amd_split_funnels(llvm::Function &f, llvm::Pass &);

/* What the next two hide. */
bool cwj_amd_show_frozen(llvm::Function &f, llvm::Pass &);

/* Around the pass that joins loads: loads that cannot be beside another are kept from it. */
bool cwj_amd_hide_lookups(llvm::Function &f, llvm::Pass &);

/* Around the strength reduction of loops: long sums that a loop does not change are one number each. */
void cwj_amd_hide_sums_needs(llvm::AnalysisUsage &au);
bool cwj_amd_hide_sums(llvm::Function &f, llvm::Pass &pass);

/* Around CodeGenPrepare: signs of floats in long blocks are bits. */
bool cwj_amd_hide_signs(llvm::Function &f, llvm::Pass &);
bool cwj_amd_show_signs(llvm::Function &f, llvm::Pass &);

#endif
