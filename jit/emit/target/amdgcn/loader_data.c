/* SPDX-License-Identifier: Apache-2.0
 * amdgcn: values that a code object gets from its loader (jit.h, module_image; docs/amd-abi.md for standalone ones), in variables of eight
 * bytes that exist if a kernel uses them: the module's data segment, locks, the heap, the print FIFO; and the calls that need them. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"

#include <string.h>

enum { AS_GLOBAL = 1, AS_CONST = 4 };

/* Standalone code objects may be linked from several modules, which share the variable. */
static void
share(struct emit *e, LLVMValueRef g)
{
    if (!emit_session(e)->module_image)
        LLVMSetLinkage(g, LLVMWeakAnyLinkage);
}

LLVMValueRef
gcn_loader_variable(struct emit *e, const char *name)
{
    LLVMValueRef g = LLVMGetNamedGlobal(e->module, name);
    if (!g) {
        g = LLVMAddGlobalInAddressSpace(e->module, e->i64, name, AS_CONST);
        LLVMSetExternallyInitialized(g, true);
        LLVMSetVisibility(g, LLVMProtectedVisibility);
        LLVMSetInitializer(g, LLVMConstNull(e->i64));
        LLVMSetAlignment(g, 8);
        share(e, g);
    }
    return g;
}

LLVMValueRef
gcn_loader_number(struct emit *e, const char *name)
{
    LLVMValueRef v = LLVMBuildLoad2(e->b, e->i64, gcn_loader_variable(e, name), "");
    LLVMSetAlignment(v, 8);
    emit_invariant(e, v);
    return v;
}

/* ---- atomics of 128 bits ------------------------------------------------------------------------------------------------ */

/* The device's locks, for operations that it has no instructions for (jit/builtins/wide.c); a standalone code object has its own. */
static LLVMValueRef
locks_address(struct emit *e)
{
    static const char name[] = "cudaway_locks";
    if (emit_session(e)->module_image)
        return LLVMBuildIntToPtr(e->b, gcn_loader_number(e, name), e->ptr, "");
    LLVMValueRef g = LLVMGetNamedGlobal(e->module, name);
    if (!g) {
        LLVMTypeRef t = LLVMArrayType2(e->i32, CWJ_AMD_LOCKS);
        g = LLVMAddGlobalInAddressSpace(e->module, t, name, AS_GLOBAL);
        LLVMSetVisibility(g, LLVMHiddenVisibility);
        LLVMSetInitializer(g, LLVMConstNull(t));
        LLVMSetAlignment(g, 64);
        share(e, g);
    }
    return LLVMBuildAddrSpaceCast(e->b, g, e->ptr, "");
}

LLVMValueRef
gcn_swap128(struct emit *e, LLVMValueRef cell, LLVMValueRef want, LLVMValueRef fresh)
{
    LLVMTypeRef wide = LLVMIntTypeInContext(e->llvm, 128);
    LLVMValueRef slot[3], v[3] = { want, fresh, NULL };
    for (unsigned i = 0; i < 3; i++) {
        slot[i] = LLVMBuildAlloca(e->f->entry_b, wide, "wide");
        LLVMSetAlignment(slot[i], 16);
        if (v[i])
            LLVMSetAlignment(LLVMBuildStore(e->b, v[i], slot[i]), 16);
    }
    emit_devlib(e, "cwd_wide_swap", e->void_, VALUES(locks_address(e), cell, want ? slot[0] : LLVMConstNull(e->ptr), slot[1], slot[2]));
    LLVMValueRef old = LLVMBuildLoad2(e->b, wide, slot[2], "");
    LLVMSetAlignment(old, 16);
    return old;
}

/* ---- calls of CUDA's own functions ---------------------------------------------------------------------------------------- */

static LLVMValueRef
fifo(struct emit *e)
{
    return gcn_loader_number(e, "cudaway_fifo");
}

/* The host prints the assertion, its place and its function (jit/builtins/print.h). */
static void
assert_fails(struct emit *e, LLVMValueRef *args)
{
    enum { MESSAGE, FILE_, LINE, FUNCTION };
    LLVMValueRef v[11] = { fifo(e), args[MESSAGE], args[FILE_], args[FUNCTION] };
    for (unsigned i = 1; i < 4; i++)
        v[i] = emit_resize(e, v[i], e->i64, false);
    v[4] = emit_resize(e, args[LINE], e->i32, false);
    for (unsigned i = 0; i < 3; i++) {
        v[5 + i] = emit_gcn_ctaid(e, PTX_SREG_CTAID_X + i);
        v[8 + i] = emit_gcn_tid(e, PTX_SREG_TID_X + i);
    }
    emit_devlib(e, "cwd_print_assertfail", e->void_, v, 11);
    gcn_end_kernel(e);
}

static LLVMValueRef
heap(struct emit *e)
{
    return LLVMBuildIntToPtr(e->b, gcn_loader_number(e, "cudaway_heap"), e->ptr, "");
}

static void
free_memory(struct emit *e, LLVMValueRef address)
{
    LLVMValueRef v[2] = { heap(e), LLVMBuildIntToPtr(e->b, emit_resize(e, address, e->i64, false), e->ptr, "") };
    LLVMValueRef good = LLVMBuildIsNotNull(e->b, emit_devlib(e, "cwd_heap_free", e->i32, v, 2), "");
    emit_demand(e, good, gcn_end_kernel, "bad.free", "freed");
}

bool
gcn_runtime_call(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *args, unsigned n, LLVMValueRef *result)
{
    if (!strcmp(name, "__assertfail") && n >= 4) {
        assert_fails(e, args);
    } else if (!strcmp(name, "vprintf") && n == 2) {
        LLVMValueRef v[3] = { fifo(e), emit_resize(e, args[0], e->i64, false), emit_resize(e, args[1], e->i64, false) };
        *result = emit_devlib(e, "cwd_print_vprintf", e->i32, v, 3);
    } else if (!strcmp(name, "malloc") && n == 1) {
        *result = LLVMBuildPtrToInt(e->b, emit_devlib(e, "cwd_heap_malloc", e->ptr, VALUES(heap(e), emit_resize(e, args[0], e->i64, false))), e->i64, "");
    } else if (!strcmp(name, "free") && n == 1) {
        free_memory(e, args[0]);
    } else {
        return false;
    }
    return true;
}
