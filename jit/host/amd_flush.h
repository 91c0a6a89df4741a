/* SPDX-License-Identifier: Apache-2.0
 * What .ftz and dense products of integers leave for the end of AMD's code generator. Private to jit/host. */
#ifndef CWJ_HOST_AMD_FLUSH_H
#define CWJ_HOST_AMD_FLUSH_H

#include <llvm/CodeGen/MachineFunction.h>

/* Make instructions of the pieces of jit/emit/flush_code.h, whose registers are the processor's by now. Returns whether there were some. */
bool cwj_amd_write_flushes(llvm::MachineFunction &f);

/* Single instructions of those become instructions, in front of the printer. */
bool cwj_amd_write_singles(llvm::MachineFunction &f);

#endif
