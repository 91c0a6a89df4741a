/* SPDX-License-Identifier: Apache-2.0
 * See annotation.h. */
#include "jit/emit/annotation.h"
#include "jit/emit/attribute.h"
#include "jit/emit/emit.h"

#include <string.h>

typedef LLVMValueRef V;

#define PREFIX "cwj."

static const struct {
    const char *name;
    unsigned operands;          /* behind the result */
} annotations[EMIT_ANNOTATIONS] = {
    [EMIT_NAN64_1] = { PREFIX "nan64.1", 1 }, [EMIT_NAN64_2] = { PREFIX "nan64.2", 2 }, [EMIT_NAN64_3] = { PREFIX "nan64.3", 3 },
    [EMIT_FLUSH] = { PREFIX "flush", 0 }, [EMIT_FLUSHED] = { PREFIX "flushed", 0 }, [EMIT_FLUSH_ADD] = { PREFIX "flush.add", 2 },
    [EMIT_FLUSH_MUL] = { PREFIX "flush.mul", 2 }, [EMIT_FLUSH_FMA] = { PREFIX "flush.fma", 3 },
};

V
emit_annotation_function(LLVMModuleRef m, enum emit_annotation kind)
{
    return LLVMGetNamedFunction(m, annotations[kind].name);
}

V
emit_annotate(struct emit *e, enum emit_annotation kind, V r, V a, V b, V c)
{
    static const char *const attributes[] = { "memory", "nounwind", "willreturn" };
    LLVMTypeRef t = LLVMTypeOf(r);
    unsigned n = 1 + annotations[kind].operands;
    LLVMTypeRef type = LLVMFunctionType(t, (LLVMTypeRef[]){ t, t, t, t }, n, false);
    V f = emit_annotation_function(e->module, kind);

    if (!f) {
        f = LLVMAddFunction(e->module, annotations[kind].name, type);
        for (unsigned i = 0; i < 3; i++)
            emit_set_attribute(f, attributes[i]);
    }
    return LLVMBuildCall2(e->b, type, f, (V[]){ r, a, b, c }, n, "");
}

enum emit_annotation
emit_annotation_of(V v)
{
    size_t length;
    V f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    const char *name = f && LLVMIsAFunction(f) ? LLVMGetValueName2(f, &length) : "";
    unsigned kind = 0;

    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return EMIT_ANNOTATIONS;
    while (kind < EMIT_ANNOTATIONS && strcmp(name, annotations[kind].name) != 0)
        kind++;
    return (enum emit_annotation)kind;
}

bool
emit_is_flush(V v)
{
    enum emit_annotation kind = emit_annotation_of(v);
    return kind >= EMIT_FLUSH && kind <= EMIT_FLUSH_FMA;
}
