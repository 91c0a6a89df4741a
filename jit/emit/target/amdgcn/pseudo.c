/* SPDX-License-Identifier: Apache-2.0
 * See pseudo.h. */
#include "jit/emit/target/amdgcn/pseudo.h"
#include "jit/emit/attribute.h"

#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef LLVMValueRef V;

static const char *const names[GCN_PSEUDOS] = {
    [GCN_PSEUDO_SMALL] = "cwj_small", [GCN_PSEUDO_FLUSH] = "cwj_flush", [GCN_PSEUDO_NAN64] = "cwj_nan64", [GCN_PSEUDO_DOTS] = "cwj_dots",
    [GCN_PSEUDO_MAX3] = "cwj_max3",
};

/* LLVM assumes that assembly may write memory unless its call says otherwise. */
static V
build_call(LLVMBuilderRef b, LLVMTypeRef type, const char *text, const char *constraints, V *args, unsigned n)
{
    V code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false, false, LLVMInlineAsmDialectATT, false);
    V call = LLVMBuildCall2(b, type, code, args, n, "");

    emit_set_call_attribute(call, "memory");
    emit_set_call_attribute(call, "nounwind");
    emit_set_call_attribute(call, "willreturn");
    return call;
}

V
gcn_assembly(LLVMBuilderRef b, const char *text, const char *constraints, V *args, unsigned n)
{
    LLVMTypeRef t[2] = { LLVMTypeOf(args[0]), LLVMTypeOf(args[n - 1]) };
    return build_call(b, LLVMFunctionType(t[0], t, n, false), text, constraints, args, n);
}

V
gcn_pseudo_max3(LLVMBuilderRef b, V v, unsigned gfx)
{
    V args[2] = { v, LLVMConstInt(LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v))), 0x7fffffff, false) };
    return gcn_assembly(b, names[GCN_PSEUDO_MAX3], gfx == 9 ? "=v,v,s" : "=v,v", args, gfx == 9 ? 2 : 1);
}

void
gcn_branch_rare(LLVMBuilderRef b, V any, bool wave64, LLVMBasicBlockRef rare, LLVMBasicBlockRef usual, unsigned odds)
{
    LLVMContextRef c = LLVMGetValueContext(any);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), word = wave64 ? LLVMInt64TypeInContext(c) : i32;
    unsigned id = LLVMLookupIntrinsicID("llvm.amdgcn.ballot", 18);
    V ballot = LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(LLVMGetBasicBlockParent(usual)), id, &word, 1);
    V lanes = LLVMBuildCall2(b, LLVMIntrinsicGetType(c, id, &word, 1), ballot, &any, 1, "");
    V br = LLVMBuildCondBr(b, LLVMBuildIsNotNull(b, lanes, ""), rare, usual);
    LLVMMetadataRef weights[3] = { LLVMMDStringInContext2(c, "branch_weights", 14), LLVMValueAsMetadata(LLVMConstInt(i32, 1, false)),
                                   LLVMValueAsMetadata(LLVMConstInt(i32, odds, false)) };
    LLVMSetMetadata(br, LLVMGetMDKindIDInContext(c, "prof", 4), LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, weights, 3)));
}

static void
append(struct gcn_pseudo *p, const char *text)
{
    p->length += (size_t)snprintf(p->text + p->length, sizeof p->text - p->length, "%s", text);
}

void
gcn_pseudo_begin(struct gcn_pseudo *p, enum gcn_pseudo_kind kind)
{
    p->length = p->nout = p->nin = 0;
    p->convergent = false;
    append(p, names[kind]);
}

unsigned
gcn_pseudo_out(struct gcn_pseudo *p, LLVMTypeRef type, V tied)
{
    p->out[p->nout] = type;
    p->tied[p->nout] = tied;
    p->scalar_out[p->nout] = false;
    return p->nout++;
}

void
gcn_pseudo_mask(struct gcn_pseudo *p, LLVMContextRef c, bool wave64)
{
    p->scalar_out[gcn_pseudo_out(p, wave64 ? LLVMInt64TypeInContext(c) : LLVMInt32TypeInContext(c), NULL)] = true;
}

unsigned
gcn_pseudo_in(struct gcn_pseudo *p, V v, bool scalar)
{
    p->in[p->nin] = v;
    p->scalar_in[p->nin] = scalar;
    return p->nout + p->nin++;
}

unsigned
gcn_pseudo_in_once(struct gcn_pseudo *p, V v, bool scalar)
{
    for (unsigned i = 0; i < p->nin; i++)
        if (p->in[i] == v)
            return p->nout + i;
    return gcn_pseudo_in(p, v, scalar);
}

void
gcn_pseudo_operation(struct gcn_pseudo *p, char operation)
{
    append(p, (char[]){ ' ', operation, 0 });
}

void
gcn_pseudo_operand(struct gcn_pseudo *p, unsigned flags, unsigned number)
{
    char digits[16];

    if (p->text[p->length - 2] != ' ')      /* operands behind the first need a comma */
        append(p, ",");
    for (unsigned i = 0; GCN_OPERAND_FLAGS[i]; i++)
        if (flags >> i & 1)
            append(p, (char[]){ GCN_OPERAND_FLAGS[i], 0 });
    snprintf(digits, sizeof digits, "%u", number);
    append(p, digits);
}

V
gcn_pseudo_build(const struct gcn_pseudo *p, LLVMBuilderRef b)
{
    LLVMTypeRef types[2 * GCN_PSEUDO_MOST], out[GCN_PSEUDO_MOST];
    V args[2 * GCN_PSEUDO_MOST];
    char constraints[5 * 3 * GCN_PSEUDO_MOST], *at = constraints;
    unsigned n = 0;

    for (unsigned i = 0; i < p->nout; i++) {
        at += sprintf(at, "%s=&%c", i ? "," : "", p->scalar_out[i] ? 's' : 'v');
        out[i] = p->out[i];
    }
    for (unsigned i = 0; i < p->nout; i++)
        if (p->tied[i]) {
            at += sprintf(at, ",%u", i);
            args[n++] = p->tied[i];
        }
    for (unsigned i = 0; i < p->nin; i++) {
        at += sprintf(at, ",%c", p->scalar_in[i] ? 's' : 'v');
        args[n++] = p->in[i];
    }
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(LLVMGetTypeContext(out[0]), out, p->nout, false), types, n, false);
    V call = build_call(b, type, p->text, constraints, args, n);
    if (p->convergent)
        emit_set_call_attribute(call, "convergent");
    /* Extracting from the assembly's own result would make LLVM parse all constraints for each part, in each of six passes. */
    return LLVMBuildFreeze(b, call, "");
}

bool
gcn_pseudo_name(const char **text, enum gcn_pseudo_kind *kind)
{
    for (unsigned i = 0; i < GCN_PSEUDOS; i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(*text, names[i], n) && (!(*text)[n] || (*text)[n] == ' ')) {
            *text += n;
            *kind = (enum gcn_pseudo_kind)i;
            return true;
        }
    }
    return false;
}

bool
gcn_pseudo_next(const char **text, struct gcn_pseudo_word *w)
{
    const char *at = *text;

    if (at[0] != ' ' || !at[1])
        return false;
    w->operation = at[1];
    w->n = 0;
    for (at += 2; *at && *at != ' '; at += *at == ',') {
        unsigned flags = 0;
        char *end;
        for (const char *flag; *at && (flag = strchr(GCN_OPERAND_FLAGS, *at)); at++)
            flags |= 1u << (flag - GCN_OPERAND_FLAGS);
        unsigned long number = strtoul(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || w->n == GCN_PSEUDO_MOST)
            return false;
        w->operand[w->n].flags = flags;
        w->operand[w->n++].number = (unsigned)number;
        at = end;
    }
    *text = at;
    return true;
}
