/* SPDX-License-Identifier: Apache-2.0
 * Calls of the device library (jit/builtins) on amdgcn: of machine code if there is some, else of a function that cwj_devlib_link adds. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"

void
gcn_devlib_declare(struct emit *e, const char *name, LLVMTypeRef ret, LLVMTypeRef *types, unsigned n)
{
    if (!LLVMGetNamedFunction(e->module, name))
        (void)gcn_precompiled_body(e, LLVMAddFunction(e->module, name, LLVMFunctionType(ret, types, n, false)));
}

LLVMValueRef
emit_devlib(struct emit *e, const char *name, LLVMTypeRef ret, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef types[16];
    LLVMValueRef v[16];
    for (unsigned i = 0; i < n && i < 16; i++) {
        bool cast = LLVMGetTypeKind(LLVMTypeOf(args[i])) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(LLVMTypeOf(args[i]));
        v[i] = cast ? LLVMBuildAddrSpaceCast(e->b, args[i], e->ptr, "") : args[i];
        types[i] = LLVMTypeOf(v[i]);
    }
    gcn_devlib_declare(e, name, ret, types, n);
    return emit_external(e, name, ret, v, n);
}
