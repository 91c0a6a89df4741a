/* SPDX-License-Identifier: Apache-2.0
 * Functions with precompiled machine code (precompiled.h). For LLVM such a function is an ordinary one with inline assembly as its body:
 * LLVM handles its callers, the registers that it leaves to them and to the kernel, waits at its beginning, and its return. The same LLVM
 * compiled the code inside for the same processor, including the instructions that the processor requires between others. */
#include "jit/emit/target/amdgcn/matrix.h"
#include "jit/builtins/precompiled.h"

#include "impl/base/buf.h"

#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

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

/* Values as words, vectors by element; returns their number. */
static unsigned
words_of(struct emit *e, const V *v, unsigned n, V *word)
{
    unsigned words = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned elements = LLVMGetTypeKind(LLVMTypeOf(v[i])) == LLVMVectorTypeKind ? LLVMGetVectorSize(LLVMTypeOf(v[i])) : 0;
        for (unsigned k = 0; k < elements; k++)
            word[words++] = LLVMBuildExtractElement(e->b, v[i], LLVMConstInt(e->i32, k, false), "");
        if (elements)
            continue;
        V x = LLVMTypeOf(v[i]) == e->ptr ? LLVMBuildPtrToInt(e->b, v[i], e->i64, "") : v[i];
        bool is_long = LLVMTypeOf(x) == e->i64;
        word[words++] = is_long ? LLVMBuildTrunc(e->b, x, e->i32, "") : x;
        if (is_long)
            word[words++] = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, x, LLVMConstInt(e->i64, 32, false), ""), e->i32, "");
    }
    return words;
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

/* Arguments are in v0 on, except a table's address; so are results, which replace word[]. An attribute of the function lists the registers
 * it overwrites. LLVM assumes that a call accesses memory (as a clobber that would be looked up among the names of all registers). False:
 * out of memory. */
static bool
assembly(struct emit *e, const struct gcn_precompiled *p, bool convergent, V table, V *word, unsigned nargs, unsigned nresults)
{
    LLVMTypeRef types[MOST + 1];
    struct cw_buf text, constraints;
    cw_buf_init(&text);
    cw_buf_init(&constraints);
    print_code(&text, p);
    for (unsigned i = 0; i < MOST; i++)
        types[i] = e->i32;
    for (unsigned i = 0; i < nresults; i++)
        cw_buf_printf(&constraints, "%s={v%u}", i ? "," : "", i);
    for (unsigned i = 0; i < nargs; i++)
        cw_buf_printf(&constraints, "%s{v%u}", nresults || i ? "," : "", i);
    if (table)
        cw_buf_printf(&constraints, "%s{s[%d:%d]}", nresults || nargs ? "," : "", p->table, p->table + 1);
    bool ok = !text.failed && !constraints.failed;
    if (ok) {
        LLVMTypeRef result = nresults > 1 ? LLVMStructTypeInContext(e->llvm, types, nresults, false) : nresults ? e->i32 : e->void_;
        if (table)
            types[nargs] = LLVMTypeOf(word[nargs] = table);
        LLVMTypeRef type = LLVMFunctionType(result, types, nargs + (table != NULL), false);
        V f = LLVMGetInlineAsm(type, text.data, text.size, constraints.data, constraints.size, p->memory, false, LLVMInlineAsmDialectATT, false);
        V r = LLVMBuildCall2(e->b, type, f, word, nargs + (table != NULL), "");
        for (unsigned i = 0; i < (p->memory ? 1 : OF_CALL); i++)
            emit_set_call_attribute(r, computes[i]);
        if (convergent)
            emit_set_call_attribute(r, "convergent");
        for (unsigned i = 0; i < nresults; i++)
            word[i] = nresults > 1 ? LLVMBuildExtractValue(e->b, r, i, "") : r;
    }
    cw_buf_finish(&text);
    cw_buf_finish(&constraints);
    return ok;
}

/* Build the function's result from its words. */
static void
build_return(struct emit *e, LLVMTypeRef type, V *word)
{
    V out[MOST];
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    bool several = kind == LLVMStructTypeKind;
    unsigned n = several ? LLVMCountStructElementTypes(type) : 1;
    if (type == e->void_ || type == e->i32) {
        (void)(type == e->void_ ? LLVMBuildRetVoid(e->b) : LLVMBuildRet(e->b, word[0]));
        return;
    }
    if (kind == LLVMVectorTypeKind) {
        V v = LLVMGetPoison(type);
        for (unsigned i = 0; i < LLVMGetVectorSize(type); i++)
            v = LLVMBuildInsertElement(e->b, v, word[i], LLVMConstInt(e->i32, i, false), "");
        LLVMBuildRet(e->b, v);
        return;
    }
    if (several && LLVMStructGetTypeAtIndex(type, 0) == e->i32) {
        LLVMBuildAggregateRet(e->b, word, n);
        return;
    }
    for (unsigned i = 0; i < n; i++) {          /* of 64 bits each */
        V lo = LLVMBuildZExt(e->b, word[2 * i], e->i64, "");
        V hi = LLVMBuildZExt(e->b, word[2 * i + 1], e->i64, "");
        out[i] = LLVMBuildOr(e->b, lo, LLVMBuildShl(e->b, hi, LLVMConstInt(e->i64, 32, false), ""), "");
    }
    if (several)
        LLVMBuildAggregateRet(e->b, out, n);
    else
        LLVMBuildRet(e->b, kind == LLVMPointerTypeKind ? LLVMBuildIntToPtr(e->b, out[0], type, "") : out[0]);
}

/* Number of words of a result. */
static unsigned
result_words(struct emit *e, LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        return LLVMGetVectorSize(type);
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind)
        return LLVMCountStructElementTypes(type) * (LLVMStructGetTypeAtIndex(type, 0) == e->i32 ? 1 : 2);
    return type == e->void_ ? 0 : type == e->i32 ? 1 : 2;
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
    V param[MOST], word[2 * MOST];
    LLVMTypeRef returns = LLVMGetReturnType(LLVMGlobalGetValueType(fn));
    bool convergent = LLVMGetEnumAttributeAtIndex(fn, index, LLVMGetEnumAttributeKindForName("convergent", 10)) != NULL;
    if (!p || LLVMCountParams(fn) > MOST || (p->table >= 0) != (table != NULL))
        return false;
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    LLVMGetParams(fn, param);
    unsigned nargs = words_of(e, param, LLVMCountParams(fn), word);
    if (nargs > MOST || !assembly(e, p, convergent, table, word, nargs, result_words(e, returns))) {
        LLVMDeleteBasicBlock(LLVMGetInsertBlock(e->b));
        LLVMPositionBuilderAtEnd(e->b, back);
        return false;
    }
    build_return(e, returns, word);
    LLVMPositionBuilderAtEnd(e->b, back);
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
