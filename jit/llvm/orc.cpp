/* SPDX-License-Identifier: Apache-2.0
 * See llvm.h. In the C interface a reference is the pointer itself (DEFINE_SIMPLE_CONVERSION_FUNCTIONS), but the functions that say so are LLVM's own. */
#include "jit/llvm/llvm.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

extern "C" void
cwj_orc_leave_process_alone(LLVMOrcLLJITBuilderRef builder)
{
    reinterpret_cast<llvm::orc::LLJITBuilder *>(builder)->setProcessSymbolsJITDylibSetup(
        [](llvm::orc::LLJIT &jit) -> llvm::Expected<llvm::orc::JITDylibSP> { return &jit.getExecutionSession().createBareJITDylib("process"); });
}
