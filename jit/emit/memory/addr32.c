/* SPDX-License-Identifier: Apache-2.0
 * Addresses of modules with `.address_size 32` on the host device: 32-bit integers in registers and memory, widened at memory accesses
 * (jit/abi/host.h has the address map). Code between emit_address and the users of emit_symbol_place sees 64-bit addresses, as in other
 * modules. */
#include "jit/emit/emit_private.h"

#include <stddef.h>

static V
load(struct emit *e, V base, size_t offset, LLVMTypeRef t, const char *name)
{
    V at = LLVMConstInt(e->i64, offset, false);
    V v = LLVMBuildLoad2(e->f->entry_b, t, LLVMBuildGEP2(e->f->entry_b, e->i8, base, &at, 1, ""), name);
    emit_invariant(e, v);
    return v;
}

void
emit_addr32_enter(struct emit *e)
{
    struct emit_fn *f = e->f;
    f->window = load(e, f->launch, offsetof(struct cwh_launch, window), e->i64, "window");
    f->shared_size = load(e, f->launch, offsetof(struct cwh_launch, shared_size), e->i64, "shared_size");
    f->local_base = load(e, f->gang, offsetof(struct cwh_gang, local_base), e->i64, "local_base");
    f->local_low = load(e, f->gang, offsetof(struct cwh_gang, local_low), e->i32, "local_low");
}

/* Map the `size` (i64) addresses from `first` on to `base`; others to `otherwise`. */
static V
part(struct emit *e, V address, uint32_t first, V size, V base, V otherwise)
{
    V rel = emit_bin(e, LLVMSub, address, emit_int(e, e->i64, first));
    return emit_select(e, emit_icmp(e, LLVMIntULT, rel, size), emit_bin(e, LLVMAdd, rel, LLVMBuildPtrToInt(e->b, base, e->i64, "")), otherwise);
}

V
emit_widen(struct emit *e, V address, ptx_space space)
{
    struct emit_fn *f = e->f;
    V low = emit_resize(e, address, e->i32, false), a = emit_resize(e, low, e->i64, false);
    if (space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER)
        return a;
    V r = emit_bin(e, LLVMAdd, a, f->window);
    if (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST)
        return r;
    r = emit_select(e, emit_icmp(e, LLVMIntUGE, low, f->local_low), emit_bin(e, LLVMAdd, a, f->local_base), r);
    if (space == PTX_SPACE_LOCAL)
        return r;
    r = part(e, a, CWH_ADDR32_PARAM, emit_int(e, e->i64, CWH_ADDR32_PARAM_SIZE), f->params, r);
    if (space == PTX_SPACE_PARAM)
        return r;
    return part(e, a, CWH_ADDR32_SHARED, f->shared_size, f->shared, r);
}

V
emit_widen_or_null(struct emit *e, V address)
{
    V null = emit_icmp(e, LLVMIntEQ, address, emit_int_like(e, address, 0));
    return emit_select(e, null, emit_int(e, e->i64, 0), emit_widen(e, address, PTX_SPACE_GENERIC));
}

V
emit_addr32(struct emit *e, V address, ptx_space space)
{
    struct emit_fn *f = e->f;
    if (space == PTX_SPACE_LOCAL)
        address = emit_bin(e, LLVMSub, address, f->local_base);
    else if (space == PTX_SPACE_PARAM)
        address = emit_bin(e, LLVMAdd, emit_bin(e, LLVMSub, address, LLVMBuildPtrToInt(e->b, f->params, e->i64, "")),
                           emit_int(e, e->i64, CWH_ADDR32_PARAM));
    /* The window is aligned to its size. */
    return emit_resize(e, emit_resize(e, address, e->i32, false), e->i64, false);
}

V
emit_addr32_symbol(struct emit *e, const struct ptx_symbol *s, V place)
{
    ptx_space space = s->kind == PTX_SYM_PARAM ? (e->f->is_kernel ? PTX_SPACE_PARAM : PTX_SPACE_LOCAL) : (ptx_space)s->space;
    if (s->kind == PTX_SYM_VAR && space == PTX_SPACE_PARAM)
        space = PTX_SPACE_LOCAL;        /* a .param variable of a call: on the stack */
    return emit_addr32(e, place, space);
}

/* ---- short addresses in modules with 64-bit addresses ---- */

V
emit_near(struct emit *e, V low, ptx_space space)
{
    struct emit_fn *f = e->f;
    if (!e->target->near_addresses || (space != PTX_SPACE_LOCAL && space != PTX_SPACE_CONST))
        return emit_resize(e, low, e->i64, false);
    V base = space == PTX_SPACE_LOCAL && e->bounded ? f->local_top : LLVMBuildPtrToInt(e->b, space == PTX_SPACE_LOCAL ? f->dummy : f->image, e->i64, "");
    V past = emit_bin(e, LLVMSub, low, LLVMBuildTrunc(e->b, base, e->i32, ""));
    return emit_bin(e, LLVMAdd, emit_resize(e, past, e->i64, true), base);
}

static bool
makes_near(const struct ptx_function *fn, const struct ptx_inst *in)
{
    const struct ptx_operand *o = in->operand;
    bool half = ptx_type_bits((ptx_type)in->type[0]) == 32;
    switch (in->op) {
    case PTX_OP_ALLOCA:
        return half;
    case PTX_OP_MOV:
        return half && in->noperands == 2 && o[1].kind == PTX_OPND_SYM && o[1].sym->kind == PTX_SYM_VAR &&
               (o[1].sym->space == PTX_SPACE_LOCAL || o[1].sym->space == PTX_SPACE_CONST);
    case PTX_OP_LD: case PTX_OP_ST:
        o += in->op == PTX_OP_LD;
        return (in->space == PTX_SPACE_LOCAL || in->space == PTX_SPACE_CONST) && o->kind == PTX_OPND_ADDR && o->has_reg &&
               ptx_type_bits(fn->regs[o->index].type) == 32;
    default:
        return false;
    }
}

bool
emit_is_near(struct emit *e)
{
    for (uint32_t i = 0; i < e->fn->ninsts && !e->f->near_known; i++)
        e->f->near_used |= makes_near(e->fn, &e->fn->insts[i]);
    e->f->near_known = true;
    return e->f->near_used;
}

/* cvta (9.7.9.20): only shared memory has addresses of its own. */
void
emit_addr32_cvta(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    V v = emit_resize(e, emit_src(e, in, 1, t), e->i32, false);
    if (in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_SHARED_CLUSTER)
        v = emit_bin(e, in->flags & PTX_F_TO ? LLVMSub : LLVMAdd, v, emit_int(e, e->i32, CWH_ADDR32_SHARED));
    emit_dst(e, in, 0, t, emit_resize(e, v, emit_type(e, t), false));
}
