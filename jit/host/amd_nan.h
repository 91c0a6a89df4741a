/* SPDX-License-Identifier: Apache-2.0
 * What NaN of f64 leave for the end of AMD's code generator. Private to jit/host. */
#ifndef CWJ_HOST_AMD_NAN_H
#define CWJ_HOST_AMD_NAN_H

#include <llvm/CodeGen/MachineFunction.h>

/* Make instructions of the pieces of jit/emit/nan_code.h, whose registers are the processor's by now, in blocks at the end of the function. Returns whether there
 * were some. */
bool cwj_amd_write_nans(llvm::MachineFunction &f);

#endif
