/* SPDX-License-Identifier: Apache-2.0
 * See llvm.h. The C interface lacks this. Its reference is the C++ object's pointer, as for all of LLVM's references; the function that converts it is private. */
#include "jit/llvm/llvm.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

extern "C" void
cwj_orc_leave_process_alone(LLVMOrcLLJITBuilderRef builder)
{
    reinterpret_cast<llvm::orc::LLJITBuilder *>(builder)->setProcessSymbolsJITDylibSetup(
        [](llvm::orc::LLJIT &jit) -> llvm::Expected<llvm::orc::JITDylibSP> { return &jit.getExecutionSession().createBareJITDylib("process"); });
}
