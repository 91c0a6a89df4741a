/* SPDX-License-Identifier: Apache-2.0
 * See devlib.h. A part is parsed lazily, and only if it is called. Its functions become linkonce before linking, so that LLVM links only
 * those that are referenced. */
#include "jit/builtins/devlib.h"
#include "jit/builtins/precompiled.h"

#include "devlib_parts.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

#define X(part, path)                                                                                       \
    __asm__(".pushsection .rodata.devlib, \"a\"\n.balign 16\ncwj_devlib_" #part ":\n.incbin \"" path "\"\n"   \
            "cwj_devlib_" #part "_end:\n.byte 0\n.popsection\n");                                            \
    extern const char cwj_devlib_##part[], cwj_devlib_##part##_end[];
CWJ_DEVLIB_PARTS(X)
#undef X

static const struct part {
    const char *name, *start, *end;
} parts[] = {
#define X(part, path) { #part, cwj_devlib_##part, cwj_devlib_##part##_end },
    CWJ_DEVLIB_PARTS(X)
#undef X
};
enum { PARTS = sizeof parts / sizeof *parts };

static const char prefix[] = "cwd_";
static const char *const done[] = { "cwd_forms_", "cwd_heap_", "cwd_print_" };      /* already optimised */

static const char *
name_of(LLVMValueRef f)
{
    size_t n;
    return LLVMGetValueName2(f, &n);
}

static bool
is_missing(LLVMValueRef f)
{
    return LLVMIsDeclaration(f) && !strncmp(name_of(f), prefix, sizeof prefix - 1);
}

static bool
is_of(const struct part *p, const char *name)
{
    size_t n = strlen(p->name);
    return !strncmp(name, prefix, sizeof prefix - 1) && !strncmp(name + sizeof prefix - 1, p->name, n) && name[sizeof prefix - 1 + n] == '_';
}

static bool
is_needed(LLVMModuleRef m, const struct part *p)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (is_missing(f) && is_of(p, name_of(f)))
            return true;
    return false;
}

static cw_result
fail(struct cwj_diags *diags, const char *name, const char *why)
{
    cwj_diag_add(diags, PTX_ERROR, 5908, 0, 0, "internal error: the device library %s %s", why, name);
    return CW_ERR_INTERNAL;
}

/* Drop clang's attributes for the processor and its work-groups, all of them string attributes: the caller's apply, and LLVM does not
 * inline functions that differ in them. */
static void
make_neutral(LLVMValueRef f)
{
    LLVMAttributeRef attributes[64];
    unsigned n = LLVMGetAttributeCountAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex);
    if (n > sizeof attributes / sizeof *attributes)
        return;
    LLVMGetAttributesAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attributes);
    for (unsigned i = 0; i < n; i++) {
        unsigned length;
        if (!LLVMIsStringAttribute(attributes[i]))
            continue;
        const char *key = LLVMGetStringAttributeKind(attributes[i], &length);
        LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, key, length);
    }
}

/* All functions are non-recursive. LLVM then tells callers which registers they overwrite, and they save none. */
static const char norecurse[] = "norecurse";

/* Link a part into m. Declarations in m of its functions must have their types. */
static cw_result
link_part(LLVMModuleRef m, const struct part *p, const char *cpu, struct cwj_diags *diags)
{
    LLVMModuleRef lib = NULL;
    LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRange(p->start, (size_t)(p->end - p->start), p->name, false);
    if (LLVMGetBitcodeModuleInContext2(LLVMGetModuleContext(m), b, &lib)) {
        LLVMDisposeMemoryBuffer(b);
        return fail(diags, p->name, "is damaged: LLVM cannot read");
    }
    LLVMSetTarget(lib, LLVMGetTarget(m));
    LLVMSetDataLayout(lib, LLVMGetDataLayoutStr(m));
    cw_result r = CW_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (!is_missing(f) || !is_of(p, name_of(f)))
            continue;
        LLVMValueRef def = LLVMGetNamedFunction(lib, name_of(f));
        if (!def || LLVMIsDeclaration(def))
            r = fail(diags, name_of(f), "lacks");
        else if (LLVMGlobalGetValueType(def) != LLVMGlobalGetValueType(f))
            r = fail(diags, name_of(f), "has another type for");
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(lib); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        make_neutral(f);
        LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(LLVMGetModuleContext(m), LLVMGetEnumAttributeKindForName(norecurse, sizeof norecurse - 1), 0));
        if (!strncmp(name_of(f), "cwd_tex_", 8))
            LLVMAddTargetDependentFunctionAttr(f, EMIT_KEEPS_RETURN, "");
        if (!strcmp(name_of(f), "cwd_tex_fetch")) {         /* otherwise it takes 180 and 104; in wave64 only 64 VGPRs may be available */
            LLVMAddTargetDependentFunctionAttr(f, "amdgpu-num-vgpr", cpu && !strncmp(cpu, "gfx9", 4) ? "60" : "96");
            LLVMAddTargetDependentFunctionAttr(f, "amdgpu-num-sgpr", "84");
        }
        if (LLVMGetLinkage(f) == LLVMExternalLinkage)
            LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    }
    if (r) {
        LLVMDisposeModule(lib);
        return r;
    }
    return LLVMLinkModules2(m, lib) ? fail(diags, p->name, "cannot be linked:") : CW_OK;        /* destroys lib */
}

cw_result
cwj_devlib_link(LLVMModuleRef m, const char *cpu, struct cwj_diags *diags)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        unsigned i = 0;
        if (!is_missing(f))
            continue;
        while (i < PARTS && !is_of(&parts[i], name_of(f)))
            i++;
        if (i == PARTS)
            return fail(diags, name_of(f), "lacks");
    }
    for (unsigned i = 0; i < PARTS; i++) {      /* a part may call later parts */
        cw_result r = is_needed(m, &parts[i]) ? link_part(m, &parts[i], cpu, diags) : CW_OK;
        if (r)
            return r;
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) {
            LLVMSetLinkage(f, LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
    return CW_OK;
}

static bool
is_done(LLVMValueRef f)
{
    bool is = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, EMIT_OVERWRITES, sizeof EMIT_OVERWRITES - 1) != NULL;
    for (unsigned i = 0; i < sizeof done / sizeof *done; i++)
        is |= !strncmp(name_of(f), done[i], strlen(done[i]));
    return is;
}

bool
cwj_devlib_used(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && !strncmp(name_of(f), prefix, sizeof prefix - 1) && !is_done(f))
            return true;
    return false;
}
