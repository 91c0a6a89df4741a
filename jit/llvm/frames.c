/* SPDX-License-Identifier: Apache-2.0
 * How much stack compiled code for the host needs. Only code generation knows: the registers that it keeps in memory can be
 * far more than a kernel's local memory. LLVM says it in a warning about each frame. And a frame that is larger than its
 * stack all the same must not step over the guard page below it, into another gang's: large frames are touched page by page. */
#include "jit/llvm/llvm.h"

#include <stdlib.h>
#include <string.h>

static void
set_attribute(LLVMValueRef f, const char *name, const char *value)
{
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(f));
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(c, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void
cwj_host_watch_frames(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        set_attribute(f, "probe-stack", "inline-asm");
        set_attribute(f, "warn-stack-size", "0");
    }
}

bool
cwj_host_is_frame(const char *message, uint64_t *bytes)
{
    static const char head[] = "stack frame size (";

    const char *p = strstr(message, head);      /* a place in the source may come before it */
    if (!p)
        return false;
    *bytes += strtoull(p + sizeof head - 1, NULL, 10);
    return true;
}
