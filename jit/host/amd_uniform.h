/* SPDX-License-Identifier: Apache-2.0
 * LLVM's "Uniformity Analysis" for AMD, with all places where lanes come together. Private to jit/host. */
#ifndef CWJ_HOST_AMD_UNIFORM_H
#define CWJ_HOST_AMD_UNIFORM_H

#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/UniformityAnalysis.h>

namespace llvm {
class DominatorTree;
class TargetTransformInfo;
}

/* Which values of a function are the same in all lanes of a wave. The others are to live as long as the result. */
llvm::UniformityInfo cwj_amd_uniformity(llvm::Function &f, const llvm::DominatorTree &dominators, const llvm::CycleInfo &cycles,
                                        const llvm::TargetTransformInfo &target);

/* From now on LLVM's code generators take that wherever they ask for the analysis; of the whole process, where they share LLVM. */
void cwj_amd_replace_uniformity(void);

#endif
