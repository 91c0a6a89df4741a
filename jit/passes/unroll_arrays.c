/* SPDX-License-Identifier: Apache-2.0
 * Unrolls the loops whose counters alone index a thread-private array, so that the array goes into registers. The end of an inner loop is
 * often known only when the outer ones are unrolled; hence the repeated passes. */
#include "jit/passes/passes.h"

#include "jit/emit/attribute.h"

static const char passes[] =
    "function(loop(indvars,loop-unroll-full),sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-unroll<O2>,sroa,early-cse,"
    "instcombine<no-verify-fixpoint>,simplifycfg,reassociate,early-cse,infer-alignment)";
static const char added[] = "cudaway-noinline";
static const LLVMAttributeIndex of_function = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

static unsigned
attribute_kind(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

/* LLVM's passes skip a function with optnone, which must be noinline, too. */
static void
exclude(LLVMValueRef f)
{
    if (!LLVMGetEnumAttributeAtIndex(f, of_function, attribute_kind("noinline"))) {
        emit_set_attribute(f, "noinline");
        emit_set_text_attribute(f, added, "");
    }
    emit_set_attribute(f, "optnone");
}

static void
include_again(LLVMValueRef f)
{
    LLVMRemoveEnumAttributeAtIndex(f, of_function, attribute_kind("optnone"));
    if (!LLVMGetStringAttributeAtIndex(f, of_function, added, sizeof added - 1))
        return;
    LLVMRemoveEnumAttributeAtIndex(f, of_function, attribute_kind("noinline"));
    LLVMRemoveStringAttributeAtIndex(f, of_function, added, sizeof added - 1);
}

LLVMErrorRef
pass_unroll_arrays(LLVMModuleRef m, LLVMTargetMachineRef tm, LLVMPassBuilderOptionsRef o)
{
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        if (pass_counts_through_array(f))
            any = true;
        else
            exclude(f);
    }
    LLVMErrorRef error = any ? LLVMRunPasses(m, passes, tm, o) : NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            include_again(f);
    return error;
}
