/* SPDX-License-Identifier: Apache-2.0
 * What LLVM's register allocator asks before it takes a register away. Private to jit/host. */
#ifndef CWJ_HOST_AMD_REASSIGN_H
#define CWJ_HOST_AMD_REASSIGN_H

#include <llvm/CodeGen/TargetSubtargetInfo.h>

/* An AMD processor's description, which then answers that no local reassignment is wanted, until it is destroyed. Not while another thread uses it. */
void cwj_amd_no_reassignment(const llvm::TargetSubtargetInfo &processor);

#endif
