/* SPDX-License-Identifier: Apache-2.0
 * Attributes of LLVM functions and calls, by name. */
#ifndef CWJ_EMIT_ATTRIBUTE_H
#define CWJ_EMIT_ATTRIBUTE_H

#include <llvm-c/Core.h>
#include <string.h>

static inline LLVMAttributeRef
emit_attribute(LLVMValueRef in_context, const char *name, uint64_t value)
{
    return LLVMCreateEnumAttribute(LLVMGetValueContext(in_context), LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

static inline void
emit_set_attribute(LLVMValueRef fn, const char *name)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, emit_attribute(fn, name, 0));
}

static inline void
emit_set_text_attribute(LLVMValueRef fn, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(LLVMGetValueContext(fn), key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static inline void
emit_set_call_attribute(LLVMValueRef call, const char *name)
{
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, emit_attribute(call, name, 0));
}

#endif
