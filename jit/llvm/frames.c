/* SPDX-License-Identifier: Apache-2.0
 * The stack that compiled host code needs. Only code generation knows it: spilled registers can exceed a kernel's local memory by far. LLVM
 * reports each frame's size in a warning. A frame larger than the stack must not skip the guard page below it and reach another gang's
 * stack: large frames are touched page by page. */
#include "jit/llvm/llvm.h"

#include "jit/emit/attribute.h"

#include <stdlib.h>
#include <string.h>

void
cwj_host_watch_frames(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        emit_set_text_attribute(f, "probe-stack", "inline-asm");
        emit_set_text_attribute(f, "warn-stack-size", "0");
    }
}

bool
cwj_host_is_frame(const char *message, uint64_t *bytes)
{
    static const char head[] = "stack frame size (";

    const char *p = strstr(message, head);      /* a source location may precede it */
    if (!p)
        return false;
    *bytes += strtoull(p + sizeof head - 1, NULL, 10);
    return true;
}
