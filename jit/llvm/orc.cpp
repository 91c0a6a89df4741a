/* SPDX-License-Identifier: Apache-2.0
 * See llvm.h. The C interface lacks these. Its references are the C++ objects' pointers; the functions that convert them are private. */
#include "jit/llvm/llvm.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

extern "C" void
cwj_orc_leave_process_alone(LLVMOrcLLJITBuilderRef builder)
{
    reinterpret_cast<llvm::orc::LLJITBuilder *>(builder)->setProcessSymbolsJITDylibSetup(
        [](llvm::orc::LLJIT &jit) -> llvm::Expected<llvm::orc::JITDylibSP> { return &jit.getExecutionSession().createBareJITDylib("process"); });
}

extern "C" bool
cwj_llvm_is_no_memory(LLVMErrorRef e)
{
    return reinterpret_cast<llvm::ErrorInfoBase *>(e)->convertToErrorCode() == std::errc::not_enough_memory;
}
