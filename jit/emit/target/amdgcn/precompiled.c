/* SPDX-License-Identifier: Apache-2.0
 * Functions with precompiled machine code (precompiled.h). For LLVM such a function is an ordinary one with inline assembly as its body:
 * LLVM handles its callers, the registers that it leaves to them and to the kernel, waits at its beginning, and its return. The same LLVM
 * compiled the code inside for the same processor, including the instructions that the processor requires between others. */
#include "jit/emit/target/amdgcn/matrix.h"
#include "jit/builtins/precompiled.h"

#include "impl/base/buf.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 32 };             /* argument and result registers */

static const struct gcn_precompiled *
find(const char *cpu, const char *name)
{
    static const char suffix[] = EMIT_CALLED;
    size_t length = strlen(name), end = sizeof suffix - 1;

    if (!gcn_precompiled_functions)
        return NULL;
    if (length > end && !strcmp(name + length - end, suffix))
        length -= end;
    for (const struct gcn_precompiled *p = gcn_precompiled_functions; p->cpu; p++)
        if (!strcmp(p->cpu, cpu) && !strncmp(p->name, name, length) && !p->name[length])
            return p;
    return NULL;
}

/* "memory" without a value: neither read nor written. Functions that store may also wait for other lanes (a lock). */
static const char *const computes[] = { "nounwind", "memory", "willreturn", "nosync", "nofree", "mustprogress", "norecurse", "noinline", NULL };
static const char *const stores[] = { "nounwind", "norecurse", "noinline", NULL };
enum { OF_CALL = 3 };               /* the first of `computes` apply to the assembly, too */

/* Number of registers of a value. */
static unsigned
words_of(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMVoidTypeKind:    return 0;
    case LLVMPointerTypeKind: return 2;
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t) / 32;
    case LLVMVectorTypeKind:  return LLVMGetVectorSize(t) * words_of(LLVMGetElementType(t));
    default:                  return 1;         /* float */
    }
}

/* Print as strings, which LLVM parses in a tenth of the time of numbers. Characters other than digits and letters, which may have a meaning
 * in inline assembly, become octal escapes of three digits; a digit may follow those. */
static void
print_code(struct cw_buf *b, const struct gcn_precompiled *p)
{
    enum { LINE = 8 };
    for (uint32_t i = 0; i < p->words; i++) {
        char text[16];
        size_t n = 0;
        for (unsigned k = 0; k < 4; k++) {
            unsigned c = p->code[i] >> 8 * k & 255;
            bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
            if (!plain) {
                text[n++] = '\\';
                text[n++] = (char)('0' + (c >> 6));
                text[n++] = (char)('0' + (c >> 3 & 7));
            }
            text[n++] = (char)(plain ? c : '0' + (c & 7));
        }
        if (!(i % LINE))
            cw_buf_puts(b, i ? "\"\n\t.ascii \"" : "\n\t.ascii \"");
        cw_buf_append(b, text, n);
    }
    cw_buf_puts(b, p->words ? "\"" : "");
}

/* The constraint for a value in the next of the registers v0 on. */
static void
constrain(struct cw_buf *b, const char *before, LLVMTypeRef t, unsigned *at)
{
    unsigned n = words_of(t);
    if (n == 1)
        cw_buf_printf(b, "%s%s{v%u}", b->size ? "," : "", before, *at);
    else
        cw_buf_printf(b, "%s%s{v[%u:%u]}", b->size ? "," : "", before, *at, *at + n - 1);
    *at += n;
}

/* Arguments are in v0 on, except a table's address; so are results. An attribute of the function lists the registers it overwrites. LLVM assumes
 * that a call accesses memory (as a clobber that would be looked up among the names of all registers). NULL: it does not fit, or out of memory. */
static V
assembly(struct emit *e, const struct gcn_precompiled *p, bool convergent, LLVMTypeRef result, V *args, unsigned n, V table)
{
    LLVMTypeRef types[MOST + 1];
    struct cw_buf text, constraints;
    V r = NULL;
    bool several = LLVMGetTypeKind(result) == LLVMStructTypeKind;
    unsigned in = 0, out = 0, nresults = several ? LLVMCountStructElementTypes(result) : result != e->void_;
    cw_buf_init(&text);
    cw_buf_init(&constraints);
    print_code(&text, p);
    for (unsigned i = 0; i < nresults; i++)
        constrain(&constraints, "=", several ? LLVMStructGetTypeAtIndex(result, i) : result, &out);
    for (unsigned i = 0; i < n; i++)
        constrain(&constraints, "", types[i] = LLVMTypeOf(args[i]), &in);
    if (table) {
        cw_buf_printf(&constraints, "%s{s[%d:%d]}", constraints.size ? "," : "", p->table, p->table + 1);
        types[n] = LLVMTypeOf(args[n] = table);
        n++;
    }
    if (in <= MOST && !text.failed && !constraints.failed) {
        LLVMTypeRef type = LLVMFunctionType(result, types, n, false);
        V f = LLVMGetInlineAsm(type, text.data, text.size, constraints.data, constraints.size, p->memory, false, LLVMInlineAsmDialectATT, false);
        r = LLVMBuildCall2(e->b, type, f, args, n, "");
        for (unsigned i = 0; i < (p->memory ? 1 : OF_CALL); i++)
            emit_set_call_attribute(r, computes[i]);
        if (convergent)
            emit_set_call_attribute(r, "convergent");
    }
    cw_buf_finish(&text);
    cw_buf_finish(&constraints);
    return r;
}

bool
gcn_precompiled_body(struct emit *e, V fn)
{
    return gcn_precompiled_with(e, fn, NULL);
}

bool
gcn_precompiled_with(struct emit *e, V fn, V table)
{
    const LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    size_t length;
    const struct gcn_precompiled *p = find(e->cpu, LLVMGetValueName2(fn, &length));
    V args[MOST + 1];
    LLVMTypeRef returns = LLVMGetReturnType(LLVMGlobalGetValueType(fn));
    bool convergent = LLVMGetEnumAttributeAtIndex(fn, index, LLVMGetEnumAttributeKindForName("convergent", 10)) != NULL;
    if (!p || LLVMCountParams(fn) > MOST || (p->table >= 0) != (table != NULL))
        return false;
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    LLVMGetParams(fn, args);
    V r = assembly(e, p, convergent, returns, args, LLVMCountParams(fn), table);
    if (r)
        (void)(returns == e->void_ ? LLVMBuildRetVoid(e->b) : LLVMBuildRet(e->b, r));
    else
        LLVMDeleteBasicBlock(LLVMGetInsertBlock(e->b));
    LLVMPositionBuilderAtEnd(e->b, back);
    if (!r)
        return false;
    LLVMSetLinkage(fn, LLVMExternalLinkage);            /* until optimised (close_precompiled.c): prevents propagation of constant arguments */
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
    emit_set_text_attribute(fn, EMIT_OVERWRITES, p->registers);
    if (p->stack) {
        char size[16];
        snprintf(size, sizeof size, "%u", p->stack);
        emit_set_text_attribute(fn, EMIT_STACK, size);
    }
    for (const char *const *name = p->memory ? stores : computes; *name; name++)
        emit_set_attribute(fn, *name);
    return true;
}

bool
emit_is_precompiled(LLVMValueRef f)
{
    return LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, EMIT_OVERWRITES, sizeof EMIT_OVERWRITES - 1) != NULL;
}
